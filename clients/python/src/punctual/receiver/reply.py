"""Responses of handlers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional

from .. import _json

#: The service keeps at most so many bytes of a response.
MAX_REPLY_BYTES = 256 << 10


@dataclass(frozen=True)
class Outcome:
    """What a handler's result comes to, and what stores remember."""

    status: int
    #: JSON, or "" for none.
    body: str
    #: Whether the handler's transaction is committed.
    commit: bool
    #: Whether repeats are answered with this.
    remember: bool


class Reply:
    """A response with a status.

    With a 2xx the handler's transaction is committed, with any other rolled back,
    because the service tries again; commit overrides that, for jobs whose success
    says so.
    """

    def __init__(self, status: int, body: Any = None, *, commit: Optional[bool] = None) -> None:
        if not 200 <= status <= 599:
            raise ValueError("a status is 200 to 599")
        self.status = status
        self.body = body
        self.commit = 200 <= status < 300 if commit is None else commit


class RetryLater(Exception):
    """Raised by a handler: rolls back, and asks the service to try again after so many seconds."""

    def __init__(self, after: float, message: str = "try again later") -> None:
        super().__init__(message)
        self.after = min(max(1, math.ceil(after)), 24 * 60 * 60)


def outcome_of(result: Any) -> Outcome:
    """None is a 204; anything else but a Reply a 200 with JSON."""
    reply = result if isinstance(result, Reply) else Reply(204 if result is None else 200, result)
    body = "" if reply.body is None or reply.status == 204 else _json.dumps(reply.body).decode()
    if len(body) > MAX_REPLY_BYTES:  # it is ASCII
        raise ValueError(f"a response may have {MAX_REPLY_BYTES} bytes; the service keeps no more")
    failed = isinstance(reply.body, dict) and isinstance(reply.body.get("$fail"), str)
    kept = reply.commit and not failed
    # After a 202 the outcome is reported later. If there is a further try, the report
    # of the first one is not accepted any more, so the work has to be begun again.
    return Outcome(reply.status, body, kept, kept and reply.status != 202)
