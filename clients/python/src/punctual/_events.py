"""What happens in the account, as it happens."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Iterator, Literal, Optional, Union

from . import _json
from ._lines import read_lines
from ._transport import Opened, Request, Transport, cancellation
from .errors import PunctualError
from .types import JobRecord, LogRecord


@dataclass(frozen=True)
class JobChanged:
    """A job was created, or its state or time has changed."""

    job: JobRecord
    type: Literal["job"] = "job"


@dataclass(frozen=True)
class LogWritten:
    """A log was written. id is for last_event_id."""

    id: str
    log: LogRecord
    type: Literal["log"] = "log"


@dataclass(frozen=True)
class Skipped:
    """More happened at once than the stream reports."""

    type: Literal["skipped"] = "skipped"


@dataclass(frozen=True)
class Reconnected:
    """The stream was opened again. Logs continue; changes of jobs may be missing."""

    type: Literal["reconnected"] = "reconnected"


AccountEvent = Union[JobChanged, LogWritten, Skipped, Reconnected]

EVENTS = "/api/events"
#: The service sends a comment every 15 seconds; a stream silent for this long is broken.
SILENCE = 45.0
#: Tries to open the stream again, which take about two minutes.
RECONNECTS = 20
#: The shortest pause between two streams, if the first one brought nothing.
PAUSE = 1.0


def follow(transport: Transport, last_event_id: Optional[str]) -> Iterator[AccountEvent]:
    """Follows the stream for ever; raises if the service is away for about two minutes."""
    patient = transport.with_settings(replace(transport.settings, max_retries=max(transport.settings.max_retries, RECONNECTS)))
    last = last_event_id
    first = True
    while True:
        request = Request("GET", EVENTS, headers={"Accept": "text/event-stream", "Last-Event-ID": last})
        began = time.monotonic()
        with patient.open(request) as opened:
            if not first:
                yield Reconnected()
            first = False
            try:
                for event in parse(opened):
                    if isinstance(event, LogWritten):
                        last = event.id
                    yield event
            except PunctualError as error:
                current = cancellation.get()
                if error.code == "protocol" or (current and current.event.is_set()):
                    raise
                # The connection was lost: opened again.
        if time.monotonic() - began < PAUSE:
            time.sleep(PAUSE)


def parse(opened: Opened) -> Iterator[AccountEvent]:
    kind = text = id = ""
    for raw in read_lines(opened, SILENCE):
        line = raw.decode("utf-8", "replace")
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            kind = value
        elif name == "id":
            id = value
        elif name == "data":
            text = value  # the service sends one line of data
        elif line == "":
            event = read(opened.request, kind, id, text)
            if event:
                yield event
            kind = text = id = ""


def read(request: Request, kind: str, id: str, text: str) -> Optional[AccountEvent]:
    """Events of kinds that this version doesn't know are left out."""
    try:
        if kind == "job":
            return JobChanged(_json.loads(text.encode()))
        if kind == "log":
            return LogWritten(id, _json.loads(text.encode()))
    except ValueError as error:
        raise PunctualError(request.call, code="protocol", detail="an event is not JSON") from error
    return Skipped() if kind == "skipped" else None
