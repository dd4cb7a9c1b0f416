from __future__ import annotations

from typing import Optional

from ._resource import RecordList, Resource, segment
from .types import Run, RunState, RunWithSteps

RUNS = "/api/runs"


class Runs(Resource):
    """Workflow runs, which the QStash-compatible API starts."""

    def list(
        self, *, state: Optional[RunState] = None, label: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None
    ) -> RecordList[Run]:
        """Latest first, without their steps."""
        return self._list(RUNS, state=state, label=label, limit=limit, cursor=cursor)

    def get(self, id: str) -> RunWithSteps:
        """A run with its first 1,000 records of steps."""
        return self._call("GET", segment(RUNS, id))

    def cancel(self, id: str) -> RunWithSteps:
        """Cancels a run. One that has ended stays as it is."""
        return self._call("POST", f"{segment(RUNS, id)}/cancel")
