"""What handlers get."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, Generic, Mapping, Optional, Tuple, TypeVar

from .. import _json
from ..completion import Completion
from .signature import Verified, header_of

Content = TypeVar("Content")


@dataclass(frozen=True)
class JobDelivery:
    """A request of a job."""

    #: webhook-id: the same for every attempt of the job.
    id: str
    #: When this attempt was sent.
    timestamp: datetime
    method: str
    #: The path and query of the request.
    url: str
    headers: Mapping[str, Any]
    #: The body: parsed if it is JSON, else text, None if there is none. A dict is
    #: without $job, $state and $previous.
    body: Any
    #: The body as it was sent.
    raw: bytes
    #: The schedule's $state; {} if there is none.
    state: Dict[str, Any]
    #: The JSON response of the schedule's last successful run; {} if there is none.
    previous: Any
    #: The job's integer id, 0 if unknown. Like what follows, it is from a header, which isn't signed.
    job_id: int
    attempt: int
    scheduled_at: Optional[datetime]
    #: How many due times of the schedule this run stands for.
    points: int
    #: Where to report the outcome later, of jobs with completion; treat it like a password.
    completion_url: Optional[str]
    #: What the token says, where the receiver has tokens.
    claims: Optional[Dict[str, Any]] = None
    #: The service's public address, to which completion reports; None for PUNCTUAL_URL.
    service_url: Optional[str] = None

    @property
    def completion(self) -> Optional[Completion]:
        """Reports the outcome later, after a response with 202; of jobs with completion.

        Raises ValueError unless the address is one of the service's.
        """
        return None if self.completion_url is None else Completion(self.completion_url, url=self.service_url)


@dataclass(frozen=True)
class Message(Generic[Content]):
    """A message that is JSON: a callback, an event or an alert."""

    #: webhook-id: the same for every try of the message.
    id: str
    timestamp: datetime
    content: Content


class UnexpectedError(Exception):
    """Raised for signed requests that are not what the route is for."""


#: Ids of jobs' requests begin so, those of callbacks, events and alerts with msg_.
JOB_PREFIX = "job_"


def read_job(verified: Verified, method: str, url: str, headers: Mapping[str, Any], raw: bytes, service_url: Optional[str] = None, claims: Optional[Dict[str, Any]] = None) -> JobDelivery:
    if not verified.id.startswith(JOB_PREFIX):
        raise UnexpectedError("this is a callback, an event or an alert, and the route is for jobs")
    body, state, previous = _split(_parse(header_of(headers, "content-type") or "", raw))
    return JobDelivery(
        id=verified.id,
        timestamp=verified.timestamp,
        method=method,
        url=url,
        headers=headers,
        body=body,
        raw=raw,
        state=state if isinstance(state, dict) else {},
        previous={} if previous is None else previous,
        job_id=_number(headers, "x-punctual-job-id", 0),
        attempt=_number(headers, "x-punctual-attempt", 1),
        scheduled_at=_time(header_of(headers, "x-punctual-scheduled-at")),
        points=_number(headers, "x-punctual-points", 1),
        completion_url=header_of(headers, "x-punctual-complete"),
        claims=claims,
        service_url=service_url,
    )


def read_message(verified: Verified, raw: bytes, kind: str) -> Message[Any]:
    """kind is what the content's type begins with; "" is a callback."""
    if verified.id.startswith(JOB_PREFIX):
        raise UnexpectedError("this is the request of a job, and the route is not for jobs")
    content = _parse("application/json", raw)
    is_callback = isinstance(content, dict) and "job" in content and "attempt" in content
    if not isinstance(content, dict) or not (str(content.get("type")).startswith(kind) if kind else is_callback):
        raise UnexpectedError("this is another kind of message than the route is for")
    return Message(verified.id, verified.timestamp, content)


def _parse(content_type: str, raw: bytes) -> Any:
    if not raw:
        return None
    if re.match(r"application/(json|[^;\s]+\+json)\s*(;|$)", content_type, re.IGNORECASE):
        try:
            return _json.loads(raw)
        except ValueError:
            pass  # a string that a job sends under a type of its own
    return raw.decode("utf-8", "replace")


def _split(body: Any) -> Tuple[Any, Any, Any]:
    """Takes the service's own members out of a body."""
    if not isinstance(body, dict):
        return body, None, None
    rest = {name: value for name, value in body.items() if name not in ("$job", "$state", "$previous")}
    return rest, body.get("$state"), body.get("$previous")


def _number(headers: Mapping[str, Any], name: str, otherwise: int) -> int:
    text = header_of(headers, name)
    return int(text) if text and re.fullmatch(r"[0-9]{1,15}", text) else otherwise


def _time(text: Optional[str]) -> Optional[datetime]:
    try:
        return datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
