"""The types of the API, from api/openapi.json."""

# Written by scripts/generate.py. Do not edit.

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Dict, List, Literal, Optional, Sequence, TypedDict, Union


_JobRequestOptional = TypedDict("_JobRequestOptional", {
    "group": "Optional[GroupName]",
    "url": "Url",
    "method": "Optional[Literal['get', 'GET', 'post', 'POST', 'put', 'PUT', 'patch', 'PATCH', 'delete', 'DELETE']]",
    "query": "Optional[QueryMap]",
    "headers": "Optional[HeaderMap]",
    "body": "Any",
    "body_base64": "Optional[Union[Base64, Literal['[redacted]']]]",
    "redact": "Optional[Redact]",
    "schedule_in": "Optional[Duration]",
    "scheduled_at": "Optional[When]",
    "repeat_every": "Optional[Interval]",
    "cron": "Optional[Cron]",
    "timezone": "Optional[Timezone]",
    "tags": "Optional[Tags]",
    "idempotency_key": "Optional[str]",
    "request_id": "Optional[str]",
    "on_conflict": "Optional[Literal['return', 'refuse', 'replace', 'debounce']]",
    "max_wait": "Optional[Duration]",
    "throttle": "Optional[Duration]",
    "callback_url": "Optional[Url]",
    "callback_on": "Optional[Literal['final', 'failure', 'success']]",
    "webhook_url": "Optional[Url]",
    "name": "Optional[str]",
    "description": "Optional[str]",
    "retries": "Optional[int]",
    "timeout": "Optional[float]",
    "success": "Optional[StatusList]",
    "no_retry": "Optional[FailureList]",
    "backoff": "Optional[WaitList]",
    "retry_delay": "Optional[str]",
    "dialect": "Optional[Dialect]",
    "limits": "Optional[LimitKeys]",
    "completion": "Optional[Completion]",
    "after": "Optional[After]",
    "auth": "Optional[Auth]",
    "expires_in": "Optional[Duration]",
    "catch_up": "Optional[Literal['one', 'none', 'all']]",
    "ends_at": "Optional[When]",
    "max_runs": "Optional[int]",
    "disable_after": "Optional[int]",
    "jitter": "Optional[Duration]",
    "offset": "Optional[Duration]",
    "except": "Optional[DateList]",
    "metadata": "Optional[bool]",
}, total=False)


class JobRequest(_JobRequestOptional):
    pass


class _Dialect(TypedDict):
    # The API: the QStash-compatible one, or those of Cloud Tasks and Cloud
    # Scheduler.
    api: Literal["qstash", "cloud_tasks", "cloud_scheduler"]


class Dialect(_Dialect, total=False):
    """What another API knows of a job beyond its fields. The requests of such a job
    have that API's header fields and signature beside the service's own.
    """

    # The job that is created after each attempt, with its outcome as the body.
    callback: FollowUp
    # The job that is created when the job is discarded.
    failure_callback: FollowUp
    # Labels of any text.
    labels: List[DialectText]
    # The network address from which the job was created.
    caller_ip: DialectText
    # The queue that the job is in.
    queue: DialectText
    # The flow control key, which names one of its limits.
    flow_control: DialectText
    # The group that the job was sent to.
    group: DialectText
    # The name of the target in that group.
    endpoint: DialectText
    # The message whose callback the job is.
    source: DialectText
    # Whether the failed job has been taken out of the dead letter queue.
    archived: bool
    # The name of the task or the Scheduler job.
    name: str
    # How often the job is attempted, in place of `retries`; -1 for no bound.
    max_attempts: int
    # For how many seconds from its first attempt the job is retried at least,
    # however many attempts that takes.
    retry_for: float
    # What that API shows of the job beyond its fields.
    view: Dict[str, Any]
    # The workflow run that the job is a message of.
    run: DialectText
    # What the message is to the run's route.
    step: DialectText


class _FollowUp(TypedDict):
    url: str


class FollowUp(_FollowUp, total=False):
    """A job that is created when another one ends."""

    method: str
    headers: HeaderMap
    timeout: float
    retries: int
    backoff: WaitList
    retry_delay: str
    no_retry: List[Any]
    success: List[Any]
    schedule_in: Duration
    limits: LimitKeys
    tags: Tags


class _Completion(TypedDict):
    # From the start of the attempt, 0.1 seconds to 7 days.
    within: Duration


class Completion(_Completion, total=False):
    """How long a target may take to report the outcome after a 202."""

    # From the last sign of life, at most `within`.
    heartbeat: Optional[Duration]


class AuthOidc(TypedDict, total=False):
    # The claim `aud`. By default the origin of `url`.
    audience: Optional[str]
    # The claim `email`, which proves nothing; `sub` does.
    email: Optional[str]


class AuthAws(TypedDict):
    # The name of a secret.
    secret: str
    service: str
    region: str


class Auth(TypedDict, total=False):
    """One way to prove who sends a request.

    - `oidc`: the header `Authorization: Bearer` with a token (JWT, ES256) that
      this service issues for each attempt: `iss` the service's public URL, `sub`
      `account:` and the account's id, `aud`, `iat`, `exp` (the timeout and five
      minutes, an hour at most), `jti` the `webhook-id`, `job_id` and, for a run,
      `schedule_id`. `/.well-known/openid-configuration` and
      `/.well-known/jwks.json` say how to verify it. Needs a service with
      `--public-url` and `--secrets-key-file`.
    - `mtls`: a client certificate, from a secret with `certificate`.
    - `aws`: a signature as AWS defines it (SigV4), by a secret with
      `access_key_id`.

    With `oidc` and `aws`, `headers` can't have `Authorization`.
    """

    oidc: AuthOidc
    # The name of a secret.
    mtls: str
    aws: AuthAws


class JobRecord(TypedDict):
    """A job, as every call that returns one shows it."""

    # The record's id.
    id: Uuid
    # The key it was created with.
    idempotency_key: Optional[str]
    # When it was created.
    inserted_at: LocalSeconds
    # A name for people.
    name: Optional[str]
    # A longer text for people.
    description: Optional[str]
    # The account it belongs to.
    user_id: Uuid
    # The schedule whose run it is; null for a one-off job.
    schedule_id: UuidOrNull
    # The job's integer id, the same as `job.id`.
    job_id: int
    # Where it stands.
    job: Job
    # What was asked for.
    args: Args


class Job(TypedDict):
    # The start of the latest attempt.
    attempted_at: InstantOrNull
    # When it was cancelled.
    cancelled_at: InstantOrNull
    # When it succeeded.
    completed_at: InstantOrNull
    # When its last attempt had failed.
    discarded_at: InstantOrNull
    # True only in the response to a create whose idempotency key was taken.
    # The name is spelled this way.
    has_confict: bool
    # The job's integer id.
    id: int
    # When it was created.
    inserted_at: Instant
    # The due time asked for. It stays, also while the job is `retryable`.
    scheduled_at: Instant
    # The state of the job.
    state: JobState


_ArgsRequired = TypedDict("_ArgsRequired", {
    "method": "Method",
    "headers": "HeaderMap",
})


_ArgsOptional = TypedDict("_ArgsOptional", {
    "group": "GroupName",
    "url": "Url",
    "query": "QueryMap",
    "body": "Any",
    "body_base64": "Union[Base64, Literal['[redacted]']]",
    "redact": "Redact",
    "schedule_in": "Duration",
    "scheduled_at": "When",
    "repeat_every": "Interval",
    "cron": "Cron",
    "timezone": "Timezone",
    "callback_url": "Url",
    "callback_on": "Literal['final', 'failure', 'success']",
    "webhook_url": "Url",
    "retries": "int",
    "on_conflict": "Literal['return', 'refuse', 'replace', 'debounce']",
    "max_wait": "Duration",
    "throttle": "Duration",
    "timeout": "float",
    "success": "StatusList",
    "no_retry": "FailureList",
    "backoff": "WaitList",
    "retry_delay": "str",
    "dialect": "Dialect",
    "limits": "LimitKeys",
    "completion": "Completion",
    "after": "After",
    "auth": "Auth",
    "expires_in": "Duration",
    "catch_up": "Literal['one', 'none', 'all']",
    "ends_at": "When",
    "max_runs": "int",
    "disable_after": "int",
    "jitter": "Duration",
    "offset": "Duration",
    "except": "DateList",
    "metadata": "bool",
    "tags": "Tags",
}, total=False)


class Args(_ArgsRequired, _ArgsOptional):
    """What the client sent of the request and its timing, as it was sent, in
    the order it was sent. `method` and `headers` are filled in when they
    were not given; every other absent field stays absent.
    """



class ScheduleRecord(TypedDict):
    """A schedule, as every call that returns one shows it."""

    # The schedule's id, the `schedule_id` of its jobs.
    id: Uuid
    # A name for people.
    name: Optional[str]
    # A longer text for people.
    description: Optional[str]
    # When it was created.
    inserted_at: LocalSeconds
    # When it was disabled, in UTC to the second; null while it is enabled.
    disabled_at: Optional[str]
    # The account it belongs to.
    user_id: Uuid
    # When its runs are due.
    frequency: Frequency
    # What was asked for.
    args: Args


class _ListedSchedule(TypedDict):
    # The schedule's id, the `schedule_id` of its jobs.
    id: Uuid
    # A name for people.
    name: Optional[str]
    # A longer text for people.
    description: Optional[str]
    # When it was created.
    inserted_at: LocalSeconds
    # When it was disabled, in UTC to the second; null while it is enabled.
    disabled_at: Optional[str]
    # The account it belongs to.
    user_id: Uuid
    # When its runs are due.
    frequency: Frequency
    # What was asked for.
    args: Args


class ListedSchedule(_ListedSchedule, total=False):
    """A schedule in a list."""

    # When the next run is due; null while the schedule is disabled. Only in
    # lists with `include=next_run_at`.
    next_run_at: InstantOrNull


class Frequency(TypedDict):
    # How long from one run to the next.
    repeat_every: AmountAndUnit


class LogRecord1(TypedDict):
    event: Literal["worker.http.request"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: RequestPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord2(TypedDict):
    event: Literal["worker.http.response"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: ResponsePayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord3(TypedDict):
    event: Literal["worker.http.error"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: ErrorPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord4(TypedDict):
    event: Literal["worker.callback.failed"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: CallbackFailedPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord5(TypedDict):
    event: Literal["worker.webhook.failed"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: WebhookFailedPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord6(TypedDict):
    event: Literal["worker.state.rejected"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: StateRejectedPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord7(TypedDict):
    event: Literal["worker.alert.failed"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: AlertFailedPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord8(TypedDict):
    event: Literal["worker.schedule.skipped"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: SkippedPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord9(TypedDict):
    event: Literal["worker.schedule.ended"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: EndedPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord10(TypedDict):
    event: Literal["worker.completion"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: CompletionPayload
    # The account it belongs to.
    user_id: Uuid


class LogRecord11(TypedDict):
    event: Literal["worker.job.orphaned"]
    # The entry's id.
    id: Uuid
    # When it happened.
    inserted_at: Instant
    # The job's integer id.
    job_id: int
    payload: OrphanedPayload
    # The account it belongs to.
    user_id: Uuid


class _RequestPayload(TypedDict):
    body: SentBody
    # The job's own headers; empty when there were none.
    headers: HeaderMap
    # What was appended to the url; an empty object when there was nothing.
    query: QueryMap
    # The url, without what `query` adds.
    url: Url


class RequestPayload(_RequestPayload, total=False):
    """`worker.http.request`: The request of an attempt as it went out, dynamic
    fields replaced, without the headers the service adds. Written as the
    attempt starts. Of a request that is too large to be sent, it shows the
    parts that fit.
    """

    encoding: SentEncoding


class _ResponsePayload(TypedDict):
    status: StatusCode
    headers: ResponseHeaders
    body: ResponseBody
    duration_ms: Milliseconds
    truncated: Truncated


class ResponsePayload(_ResponsePayload, total=False):
    """`worker.http.response`: The final response to an attempt, redirects
    followed. `attempt` and `retry_at` are there when it was no success, `error`
    too when the response itself says so with `$fail`. `awaiting` is there when
    the target is to report the outcome later.
    """

    encoding: Base64Marker
    withheld: WithheldMarker
    attempt: Attempt
    # When the next attempt is due; null when this was the last.
    retry_at: InstantOrNull
    error: Failure
    # The attempt continues until the target reports its outcome.
    awaiting: Literal[True]


class ErrorPayload(TypedDict):
    """`worker.http.error`: Why an attempt got no response. A cancelled attempt
    is not retried, so its `retry_at` is null.
    """

    # `dns` and `connect`: the host could not be found or reached. `tls`:
    # the handshake failed or the certificate is not trusted. `timeout`:
    # the time allowed ran out. `closed`: the connection ended too soon.
    # `protocol`: what came back was not HTTP. `redirect`: too many, or one
    # that may not be followed. `blocked`: the address may not be called,
    # and is not tried again. `too_large`: with its dynamic fields resolved
    # the request is larger than is sent; nothing was sent, and it is not
    # tried again. `secret`: a secret that the headers name is gone, can't be
    # decrypted or may not be sent to the host, or no token could be fetched
    # for it; nothing was sent. `internal`: a defect of the service ended the attempt.
    # `poisoned`: the attempt can't be made, and the job was set aside.
    # `cancelled`: the job was cancelled meanwhile. `interrupted`: the
    # service stopped or crashed meanwhile.
    # `expired`: the attempt could not start in time; nothing was sent.
    # `unstored`: the store refused what the attempt came to, so the job was
    # discarded.
    # `answer`: the target itself reported a failure. `abandoned`: the target
    # did not report the outcome in time.
    kind: Literal["dns", "connect", "tls", "timeout", "closed", "protocol", "redirect", "blocked", "too_large", "secret", "group", "internal", "expired", "poisoned", "cancelled", "interrupted", "unstored", "answer", "abandoned"]
    message: Sentence
    duration_ms: Milliseconds
    # Which attempt it was, counted from 1.
    attempt: int
    # When the next attempt is due; null when this was the last.
    retry_at: InstantOrNull


class CallbackFailedPayload(TypedDict):
    """`worker.callback.failed`: The result of the job could not be delivered.
    One entry, when the service has given up.
    """

    # The job's `callback_url`.
    url: Url
    # How often it was tried.
    attempts: int
    response: LastResponse
    # Why the last try failed.
    error: Failure


class WebhookFailedPayload(TypedDict):
    """`worker.webhook.failed`: An event could not be delivered. One entry,
    when the service has given up.
    """

    # The event that was not delivered.
    type: Literal["job.started", "job.request", "job.response", "job.error", "job.finished"]
    # The job's `webhook_url`.
    url: Url
    # How often it was tried.
    attempts: int
    response: LastResponse
    # Why the last try failed.
    error: Failure


class _StateRejectedPayload(TypedDict):
    message: Sentence


class StateRejectedPayload(_StateRejectedPayload, total=False):
    """`worker.state.rejected`: What a target put into `$set` would have made
    the state too large, and the old one stays. Or the value of a member is wrong,
    and is ignored.
    """

    # How large the state would have become, in bytes.
    size: int
    # How large it may be, in bytes.
    limit: Literal[65536]
    # The member whose value is wrong.
    member: Literal["$set", "$next", "$stop", "$fail"]


class CompletionPayload(TypedDict):
    """`worker.completion`: The result that a target has reported after its 202."""

    # The result, any JSON.
    result: Any
    duration_ms: Milliseconds


_SkippedPayloadRequired = TypedDict("_SkippedPayloadRequired", {
    "count": "int",
    "from": "Instant",
    "to": "Instant",
    "reason": "Literal['overlap', 'down', 'expired', 'limit', 'next']",
})


class SkippedPayload(_SkippedPayloadRequired):
    """`worker.schedule.skipped`: Points of the schedule's grid have no run of
    their own; this run stands for them.
    """



class OrphanedPayload(TypedDict):
    """`worker.job.orphaned`: The job was cancelled, because it was to start `after`
    the completion of another one, which has ended otherwise.
    """

    # The other job's integer id.
    job_id: int
    # How it has ended.
    state: Literal["cancelled", "discarded"]


class EndedPayload(TypedDict):
    """`worker.schedule.ended`: This was the schedule's last run, and the schedule
    is disabled.
    """

    # Why it ended; `failures` is `disable_after`.
    reason: Literal["ends_at", "max_runs", "$stop", "failures"]


class _LastResponseValue(TypedDict):
    status: StatusCode


class LastResponseValue(_LastResponseValue, total=False):
    """The last response of the receiver; null if there was none."""

    headers: ResponseHeaders
    body: ResponseBody
    duration_ms: Milliseconds
    truncated: Truncated
    encoding: Base64Marker
    withheld: WithheldMarker


class CompletionReport(TypedDict, total=False):
    """One of `result`, `error` and `progress`; `retry` goes with `error`, `message`
    with `progress`.
    """

    # What the work has produced, any JSON of up to 256 KiB.
    result: Any
    # Why the work has failed; 1,000 characters are kept.
    error: Optional[str]
    # Whether the attempt may be tried again.
    retry: Optional[bool]
    # How much is done, in percent.
    progress: Optional[float]
    # A word about the progress; 1,000 characters are kept.
    message: Optional[str]


class CompletionStateProgress(TypedDict):
    # How much is done, in percent.
    progress: float
    # A word about it.
    message: Optional[str]
    # When it was reported.
    reported_at: Instant


class CompletionState(TypedDict):
    """How far the completion of an attempt is."""

    # Whether the target has yet to report the outcome.
    awaiting: bool
    # When the attempt fails without a further sign of life; null unless it is awaited.
    deadline: InstantOrNull
    # The last progress reported; null before.
    progress: Optional[CompletionStateProgress]


class _CallbackMessage(TypedDict):
    # The job, final.
    job: JobRecord
    attempt: Attempt
    request: OutgoingRequest
    # The last response; null if there was none.
    response: Optional[TargetResponse]
    # Why the job failed; null only on success.
    error: Optional[Failure]


class CallbackMessage(_CallbackMessage, total=False):
    """The result of a job, sent to its `callback_url`."""

    # What the target has reported after its 202, any JSON.
    result: Any


class JobStartedEventData(TypedDict):
    # The job as it was at that moment.
    job: JobRecord
    attempt: Attempt


class JobStartedEvent(TypedDict):
    """An attempt begins."""

    # The event's name.
    type: Literal["job.started"]
    # When it happened.
    timestamp: Instant
    data: JobStartedEventData


class JobRequestEventData(TypedDict):
    # The job as it was at that moment.
    job: JobRecord
    attempt: Attempt
    request: OutgoingRequest


class JobRequestEvent(TypedDict):
    """A request goes out."""

    # The event's name.
    type: Literal["job.request"]
    # When it happened.
    timestamp: Instant
    data: JobRequestEventData


class _JobResponseEventData(TypedDict):
    # The job as it was at that moment.
    job: JobRecord
    attempt: Attempt
    response: TargetResponse


class JobResponseEventData(_JobResponseEventData, total=False):
    request: OutgoingRequest


class JobResponseEvent(TypedDict):
    """A response arrived."""

    # The event's name.
    type: Literal["job.response"]
    # When it happened.
    timestamp: Instant
    data: JobResponseEventData


class _JobErrorEventData(TypedDict):
    # The job as it was at that moment.
    job: JobRecord
    attempt: Attempt
    error: Failure
    # When the next attempt is due; null when this was the last.
    retry_at: InstantOrNull


class JobErrorEventData(_JobErrorEventData, total=False):
    request: OutgoingRequest
    # The response, if there was one.
    response: Optional[TargetResponse]


class JobErrorEvent(TypedDict):
    """An attempt failed."""

    # The event's name.
    type: Literal["job.error"]
    # When it happened.
    timestamp: Instant
    data: JobErrorEventData


class _JobFinishedEventData(TypedDict):
    # The job, final.
    job: JobRecord
    # The latest attempt; 0 when it was cancelled before its first.
    attempt: int


class JobFinishedEventData(_JobFinishedEventData, total=False):
    # The latest request, when there was one.
    request: Optional[OutgoingRequest]
    # The latest response, if there was one.
    response: Optional[TargetResponse]
    # Why the job failed, when it did.
    error: Optional[Failure]
    # What the target has reported after its 202, any JSON.
    result: Any


class JobFinishedEvent(TypedDict):
    """A job is final."""

    # The event's name.
    type: Literal["job.finished"]
    # When it happened.
    timestamp: Instant
    data: JobFinishedEventData


class _OutgoingRequest(TypedDict):
    method: Method
    # The url, without what `query` adds.
    url: Url
    # What was appended to the url; an empty object when there was nothing.
    query: QueryMap
    # The job's own headers; empty when there were none.
    headers: HeaderMap
    body: SentBody


class OutgoingRequest(_OutgoingRequest, total=False):
    """A request as it went out, without the headers the service adds."""

    encoding: SentEncoding


class _TargetResponse(TypedDict):
    status: StatusCode
    headers: ResponseHeaders
    body: ResponseBody
    duration_ms: Milliseconds
    truncated: Truncated


class TargetResponse(_TargetResponse, total=False):
    """The final response of a target, after redirects."""

    encoding: Base64Marker
    withheld: WithheldMarker


class Failure(TypedDict):
    """Why an attempt failed."""

    # `status` for a response that is no success; the others as in the log.
    kind: Literal["status", "dns", "connect", "tls", "timeout", "closed", "protocol", "redirect", "blocked", "too_large", "secret", "group", "internal", "expired", "poisoned", "cancelled", "interrupted", "unstored", "answer", "abandoned"]
    message: Sentence


_RehearsalRequestOutagesItemRequired = TypedDict("_RehearsalRequestOutagesItemRequired", {
    "at": "When",
    "for": "Duration",
})


class RehearsalRequestOutagesItem(_RehearsalRequestOutagesItemRequired):
    pass


_RehearsalRequestOptional = TypedDict("_RehearsalRequestOptional", {
    "from": "Optional[When]",
    "to": "Optional[When]",
    "outages": "Optional[List[RehearsalRequestOutagesItem]]",
    "fail": "Optional[Dict[str, float]]",
    "duration": "Optional[Dict[str, Duration]]",
    "keys": "Optional[List[str]]",
    "schedules": "Optional[List[DocumentSchedule]]",
    "owner": "Optional[str]",
}, total=False)


class RehearsalRequest(_RehearsalRequestOptional):
    """What to rehearse. All members are optional."""



class RehearsalAnswer(TypedDict):
    """What schedules do."""

    data: RehearsalResult


class RehearsalResultBusiestItem(TypedDict):
    at: Instant
    runs: int


_RehearsalResultRequired = TypedDict("_RehearsalResultRequired", {
    "from": "Instant",
    "to": "Instant",
    "cut": "RehearsalCut",
    "schedules": "List[RehearsedSchedule]",
    "busiest": "List[RehearsalResultBusiestItem]",
    "findings": "List[Finding]",
})


class RehearsalResult(_RehearsalResultRequired):
    """What schedules do between two times."""



class RehearsalCutValue(TypedDict):
    at: Instant
    # There are more than 1,000,000 runs; retries and expired runs took too much work; there are more than 1,000 schedules.
    reason: Literal["runs", "work", "schedules"]


class RehearsedScheduleClockItem(TypedDict):
    at: Instant
    kind: Literal["gap", "double"]


class RehearsedScheduleLimited(TypedDict):
    """Attempts that limits delay, and for how long at most."""

    count: int
    longest_ms: int


class RehearsedScheduleEnds(TypedDict):
    at: Instant
    reason: Literal["ends_at", "max_runs", "failures"]


class RehearsedSchedule(TypedDict):
    """What one schedule does."""

    key: Optional[str]
    # Null for a schedule that is not stored.
    id: Optional[str]
    # It is disabled, so it does nothing.
    disabled: bool
    # Runs that start. Expired runs are none.
    runs: int
    # Runs that are discarded after their last attempt.
    failed: int
    # Runs that are discarded because it is too late to start them.
    expired: int
    # Runs that start after they are due, for another reason than a limit.
    late: int
    # Points of the grid that have no run of their own, as the event `worker.schedule.skipped` says.
    skipped: int
    # The due times of the first runs.
    first: List[Instant]
    # Changes of the zone's clock that skip readings of the expression (`gap`) or show them twice (`double`).
    clock: List[RehearsedScheduleClockItem]
    # Skipped points that passed while a run was under way.
    overlaps: int
    # Attempts that limits delay, and for how long at most.
    limited: RehearsedScheduleLimited
    # When the schedule ends, and why; null if it continues.
    ends: Optional[RehearsedScheduleEnds]


class Finding(TypedDict):
    """Something that you may want to change."""

    code: Literal["clock_gap", "clock_double", "never_runs", "leap_day_only", "either_day", "overlap", "may_overlap", "timeout", "expired", "limit_starves", "ends_by_failures", "ends_soon", "busy_minute"]
    # The key of the schedule; null if it has none, or if the finding is about all.
    key: Optional[str]
    # The time that it is about; null if it is about none.
    at: Optional[Instant]
    # A sentence, and the fix. The text may change with any version.
    message: str


class ComparisonAnswer(TypedDict):
    """How a change would change the runs of schedules in the next year."""

    data: Comparison


_ComparisonRequired = TypedDict("_ComparisonRequired", {
    "from": "Instant",
    "to": "Instant",
    "cut": "RehearsalCut",
    "schedules": "List[ComparedSchedule]",
    "findings": "List[Finding]",
})


class Comparison(_ComparisonRequired):
    """Schedules before and after a change."""



class ComparedScheduleDifferenceFirst(TypedDict):
    before: Optional[Instant]
    after: Optional[Instant]


class ComparedScheduleDifference(TypedDict):
    """How the due times of its runs differ."""

    # The first run that differs; null if none does.
    first: Optional[ComparedScheduleDifferenceFirst]
    # How many runs there are more.
    added: int
    # How many runs there are less.
    dropped: int
    # How many runs are due at another time.
    moved: int


class ComparedSchedule(TypedDict):
    """A schedule before and after a change."""

    key: Optional[str]
    result: Literal["created", "changed", "unchanged", "removed"]
    # What it does without the change; null if it is new.
    before: Optional[RehearsedSchedule]
    # What it does with the change; null if it is removed.
    after: Optional[RehearsedSchedule]
    # How the due times of its runs differ.
    difference: ComparedScheduleDifference


class _ScheduleDocument(TypedDict):
    # The schedules. Their keys must differ.
    schedules: List[DocumentSchedule]


class ScheduleDocument(_ScheduleDocument, total=False):
    """The schedules that an owner should have. Without `owner`, each schedule
    names its own, as the export of all schedules has it; such a document
    removes none, and its `ETag` is that of the schedules that it lists.
    """

    # A name for where the document is kept, such as a repository.
    owner: str
    # Remove schedules of the owner that are not listed, at most 1,000.
    prune: Optional[bool]
    # With `prune`, allow a document that lists no schedules.
    all: Optional[bool]
    # Respond with what would be done, and change nothing.
    dry_run: Optional[bool]


class _ExportedDocument(TypedDict):
    schedules: List[DocumentSchedule]


class ExportedDocument(_ExportedDocument, total=False):
    """A document as `POST /api/apply` takes it. If all schedules were exported, each has its `owner`."""

    owner: str


class _DocumentSchedule(TypedDict):
    # Names the schedule. It is the idempotency key of its runs.
    key: str


class DocumentSchedule(_DocumentSchedule, total=False):
    """A key, and the fields of a create request with `repeat_every` or `cron`,
    without `idempotency_key`.
    """

    # Who keeps the schedule; null for nobody. Required if the document has no
    # `owner`, else that of the document.
    owner: Optional[str]
    url: Url
    # A group of targets in place of `url`.
    group: Optional[GroupName]


_ApplyResultDiffItemRequired = TypedDict("_ApplyResultDiffItemRequired", {
    "path": "str",
    "from": "Any",
    "to": "Any",
})


class ApplyResultDiffItem(_ApplyResultDiffItemRequired):
    pass


class ApplyResult(TypedDict):
    """What applying a document did to a schedule."""

    key: str
    result: Literal["created", "changed", "unchanged", "removed"]
    # The fields that differ; empty for what is removed.
    diff: List[ApplyResultDiffItem]


class _Problem(TypedDict):
    # The kind of problem; `about:blank` when the status says it all.
    type: str
    # What went wrong, for programs. Codes are stable; new ones may be
    # added. 400 `unreadable_body`, `unreadable_request`, `no_handshake`; 401 `unauthorized`; 403 `forbidden`;
    # 404 `not_found`, `unknown_path`; 405 `method_not_allowed`; 408
    # `body_too_slow`; 409 `conflict`; 410 `gone`; 412 `stale_revision`;
    # 413 `body_too_large`; 415 `unsupported_media_type`; 417
    # `expectation_failed`; 421 `misdirected`; 422 `invalid_request`; 429
    # `rate_limited`, `quota_exceeded`, `too_much_at_once`,
    # `read_too_slow`; 431 `header_too_large`; 500 `internal`; 501
    # `not_implemented`; 503 `unavailable`; 505 `version_not_supported`.
    code: str
    # The status in words.
    title: str
    # The status of the response.
    status: int
    # What went wrong and what to do.
    detail: str


class Problem(_Problem, total=False):
    """What every error looks like (RFC 9457). `detail` is a sentence to act
    on; `errors` lists each thing found wrong with a request.
    """

    # Everything found wrong, up to the first 100 problems.
    errors: List[ProblemEntry]
    # How many problems were found beyond those in `errors`.
    more: int


class _ProblemEntry(TypedDict):
    # Completes the sentence that begins with the field.
    detail: str


class ProblemEntry(_ProblemEntry, total=False):
    """One thing found wrong, and where."""

    # The place in the body, as a JSON pointer in a URI fragment (RFC
    # 6901): `#/url`, `#/headers/host`, `#/schedule_in/1`. It has at most
    # 500 bytes: where it would be longer, it names what holds the place.
    pointer: str
    # The name of the query parameter.
    parameter: str


class JobAnswer(TypedDict):
    """A job's record under `data`."""

    data: JobRecord


class StoredJobAnswer(TypedDict):
    data: JobRecord


class _MinimalJob(TypedDict):
    id: Uuid
    job_id: int


class MinimalJob(_MinimalJob, total=False):
    """The ids of a job."""

    # The job existed already; the spelling is part of the contract.
    has_confict: Literal[True]


class GroupJobsAnswer(TypedDict):
    """The jobs of a request with a group, or their ids if the client prefers, in the order of the targets."""

    data: List[Union[MinimalJob, JobRecord]]


class MinimalJobAnswer(TypedDict):
    """A job's ids under `data`."""

    data: MinimalJob


class _After(TypedDict):
    # Jobs of yours: each by its `job_id`, its `id`, or `key:KEY`, which is the job
    # that holds this idempotency key when the call is made. Final ones count too.
    jobs: List[Union[int, str]]


class After(_After, total=False):
    """Jobs to wait for."""

    # `completed`: if one of the jobs is discarded or cancelled, this one is cancelled,
    # and its log `worker.job.orphaned` names the other. `final`: it starts however
    # they end.
    on: Optional[Literal["completed", "final"]]


class BatchThen(TypedDict):
    """Jobs, and one that waits until all of them are final."""

    jobs: List[JobRequest]
    # A one-off job. Its body, if that is an object or absent, gets
    # `"$batch": {"completed", "discarded", "cancelled", "failed_jobs"}`: how many of
    # the jobs have ended how, and the ids of the first 100 that were discarded. Items
    # whose key is held by an existing job count with that job.
    then: JobRequest


class _BatchAnswer(TypedDict):
    data: List[Union[MinimalJob, JobRecord]]


class BatchAnswer(_BatchAnswer, total=False):
    """The jobs of a batch under `data`, in the order sent."""

    # The job that waits for the others, if the batch has one.
    then: Union[MinimalJob, JobRecord]


class _BatchOutcomesDataItem(TypedDict):
    # The status that the call for a single job would have returned.
    status: Literal[200, 201, 409, 422, 429]


class BatchOutcomesDataItem(_BatchOutcomesDataItem, total=False):
    job: Union[MinimalJob, JobRecord]
    problem: Problem


class _BatchOutcomes(TypedDict):
    data: List[BatchOutcomesDataItem]


class BatchOutcomes(_BatchOutcomes, total=False):
    """What became of each item of a batch, in the order sent."""

    # The job that waits for the others, if the batch has one.
    then: Union[MinimalJob, JobRecord]


class JobList(TypedDict):
    """Jobs under `data`."""

    data: List[JobRecord]


class OperationFilter(TypedDict, total=False):
    """Which jobs; all members must match. A job that doesn't exist when the call is accepted is not selected."""

    # The state; `scheduled` selects `available` and `retryable` jobs.
    state: Optional[Literal["scheduled", "available", "executing", "retryable", "completed", "cancelled", "discarded"]]
    # Tags that the job must have, all of them.
    tags: Optional[Tags]
    # The schedule that created the job.
    schedule_id: UuidOrNull
    # The host name of the job's url, without the port.
    host: Optional[str]
    # The job's name, exactly.
    name: Optional[str]
    # The kind of failure of the job's latest attempt that has ended:
    # `timeout`, `connect`, `status` for a response that is no success, and
    # so on. A completed job has none.
    error_kind: Optional[str]
    # Jobs created at or after this time.
    since: Optional[Union[When, str]]
    # Jobs created before this time.
    until: Optional[Union[When, str]]


class _OperationRequest(TypedDict):
    action: OperationAction


class OperationRequest(_OperationRequest, total=False):
    """An operation on many jobs."""

    # Which jobs. One without any member selects every job and needs `all`.
    filter: Optional[OperationFilter]
    # For `rerun`, the fields of create that differ from the job's, except
    # `idempotency_key` and those of schedules. For `reschedule`,
    # `schedule_in` or `scheduled_at`. For both, `spread`: a duration over
    # which the due times are distributed evenly, from that time or from now
    # on. Times count from the call. At most 256 KiB.
    set: Optional[Dict[str, Any]]
    # Permits a filter that selects every job.
    all: Optional[bool]
    # Only count the jobs that match.
    dry_run: Optional[bool]


class OperationRecord(TypedDict):
    """An operation on many jobs, and how far it is."""

    id: Uuid
    action: OperationAction
    # The filter as sent; `{}` if there was none.
    filter: Dict[str, Any]
    # The set as sent.
    set: Optional[Dict[str, Any]]
    # Whether it still runs.
    state: Literal["running", "finished", "stopped"]
    # How many jobs match. While an operation runs, it may still be finding more.
    matched: int
    # How many jobs were changed.
    done: int
    # How many jobs could not be changed so, by reason: `final` it has
    # ended; `unfinished` it has not, and only a final job is rerun;
    # `started` its attempt has started; `retrying` it waits for a retry;
    # `has_rerun` it was rerun before; `invalid` it would not be valid with
    # `set`; `over_limit` a limit of the account; `removed` it was deleted by
    # then; `failed` the store can't change it.
    skipped: Dict[str, int]
    inserted_at: Instant
    finished_at: InstantOrNull


class OperationAnswer(TypedDict):
    """An operation under `data`."""

    data: OperationRecord


class OperationList(TypedDict):
    """Operations under `data`."""

    data: List[OperationRecord]


class OperationDryRunData(TypedDict):
    """The request, and how many jobs match."""

    action: OperationAction
    # The filter as sent.
    filter: Dict[str, Any]
    # The set as sent.
    set: Optional[Dict[str, Any]]
    # How many jobs match.
    matched: int


class _OperationDryRun(TypedDict):
    # The request, and how many jobs match.
    data: OperationDryRunData


class OperationDryRun(_OperationDryRun, total=False):
    """What an operation would find."""

    # Present if counting ended early; there may be more jobs.
    partial: Literal[True]


class CancelRequest(TypedDict):
    """Which jobs to cancel."""

    # Integer ids or UUIDs.
    job_ids: List[Union[int, str]]


class AttemptSummaryError(TypedDict):
    """Why it failed; null if it did not, or is under way."""

    # As in logs, and `status` for a response that is no success.
    kind: str
    # In words.
    message: str


class AttemptSummary(TypedDict):
    """An attempt of a job."""

    # Its number. An interrupted attempt has the same as the next.
    attempt: int
    started_at: Instant
    # How long it took; null while it is under way.
    duration_ms: Optional[float]
    # The status of the response; null without one.
    status: Optional[int]
    # Why it failed; null if it did not, or is under way.
    error: Optional[AttemptSummaryError]
    # When it was tried again; null if it was not.
    retry_at: Optional[Instant]


_JobDetailsAnswerDataPointsRequired = TypedDict("_JobDetailsAnswerDataPointsRequired", {
    "count": "int",
    "from": "Instant",
    "to": "Instant",
})


class JobDetailsAnswerDataPoints(_JobDetailsAnswerDataPointsRequired):
    """The points of the schedule's grid that the run stands for; null for a one-off job."""



class JobDetailsAnswerDataDeliveries(TypedDict):
    """The callbacks and webhook events of the job."""

    # How many are still to be delivered.
    pending: int
    # How many were given up.
    failed: int


class JobDetailsAnswerData(TypedDict):
    """The details."""

    job: JobRecord
    # How many definitions the job has had.
    revision: int
    # The latest, oldest first.
    attempts: List[AttemptSummary]
    # When the next attempt is due; null when the job is executing, final or waits for other jobs.
    next_attempt_at: Optional[Instant]
    # What the job waits for at this moment: the keys of limits, and `job:ID` for
    # the first hundred of the jobs that it is to start `after`.
    waiting_for: List[str]
    # The `job_id` of the job that this one repeats.
    rerun_of: Optional[int]
    # The `job_id`s of the jobs that repeat this one, newest first.
    reruns: List[int]
    # The `job_id`s of the jobs that a run with a group became, in the order of the targets.
    children: List[int]
    # The `job_id` of the run that became this job.
    parent: Optional[int]
    # For a job whose outcome is reported later; null otherwise.
    completion: Optional[CompletionState]
    # The points of the schedule's grid that the run stands for; null for a one-off job.
    points: Optional[JobDetailsAnswerDataPoints]
    # The callbacks and webhook events of the job.
    deliveries: JobDetailsAnswerDataDeliveries


class JobDetailsAnswer(TypedDict):
    """The details of a job."""

    # The details.
    data: JobDetailsAnswerData


class _ScheduleDetailsAnswerData(TypedDict):
    schedule: ScheduleRecord
    # How many definitions the schedule has had.
    revision: int
    # When the next run is due; null when the schedule is disabled.
    next_run_at: Optional[Instant]
    # The next due times.
    next: List[Instant]
    # The latest run that is final; null if there is none.
    last_run: Optional[JobRecord]
    # How many of the latest runs were discarded since the last that was completed. Cancelled runs don't count.
    failures_in_a_row: int
    # How many runs remain; null unless their number is limited.
    runs_left: Optional[int]


class ScheduleDetailsAnswerData(_ScheduleDetailsAnswerData, total=False):
    """The details."""

    # The mute in force, with `include=mute`; null if the schedule is not muted.
    mute: Optional[Mute]


class ScheduleDetailsAnswer(TypedDict):
    """The details of a schedule."""

    # The details.
    data: ScheduleDetailsAnswerData


class Mute(TypedDict):
    """Alerts send no failures of a muted schedule."""

    # When the mute ends; null if only `DELETE` ends it.
    until: Optional[Union[Instant, Literal["recovered"]]]
    # Why.
    note: Optional[str]
    muted_at: Instant


class NewMute(TypedDict, total=False):
    """Until when a schedule is muted."""

    # A time with its offset, in the future and at most a year ahead; `recovered`
    # for the next success of the schedule; or null for a mute that only `DELETE`
    # ends.
    until: Optional[Union[str, Literal["recovered"]]]
    # Why, up to 500 characters.
    note: Optional[str]


class MuteAnswer(TypedDict):
    """A mute."""

    data: Mute


class RevisionsAnswerDataItemBy(TypedDict):
    """Who made it."""

    # An API key, the public key, a signed-in user, an operator, or the service itself.
    kind: Literal["key", "public", "session", "operator", "system"]
    # The id of the key or the account.
    id: Optional[str]
    # The name of the key or the user's email, as it was then.
    name: Optional[str]


_RevisionsAnswerDataItemChangesItemRequired = TypedDict("_RevisionsAnswerDataItemChangesItemRequired", {
    "path": "str",
    "from": "AnyValue",
    "to": "AnyValue",
})


class RevisionsAnswerDataItemChangesItem(_RevisionsAnswerDataItemChangesItemRequired):
    """A field."""



class RevisionsAnswerDataItem(TypedDict):
    """An edit."""

    # The revision that it made.
    revision: int
    changed_at: Instant
    # Who made it.
    by: RevisionsAnswerDataItemBy
    # The fields that changed.
    changes: List[RevisionsAnswerDataItemChangesItem]


class RevisionsAnswer(TypedDict):
    """The edits of a record."""

    # The latest first.
    data: List[RevisionsAnswerDataItem]


class StateAnswerData(TypedDict):
    """The state and the last response."""

    # The `$state`; `{}` when there is none.
    state: Dict[str, Any]
    # The `$previous`, of any type; null when there is none.
    previous: Any


class StateAnswer(TypedDict):
    """What a schedule's runs share."""

    # The state and the last response.
    data: StateAnswerData


class PreviewData(TypedDict):
    """In words, and as times."""

    # How often, for people. The text may change with any version.
    words: str
    # The next five due times; of a one-off job one.
    next: List[Instant]


class Preview(TypedDict):
    """When a job would run."""

    # In words, and as times.
    data: PreviewData


class JobCountsData(TypedDict):
    """A count for every state, from 0 to `limit`."""

    available: Count
    executing: Count
    retryable: Count
    completed: Count
    cancelled: Count
    discarded: Count


class _JobCounts(TypedDict):
    # A count for every state, from 0 to `limit`.
    data: JobCountsData
    # Up to which number each state is counted.
    limit: int


class JobCounts(_JobCounts, total=False):
    """How many jobs are in each state."""

    # Counting ended early. Absent otherwise.
    partial: Literal[True]


class ScheduleAnswer(TypedDict):
    """A schedule's record under `data`."""

    data: ScheduleRecord


class ScheduleList(TypedDict):
    """Schedules under `data`."""

    data: List[ListedSchedule]


class LogAnswer(TypedDict):
    """A log entry under `data`."""

    data: LogRecord


class LogList(TypedDict):
    """Log entries under `data`."""

    data: List[LogRecord]


class _AlertRequest(TypedDict):
    # What is reported. `failed`: `after` discarded runs of a schedule in a
    # row, or discarded one-off jobs; one that a success has overtaken is not
    # sent. `recovered`: the first success after a `failed` was sent, or
    # without `failed` the first after `after` such failures. `late`: a job
    # hasn't started `late_by` after its due time. `skipped`: a schedule has
    # passed over due times. `ended`: a schedule has ended with its last run.
    on: List[Literal["failed", "recovered", "late", "skipped", "ended"]]
    to: List[AlertReceiver]


class AlertRequest(_AlertRequest, total=False):
    """The definition of an alert."""

    # How many failures in a row are reported.
    after: Optional[int]
    # How late a job is that is reported; at least a second, a minute unless given.
    late_by: Optional[Duration]
    match: Optional[AlertMatch]
    # How often a reminder is sent while it lasts; at least a second, none unless given.
    remind_every: Optional[Duration]


class AlertMatch(TypedDict, total=False):
    """Which jobs the alert watches: those that have all of the tags, the runs of
    a schedule, or both. An empty object watches all.
    """

    tags: Optional[List[Tag]]
    schedule_id: UuidOrNull


class AlertReceiver(TypedDict, total=False):
    """Where the alert sends messages: one of the members. A `webhook` gets JSON; `slack` is the
    URL of an incoming webhook of Slack, `teams` of a Workflows webhook of Microsoft
    Teams; `pagerduty` is an integration key of PagerDuty's Events API v2, or the URL
    of such an API with `routing_key`; `email` needs `--smtp-url`.
    """

    webhook: Url
    slack: Url
    teams: Url
    pagerduty: str
    email: str


class Alert(TypedDict):
    """An alert with its definition, and defaults for what was not given."""

    name: str
    on: List[Literal["failed", "recovered", "late", "skipped", "ended"]]
    after: int
    late_by: Duration
    match: AlertMatch
    to: List[AlertReceiver]
    remind_every: Optional[Duration]
    inserted_at: Instant
    updated_at: Instant


class AlertAnswer(TypedDict):
    """One alert."""

    data: Alert


class AlertList(TypedDict):
    """A list of alerts."""

    data: List[Alert]


class AlertTestAnswerDataResultsItem(TypedDict):
    to: AlertReceiver
    # The status of the response; 250 for an e-mail that the mail server has taken.
    status: Optional[int]
    # The beginning of the response's body, at most 300 bytes.
    response: Optional[str]
    # Why there was no response.
    error: Optional[Failure]
    duration_ms: float


class AlertTestAnswerData(TypedDict):
    alert: str
    results: List[AlertTestAnswerDataResultsItem]


class AlertTestAnswer(TypedDict):
    """What the receivers of an alert said to a test."""

    data: AlertTestAnswerData


class _AlertMessageData(TypedDict):
    # The alert's name.
    alert: str
    # The schedule; null for one-off jobs.
    schedule: UuidOrNull
    # The integer id of the job.
    job: Optional[int]
    # Failures in a row; 0 unless the type is `alert.failed`.
    failures: int
    # The status of the response to the last attempt.
    status: Optional[int]
    error: Optional[Failure]
    # The beginning of the response's body, at most 300 bytes.
    excerpt: Optional[str]
    # The job's `url`.
    url: Optional[str]


class AlertMessageData(_AlertMessageData, total=False):
    # Of `alert.ended` only. Why the schedule has ended, as in the log `worker.schedule.ended`.
    reason: str
    # Of `alert.merged` only. How many messages it stands for, by type.
    merged: Dict[str, int]


class AlertMessage(TypedDict):
    """What an alert sends to a webhook. It never has request headers or bodies."""

    type: Literal["alert.failed", "alert.recovered", "alert.late", "alert.skipped", "alert.ended", "alert.merged", "alert.test"]
    timestamp: Instant
    data: AlertMessageData


class AlertFailedPayload(TypedDict):
    """`worker.alert.failed`: a message of an alert was given up."""

    # The receiver; `mailto:` and the address for an e-mail.
    url: str
    # The type of the message.
    type: str
    attempts: int
    response: Optional[LastResponse]
    error: Optional[Failure]


class Broadcast(TypedDict, total=False):
    """Any object; three keys are strings if they are there."""

    # What is said.
    content: Optional[str]
    # Who says it.
    author: Optional[str]
    # Where it is said.
    channel: Optional[str]


class Health(TypedDict):
    """All is well."""

    # Always `ok`.
    status: Literal["ok"]


class AccountAnswerDataLimits(TypedDict):
    """What the account may use. Null is unlimited."""

    # How many calls a second the account may make on each node of
    # the service. A second's worth may come at once.
    calls_per_second: Optional[float]
    # How many unfinished one-off jobs there may be. Runs of schedules don't count.
    pending_jobs: Optional[int]
    # How many schedules there may be, disabled ones included.
    schedules: Optional[int]
    # How many bytes the account's records may take up.
    stored_bytes: Optional[int]
    # How many keys that are not revoked there may be.
    keys: int
    # How large a request's body may be.
    body_bytes: int


class AccountAnswerDataUsage(TypedDict):
    """What the account uses of its limits."""

    # Counted up to 1,000, or up to the limit when that is higher.
    pending_jobs: int
    # Counted up to 1,000, or up to the limit when that is higher.
    schedules: int
    # As sampled. Null when it is not limited, or not sampled yet.
    stored_bytes: Optional[int]
    # When `stored_bytes` was sampled. Null when it was not.
    sampled_at: Optional[KeyTime]


class AccountAnswerData(TypedDict):
    # The `user_id` of the account's records.
    id: Uuid
    email: str
    # What the account may use. Null is unlimited.
    limits: AccountAnswerDataLimits
    # What the account uses of its limits.
    usage: AccountAnswerDataUsage
    # How long final jobs and logs are kept; null is forever.
    retention_seconds: Optional[int]
    # The public keys of the signatures `v1a`, newest first: one for each signing secret. Empty while none can be decrypted.
    signing_public_keys: List[str]


class AccountAnswer(TypedDict):
    """An account, without its keys and secrets."""

    data: AccountAnswerData


class ApiKey(TypedDict):
    """A key as it is listed, without the key itself."""

    id: Uuid
    name: str
    # What the key begins with.
    prefix: str
    scope: Scope
    # The networks it can be used from; none for any.
    cidrs: List[str]
    created_at: KeyTime
    # From when on it does not work. Null for never.
    expires_at: Optional[KeyTime]
    # Exact to half a minute. Null when it was never used.
    last_used_at: Optional[KeyTime]
    # Null when it was not revoked.
    revoked_at: Optional[KeyTime]
    # Who made the key: a person's email, or what the key begins with that made it.
    # Null for the command line, and if it isn't known.
    created_by: Optional[str]


class NewApiKey(TypedDict, total=False):
    """What a new key is to be."""

    # What the key is for.
    name: Optional[str]
    # What it permits; `admin` when it is not given.
    scope: Optional[Scope]
    # From when on it does not work, in the notations of `scheduled_at`;
    # ahead, by at most 100 years. Never when it is not given.
    expires_at: Optional[str]
    # Networks and single addresses it can be used from; any when there are none.
    cidrs: Optional[List[str]]


class AuditEntryActor(TypedDict):
    """Who did it."""

    # `key` (a call of the API), `session` (the dashboard), `cli` (the
    # command line on the service's machine), `operator` (an operator
    # in the dashboard) or `nobody` (whoever tried to sign in, or anyone
    # in the account of the public key).
    kind: Literal["key", "session", "cli", "operator", "nobody"]
    # The prefix of the key, or the operator's email.
    name: Optional[str]


class AuditEntry(TypedDict):
    """An entry of the audit log."""

    id: Uuid
    # When it happened first.
    inserted_at: KeyTime
    # What happened, such as `signin.succeeded`, `signin.failed`,
    # `signout`, `session.ended`, `identity.added`,
    # `identity.removed`, `email.confirmed`, `email.change_asked`,
    # `email.changed`, `key.created`, `key.revoked`,
    # `secret.rotated`, `token_keys.rotated`, `header_secret.created`, `header_secret.changed`,
    # `header_secret.deleted`, `password.changed`, `password.failed`,
    # `totp.enabled`, `totp.disabled`, `totp.reset`,
    # `totp.recovery_used`, `totp.recovery_replaced`, `account.created`,
    # `account.operator`, `alert.created`, `alert.changed`,
    # `alert.deleted`, `limit.created`, `limit.changed`,
    # `limit.deleted`, `schedule.disabled`, `schedule.enabled`,
    # `schedule.deleted`, `schedule.muted`, `schedule.unmuted`, `document.applied`, `operation.started`,
    # `operation.stopped`. Others may be added.
    event: str
    # Who did it.
    actor: AuditEntryActor
    # The client's network address, the latest one when it happened more than once.
    address: Optional[str]
    # More about it, in words.
    detail: Optional[str]
    # How often it happened.
    count: int
    # When it happened last.
    last_at: KeyTime


class AuditList(TypedDict):
    """Entries of the audit log, the latest first."""

    data: List[AuditEntry]


class Member(TypedDict):
    """A person in an account, or an invitation."""

    id: Uuid
    email: str
    role: Role
    # `invited` until the invitation is accepted.
    state: Literal["member", "invited"]


class MemberList(TypedDict):
    """Persons and invitations, ordered by email."""

    data: List[Member]


class MemberAnswer(TypedDict):
    """A person or invitation."""

    data: Member


class InvitationAnswerData(TypedDict):
    id: Uuid
    email: str
    role: Role
    # `invited` until the invitation is accepted.
    state: Literal["member", "invited"]
    # The page where the person accepts, shown this once.
    link: str


class InvitationAnswer(TypedDict):
    """An invitation with its link."""

    data: InvitationAnswerData


class NewMember(TypedDict):
    """Whom to invite."""

    # The email that the person signs in with.
    email: str
    role: Role


class MemberChange(TypedDict):
    """The new role of a person or an invitation."""

    role: Role


class KeyList(TypedDict):
    """Keys in the order they were made."""

    data: List[ApiKey]


class KeyAnswerData(TypedDict):
    id: Uuid
    name: str
    # What the key begins with.
    prefix: str
    scope: Scope
    # The networks it can be used from; none for any.
    cidrs: List[str]
    created_at: KeyTime
    # From when on it does not work. Null for never.
    expires_at: Optional[KeyTime]
    # Exact to half a minute. Null when it was never used.
    last_used_at: Optional[KeyTime]
    # Null when it was not revoked.
    revoked_at: Optional[KeyTime]
    # Who made the key: a person's email, or what the key begins with that made it.
    # Null for the command line, and if it isn't known.
    created_by: Optional[str]
    # The key itself, shown this once.
    key: str


class KeyAnswer(TypedDict):
    """A new key."""

    data: KeyAnswerData


class _HeaderSecret(TypedDict):
    name: str
    hosts: SecretHosts
    created_at: KeyTime
    updated_at: KeyTime


class HeaderSecret(_HeaderSecret, total=False):
    """A secret that jobs can name, without its value."""

    # There for secrets that `auth.mtls` and `auth.aws` name; not for header
    # values, and not if it can't be decrypted.
    kind: Literal["certificate", "access_key"]
    # There, and true, if targets of http may receive the secret, too.
    http: Literal[True]


class _NewHeaderSecretOauth2(TypedDict):
    token_url: Url
    client_id: str
    client_secret: str


class NewHeaderSecretOauth2(_NewHeaderSecretOauth2, total=False):
    """OAuth2 client credentials (RFC 6749, section 4.4). A token is fetched
    when one is needed, used until a minute before it ends, and fetched
    once more when a target responds with 401; that request is repeated
    once.
    """

    scope: Optional[str]


class _NewHeaderSecret(TypedDict):
    hosts: SecretHosts


class NewHeaderSecret(_NewHeaderSecret, total=False):
    """A secret to store: `value` or `oauth2` for headers, `certificate` and
    `private_key` for `auth.mtls`, or `access_key_id` and `secret_access_key` for
    `auth.aws`.
    """

    # What replaces the placeholder. Visible ASCII and spaces.
    value: Optional[str]
    # A client certificate in PEM, followed by those that lead to its authority,
    # 8 at most.
    certificate: Optional[str]
    # The private key of the certificate in PEM, not encrypted.
    private_key: Optional[str]
    access_key_id: Optional[str]
    secret_access_key: Optional[str]
    # For an access key that lasts for a time only.
    session_token: Optional[str]
    # Whether targets of `http` may receive the secret, too. Anybody on the way to
    # them can read it.
    http: Optional[bool]
    # OAuth2 client credentials (RFC 6749, section 4.4). A token is fetched
    # when one is needed, used until a minute before it ends, and fetched
    # once more when a target responds with 401; that request is repeated
    # once.
    oauth2: Optional[NewHeaderSecretOauth2]


class HeaderSecretAnswer(TypedDict):
    """A secret."""

    data: HeaderSecret


class _Target(TypedDict):
    # Its name, which no other target of the group has.
    name: GroupName
    # Where the request goes.
    url: Url


class Target(_Target, total=False):
    """A target of a group."""

    # Headers for this target. They win over the job's of the same names.
    headers: Optional[HeaderMap]


class NewGroup(TypedDict):
    """The targets of a group."""

    # The targets, in the order of their jobs.
    targets: List[Target]


class Group(TypedDict):
    """A group of targets."""

    name: GroupName
    # The targets, as sent.
    targets: List[Target]
    inserted_at: Instant
    updated_at: Instant
    # A number that rises with each change, and when a group is created again
    # after it was deleted. As a tag it is the `ETag`.
    revision: int


class GroupAnswer(TypedDict):
    """A group."""

    data: Group


class GroupList(TypedDict):
    """The account's groups, ordered by name."""

    data: List[Group]


class Run(TypedDict):
    """A workflow run."""

    # The id, unique within the account.
    id: str
    # The address of the workflow's route.
    url: str
    state: RunState
    # The labels that it was started with.
    labels: List[str]
    # When it was started.
    inserted_at: str
    # When it ended.
    ended_at: Optional[str]
    # Why it failed, if no response says so.
    error: Optional[str]
    # The job whose end has failed it.
    failed_job: Optional[str]
    # The run that waits for its end.
    invoked_by: Optional[str]
    # The failed run that it resumes or restarts.
    repeats: Optional[str]
    # How many records of steps there are.
    records: int


class RunStep(TypedDict):
    """A record of a step. A step in parallel has a `plan` before its `result`; a call to
    a third party, a wait for an event and an invocation have records of their own
    before their `result`.
    """

    # The number of the step within the run; 0 is the payload.
    step: int
    # What the record is.
    kind: Literal["payload", "plan", "result", "call", "wait", "invoke", "event"]
    # The name of the step.
    name: str
    # The type of the step as the SDK names it, such as `Run` or `SleepFor`.
    type: str
    # How many steps run in parallel with it, itself included.
    concurrent: int
    # When the record was stored. For a result, that is the end of the step.
    inserted_at: str
    # When its message is due, which is the end of a sleep.
    due_at: Optional[str]
    # Whether what its message was to do is done.
    settled: bool
    # The event that a wait is for, or the run that an invocation is for.
    waits_for: Optional[str]
    # The job that carries its message; it may have been removed.
    job: Optional[str]


class RunWithSteps(TypedDict):
    # The id, unique within the account.
    id: str
    # The address of the workflow's route.
    url: str
    state: RunState
    # The labels that it was started with.
    labels: List[str]
    # When it was started.
    inserted_at: str
    # When it ended.
    ended_at: Optional[str]
    # Why it failed, if no response says so.
    error: Optional[str]
    # The job whose end has failed it.
    failed_job: Optional[str]
    # The run that waits for its end.
    invoked_by: Optional[str]
    # The failed run that it resumes or restarts.
    repeats: Optional[str]
    # How many records of steps there are.
    records: int
    # The first 1,000 records of steps, in the order in which they were stored.
    steps: List[RunStep]


class RunAnswer(TypedDict):
    """A workflow run."""

    data: RunWithSteps


class RunList(TypedDict):
    """The account's workflow runs, latest first."""

    data: List[Run]


class NewLimitRate(TypedDict):
    # How many attempts. To permit none, set `paused`.
    calls: int
    # The window's length, from a millisecond to 31 days.
    per: Duration


class NewLimit(TypedDict, total=False):
    """A limit for receivers."""

    # How many attempts may start in any window of a length; null for no rate.
    rate: Optional[NewLimitRate]
    # How many attempts may be under way at once; null for any number.
    parallel: Optional[int]
    # Whether attempts start in the order of their jobs' due times, then of their
    # creation. A job that waits for a retry keeps its place of `parallel` until it
    # is final. A limit with a key that begins with `host:` can't be ordered.
    ordered: Optional[bool]
    # While true, no attempt that needs the limit starts.
    paused: Optional[bool]


class LimitRate(TypedDict):
    # How many attempts.
    calls: int
    # The window's length in seconds.
    per: float


class Limit(TypedDict):
    """A limit for receivers."""

    # What jobs name it by.
    key: str
    # How many attempts may start in any window of a length; null for no rate.
    rate: Optional[LimitRate]
    # How many attempts may be under way at once; null for any number.
    parallel: Optional[int]
    # Whether attempts start in the order of their jobs' due times, then of their creation.
    ordered: bool
    # Whether no attempt that needs the limit may start.
    paused: bool


class LimitAnswer(TypedDict):
    """A limit."""

    data: Limit


class LimitList(TypedDict):
    """The account's limits, ordered by key."""

    data: List[Limit]


class LimitUseAnswerDataRate(TypedDict):
    # How many attempts.
    calls: int
    # The window's length in seconds.
    per: float


class LimitUseAnswerDataFirst(TypedDict):
    # The job.
    job_id: int
    # What it waits for at this moment; empty if it is not due.
    waiting_for: List[str]


class LimitUseAnswerData(TypedDict):
    # What jobs name it by.
    key: str
    # How many attempts may start in any window of a length; null for no rate.
    rate: Optional[LimitUseAnswerDataRate]
    # How many attempts may be under way at once; null for any number.
    parallel: Optional[int]
    # Whether attempts start in the order of their jobs' due times, then of their creation.
    ordered: bool
    # Whether no attempt that needs the limit may start.
    paused: bool
    # How many due jobs wait in its line, up to 100,000.
    waiting: int
    # How many attempts are granted or under way, up to 100,000.
    in_flight: int
    # When the next attempt may start; null while it is paused or `parallel` attempts are under way.
    next_at: Optional[KeyTime]
    # The first job that waits in an ordered limit, due or not; null if none does, or if the limit is not ordered.
    first: Optional[LimitUseAnswerDataFirst]


class LimitUseAnswer(TypedDict):
    """A limit and its use."""

    data: LimitUseAnswerData


class HeaderSecretList(TypedDict):
    """The account's secrets, ordered by name."""

    data: List[HeaderSecret]


class SecretListDataItem(TypedDict):
    # Null if it is encrypted with a key that the service does not have.
    secret: Optional[str]
    created_at: KeyTime
    # Until when it signs. Null for the newest.
    expires_at: Optional[KeyTime]


class SecretList(TypedDict):
    """Signing secrets, newest first."""

    data: List[SecretListDataItem]


class StatsResponseDataItem(TypedDict):
    runs: int
    succeeded: int
    failed: int
    # How long after their due times runs began.
    lateness_ms: Percentiles
    # How long attempts took.
    duration_ms: Percentiles
    # When the minute began.
    minute: KeyTime


class StatsResponse(TypedDict):
    """Statistics by minute, and all together."""

    data: List[StatsResponseDataItem]
    total: RunStats


class PunctualityAnswerData(TypedDict):
    # When this was computed.
    at: KeyTime
    hour: Lateness
    day: Lateness
    week: Lateness


class PunctualityAnswer(TypedDict):
    """How late the jobs of all accounts began."""

    data: PunctualityAnswerData


class SchedulePunctualityAnswerDataMissed(TypedDict):
    """How many points of the grid had no run, by reason, as in logs of the event
    `worker.schedule.skipped`. Those with the reason `next` were passed over
    because a response asked for that; they were not due.
    """

    down: int
    overlap: int
    limit: int
    expired: int
    next: int


class SchedulePunctualityAnswerData(TypedDict):
    schedule_id: str
    # The month in UTC, such as 2026-11.
    month: str
    # Whether all final runs are counted.
    complete: bool
    # How many runs were due.
    due: int
    # How many runs were attempted.
    made: int
    completed: int
    # How many runs were discarded.
    failed: int
    cancelled: int
    # How many runs began more than `late_after_ms` after their due time.
    late: int
    # How many points of the grid had no run, by reason, as in logs of the event
    # `worker.schedule.skipped`. Those with the reason `next` were passed over
    # because a response asked for that; they were not due.
    missed: SchedulePunctualityAnswerDataMissed
    # The lateness in milliseconds above which a run counts as late.
    late_after_ms: int
    lateness_ms: LatenessFigures
    # The longest outages, in order of their first runs.
    outages: List[ScheduleOutage]
    # How many shorter outages are not listed.
    outages_omitted: int


class SchedulePunctualityAnswer(TypedDict):
    """How punctual a schedule was in a month."""

    data: SchedulePunctualityAnswerData


_ScheduleOutageRequired = TypedDict("_ScheduleOutageRequired", {
    "reason": "Literal['service', 'target']",
    "from": "KeyTime",
    "to": "KeyTime",
    "runs": "int",
})


class ScheduleOutage(_ScheduleOutageRequired):
    """A time without successful runs."""



class Lateness(TypedDict):
    """How late the attempts began that ended since a time."""

    # From when on attempts count.
    since: KeyTime
    attempts: int
    lateness_ms: LatenessFigures


class LatenessFigures(TypedDict):
    """Milliseconds; null when there were no attempts."""

    # The median.
    p50: Optional[float]
    # The 99th percentile.
    p99: Optional[float]
    # The 99.9th percentile.
    p999: Optional[float]
    worst: Optional[float]


class RunStats(TypedDict):
    """How many runs there were and how they went."""

    runs: int
    succeeded: int
    failed: int
    # How long after their due times runs began.
    lateness_ms: Percentiles
    # How long attempts took.
    duration_ms: Percentiles


class Percentiles(TypedDict):
    """Milliseconds; null when there were no runs."""

    p50: Optional[float]
    p99: Optional[float]


_ChangesOptional = TypedDict("_ChangesOptional", {
    "group": "Optional[GroupName]",
    "url": "Url",
    "method": "Optional[Literal['get', 'GET', 'post', 'POST', 'put', 'PUT', 'patch', 'PATCH', 'delete', 'DELETE']]",
    "query": "Optional[QueryMap]",
    "headers": "Optional[HeaderMap]",
    "body": "Any",
    "body_base64": "Optional[Union[Base64, Literal['[redacted]']]]",
    "redact": "Optional[Redact]",
    "schedule_in": "Optional[Duration]",
    "scheduled_at": "Optional[When]",
    "repeat_every": "Optional[Interval]",
    "cron": "Optional[Cron]",
    "timezone": "Optional[Timezone]",
    "tags": "Optional[Tags]",
    "request_id": "Optional[str]",
    "on_conflict": "Optional[Literal['return', 'refuse', 'replace', 'debounce']]",
    "max_wait": "Optional[Duration]",
    "throttle": "Optional[Duration]",
    "callback_url": "Optional[Url]",
    "callback_on": "Optional[Literal['final', 'failure', 'success']]",
    "webhook_url": "Optional[Url]",
    "name": "Optional[str]",
    "description": "Optional[str]",
    "retries": "Optional[int]",
    "timeout": "Optional[float]",
    "success": "Optional[StatusList]",
    "no_retry": "Optional[FailureList]",
    "backoff": "Optional[WaitList]",
    "retry_delay": "Optional[str]",
    "dialect": "Optional[Dialect]",
    "limits": "Optional[LimitKeys]",
    "completion": "Optional[Completion]",
    "after": "Optional[After]",
    "auth": "Optional[Auth]",
    "expires_in": "Optional[Duration]",
    "catch_up": "Optional[Literal['one', 'none', 'all']]",
    "ends_at": "Optional[When]",
    "max_runs": "Optional[int]",
    "disable_after": "Optional[int]",
    "jitter": "Optional[Duration]",
    "offset": "Optional[Duration]",
    "except": "Optional[DateList]",
    "metadata": "Optional[bool]",
}, total=False)


class Changes(_ChangesOptional):
    """Fields to change; None removes one, what is absent stays."""



# A unit of time.
Unit = Literal["second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks"]

# A text of a compatible API that the service keeps with a job and returns there unchanged.
DialectText = str

# Dates and ranges of dates, at most 366.
DateList = List[str]

# A status from 100 to 599, or a class of a hundred of them.
StatusOrClass = Union[int, str]

# Statuses and classes of them, 1 to 100.
StatusList = List[StatusOrClass]

# Statuses, classes of them and error kinds, at most 100.
FailureList = List[Union[StatusOrClass, Literal["dns", "connect", "tls", "timeout", "closed", "protocol", "redirect", "blocked", "too_large", "secret", "group", "cancelled", "interrupted", "internal", "status", "expired", "answer", "abandoned"]]]

# Keys of limits, up to 3.
LimitKeys = List[str]

# `available` waits for its time, `executing` is under way, `retryable`
# waits for the next attempt; `completed`, `cancelled` and `discarded` are
# final.
JobState = Literal["available", "executing", "retryable", "completed", "cancelled", "discarded"]

# One step in the life of a job. The `event` says what `payload` holds.
LogRecord = Union[LogRecord1, LogRecord2, LogRecord3, LogRecord4, LogRecord5, LogRecord6, LogRecord7, LogRecord8, LogRecord9, LogRecord10, LogRecord11]

# The last response of the receiver; null if there was none.
LastResponse = Optional[LastResponseValue]

# Why the answer ends early; null if it is complete. It is complete for all schedules up to `at`.
RehearsalCut = Optional[RehearsalCutValue]

# What to do with each job, as the call for one job does it: `cancel` an
# unfinished one, `rerun` a final one that was not rerun before, `run` a
# pending one now, `reschedule` one that waits for its first attempt.
OperationAction = Literal["cancel", "rerun", "run", "reschedule"]

# An integer `job_id`, a UUID, or an idempotency key after `key:`.
JobInPath = str

# A UUID, or an idempotency key after `key:`.
ScheduleInPath = str

# An integer `job_id` or a UUID.
JobIdText = str

# Any JSON value.
AnyValue = Optional[Union[Dict[str, Any], List[Any], str, float, bool]]

# A letter `a` to `z` or a digit, then up to 63 of these and of `:._-`.
Tag = str

# Up to 10 different tags.
Tags = List[Tag]

# A number of jobs.
Count = int

# A UUID in lower case.
Uuid = str

# A UUID in lower case, or null.
UuidOrNull = Optional[str]

# A moment in UTC, with six fractional digits and `Z`.
Instant = str

# A moment in UTC, with six fractional digits and `Z`; or null.
InstantOrNull = Optional[str]

# A moment in UTC to the second, without a zone designator.
LocalSeconds = str

# An absolute https URL; http if the operator permits it.
Url = str

# A method, in lower case.
Method = Literal["get", "post", "put", "patch", "delete"]

# One value of a header, without control characters.
HeaderValue = Union[str, float, bool]

# Headers by name. An array sends the header once for each value.
HeaderMap = Dict[str, Union[HeaderValue, List[HeaderValue]]]

# Parameters by name, or a ready query string.
QueryMap = Union[Dict[str, Any], str]

# A scalar, an array of scalars, or an object of such values.
QueryValue = Any

# A string, a number, a boolean or null.
QueryScalar = Optional[Union[str, float, bool]]

# A number of seconds, up to 3,652 days. Fractions are fine.
Seconds = float

# An amount, fractions included, and `second`, `minute`, `hour`, `day` or
# `week`, singular or plural.
AmountAndUnit = Sequence[Union[int, float, Unit]]

# Seconds, or an amount and a unit.
Duration = Union[int, float, timedelta, AmountAndUnit]

# Waits, 1 to 20, each from 1 second to 24 hours.
WaitList = List[Duration]

# Seconds, at least one, or an amount and a unit.
Interval = Union[int, float, timedelta, AmountAndUnit]

# A timestamp, a date, or unix seconds.
When = Union[str, int, float, datetime]

# Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
Cron = str

# The IANA name of a zone.
Timezone = str

# The status of the response.
StatusCode = int

# Headers by name; several values of one name are joined with a comma and a space.
ResponseHeaders = Dict[str, str]

# The JSON value if the response declares JSON and is valid; else a string;
# else, when that is not UTF-8, base64. At most 256 KiB are kept.
ResponseBody = Any

# Standard base64 with padding, without line breaks.
Base64 = str

# What is sent but never shown of the request, `body`, `headers` or `header:NAME`, and of the `response`.
Redact = List[str]

# The body; null when there was none. Bytes of `body_base64` are shown as a
# string if they are UTF-8, else as base64.
SentBody = Any

# There when `body` is base64: the bytes of `body_base64` are not UTF-8, or
# escaping would lengthen them by more than half as a JSON string.
SentEncoding = Literal["base64"]

# There when `body` is base64: the response's body is not UTF-8, or it is text
# that escaping would make longer than 384 KiB as a JSON string.
Base64Marker = Literal["base64"]

# There when `body` is null because it is not kept: the request had secrets or
# `X-Punctual-Complete`, and the response a content coding or charset in which these can't
# be masked.
WithheldMarker = Literal[True]

# Whether the body was longer than what is kept.
Truncated = bool

# How long the attempt took, in milliseconds.
Milliseconds = float

# Which attempt it was, counted from 1.
Attempt = int

# What went wrong, for people.
Sentence = str

# A time in UTC, with six digits of a second.
KeyTime = str

# What a key permits. Each scope includes those before it.
Scope = Literal["read", "jobs", "admin"]

# What a person may do in an account. Each role includes those before it: `viewer`
# sees jobs, schedules and logs, `editor` changes jobs and schedules, `admin` also
# keys, secrets and people, and `owner` also owners and the account itself.
Role = Literal["viewer", "editor", "admin", "owner"]

# The hosts that may receive the secret: names in lower case, or addresses,
# without ports.
SecretHosts = List[str]

# The name of a group of targets.
GroupName = str

# The state of a workflow run. One that is `waiting` makes no request until a sleep
# ends, an event arrives or another run ends.
RunState = Literal["started", "waiting", "succeeded", "failed", "cancelled"]
