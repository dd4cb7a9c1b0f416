from __future__ import annotations

from typing import Callable, Optional

from ._resource import RecordList, Resource, poll, segment
from .types import OperationDryRunData, OperationRecord, OperationRequest

OPERATIONS = "/api/operations"


class Operations(Resource):
    """Operations: changes to all jobs that a filter selects, in the background."""

    _what = "waiting for the operation"

    def start(self, operation: OperationRequest) -> OperationRecord:
        """Starts an operation. While another one runs, it fails with conflict."""
        return self._once("POST", OPERATIONS, body=operation)

    def dry_run(self, operation: OperationRequest) -> OperationDryRunData:
        """How many jobs an operation would change. Nothing is changed."""
        return self._call("POST", OPERATIONS, body={**operation, "dry_run": True})

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> RecordList[OperationRecord]:
        """The latest 100 operations."""
        return self._list(OPERATIONS, limit=limit, cursor=cursor)

    def get(self, id: str) -> OperationRecord:
        return self._call("GET", segment(OPERATIONS, id))

    def stop(self, id: str) -> OperationRecord:
        """Stops an operation. What it has changed stays so."""
        return self._call("DELETE", segment(OPERATIONS, id))

    def wait(self, id: str, *, within: Optional[float] = None, on_progress: Optional[Callable[[OperationRecord], None]] = None) -> OperationRecord:
        """Waits until an operation has finished or was stopped, at most so many seconds."""
        return poll(self._what, lambda: self.get(id), self._is_final, within, on_progress)

    @staticmethod
    def _is_final(record: OperationRecord) -> bool:
        return record["state"] != "running"
