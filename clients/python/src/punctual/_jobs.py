from __future__ import annotations

from typing import Any, Callable, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from ._resource import IfMatch, JobRef, RecordList, Resource, conditional, pairs, path_of, poll, whole
from ._transport import new_key
from .types import BatchOutcomesDataItem, Changes, JobCounts, JobDetailsAnswerData, JobRecord, JobRequest, JobState, MinimalJob, PreviewData, RevisionsAnswerDataItem, When

JOBS = "/api/jobs"
MINIMAL = {"Prefer": "return=minimal"}


class Jobs(Resource):
    """Jobs: requests to be sent now, later, or (as runs) on a schedule."""

    _what = "waiting for the job"

    # Without overloads, so that type checkers name what is wrong in a job.
    def create(self, job: JobRequest) -> JobRecord:
        """Creates a job.

        The call carries a request_id, made for it unless the job has one, so that its
        retries create one job.
        """
        return self._create(job, {})

    def create_minimal(self, job: JobRequest) -> MinimalJob:
        """Does what create does and returns the ids only."""
        return self._create(job, MINIMAL)

    def _create(self, job: JobRequest, headers: Mapping[str, str]) -> Any:
        record = self._call("POST", JOBS, body=_identified(job), headers=headers)
        if _is_own(job):
            _without_conflict(record)
        return record

    def create_for_group(self, job: JobRequest) -> List[JobRecord]:
        """Creates a job for each target of the group that the job names, in one transaction."""
        records = self._call("POST", JOBS, body=_identified(job))
        if _is_own(job):
            for record in records:
                _without_conflict(record)
        return records

    def create_many(self, items: Sequence[JobRequest]) -> List[JobRecord]:
        """Creates up to 1,000 jobs in one transaction, all or none.

        Each item carries a request_id, made for the call unless the item has one, so
        that retries create each job once.
        """
        return self._create_many(items, headers={})

    def create_many_minimal(self, items: Sequence[JobRequest]) -> List[MinimalJob]:
        """Does what create_many does and returns the ids only."""
        return self._create_many(items, headers=MINIMAL)

    def create_many_separately(self, items: Sequence[JobRequest], *, minimal: bool = False) -> List[BatchOutcomesDataItem]:
        """Creates those of up to 1,000 jobs that are right, and says of each what became of it.

        With minimal, the outcomes have ids in place of records.
        """
        return self._create_many(items, query={"atomic": False}, headers=MINIMAL if minimal else {})

    def _create_many(self, items: Sequence[JobRequest], **request: Any) -> Any:
        body = [_identified(item) for item in items]
        results = self._call("POST", f"{JOBS}/batch", body=body, **request)
        for item, result in zip(items, results):
            record = result.get("job") if "status" in result else result
            if _is_own(item) and record:
                _without_conflict(record)
        return results

    def create_many_then(self, items: Sequence[JobRequest], then: JobRequest) -> Tuple[List[JobRecord], JobRecord]:
        """Creates up to 1,000 jobs in one transaction, and another that waits until all of them are final.

        The body of the other one gets $batch, which says how they have ended. Returns
        the records of the jobs and that of the other one.
        """
        body = {"jobs": [_identified(item) for item in items], "then": _identified(then)}
        answer = self._call("POST", f"{JOBS}/batch", body=body, read=whole)
        for item, record in zip([*items, then], [*answer["data"], answer["then"]]):
            if _is_own(item):
                _without_conflict(record)
        return answer["data"], answer["then"]

    def list(
        self,
        *,
        q: Optional[str] = None,
        state: Union[JobState, Literal["scheduled"], None] = None,
        schedule_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        tag: Union[str, Sequence[str], None] = None,
        host: Optional[str] = None,
        name: Optional[str] = None,
        parent: Optional[int] = None,
        error_kind: Optional[str] = None,
        since: Optional[When] = None,
        until: Optional[When] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        order_by: Union[str, Sequence[str], None] = None,
        cursor: Optional[str] = None,
        mask: Optional[bool] = None,
    ) -> RecordList[JobRecord]:
        """Lists jobs that match all of the filters, by default the most recently created first.

        q is an id, an idempotency key, or text in the url or name; several tags are
        jobs with all of them; limit is the size of a page, 1 to 100; mask hides
        credentials in headers.
        """
        return self._list(
            JOBS, q=q, state=state, schedule_id=schedule_id, idempotency_key=idempotency_key, tag=tag, host=host, name=name, parent=parent, error_kind=error_kind,
            since=since, until=until, limit=limit, offset=offset, order_by=pairs(order_by), cursor=cursor, mask=mask,
        )

    def get(self, ref: JobRef, *, mask: Optional[bool] = None) -> JobRecord:
        return self._call("GET", path_of(JOBS, ref), query={"mask": mask})

    def edit(self, ref: JobRef, changes: Changes, *, if_match: Optional[IfMatch] = None) -> JobRecord:
        """Changes a job that waits for its first attempt."""
        return self._call("PATCH", path_of(JOBS, ref), body=changes, **conditional(if_match))

    def cancel(self, ref: JobRef, *, if_match: Optional[IfMatch] = None) -> JobRecord:
        """Cancels a job; a final one stays as it is. Of a schedule's run it skips the run."""
        return self._call("POST", path_of(JOBS, ref, "/cancel"), **conditional(if_match))

    def cancel_many(self, ids: Sequence[Union[int, str]]) -> List[JobRecord]:
        """Cancels up to 100 jobs, or none if one is unknown."""
        return self._call("POST", f"{JOBS}/cancel", body={"job_ids": [*ids]})

    def counts(
        self,
        *,
        state: Union[JobState, Literal["scheduled"], None] = None,
        schedule_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        tag: Union[str, Sequence[str], None] = None,
        host: Optional[str] = None,
        name: Optional[str] = None,
        parent: Optional[int] = None,
        error_kind: Optional[str] = None,
        since: Optional[When] = None,
        until: Optional[When] = None,
    ) -> JobCounts:
        """Counts jobs by state."""
        query = {"state": state, "schedule_id": schedule_id, "idempotency_key": idempotency_key, "tag": tag, "host": host, "name": name, "parent": parent, "error_kind": error_kind, "since": since, "until": until}
        return self._call("GET", f"{JOBS}/counts", query=query, read=whole)

    def details(self, ref: JobRef) -> JobDetailsAnswerData:
        """Attempts, the next attempt, what a job waits for, reruns and deliveries."""
        return self._call("GET", path_of(JOBS, ref, "/details"))

    def revisions(self, ref: JobRef) -> List[RevisionsAnswerDataItem]:
        """The last 50 edits, latest first."""
        return self._call("GET", path_of(JOBS, ref, "/revisions"))

    def run(self, ref: JobRef) -> JobRecord:
        """Makes a pending job due now."""
        return self._once("POST", path_of(JOBS, ref, "/run"))

    def rerun(self, ref: JobRef, changes: Optional[Changes] = None, *, idempotency_key: Optional[str] = None) -> JobRecord:
        """Creates a job with the same request, apart from the fields that differ.

        The call carries an Idempotency-Key, made for it unless one is given, so that
        its retries create one job.
        """
        headers = {"Idempotency-Key": new_key() if idempotency_key is None else idempotency_key}
        record = self._call("POST", path_of(JOBS, ref, "/rerun"), body=changes, headers=headers)
        if idempotency_key is None:
            _without_conflict(record)
        return record

    def preview(self, job: JobRequest) -> PreviewData:
        """When a job would run, in words and times. Nothing is created."""
        return self._call("POST", "/api/preview", body=job)

    def wait(self, ref: JobRef, *, within: Optional[float] = None, on_progress: Optional[Callable[[JobRecord], None]] = None) -> JobRecord:
        """Waits until a job is final, at most so many seconds."""
        return poll(self._what, lambda: self.get(ref), self._is_final, within, on_progress)

    @staticmethod
    def _is_final(record: JobRecord) -> bool:
        return record["job"]["state"] in ("completed", "cancelled", "discarded")


def _identified(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job with a request_id, by which the service recognizes a repeated call."""
    return job if isinstance(job.get("request_id"), str) else {**job, "request_id": new_key()}


def _is_own(job: Mapping[str, Any]) -> bool:
    """Whether a conflict can only be with an earlier try of the same call."""
    return not isinstance(job.get("request_id"), str) and not isinstance(job.get("idempotency_key"), str)


def _without_conflict(record: Any) -> None:
    """Clears the mark of a duplicate: the job was created by an earlier try of the same call."""
    if isinstance(record.get("job"), dict):
        record["job"]["has_confict"] = False
    else:
        record.pop("has_confict", None)
