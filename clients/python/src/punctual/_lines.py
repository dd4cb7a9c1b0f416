"""Lines of a stream."""

from __future__ import annotations

from typing import Iterator, Optional

from ._transport import Opened
from .errors import PunctualError

#: The most bytes of one log or event: a request's body and a response's, escaped.
LINE_BYTES = 32 << 20


def read_lines(opened: Opened, pause: Optional[float]) -> Iterator[bytes]:
    """Splits a body into lines, which end with LF or CRLF.

    pause is the longest time between two pieces; what the reader of the lines
    takes is not counted.
    """
    pending = bytearray()
    opened.restart(pause)
    for chunk in opened.chunks():
        searched = len(pending)
        pending += chunk
        start = 0
        end = pending.find(b"\n", searched)
        while end >= 0:
            line = bytes(pending[start:end])
            start = end + 1
            yield line[:-1] if line.endswith(b"\r") else line
            end = pending.find(b"\n", start)
        del pending[:start]
        if len(pending) > LINE_BYTES:
            raise PunctualError(opened.request.call, code="protocol", detail=f"a line has more than {LINE_BYTES} bytes")
        opened.restart(pause)
    if pending:
        yield bytes(pending)
