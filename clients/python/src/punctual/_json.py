"""JSON as the service reads and writes it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    raise TypeError(f"{type(value).__name__} is not JSON")


def timestamp(value: datetime) -> str:
    """A time with its zone, as the API takes it."""
    if value.tzinfo is None:
        raise ValueError("a datetime needs a zone: datetime.now(timezone.utc), or at.astimezone()")
    return value.isoformat()


def dumps(value: Any) -> bytes:
    """JSON in UTF-8. A datetime becomes a timestamp, a timedelta seconds."""
    return json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":")).encode()


def loads(data: bytes) -> Any:
    """Reads JSON; ValueError if it is none. Python reads integers of at most some thousand digits: larger ones become Decimal."""
    try:
        text = data.decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4000 else Decimal(digits))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
