"""The resources for asyncio, from their synchronous modules."""

# Written by scripts/generate.py. Do not edit.

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Generic, List, Literal, Mapping, Optional, Sequence, Tuple, Union
from ._account import Account
from ._async import AsyncRecordList, AsyncResource, Runner
from ._jobs import Jobs
from ._logs import Logs
from ._operations import Operations
from ._resource import IfMatch, JobRef, ScheduleRef
from ._runs import Runs
from ._schedules import Schedules
from ._settings import Alerts, Given, Groups, Limits, Secrets, Single, Stored
from .completion import Completion
from .types import AccountAnswerData, Alert, AlertRequest, AlertTestAnswerData, ApiKey, ApplyResult, AuditEntry, BatchOutcomesDataItem, Changes, Comparison, CompletionReport, CompletionState, ExportedDocument, Group, HeaderSecret, InvitationAnswerData, JobCounts, JobDetailsAnswerData, JobRecord, JobRequest, JobState, KeyAnswerData, Limit, LimitUseAnswerData, ListedSchedule, LogRecord, Member, MemberChange, MinimalJob, Mute, NewApiKey, NewGroup, NewHeaderSecret, NewLimit, NewMember, NewMute, OperationDryRunData, OperationRecord, OperationRequest, PreviewData, PunctualityAnswerData, RehearsalRequest, RehearsalResult, RevisionsAnswerDataItem, Run, RunState, RunWithSteps, ScheduleDetailsAnswerData, ScheduleDocument, SchedulePunctualityAnswerData, ScheduleRecord, SecretListDataItem, StateAnswerData, StatsResponse, When


class AsyncJobs(AsyncResource):
    """Jobs: requests to be sent now, later, or (as runs) on a schedule."""
    _sync: Jobs

    async def create(self, job: JobRequest) -> JobRecord:
        """Creates a job.

        The call carries a request_id, made for it unless the job has one, so that its
        retries create one job.
        """
        return await self._runner.run(lambda: self._sync.create(job))

    async def create_minimal(self, job: JobRequest) -> MinimalJob:
        """Does what create does and returns the ids only."""
        return await self._runner.run(lambda: self._sync.create_minimal(job))

    async def create_for_group(self, job: JobRequest) -> List[JobRecord]:
        """Creates a job for each target of the group that the job names, in one transaction."""
        return await self._runner.run(lambda: self._sync.create_for_group(job))

    async def create_many(self, items: Sequence[JobRequest]) -> List[JobRecord]:
        """Creates up to 1,000 jobs in one transaction, all or none.

        Each item carries a request_id, made for the call unless the item has one, so
        that retries create each job once.
        """
        return await self._runner.run(lambda: self._sync.create_many(items))

    async def create_many_minimal(self, items: Sequence[JobRequest]) -> List[MinimalJob]:
        """Does what create_many does and returns the ids only."""
        return await self._runner.run(lambda: self._sync.create_many_minimal(items))

    async def create_many_separately(self, items: Sequence[JobRequest], *, minimal: bool=False) -> List[BatchOutcomesDataItem]:
        """Creates those of up to 1,000 jobs that are right, and says of each what became of it.

        With minimal, the outcomes have ids in place of records.
        """
        return await self._runner.run(lambda: self._sync.create_many_separately(items, minimal=minimal))

    async def create_many_then(self, items: Sequence[JobRequest], then: JobRequest) -> Tuple[List[JobRecord], JobRecord]:
        """Creates up to 1,000 jobs in one transaction, and another that waits until all of them are final.

        The body of the other one gets $batch, which says how they have ended. Returns
        the records of the jobs and that of the other one.
        """
        return await self._runner.run(lambda: self._sync.create_many_then(items, then))

    def list(self, *, q: Optional[str]=None, state: Union[JobState, Literal['scheduled'], None]=None, schedule_id: Optional[str]=None, idempotency_key: Optional[str]=None, tag: Union[str, Sequence[str], None]=None, host: Optional[str]=None, name: Optional[str]=None, parent: Optional[int]=None, error_kind: Optional[str]=None, since: Optional[When]=None, until: Optional[When]=None, limit: Optional[int]=None, offset: Optional[int]=None, order_by: Union[str, Sequence[str], None]=None, cursor: Optional[str]=None, mask: Optional[bool]=None) -> AsyncRecordList[JobRecord]:
        """Lists jobs that match all of the filters, by default the most recently created first.

        q is an id, an idempotency key, or text in the url or name; several tags are
        jobs with all of them; limit is the size of a page, 1 to 100; mask hides
        credentials in headers.
        """
        return AsyncRecordList(self._runner, self._sync.list(q=q, state=state, schedule_id=schedule_id, idempotency_key=idempotency_key, tag=tag, host=host, name=name, parent=parent, error_kind=error_kind, since=since, until=until, limit=limit, offset=offset, order_by=order_by, cursor=cursor, mask=mask))

    async def get(self, ref: JobRef, *, mask: Optional[bool]=None) -> JobRecord:
        return await self._runner.run(lambda: self._sync.get(ref, mask=mask))

    async def edit(self, ref: JobRef, changes: Changes, *, if_match: Optional[IfMatch]=None) -> JobRecord:
        """Changes a job that waits for its first attempt."""
        return await self._runner.run(lambda: self._sync.edit(ref, changes, if_match=if_match))

    async def cancel(self, ref: JobRef, *, if_match: Optional[IfMatch]=None) -> JobRecord:
        """Cancels a job; a final one stays as it is. Of a schedule's run it skips the run."""
        return await self._runner.run(lambda: self._sync.cancel(ref, if_match=if_match))

    async def cancel_many(self, ids: Sequence[Union[int, str]]) -> List[JobRecord]:
        """Cancels up to 100 jobs, or none if one is unknown."""
        return await self._runner.run(lambda: self._sync.cancel_many(ids))

    async def counts(self, *, state: Union[JobState, Literal['scheduled'], None]=None, schedule_id: Optional[str]=None, idempotency_key: Optional[str]=None, tag: Union[str, Sequence[str], None]=None, host: Optional[str]=None, name: Optional[str]=None, parent: Optional[int]=None, error_kind: Optional[str]=None, since: Optional[When]=None, until: Optional[When]=None) -> JobCounts:
        """Counts jobs by state."""
        return await self._runner.run(lambda: self._sync.counts(state=state, schedule_id=schedule_id, idempotency_key=idempotency_key, tag=tag, host=host, name=name, parent=parent, error_kind=error_kind, since=since, until=until))

    async def details(self, ref: JobRef) -> JobDetailsAnswerData:
        """Attempts, the next attempt, what a job waits for, reruns and deliveries."""
        return await self._runner.run(lambda: self._sync.details(ref))

    async def revisions(self, ref: JobRef) -> List[RevisionsAnswerDataItem]:
        """The last 50 edits, latest first."""
        return await self._runner.run(lambda: self._sync.revisions(ref))

    async def run(self, ref: JobRef) -> JobRecord:
        """Makes a pending job due now."""
        return await self._runner.run(lambda: self._sync.run(ref))

    async def rerun(self, ref: JobRef, changes: Optional[Changes]=None, *, idempotency_key: Optional[str]=None) -> JobRecord:
        """Creates a job with the same request, apart from the fields that differ.

        The call carries an Idempotency-Key, made for it unless one is given, so that
        its retries create one job.
        """
        return await self._runner.run(lambda: self._sync.rerun(ref, changes, idempotency_key=idempotency_key))

    async def preview(self, job: JobRequest) -> PreviewData:
        """When a job would run, in words and times. Nothing is created."""
        return await self._runner.run(lambda: self._sync.preview(job))

    async def wait(self, ref: JobRef, *, within: Optional[float]=None, on_progress: Optional[Callable[[JobRecord], None]]=None) -> JobRecord:
        """Waits until a job is final, at most so many seconds."""
        return await self._runner.poll(self._sync._what, lambda: self._sync.get(ref), self._sync._is_final, within, on_progress)


class AsyncSchedules(AsyncResource):
    """Schedules: jobs that repeat. jobs.create with cron or repeat_every creates one too."""
    _sync: Schedules

    async def put(self, ref: ScheduleRef, schedule: JobRequest, *, if_match: Optional[IfMatch]=None, if_new: bool=False) -> ScheduleRecord:
        """Creates the schedule that a Key names, or makes it what is given.

        What is absent goes back to its default. With an id it replaces an existing one. if_new only creates.
        """
        return await self._runner.run(lambda: self._sync.put(ref, schedule, if_match=if_match, if_new=if_new))

    def list(self, *, tag: Union[str, Sequence[str], None]=None, include: Optional[Literal['next_run_at']]=None, limit: Optional[int]=None, offset: Optional[int]=None, order_by: Union[str, Sequence[str], None]=None, cursor: Optional[str]=None, mask: Optional[bool]=None) -> AsyncRecordList[ListedSchedule]:
        """Lists schedules. include adds when the next run is due to each record."""
        return AsyncRecordList(self._runner, self._sync.list(tag=tag, include=include, limit=limit, offset=offset, order_by=order_by, cursor=cursor, mask=mask))

    async def get(self, ref: ScheduleRef, *, mask: Optional[bool]=None) -> ScheduleRecord:
        return await self._runner.run(lambda: self._sync.get(ref, mask=mask))

    async def edit(self, ref: ScheduleRef, changes: Changes, *, if_match: Optional[IfMatch]=None) -> ScheduleRecord:
        return await self._runner.run(lambda: self._sync.edit(ref, changes, if_match=if_match))

    async def delete(self, ref: ScheduleRef, *, if_match: Optional[IfMatch]=None) -> None:
        """Deletes a schedule and cancels its pending run. Jobs and logs stay.

        A retry after a lost response finds nothing left, and fails with not_found.
        """
        return await self._runner.run(lambda: self._sync.delete(ref, if_match=if_match))

    async def details(self, ref: ScheduleRef) -> ScheduleDetailsAnswerData:
        """The next due times, the last run, how many runs failed in a row, and the mute."""
        return await self._runner.run(lambda: self._sync.details(ref))

    async def punctuality(self, ref: ScheduleRef, *, month: Optional[str]=None) -> SchedulePunctualityAnswerData:
        """How punctual the schedule was in one of the last 13 months, such as "2026-11"."""
        return await self._runner.run(lambda: self._sync.punctuality(ref, month=month))

    async def revisions(self, ref: ScheduleRef) -> List[RevisionsAnswerDataItem]:
        """The last 50 edits, latest first."""
        return await self._runner.run(lambda: self._sync.revisions(ref))

    async def run(self, ref: ScheduleRef) -> JobRecord:
        """Makes the pending run due now; of a disabled schedule, makes one run."""
        return await self._runner.run(lambda: self._sync.run(ref))

    async def enable(self, ref: ScheduleRef, *, if_match: Optional[IfMatch]=None) -> ScheduleRecord:
        return await self._runner.run(lambda: self._sync.enable(ref, if_match=if_match))

    async def disable(self, ref: ScheduleRef, *, if_match: Optional[IfMatch]=None) -> ScheduleRecord:
        return await self._runner.run(lambda: self._sync.disable(ref, if_match=if_match))

    async def mute(self, ref: ScheduleRef, mute: Optional[NewMute]=None, *, if_match: Optional[IfMatch]=None) -> Mute:
        """Alerts send none of its failures; it goes on running.

        until may be a time, "recovered", or None until unmute.
        """
        return await self._runner.run(lambda: self._sync.mute(ref, mute, if_match=if_match))

    async def unmute(self, ref: ScheduleRef, *, if_match: Optional[IfMatch]=None) -> None:
        return await self._runner.run(lambda: self._sync.unmute(ref, if_match=if_match))

    async def state(self, ref: ScheduleRef) -> StateAnswerData:
        """$state and $previous."""
        return await self._runner.run(lambda: self._sync.state(ref))

    async def set_state(self, ref: ScheduleRef, state: Mapping[str, Any], *, if_new: bool=False) -> StateAnswerData:
        """Replaces $state, at most 64 KiB."""
        return await self._runner.run(lambda: self._sync.set_state(ref, state, if_new=if_new))

    async def clear_state(self, ref: ScheduleRef) -> None:
        return await self._runner.run(lambda: self._sync.clear_state(ref))

    async def apply(self, document: Union[ScheduleDocument, ExportedDocument], *, if_match: Optional[IfMatch]=None) -> List[ApplyResult]:
        """Makes an owner's schedules match a document of up to 1,000, all or nothing."""
        return await self._runner.run(lambda: self._sync.apply(document, if_match=if_match))

    async def rehearse(self, rehearsal: Optional[RehearsalRequest]=None) -> RehearsalResult:
        """What schedules will do. Nothing is sent or stored."""
        return await self._runner.run(lambda: self._sync.rehearse(rehearsal))

    async def rehearse_edit(self, ref: ScheduleRef, changes: Changes) -> Comparison:
        """How an edit would change a schedule's runs."""
        return await self._runner.run(lambda: self._sync.rehearse_edit(ref, changes))

    async def rehearse_put(self, ref: ScheduleRef, schedule: JobRequest) -> Comparison:
        """How put would change a schedule's runs."""
        return await self._runner.run(lambda: self._sync.rehearse_put(ref, schedule))

    async def rehearse_apply(self, document: Union[ScheduleDocument, ExportedDocument]) -> Comparison:
        """How apply would change the runs of a document's schedules."""
        return await self._runner.run(lambda: self._sync.rehearse_apply(document))

    async def export(self, *, owner: Optional[str]=None, mask: Optional[bool]=None) -> ExportedDocument:
        """The schedules that have a key, as a document for apply."""
        return await self._runner.run(lambda: self._sync.export(owner=owner, mask=mask))


class AsyncOperations(AsyncResource):
    """Operations: changes to all jobs that a filter selects, in the background."""
    _sync: Operations

    async def start(self, operation: OperationRequest) -> OperationRecord:
        """Starts an operation. While another one runs, it fails with conflict."""
        return await self._runner.run(lambda: self._sync.start(operation))

    async def dry_run(self, operation: OperationRequest) -> OperationDryRunData:
        """How many jobs an operation would change. Nothing is changed."""
        return await self._runner.run(lambda: self._sync.dry_run(operation))

    def list(self, *, limit: Optional[int]=None, cursor: Optional[str]=None) -> AsyncRecordList[OperationRecord]:
        """The latest 100 operations."""
        return AsyncRecordList(self._runner, self._sync.list(limit=limit, cursor=cursor))

    async def get(self, id: str) -> OperationRecord:
        return await self._runner.run(lambda: self._sync.get(id))

    async def stop(self, id: str) -> OperationRecord:
        """Stops an operation. What it has changed stays so."""
        return await self._runner.run(lambda: self._sync.stop(id))

    async def wait(self, id: str, *, within: Optional[float]=None, on_progress: Optional[Callable[[OperationRecord], None]]=None) -> OperationRecord:
        """Waits until an operation has finished or was stopped, at most so many seconds."""
        return await self._runner.poll(self._sync._what, lambda: self._sync.get(id), self._sync._is_final, within, on_progress)


class AsyncLogs(AsyncResource):
    """Logs of every request and its result."""
    _sync: Logs

    def list(self, *, job_id: Union[int, str, None]=None, schedule_id: Optional[str]=None, event: Optional[str]=None, since: Optional[When]=None, until: Optional[When]=None, limit: Optional[int]=None, offset: Optional[int]=None, order_by: Union[str, Sequence[str], None]=None, cursor: Optional[str]=None, mask: Optional[bool]=None) -> AsyncRecordList[LogRecord]:
        """Lists logs, by default the latest first."""
        return AsyncRecordList(self._runner, self._sync.list(job_id=job_id, schedule_id=schedule_id, event=event, since=since, until=until, limit=limit, offset=offset, order_by=order_by, cursor=cursor, mask=mask))

    async def get(self, id: str, *, mask: Optional[bool]=None) -> LogRecord:
        return await self._runner.run(lambda: self._sync.get(id, mask=mask))

    def export(self, *, job_id: Union[int, str, None]=None, schedule_id: Optional[str]=None, event: Optional[str]=None, since: Optional[When]=None, until: Optional[When]=None, mask: Optional[bool]=None) -> AsyncIterator[LogRecord]:
        """Reads all logs that match, oldest first, as a stream of any length.

        timeout is the longest pause between two pieces of it. A stream that was cut
        off is an error.
        """
        return self._runner.stream(lambda: self._sync.export(job_id=job_id, schedule_id=schedule_id, event=event, since=since, until=until, mask=mask))


class AsyncRuns(AsyncResource):
    """Workflow runs, which the QStash-compatible API starts."""
    _sync: Runs

    def list(self, *, state: Optional[RunState]=None, label: Optional[str]=None, limit: Optional[int]=None, cursor: Optional[str]=None) -> AsyncRecordList[Run]:
        """Latest first, without their steps."""
        return AsyncRecordList(self._runner, self._sync.list(state=state, label=label, limit=limit, cursor=cursor))

    async def get(self, id: str) -> RunWithSteps:
        """A run with its first 1,000 records of steps."""
        return await self._runner.run(lambda: self._sync.get(id))

    async def cancel(self, id: str) -> RunWithSteps:
        """Cancels a run. One that has ended stays as it is."""
        return await self._runner.run(lambda: self._sync.cancel(id))


class _AsyncNamed(AsyncResource, Generic[Stored, Given, Single]):
    """Records that have a name, and are made by giving one."""
    _sync: Any

    def list(self, *, limit: Optional[int]=None, offset: Optional[int]=None) -> AsyncRecordList[Stored]:
        return AsyncRecordList(self._runner, self._sync.list(limit=limit, offset=offset))

    async def get(self, name: str) -> Single:
        return await self._runner.run(lambda: self._sync.get(name))

    async def put(self, name: str, value: Given, *, if_new: bool=False) -> Stored:
        """Creates or replaces it; if_new only creates."""
        return await self._runner.run(lambda: self._sync.put(name, value, if_new=if_new))

    async def delete(self, name: str) -> None:
        return await self._runner.run(lambda: self._sync.delete(name))


class AsyncLimits(_AsyncNamed[Limit, NewLimit, LimitUseAnswerData]):
    """Limits for receivers; get adds how many jobs wait. host:NAME is for all jobs to a host."""
    _sync: Limits


class AsyncGroups(_AsyncNamed[Group, NewGroup, Group]):
    """Groups of targets: a request with a group becomes a job for each."""
    _sync: Groups

    async def put(self, name: str, value: NewGroup, *, if_match: Optional[IfMatch]=None, if_new: bool=False) -> Group:
        """Creates or replaces it; if_match only changes that revision, if_new only creates."""
        return await self._runner.run(lambda: self._sync.put(name, value, if_match=if_match, if_new=if_new))

    async def delete(self, name: str, *, if_match: Optional[IfMatch]=None) -> None:
        return await self._runner.run(lambda: self._sync.delete(name, if_match=if_match))


class AsyncSecrets(_AsyncNamed[HeaderSecret, NewHeaderSecret, HeaderSecret]):
    """Secrets for headers, used as {{secret.NAME}}. Their values are never shown."""
    _sync: Secrets


class AsyncAlerts(_AsyncNamed[Alert, AlertRequest, Alert]):
    """Alerts: messages when something fails, recovers, is late, skips due times or ends."""
    _sync: Alerts

    async def test(self, name: str) -> AlertTestAnswerData:
        """Sends a test message now and returns what each receiver responded."""
        return await self._runner.run(lambda: self._sync.test(name))


class AsyncAccount(AsyncResource):
    """The account that the key belongs to."""
    _sync: Account

    async def get(self) -> AccountAnswerData:
        """Its limits and how much of them is used."""
        return await self._runner.run(lambda: self._sync.get())

    async def keys(self) -> List[ApiKey]:
        return await self._runner.run(lambda: self._sync.keys())

    async def create_key(self, key: Optional[NewApiKey]=None) -> KeyAnswerData:
        """Creates a key, which is shown this once."""
        return await self._runner.run(lambda: self._sync.create_key(key))

    async def revoke_key(self, id: str) -> None:
        return await self._runner.run(lambda: self._sync.revoke_key(id))

    def members(self, *, limit: Optional[int]=None) -> AsyncRecordList[Member]:
        """The persons and invitations of the account, ordered by email."""
        return AsyncRecordList(self._runner, self._sync.members(limit=limit))

    async def invite_member(self, member: NewMember) -> InvitationAnswerData:
        """Invites a person; the link in the answer is shown this once."""
        return await self._runner.run(lambda: self._sync.invite_member(member))

    async def change_member(self, id: str, change: MemberChange) -> Member:
        """Changes the role of a person or an invitation."""
        return await self._runner.run(lambda: self._sync.change_member(id, change))

    async def remove_member(self, id: str) -> None:
        """Removes a person, or withdraws an invitation."""
        return await self._runner.run(lambda: self._sync.remove_member(id))

    async def signing_secrets(self) -> List[SecretListDataItem]:
        """The secrets that sign, newest first."""
        return await self._runner.run(lambda: self._sync.signing_secrets())

    async def rotate_signing_secret(self) -> List[SecretListDataItem]:
        """Adds a signing secret; the old one signs too for 24 hours."""
        return await self._runner.run(lambda: self._sync.rotate_signing_secret())

    def audit(self, *, event: Optional[str]=None, limit: Optional[int]=None, cursor: Optional[str]=None) -> AsyncRecordList[AuditEntry]:
        """Sign-ins, keys and operator actions, the latest first."""
        return AsyncRecordList(self._runner, self._sync.audit(event=event, limit=limit, cursor=cursor))

    async def stats(self, minutes: int=60) -> StatsResponse:
        """Attempts, lateness and durations for each of the last 1 to 1440 minutes."""
        return await self._runner.run(lambda: self._sync.stats(minutes))

    async def punctuality(self) -> PunctualityAnswerData:
        """How late the jobs of all accounts began in the last hour, day and week."""
        return await self._runner.run(lambda: self._sync.punctuality())


class AsyncCompletion(AsyncResource):
    """Reports the outcome and the progress of an attempt that was answered with 202."""
    _sync: Completion

    def __init__(self, address: str, **options: Any) -> None:
        super().__init__(Runner(1), Completion(address, **options))

    async def succeed(self, result: Any=None) -> CompletionState:
        """Completes the job. In an object, $set, $next and $stop count."""
        return await self._runner.run(lambda: self._sync.succeed(result))

    async def fail(self, error: str, *, retry: Optional[bool]=None) -> CompletionState:
        """Fails the attempt; with retry=False there is no other one."""
        return await self._runner.run(lambda: self._sync.fail(error, retry=retry))

    async def progress(self, percent: float, message: Optional[str]=None) -> CompletionState:
        """A sign of life: percent, 0 to 100, and a message."""
        return await self._runner.run(lambda: self._sync.progress(percent, message))

    async def report(self, report: CompletionReport) -> CompletionState:
        """Sends a report.

        conflict (409): another outcome was reported before. gone (410): the attempt
        is over, stop working.
        """
        return await self._runner.run(lambda: self._sync.report(report))

    async def close(self) -> None:
        """Closes the connections that are kept open."""
        return await self._runner.run(lambda: self._sync.close())
