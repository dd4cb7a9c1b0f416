"""What the calls of one kind of record share."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union
from urllib.parse import parse_qsl, quote, urlsplit

from ._result import with_response
from ._transport import Request, Transport
from .errors import PunctualError

T = TypeVar("T")


@dataclass(frozen=True)
class Key:
    """Names a schedule, or an unfinished job, by its idempotency key."""

    key: str


#: Names a job: its job_id or id, or the unfinished job with a Key.
JobRef = Union[int, str, Key]
#: Names a schedule: its id, or the one with a Key.
ScheduleRef = Union[str, Key]
#: One ETag or several, of which one must be the record's.
IfMatch = Union[str, Sequence[str]]

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


class RecordList(Generic[T]):
    """The records of a list. Iterating over it reads page after page, as they are needed."""

    def __init__(self, transport: Transport, request: Request) -> None:
        self._transport = transport
        self._request = request

    def page(self) -> List[T]:
        """The records of the first page."""
        return self._read(self._request)[0]

    def pages(self) -> Iterator[List[T]]:
        """Page after page. Pages of searches and of several filters may be empty."""
        request: Optional[Request] = self._request
        while request is not None:
            records, request = self._read(request)
            yield records

    def __iter__(self) -> Iterator[T]:
        for records in self.pages():
            yield from records

    def take(self, at_most: int) -> List[T]:
        """The first records, at most so many."""
        records: List[T] = []
        if at_most <= 0:
            return records
        for record in self:
            records.append(record)
            if len(records) >= at_most:
                break
        return records

    def _read(self, request: Request) -> Tuple[List[T], Optional[Request]]:
        body, response = self._transport.send(request)
        records = data_of(request, body)
        link = re.search(r'<([^>]*)>\s*;[^,]*\brel="?next"?', response.headers.get("link", ""))
        if link is None:
            return with_response(records, response), None
        # Only the link's query is used: the key goes nowhere else.
        query: Dict[str, Any] = {}
        for name, value in parse_qsl(urlsplit(link.group(1)).query, keep_blank_values=True):
            query.setdefault(name, []).append(value)
        if json.dumps(query) == json.dumps(request.query, default=str):
            raise PunctualError(request.call, code="protocol", detail="the list's next page is the same page again")
        return with_response(records, response), Request("GET", request.path, query)


class Resource:
    """Calls with a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _call(self, method: str, path: str, *, read: Callable[[Request, Any], Any] = None, **request: Any) -> Any:  # type: ignore[assignment]
        """Carries out a call, whose result stands under data unless read says otherwise."""
        sent = Request(method, path, **request)
        body, response = self._transport.send(sent)
        return with_response((read or data_of)(sent, body), response)

    def _once(self, method: str, path: str, **request: Any) -> Any:
        """A call that creates something each time: repeated only if it was not carried out."""
        return self._call(method, path, repeatable=False, **request)

    def _list(self, path: str, **query: Any) -> Any:
        if query.get("limit") is None:
            query["limit"] = 100
        return RecordList(self._transport, Request("GET", path, query))


def data_of(request: Request, body: Any) -> Any:
    """What stands under data."""
    if not isinstance(body, dict) or "data" not in body:
        raise PunctualError(request.call, code="protocol", detail="the response has no data; is url the address of the service?")
    return body["data"]


def whole(_: Request, body: Any) -> Any:
    return body


def nothing(_: Request, __: Any) -> None:
    return None


def path_of(base: str, ref: JobRef, action: str = "") -> str:
    """A path with a job's or schedule's name in it."""
    return segment(base, f"key:{ref.key}" if isinstance(ref, Key) else str(ref)) + action


def segment(base: str, name: str) -> str:
    """A path with any name in it."""
    # "." and ".." would be resolved as directories, an empty name would be the list.
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} names no record")
    return f"{base}/{quote(name, safe='')}"


def conditional(if_match: Optional[IfMatch], if_new: bool = False) -> Dict[str, Any]:
    """The headers and repeatability of a conditional call.

    Its repetition would find the revision that the call itself made, so it is not
    repeated.
    """
    headers: Dict[str, str] = {}
    if if_match is not None:
        headers["If-Match"] = if_match if isinstance(if_match, str) else ", ".join(if_match)
    if if_new:
        headers["If-None-Match"] = "*"
    return {"headers": headers, "repeatable": False} if headers else {}


def pairs(order_by: Union[str, Sequence[str], None]) -> Optional[List[str]]:
    """A field to sort by and a direction: "inserted_at", or ("inserted_at", "asc")."""
    return None if order_by is None else [order_by] if isinstance(order_by, str) else list(order_by)


class Pauses:
    """The pauses of a wait: at first short, later five seconds."""

    def __init__(self, what: str, within: Optional[float]) -> None:
        self._what = what
        self._within = within
        self._end = None if within is None else time.monotonic() + within
        self._pause = FIRST_PAUSE

    def next(self) -> float:
        pause = self._pause
        self._pause = min(pause * 1.5, LONGEST_PAUSE)
        if self._end is None:
            return pause
        left = self._end - time.monotonic()
        if left <= 0:
            raise PunctualError(self._what, code="timeout", detail=f"not final within {self._within:g} seconds")
        return min(pause, left)


def poll(what: str, read: Callable[[], T], is_final: Callable[[T], bool], within: Optional[float], on_progress: Optional[Callable[[T], None]]) -> T:
    """Reads a record until it is final."""
    pauses = Pauses(what, within)
    while True:
        record = read()
        if on_progress:
            on_progress(record)
        if is_final(record):
            return record
        time.sleep(pauses.next())


def without_none(values: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
