"""What calls raise."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any, Dict, List, Optional

from .types import ProblemEntry


class PunctualError(Exception):
    """Any failure of a call.

    code is the service's own (invalid_request, not_found, stale_revision, …), or
    one of the client's: network (there was no response), timeout (there was no
    whole response in time), protocol (the response is not one of this API).
    """

    def __init__(
        self,
        call: str,
        *,
        code: str,
        detail: str,
        status: int = 0,
        errors: Optional[List[ProblemEntry]] = None,
        retry_after: Optional[float] = None,
        request_id: Optional[str] = None,
        sent: bool = True,
    ) -> None:
        super().__init__(f"{call}: {f'{status} ' if status else ''}{detail}")
        self.call = call
        #: The status of the response; 0 if there was none.
        self.status = status
        self.code = code
        #: A sentence that says what to do.
        self.detail = detail
        #: Everything found wrong with the request, at most the first 100 problems.
        self.errors: List[ProblemEntry] = errors or []
        #: Where the first problem is in the body, as a URI fragment: #/url.
        self.pointer: Optional[str] = next((one.get("pointer") for one in self.errors if one.get("pointer")), None)
        #: Seconds to wait before another try, if the service said so.
        self.retry_after = retry_after
        #: The id by which the service's log names the request.
        self.request_id = request_id
        #: Whether the service may have received the request.
        self.sent = sent


def parse_retry_after(value: Optional[str], now: Optional[float] = None) -> Optional[float]:
    """Reads Retry-After, a number of seconds or a date; None if it is neither."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        at = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return max(0.0, at - (time.time() if now is None else now))


def problem_of(value: Any) -> Optional[Dict[str, Any]]:
    """A problem document, with only what has the right type; None if the value is none."""
    if not isinstance(value, dict) or not isinstance(value.get("detail"), str) or not isinstance(value.get("code"), str):
        return None
    entries = value.get("errors")
    return {
        "code": value["code"],
        "detail": value["detail"],
        "errors": [one for one in entries if isinstance(one, dict) and isinstance(one.get("pointer"), (str, type(None)))] if isinstance(entries, list) else [],
    }
