from __future__ import annotations

from typing import Any, List, Literal, Mapping, Optional, Sequence, Union

from ._resource import IfMatch, RecordList, Resource, ScheduleRef, conditional, nothing, pairs, path_of, whole
from .types import ApplyResult, Changes, Comparison, ExportedDocument, JobRecord, JobRequest, ListedSchedule, Mute, NewMute, RehearsalRequest, RehearsalResult, RevisionsAnswerDataItem, ScheduleDetailsAnswerData, ScheduleDocument, SchedulePunctualityAnswerData, ScheduleRecord, StateAnswerData

SCHEDULES = "/api/schedules"
REHEARSED = {"Prefer": "rehearse"}


class Schedules(Resource):
    """Schedules: jobs that repeat. jobs.create with cron or repeat_every creates one too."""

    def put(self, ref: ScheduleRef, schedule: JobRequest, *, if_match: Optional[IfMatch] = None, if_new: bool = False) -> ScheduleRecord:
        """Creates the schedule that a Key names, or makes it what is given.

        What is absent goes back to its default. With an id it replaces an existing one. if_new only creates.
        """
        return self._call("PUT", path_of(SCHEDULES, ref), body=schedule, **conditional(if_match, if_new))

    def list(
        self,
        *,
        tag: Union[str, Sequence[str], None] = None,
        include: Optional[Literal["next_run_at"]] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        order_by: Union[str, Sequence[str], None] = None,
        cursor: Optional[str] = None,
        mask: Optional[bool] = None,
    ) -> RecordList[ListedSchedule]:
        """Lists schedules. include adds when the next run is due to each record."""
        return self._list(SCHEDULES, tag=tag, include=include, limit=limit, offset=offset, order_by=pairs(order_by), cursor=cursor, mask=mask)

    def get(self, ref: ScheduleRef, *, mask: Optional[bool] = None) -> ScheduleRecord:
        return self._call("GET", path_of(SCHEDULES, ref), query={"mask": mask})

    def edit(self, ref: ScheduleRef, changes: Changes, *, if_match: Optional[IfMatch] = None) -> ScheduleRecord:
        return self._call("PATCH", path_of(SCHEDULES, ref), body=changes, **conditional(if_match))

    def delete(self, ref: ScheduleRef, *, if_match: Optional[IfMatch] = None) -> None:
        """Deletes a schedule and cancels its pending run. Jobs and logs stay.

        A retry after a lost response finds nothing left, and fails with not_found.
        """
        return self._call("DELETE", path_of(SCHEDULES, ref), read=nothing, **conditional(if_match))

    def details(self, ref: ScheduleRef) -> ScheduleDetailsAnswerData:
        """The next due times, the last run, how many runs failed in a row, and the mute."""
        return self._call("GET", path_of(SCHEDULES, ref, "/details"), query={"include": "mute"})

    def punctuality(self, ref: ScheduleRef, *, month: Optional[str] = None) -> SchedulePunctualityAnswerData:
        """How punctual the schedule was in one of the last 13 months, such as "2026-11"."""
        return self._call("GET", path_of(SCHEDULES, ref, "/punctuality"), query={"month": month})

    def revisions(self, ref: ScheduleRef) -> List[RevisionsAnswerDataItem]:
        """The last 50 edits, latest first."""
        return self._call("GET", path_of(SCHEDULES, ref, "/revisions"))

    def run(self, ref: ScheduleRef) -> JobRecord:
        """Makes the pending run due now; of a disabled schedule, makes one run."""
        return self._once("POST", path_of(SCHEDULES, ref, "/run"))

    def enable(self, ref: ScheduleRef, *, if_match: Optional[IfMatch] = None) -> ScheduleRecord:
        return self._call("POST", path_of(SCHEDULES, ref, "/enable"), **conditional(if_match))

    def disable(self, ref: ScheduleRef, *, if_match: Optional[IfMatch] = None) -> ScheduleRecord:
        return self._call("POST", path_of(SCHEDULES, ref, "/disable"), **conditional(if_match))

    def mute(self, ref: ScheduleRef, mute: Optional[NewMute] = None, *, if_match: Optional[IfMatch] = None) -> Mute:
        """Alerts send none of its failures; it goes on running.

        until may be a time, "recovered", or None until unmute.
        """
        return self._call("PUT", path_of(SCHEDULES, ref, "/mute"), body=mute if mute is not None else {}, **conditional(if_match))

    def unmute(self, ref: ScheduleRef, *, if_match: Optional[IfMatch] = None) -> None:
        return self._call("DELETE", path_of(SCHEDULES, ref, "/mute"), read=nothing, **conditional(if_match))

    def state(self, ref: ScheduleRef) -> StateAnswerData:
        """$state and $previous."""
        return self._call("GET", path_of(SCHEDULES, ref, "/state"))

    def set_state(self, ref: ScheduleRef, state: Mapping[str, Any], *, if_new: bool = False) -> StateAnswerData:
        """Replaces $state, at most 64 KiB."""
        return self._call("PUT", path_of(SCHEDULES, ref, "/state"), body=dict(state), **conditional(None, if_new))

    def clear_state(self, ref: ScheduleRef) -> None:
        return self._call("DELETE", path_of(SCHEDULES, ref, "/state"), read=nothing)

    def apply(self, document: Union[ScheduleDocument, ExportedDocument], *, if_match: Optional[IfMatch] = None) -> List[ApplyResult]:
        """Makes an owner's schedules match a document of up to 1,000, all or nothing."""
        return self._call("POST", "/api/apply", body=document, **conditional(if_match))

    def rehearse(self, rehearsal: Optional[RehearsalRequest] = None) -> RehearsalResult:
        """What schedules will do. Nothing is sent or stored."""
        return self._call("POST", "/api/rehearse", body=rehearsal if rehearsal is not None else {})

    def rehearse_edit(self, ref: ScheduleRef, changes: Changes) -> Comparison:
        """How an edit would change a schedule's runs."""
        return self._call("PATCH", path_of(SCHEDULES, ref), body=changes, headers=REHEARSED)

    def rehearse_put(self, ref: ScheduleRef, schedule: JobRequest) -> Comparison:
        """How put would change a schedule's runs."""
        return self._call("PUT", path_of(SCHEDULES, ref), body=schedule, headers=REHEARSED)

    def rehearse_apply(self, document: Union[ScheduleDocument, ExportedDocument]) -> Comparison:
        """How apply would change the runs of a document's schedules."""
        return self._call("POST", "/api/apply", body=document, headers=REHEARSED)

    def export(self, *, owner: Optional[str] = None, mask: Optional[bool] = None) -> ExportedDocument:
        """The schedules that have a key, as a document for apply."""
        return self._call("GET", "/api/export", query={"owner": owner, "mask": mask}, read=whole)
