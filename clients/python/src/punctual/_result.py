"""What a response said beside its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional


@dataclass(frozen=True)
class Response:
    """The response that a result came with."""

    status: int
    #: With names in lower case.
    headers: Mapping[str, str]

    @property
    def etag(self) -> Optional[str]:
        """The record's ETag, for if_match; None if the response has none."""
        return self.headers.get("etag")

    @property
    def created(self) -> bool:
        """Whether the call created the record (201)."""
        return self.status == 201

    @property
    def request_id(self) -> Optional[str]:
        """The id by which the service's log names the request."""
        return self.headers.get("x-request-id")


class _Record(Dict[str, Any]):
    response: Response


class _Records(List[Any]):
    response: Response


def with_response(value: Any, response: Response) -> Any:
    """The value, which remembers the response if it is a record or a list."""
    if type(value) is dict:
        record = _Record(value)
        record.response = response
        return record
    if type(value) is list:
        records = _Records(value)
        records.response = response
        return records
    return value


def response_of(result: object) -> Response:
    """The response that a call's result came with.

        schedule = client.schedules.get(Key("nightly"))
        client.schedules.edit(schedule["id"], {"retries": 5}, if_match=response_of(schedule).etag)
    """
    response = getattr(result, "response", None)
    if not isinstance(response, Response):
        raise TypeError("give the result of a call itself: records inside of it have no response of their own")
    return response
