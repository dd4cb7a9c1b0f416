from __future__ import annotations

from typing import Iterator, Optional, Sequence, Union

from . import _json
from ._lines import read_lines
from ._resource import RecordList, Resource, pairs, segment
from ._transport import Request
from .errors import PunctualError
from .types import LogRecord, When

LOGS = "/api/logs"


class Logs(Resource):
    """Logs of every request and its result."""

    def list(
        self,
        *,
        job_id: Union[int, str, None] = None,
        schedule_id: Optional[str] = None,
        event: Optional[str] = None,
        since: Optional[When] = None,
        until: Optional[When] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        order_by: Union[str, Sequence[str], None] = None,
        cursor: Optional[str] = None,
        mask: Optional[bool] = None,
    ) -> RecordList[LogRecord]:
        """Lists logs, by default the latest first."""
        return self._list(
            LOGS, job_id=job_id, schedule_id=schedule_id, event=event, since=since, until=until,
            limit=limit, offset=offset, order_by=pairs(order_by), cursor=cursor, mask=mask,
        )

    def get(self, id: str, *, mask: Optional[bool] = None) -> LogRecord:
        return self._call("GET", segment(LOGS, id), query={"mask": mask})

    def export(
        self,
        *,
        job_id: Union[int, str, None] = None,
        schedule_id: Optional[str] = None,
        event: Optional[str] = None,
        since: Optional[When] = None,
        until: Optional[When] = None,
        mask: Optional[bool] = None,
    ) -> Iterator[LogRecord]:
        """Reads all logs that match, oldest first, as a stream of any length.

        timeout is the longest pause between two pieces of it. A stream that was cut
        off is an error.
        """
        query = {"job_id": job_id, "schedule_id": schedule_id, "event": event, "since": since, "until": until, "mask": mask}
        request = Request("GET", f"{LOGS}/export", query, headers={"Accept": "application/x-ndjson"})
        with self._transport.open(request) as opened:
            for line in read_lines(opened, self._transport.settings.timeout):
                if not line:
                    continue
                try:
                    record: LogRecord = _json.loads(line)
                except ValueError as error:
                    raise PunctualError(request.call, code="protocol", detail="a line of the export is not JSON") from error
                yield record
