// Written by scripts/generate.mjs from api/openapi.json. Do not edit.

/** A unit of time. */
export type Unit = "second" | "seconds" | "minute" | "minutes" | "hour" | "hours" | "day" | "days" | "week" | "weeks";

/**
 * What to send and when. Body, query and headers pass through unharmed:
 * numbers keep their digits, keys their order, strings every character.
 * The request nests at most 128 deep. What is sent has at most 16 KiB of
 * url with query, 64 KiB of headers and 2 MiB of body: a request that
 * can't fit is refused.
 */
export interface JobRequest {
  /**
   * A group of targets in place of `url`. A one-off request becomes a job for
   * each target, in one transaction, and is answered with all of them; a run of
   * a schedule becomes its jobs when it is due. A target's headers win over the
   * job's. At most 64 KiB of request; not in batches.
   */
  group?: GroupName | null;
  /**
   * Where to send the request: an absolute https URL with a host and
   * without user info, at most 8 KiB. Loopback, private, link-local and
   * otherwise special addresses are refused, unless the instance permits
   * them.
   */
  url?: Url;
  /** The request's method. Upper or lower case; stored in lower case. */
  method?: ("get" | "post" | "put" | "patch" | "delete") | null;
  /**
   * What to append to the url's query. In an object, an array repeats
   * its key, a nested object becomes `a[b]=c`, null is dropped. A string
   * is appended as it is. It nests at most 64 deep, and with it the url
   * has at most 16 KiB.
   *
   * A value that as a whole is `$job`, `$state` or `$previous`, or a
   * dotted path into one such as `$state.page`, is replaced when the
   * request is made.
   */
  query?: QueryMap | null;
  /**
   * Headers to send. They win over the service's own, except over its
   * signature. `host`, `content-length`, `expect` and others that belong to the
   * connection are refused, and names that begin with `X-Punctual-`, which are
   * the service's.
   */
  headers?: HeaderMap | null;
  /**
   * What to send: any JSON value, as `application/json` unless the job's
   * own `content-type` says otherwise. Under
   * `application/x-www-form-urlencoded` an object is form-encoded; under
   * any type that is not JSON a string is sent as its bytes. Without it
   * the request has no body.
   *
   * A string that as a whole is `$job`, `$state` or `$previous`, or a
   * dotted path into one such as `$previous.items.0.id`, is replaced by
   * that value, of whatever type, and by null where nothing is there.
   * Write `$$state.sent` to send the text `$state.sent`.
   *
   * `$job` holds the job's integer `id`. `$previous` is the JSON response
   * of the schedule's last successful run. `$state` belongs to the
   * schedule and lasts: when a successful response is an object with the key
   * `$set`, that object's keys are merged into it, up to 64 KiB in all.
   */
  body?: unknown;
  /**
   * What to send, as standard base64 with padding (RFC 4648, section 4): the
   * bytes are sent as they are, as `application/octet-stream` unless the job's
   * own `content-type` says otherwise. Nothing is added or replaced in them.
   * Not together with `body`.
   */
  body_base64?: Base64 | "[redacted]" | null;
  /**
   * What is sent but never shown: in records, logs, lists, exports, callbacks,
   * webhooks, alerts, the dashboard and streams, `[redacted]` stands in its
   * place. `body` and `headers` are those of the request, `header:NAME` is one of
   * its headers, in any case; the names of headers stay. `response` is the body
   * and the header values of responses, results and messages of completions, and
   * the text of `$fail`; it is not stored, apart from `$previous`. Dynamic fields
   * and retries, reruns and runs work as without.
   *
   * An edit, a `PUT` or a document may have `[redacted]` where the stored value
   * is hidden, which leaves it; elsewhere it is refused. Whoever removes an
   * element gives a new value for what it hid.
   */
  redact?: Redact | null;
  /**
   * How long from now: seconds, or an amount and a unit. At most 3,652
   * days. Not together with `scheduled_at`.
   */
  schedule_in?: Duration | null;
  /**
   * When, as a timestamp: `2031-06-01T09:00:00+02:00`, a date (midnight
   * UTC), or unix seconds; 1e11 and above are milliseconds. Without a
   * zone it is UTC. A time in the past means now. At most 3,652 days
   * ahead. Not together with `schedule_in`.
   */
  scheduled_at?: When | null;
  /**
   * How long from one run to the next: at least one second, at most
   * 3,652 days. The first run is due at `schedule_in` or `scheduled_at`,
   * else now. Not together with `cron`.
   */
  repeat_every?: Interval | null;
  /**
   * When to repeat: minute, hour, day of the month, month and day of the
   * week, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
   * Names, lists, ranges and steps work; 0 and 7 are Sunday; `L`, `L-3`,
   * `15W`, `LW`, `5L`, `MON#2` and `?` as in Quartz; when both
   * day fields are restricted, either may match. Read in UTC unless
   * `timezone` is given. With `schedule_in` or `scheduled_at`, the first
   * run is the first match from then on.
   */
  cron?: Cron | null;
  /** The zone `cron` is read in, by its IANA name. Only with `cron`. */
  timezone?: Timezone | null;
  /**
   * Words of yours by which lists can be filtered. Every run of a schedule
   * has the schedule's tags.
   */
  tags?: Tags | null;
  /**
   * A key of yours that makes a repeated call harmless. It is free again
   * when the job is final, on a recurring job when the schedule is
   * deleted.
   */
  idempotency_key?: string | null;
  /**
   * Identifies this request for 7 days: a repeat returns the record of the
   * first answer and stores nothing, even if that job has ended. A UUID that
   * begins with a time (version 7) is stored best.
   */
  request_id?: string | null;
  /**
   * What to do if another job holds the key. `return` returns that job.
   * `refuse` returns 409. `replace` gives that job this request and time; it
   * keeps its ids. `debounce` does the same, and moves the due time at most
   * `max_wait` from the first call. If that job has started, starts within
   * 100 ms or waits for a retry, `replace` and `debounce` store a job that
   * starts when it has ended, and later calls change that one. On a recurring
   * job only `return` and `refuse`.
   */
  on_conflict?: "return" | "refuse" | "replace" | "debounce" | null;
  /**
   * How far `debounce` may put the job off, from the first call. Required by
   * `debounce`, which also needs `schedule_in`.
   */
  max_wait?: Duration | null;
  /**
   * How long the job holds its key after its creation even if it has ended,
   * at most as long as its record is kept. Not with `replace` and
   * `debounce`.
   */
  throttle?: Duration | null;
  /**
   * Where to send the result of the job, once, when it is `completed` or
   * `discarded`. The rules of `url` apply.
   */
  callback_url?: Url | null;
  /**
   * Which ends of the job are sent to `callback_url`, without which it is
   * refused: both (`final`), `discarded` only (`failure`), or `completed`
   * only (`success`).
   */
  callback_on?: "final" | "failure" | "success" | null;
  /**
   * Where to send an event for every step of the job. The rules of `url`
   * apply.
   */
  webhook_url?: Url | null;
  /** A name for people. */
  name?: string | null;
  /** A longer text for people. */
  description?: string | null;
  /** How often a failed attempt is repeated. */
  retries?: number | null;
  /** Seconds allowed for one attempt, including reading the whole response. */
  timeout?: number | null;
  /**
   * Which responses are a success: statuses and classes of them. Every
   * other response is a failure.
   */
  success?: StatusList | null;
  /**
   * Which failures are not retried: statuses, classes of them, and error
   * kinds. `status` stands for every response that is no success;
   * `interrupted` means that a request that may have been sent is not
   * sent again after a crash.
   */
  no_retry?: FailureList | null;
  /**
   * How long to wait before each retry, each from 1 second to 24 hours;
   * the last wait repeats. They take the place of 10 s, 60 s, 6 min, and
   * so on. Each is lengthened by 0 to 10 % at random, and `Retry-After`
   * on 429 and 503 counts when it is longer.
   */
  backoff?: WaitList | null;
  /**
   * How long to wait before each retry, as an expression in milliseconds:
   * numbers, `+ - * / **`, the functions `pow`, `sqrt`, `abs`, `exp`, `floor`,
   * `ceil`, `round`, `min` and `max`, and the variable `retried`, which is 0
   * before the first retry. The result is cut to 24 hours; if it is no number,
   * the default waits count. It takes the place of `backoff`.
   */
  retry_delay?: string | null;
  /**
   * How requests, signatures and callbacks look, if the job was created through
   * another API that the service has; see the QStash-compatible API.
   */
  dialect?: Dialect | null;
  /**
   * Keys of up to three limits for receivers. An attempt starts when all of
   * them permit it. Each must be defined.
   */
  limits?: LimitKeys | null;
  /**
   * For work that takes longer than a request. A 202 leaves the job
   * `executing`, and the target reports the outcome later, at the address
   * in the header `X-Punctual-Complete` (`POST /api/completions/{token}`).
   * Without an outcome `within` this time of the attempt's start, or without a
   * sign of life for `heartbeat`, the attempt fails as `abandoned`. Other
   * responses count as always. Needs a service with `--public-url`.
   */
  completion?: Completion | null;
  /**
   * The jobs that this one waits for. It stays `available` until the last of them
   * is final: `schedule_in` counts from then, and with `scheduled_at` it is due at
   * the later of both. Until then `scheduled_at` of the record shows the earliest
   * time possible, and `waiting_for` of its details what it waits for. For one-off
   * jobs; it can't be changed, not be combined with `on_conflict` replace or
   * debounce, and a rerun doesn't wait again.
   */
  after?: After | null;
  /**
   * How each request proves who sends it; see `Auth`. Nothing of it goes to
   * another origin when the target redirects there.
   */
  auth?: Auth | null;
  /**
   * No attempt starts later than the due time plus this, waiting and
   * retries included. The job is then discarded, with the error `expired`.
   */
  expires_in?: Duration | null;
  /**
   * What a schedule does about missed points of its grid. `one`: one late
   * run stands for them. `none`: a run that can't start before the next
   * point is discarded as `expired`. `all`: each missed point has a run of
   * its own, one after the other, for the latest 1,000. Points that pass
   * while the schedule is disabled are not missed.
   */
  catch_up?: "one" | "none" | "all" | null;
  /** No run of the schedule is due after this time. */
  ends_at?: When | null;
  /** After how many runs the schedule ends. Cancelled runs don't count. */
  max_runs?: number | null;
  /**
   * After how many discarded runs in a row the schedule ends, reason
   * `failures`. Cancelled runs don't count. Enabling it restarts the count.
   */
  disable_after?: number | null;
  /**
   * All due times of the schedule are later by the same part of this
   * duration, which depends on the schedule's id. Shorter than the
   * interval, for `cron` shorter than the smallest distance of the next 100
   * ticks. `scheduled_at` shows the shifted time.
   */
  jitter?: Duration | null;
  /**
   * All due times of the schedule are later by this duration, at most 31 days.
   * `scheduled_at` shows the shifted time.
   */
  offset?: Duration | null;
  /**
   * Dates, and ranges of them, on which the schedule has no runs, in its
   * time zone.
   */
  except?: DateList | null;
  /**
   * Whether a body that is a JSON object gets the keys `$job`,
   * `$previous` and `$state` before it is sent. Fields are replaced either
   * way.
   */
  metadata?: boolean | null;
}

/**
 * What another API knows of a job beyond its fields. The requests of such a job
 * have that API's header fields and signature beside the service's own.
 */
export interface Dialect {
  /**
   * The API: the QStash-compatible one, or those of Cloud Tasks and Cloud
   * Scheduler.
   */
  api: "qstash" | "cloud_tasks" | "cloud_scheduler";
  /** The job that is created after each attempt, with its outcome as the body. */
  callback?: FollowUp;
  /** The job that is created when the job is discarded. */
  failure_callback?: FollowUp;
  /** Labels of any text. */
  labels?: DialectText[];
  /** The network address from which the job was created. */
  caller_ip?: DialectText;
  /** The queue that the job is in. */
  queue?: DialectText;
  /** The flow control key, which names one of its limits. */
  flow_control?: DialectText;
  /** The group that the job was sent to. */
  group?: DialectText;
  /** The name of the target in that group. */
  endpoint?: DialectText;
  /** The message whose callback the job is. */
  source?: DialectText;
  /** Whether the failed job has been taken out of the dead letter queue. */
  archived?: boolean;
  /** The name of the task or the Scheduler job. */
  name?: string;
  /** How often the job is attempted, in place of `retries`; -1 for no bound. */
  max_attempts?: number;
  /**
   * For how many seconds from its first attempt the job is retried at least,
   * however many attempts that takes.
   */
  retry_for?: number;
  /** What that API shows of the job beyond its fields. */
  view?: {
    [name: string]: unknown;
  };
  /** The workflow run that the job is a message of. */
  run?: DialectText;
  /** What the message is to the run's route. */
  step?: DialectText;
}

/** A text of a compatible API that the service keeps with a job and returns there unchanged. */
export type DialectText = string;

/** A job that is created when another one ends. */
export interface FollowUp {
  url: string;
  method?: string;
  headers?: HeaderMap;
  timeout?: number;
  retries?: number;
  backoff?: WaitList;
  retry_delay?: string;
  no_retry?: unknown[];
  success?: unknown[];
  schedule_in?: Duration;
  limits?: LimitKeys;
  tags?: Tags;
}

/** Dates and ranges of dates, at most 366. */
export type DateList = string[];

/** Statuses and classes of them, 1 to 100. */
export type StatusList = StatusOrClass[];

/** A status from 100 to 599, or a class of a hundred of them. */
export type StatusOrClass = number | string;

/** Statuses, classes of them and error kinds, at most 100. */
export type FailureList = (StatusOrClass | ("dns" | "connect" | "tls" | "timeout" | "closed" | "protocol" | "redirect" | "blocked" | "too_large" | "secret" | "group" | "cancelled" | "interrupted" | "internal" | "status" | "expired" | "answer" | "abandoned"))[];

/** How long a target may take to report the outcome after a 202. */
export interface Completion {
  /** From the start of the attempt, 0.1 seconds to 7 days. */
  within: Duration;
  /** From the last sign of life, at most `within`. */
  heartbeat?: Duration | null;
}

/**
 * One way to prove who sends a request.
 *
 * - `oidc`: the header `Authorization: Bearer` with a token (JWT, ES256) that
 *   this service issues for each attempt: `iss` the service's public URL, `sub`
 *   `account:` and the account's id, `aud`, `iat`, `exp` (the timeout and five
 *   minutes, an hour at most), `jti` the `webhook-id`, `job_id` and, for a run,
 *   `schedule_id`. `/.well-known/openid-configuration` and
 *   `/.well-known/jwks.json` say how to verify it. Needs a service with
 *   `--public-url` and `--secrets-key-file`.
 * - `mtls`: a client certificate, from a secret with `certificate`.
 * - `aws`: a signature as AWS defines it (SigV4), by a secret with
 *   `access_key_id`.
 *
 * With `oidc` and `aws`, `headers` can't have `Authorization`.
 */
export interface Auth {
  oidc?: {
    /** The claim `aud`. By default the origin of `url`. */
    audience?: string | null;
    /** The claim `email`, which proves nothing; `sub` does. */
    email?: string | null;
  };
  /** The name of a secret. */
  mtls?: string;
  aws?: {
    /** The name of a secret. */
    secret: string;
    service: string;
    region: string;
  };
}

/** Keys of limits, up to 3. */
export type LimitKeys = string[];

/** Waits, 1 to 20, each from 1 second to 24 hours. */
export type WaitList = Duration[];

/** A job, as every call that returns one shows it. */
export interface JobRecord {
  /** The record's id. */
  id: Uuid;
  /** The key it was created with. */
  idempotency_key: string | null;
  /** When it was created. */
  inserted_at: LocalSeconds;
  /** A name for people. */
  name: string | null;
  /** A longer text for people. */
  description: string | null;
  /** The account it belongs to. */
  user_id: Uuid;
  /** The schedule whose run it is; null for a one-off job. */
  schedule_id: UuidOrNull;
  /** The job's integer id, the same as `job.id`. */
  job_id: number;
  /** Where it stands. */
  job: Job;
  /** What was asked for. */
  args: Args;
}

/** Where a job stands. Each timestamp is set when that happened, and stays. */
export interface Job {
  /** The start of the latest attempt. */
  attempted_at: InstantOrNull;
  /** When it was cancelled. */
  cancelled_at: InstantOrNull;
  /** When it succeeded. */
  completed_at: InstantOrNull;
  /** When its last attempt had failed. */
  discarded_at: InstantOrNull;
  /**
   * True only in the response to a create whose idempotency key was taken.
   * The name is spelled this way.
   */
  has_confict: boolean;
  /** The job's integer id. */
  id: number;
  /** When it was created. */
  inserted_at: Instant;
  /** The due time asked for. It stays, also while the job is `retryable`. */
  scheduled_at: Instant;
  /** The state of the job. */
  state: JobState;
}

/**
 * `available` waits for its time, `executing` is under way, `retryable`
 * waits for the next attempt; `completed`, `cancelled` and `discarded` are
 * final.
 */
export type JobState = "available" | "executing" | "retryable" | "completed" | "cancelled" | "discarded";

/**
 * What the client sent of the request and its timing, as it was sent, in
 * the order it was sent. `method` and `headers` are filled in when they
 * were not given; every other absent field stays absent.
 */
export interface Args {
  /** The group of targets, in place of `url`, of a schedule and its runs. */
  group?: GroupName;
  /** Where the request goes. */
  url?: Url;
  /** Its method, in lower case. */
  method: Method;
  /** What is appended to the url's query. */
  query?: QueryMap;
  /** Its headers; an empty object when none were given. */
  headers: HeaderMap;
  /** What is sent; any JSON value but null. */
  body?: unknown;
  /** The bytes that are sent. */
  body_base64?: Base64 | "[redacted]";
  /** What is sent but not shown; `[redacted]` stands in its place. */
  redact?: Redact;
  /** How long from the create it was to wait. */
  schedule_in?: Duration;
  /** When it was to be made. */
  scheduled_at?: When;
  /** How long from one run to the next. */
  repeat_every?: Interval;
  /** When it repeats. */
  cron?: Cron;
  /** The zone `cron` is read in. */
  timezone?: Timezone;
  /** Where the result goes. */
  callback_url?: Url;
  /** Which ends of the job are sent to `callback_url`. */
  callback_on?: "final" | "failure" | "success";
  /** Where the events go. */
  webhook_url?: Url;
  /** How often a failed attempt is repeated. */
  retries?: number;
  /** What the call did about another job with its key. */
  on_conflict?: "return" | "refuse" | "replace" | "debounce";
  /** How far debounce may put the job off. */
  max_wait?: Duration;
  /** How long the job holds its key after its creation. */
  throttle?: Duration;
  /** Seconds allowed for one attempt. */
  timeout?: number;
  /** Which responses are a success. */
  success?: StatusList;
  /** Which failures are not retried. */
  no_retry?: FailureList;
  /** How long to wait before each retry. */
  backoff?: WaitList;
  /** How long to wait before each retry, as an expression. */
  retry_delay?: string;
  /** How its requests look to receivers of another API. */
  dialect?: Dialect;
  /** The limits that its attempts need. */
  limits?: LimitKeys;
  /** How long the target may take to report the outcome. */
  completion?: Completion;
  /** The jobs that this one waits for. */
  after?: After;
  /** How each request proves who sends it. */
  auth?: Auth;
  /** How long after the due time an attempt may start. */
  expires_in?: Duration;
  /** What the schedule does about missed points. */
  catch_up?: "one" | "none" | "all";
  /** After this time no run is due. */
  ends_at?: When;
  /** After how many runs the schedule ends. */
  max_runs?: number;
  /** After how many discarded runs in a row the schedule ends. */
  disable_after?: number;
  /** Of this duration a part is added to each due time. */
  jitter?: Duration;
  /** How much is added to each due time. */
  offset?: Duration;
  /** Dates without runs. */
  except?: DateList;
  /** Whether the body gets `$job`, `$previous` and `$state`. */
  metadata?: boolean;
  /** By what lists can be filtered. */
  tags?: Tags;
}

/** A schedule, as every call that returns one shows it. */
export interface ScheduleRecord {
  /** The schedule's id, the `schedule_id` of its jobs. */
  id: Uuid;
  /** A name for people. */
  name: string | null;
  /** A longer text for people. */
  description: string | null;
  /** When it was created. */
  inserted_at: LocalSeconds;
  /** When it was disabled, in UTC to the second; null while it is enabled. */
  disabled_at: string | null;
  /** The account it belongs to. */
  user_id: Uuid;
  /** When its runs are due. */
  frequency: Frequency;
  /** What was asked for. */
  args: Args;
}

/** A schedule in a list. */
export interface ListedSchedule {
  /** The schedule's id, the `schedule_id` of its jobs. */
  id: Uuid;
  /** A name for people. */
  name: string | null;
  /** A longer text for people. */
  description: string | null;
  /** When it was created. */
  inserted_at: LocalSeconds;
  /** When it was disabled, in UTC to the second; null while it is enabled. */
  disabled_at: string | null;
  /** The account it belongs to. */
  user_id: Uuid;
  /** When its runs are due. */
  frequency: Frequency;
  /** What was asked for. */
  args: Args;
  /**
   * When the next run is due; null while the schedule is disabled. Only in
   * lists with `include=next_run_at`.
   */
  next_run_at?: InstantOrNull;
}

/** An interval, or a cron expression with the zone it is read in. */
export type Frequency = {
  /** How long from one run to the next. */
  repeat_every: AmountAndUnit;
} | {
  /** When the runs are due. */
  cron: Cron;
  /** The zone it is read in, when that is not UTC. */
  timezone?: Timezone;
};

/** One step in the life of a job. The `event` says what `payload` holds. */
export type LogRecord = {
  event: "worker.http.request";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: RequestPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.http.response";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: ResponsePayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.http.error";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: ErrorPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.callback.failed";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: CallbackFailedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.webhook.failed";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: WebhookFailedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.state.rejected";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: StateRejectedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.alert.failed";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: AlertFailedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.schedule.skipped";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: SkippedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.schedule.ended";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: EndedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.completion";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: CompletionPayload;
  /** The account it belongs to. */
  user_id: Uuid;
} | {
  event: "worker.job.orphaned";
  /** The entry's id. */
  id: Uuid;
  /** When it happened. */
  inserted_at: Instant;
  /** The job's integer id. */
  job_id: number;
  payload: OrphanedPayload;
  /** The account it belongs to. */
  user_id: Uuid;
};

/**
 * `worker.http.request`: The request of an attempt as it went out, dynamic
 * fields replaced, without the headers the service adds. Written as the
 * attempt starts. Of a request that is too large to be sent, it shows the
 * parts that fit.
 */
export interface RequestPayload {
  body: SentBody;
  encoding?: SentEncoding;
  /** The job's own headers; empty when there were none. */
  headers: HeaderMap;
  /** What was appended to the url; an empty object when there was nothing. */
  query: QueryMap;
  /** The url, without what `query` adds. */
  url: Url;
}

/**
 * `worker.http.response`: The final response to an attempt, redirects
 * followed. `attempt` and `retry_at` are there when it was no success, `error`
 * too when the response itself says so with `$fail`. `awaiting` is there when
 * the target is to report the outcome later.
 */
export interface ResponsePayload {
  status: StatusCode;
  headers: ResponseHeaders;
  body: ResponseBody;
  duration_ms: Milliseconds;
  truncated: Truncated;
  encoding?: Base64Marker;
  withheld?: WithheldMarker;
  attempt?: Attempt;
  /** When the next attempt is due; null when this was the last. */
  retry_at?: InstantOrNull;
  error?: Failure;
  /** The attempt continues until the target reports its outcome. */
  awaiting?: true;
}

/**
 * `worker.http.error`: Why an attempt got no response. A cancelled attempt
 * is not retried, so its `retry_at` is null.
 */
export interface ErrorPayload {
  /**
   * `dns` and `connect`: the host could not be found or reached. `tls`:
   * the handshake failed or the certificate is not trusted. `timeout`:
   * the time allowed ran out. `closed`: the connection ended too soon.
   * `protocol`: what came back was not HTTP. `redirect`: too many, or one
   * that may not be followed. `blocked`: the address may not be called,
   * and is not tried again. `too_large`: with its dynamic fields resolved
   * the request is larger than is sent; nothing was sent, and it is not
   * tried again. `secret`: a secret that the headers name is gone, can't be
   * decrypted or may not be sent to the host, or no token could be fetched
   * for it; nothing was sent. `internal`: a defect of the service ended the attempt.
   * `poisoned`: the attempt can't be made, and the job was set aside.
   * `cancelled`: the job was cancelled meanwhile. `interrupted`: the
   * service stopped or crashed meanwhile.
   * `expired`: the attempt could not start in time; nothing was sent.
   * `unstored`: the store refused what the attempt came to, so the job was
   * discarded.
   * `answer`: the target itself reported a failure. `abandoned`: the target
   * did not report the outcome in time.
   */
  kind: "dns" | "connect" | "tls" | "timeout" | "closed" | "protocol" | "redirect" | "blocked" | "too_large" | "secret" | "group" | "internal" | "expired" | "poisoned" | "cancelled" | "interrupted" | "unstored" | "answer" | "abandoned";
  message: Sentence;
  duration_ms: Milliseconds;
  /** Which attempt it was, counted from 1. */
  attempt: number;
  /** When the next attempt is due; null when this was the last. */
  retry_at: InstantOrNull;
}

/**
 * `worker.callback.failed`: The result of the job could not be delivered.
 * One entry, when the service has given up.
 */
export interface CallbackFailedPayload {
  /** The job's `callback_url`. */
  url: Url;
  /** How often it was tried. */
  attempts: number;
  response: LastResponse;
  /** Why the last try failed. */
  error: Failure;
}

/**
 * `worker.webhook.failed`: An event could not be delivered. One entry,
 * when the service has given up.
 */
export interface WebhookFailedPayload {
  /** The event that was not delivered. */
  type: "job.started" | "job.request" | "job.response" | "job.error" | "job.finished";
  /** The job's `webhook_url`. */
  url: Url;
  /** How often it was tried. */
  attempts: number;
  response: LastResponse;
  /** Why the last try failed. */
  error: Failure;
}

/**
 * `worker.state.rejected`: What a target put into `$set` would have made
 * the state too large, and the old one stays. Or the value of a member is wrong,
 * and is ignored.
 */
export interface StateRejectedPayload {
  message: Sentence;
  /** How large the state would have become, in bytes. */
  size?: number;
  /** How large it may be, in bytes. */
  limit?: 65536;
  /** The member whose value is wrong. */
  member?: "$set" | "$next" | "$stop" | "$fail";
}

/** `worker.completion`: The result that a target has reported after its 202. */
export interface CompletionPayload {
  /** The result, any JSON. */
  result: unknown;
  duration_ms: Milliseconds;
}

/**
 * `worker.schedule.skipped`: Points of the schedule's grid have no run of
 * their own; this run stands for them.
 */
export interface SkippedPayload {
  /** How many points. */
  count: number;
  /** The first of them. */
  from: Instant;
  /** The last of them. */
  to: Instant;
  /**
   * `overlap`: the run before was under way. `down`: a run could not start
   * in time. `expired`: the run before was discarded as expired. `limit`: a
   * limit delayed a run. `next`: the run before asked with `$next` for a
   * later time.
   */
  reason: "overlap" | "down" | "expired" | "limit" | "next";
}

/**
 * `worker.job.orphaned`: The job was cancelled, because it was to start `after`
 * the completion of another one, which has ended otherwise.
 */
export interface OrphanedPayload {
  /** The other job's integer id. */
  job_id: number;
  /** How it has ended. */
  state: "cancelled" | "discarded";
}

/**
 * `worker.schedule.ended`: This was the schedule's last run, and the schedule
 * is disabled.
 */
export interface EndedPayload {
  /** Why it ended; `failures` is `disable_after`. */
  reason: "ends_at" | "max_runs" | "$stop" | "failures";
}

/** The last response of the receiver; null if there was none. */
export type LastResponse = {
  status: StatusCode;
  headers?: ResponseHeaders;
  body?: ResponseBody;
  duration_ms?: Milliseconds;
  truncated?: Truncated;
  encoding?: Base64Marker;
  withheld?: WithheldMarker;
} | null;

/**
 * One of `result`, `error` and `progress`; `retry` goes with `error`, `message`
 * with `progress`.
 */
export interface CompletionReport {
  /** What the work has produced, any JSON of up to 256 KiB. */
  result?: unknown;
  /** Why the work has failed; 1,000 characters are kept. */
  error?: string | null;
  /** Whether the attempt may be tried again. */
  retry?: boolean | null;
  /** How much is done, in percent. */
  progress?: number | null;
  /** A word about the progress; 1,000 characters are kept. */
  message?: string | null;
}

/** How far the completion of an attempt is. */
export interface CompletionState {
  /** Whether the target has yet to report the outcome. */
  awaiting: boolean;
  /** When the attempt fails without a further sign of life; null unless it is awaited. */
  deadline: InstantOrNull;
  /** The last progress reported; null before. */
  progress: ({
    /** How much is done, in percent. */
    progress: number;
    /** A word about it. */
    message: string | null;
    /** When it was reported. */
    reported_at: Instant;
  }) | null;
}

/** The result of a job, sent to its `callback_url`. */
export interface CallbackMessage {
  /** The job, final. */
  job: JobRecord;
  attempt: Attempt;
  request: OutgoingRequest;
  /** The last response; null if there was none. */
  response: TargetResponse | null;
  /** Why the job failed; null only on success. */
  error: Failure | null;
  /** What the target has reported after its 202, any JSON. */
  result?: unknown;
}

/** An attempt begins. */
export interface JobStartedEvent {
  /** The event's name. */
  type: "job.started";
  /** When it happened. */
  timestamp: Instant;
  data: {
    /** The job as it was at that moment. */
    job: JobRecord;
    attempt: Attempt;
  };
}

/** A request goes out. */
export interface JobRequestEvent {
  /** The event's name. */
  type: "job.request";
  /** When it happened. */
  timestamp: Instant;
  data: {
    /** The job as it was at that moment. */
    job: JobRecord;
    attempt: Attempt;
    request: OutgoingRequest;
  };
}

/** A response arrived. */
export interface JobResponseEvent {
  /** The event's name. */
  type: "job.response";
  /** When it happened. */
  timestamp: Instant;
  data: {
    /** The job as it was at that moment. */
    job: JobRecord;
    attempt: Attempt;
    request?: OutgoingRequest;
    response: TargetResponse;
  };
}

/** An attempt failed. */
export interface JobErrorEvent {
  /** The event's name. */
  type: "job.error";
  /** When it happened. */
  timestamp: Instant;
  data: {
    /** The job as it was at that moment. */
    job: JobRecord;
    attempt: Attempt;
    request?: OutgoingRequest;
    /** The response, if there was one. */
    response?: TargetResponse | null;
    error: Failure;
    /** When the next attempt is due; null when this was the last. */
    retry_at: InstantOrNull;
  };
}

/** A job is final. */
export interface JobFinishedEvent {
  /** The event's name. */
  type: "job.finished";
  /** When it happened. */
  timestamp: Instant;
  data: {
    /** The job, final. */
    job: JobRecord;
    /** The latest attempt; 0 when it was cancelled before its first. */
    attempt: number;
    /** The latest request, when there was one. */
    request?: OutgoingRequest | null;
    /** The latest response, if there was one. */
    response?: TargetResponse | null;
    /** Why the job failed, when it did. */
    error?: Failure | null;
    /** What the target has reported after its 202, any JSON. */
    result?: unknown;
  };
}

/** A request as it went out, without the headers the service adds. */
export interface OutgoingRequest {
  method: Method;
  /** The url, without what `query` adds. */
  url: Url;
  /** What was appended to the url; an empty object when there was nothing. */
  query: QueryMap;
  /** The job's own headers; empty when there were none. */
  headers: HeaderMap;
  body: SentBody;
  encoding?: SentEncoding;
}

/** The final response of a target, after redirects. */
export interface TargetResponse {
  status: StatusCode;
  headers: ResponseHeaders;
  body: ResponseBody;
  duration_ms: Milliseconds;
  truncated: Truncated;
  encoding?: Base64Marker;
  withheld?: WithheldMarker;
}

/** Why an attempt failed. */
export interface Failure {
  /** `status` for a response that is no success; the others as in the log. */
  kind: "status" | "dns" | "connect" | "tls" | "timeout" | "closed" | "protocol" | "redirect" | "blocked" | "too_large" | "secret" | "group" | "internal" | "expired" | "poisoned" | "cancelled" | "interrupted" | "unstored" | "answer" | "abandoned";
  message: Sentence;
}

/** What to rehearse. All members are optional. */
export interface RehearsalRequest {
  /** When the rehearsal begins; now if it isn't given. */
  from?: When | null;
  /** When it ends, which is not included. A year after `from` if it isn't given; at most 3,652 days after it. */
  to?: When | null;
  /** When the service is down. */
  outages?: {
    at: When;
    for: Duration;
  }[] | null;
  /** The share of attempts that fail, by the keys of schedules. */
  fail?: {
    [name: string]: number;
  } | null;
  /** How long attempts take, by the keys of schedules. Others take no time. */
  duration?: {
    [name: string]: Duration;
  } | null;
  /** The keys of the schedules to rehearse; all if it isn't given. */
  keys?: string[] | null;
  /** Schedules to rehearse instead of the stored ones, as in a document of `POST /api/apply`. */
  schedules?: DocumentSchedule[] | null;
  /** The owner of the document that `schedules` are from. */
  owner?: string | null;
}

/** What schedules do. */
export interface RehearsalAnswer {
  data: RehearsalResult;
}

/** What schedules do between two times. */
export interface RehearsalResult {
  from: Instant;
  to: Instant;
  cut: RehearsalCut;
  /** The schedules, ordered by key; those without one come last. */
  schedules: RehearsedSchedule[];
  /** The minutes in which most runs start, most first. */
  busiest: {
    at: Instant;
    runs: number;
  }[];
  findings: Finding[];
}

/** Why the answer ends early; null if it is complete. It is complete for all schedules up to `at`. */
export type RehearsalCut = ({
  at: Instant;
  /** There are more than 1,000,000 runs; retries and expired runs took too much work; there are more than 1,000 schedules. */
  reason: "runs" | "work" | "schedules";
}) | null;

/** What one schedule does. */
export interface RehearsedSchedule {
  key: string | null;
  /** Null for a schedule that is not stored. */
  id: string | null;
  /** It is disabled, so it does nothing. */
  disabled: boolean;
  /** Runs that start. Expired runs are none. */
  runs: number;
  /** Runs that are discarded after their last attempt. */
  failed: number;
  /** Runs that are discarded because it is too late to start them. */
  expired: number;
  /** Runs that start after they are due, for another reason than a limit. */
  late: number;
  /** Points of the grid that have no run of their own, as the event `worker.schedule.skipped` says. */
  skipped: number;
  /** The due times of the first runs. */
  first: Instant[];
  /** Changes of the zone's clock that skip readings of the expression (`gap`) or show them twice (`double`). */
  clock: ({
    at: Instant;
    kind: "gap" | "double";
  })[];
  /** Skipped points that passed while a run was under way. */
  overlaps: number;
  /** Attempts that limits delay, and for how long at most. */
  limited: {
    count: number;
    longest_ms: number;
  };
  /** When the schedule ends, and why; null if it continues. */
  ends: ({
    at: Instant;
    reason: "ends_at" | "max_runs" | "failures";
  }) | null;
}

/** Something that you may want to change. */
export interface Finding {
  code: "clock_gap" | "clock_double" | "never_runs" | "leap_day_only" | "either_day" | "overlap" | "may_overlap" | "timeout" | "expired" | "limit_starves" | "ends_by_failures" | "ends_soon" | "busy_minute";
  /** The key of the schedule; null if it has none, or if the finding is about all. */
  key: string | null;
  /** The time that it is about; null if it is about none. */
  at: Instant | null;
  /** A sentence, and the fix. The text may change with any version. */
  message: string;
}

/** How a change would change the runs of schedules in the next year. */
export interface ComparisonAnswer {
  data: Comparison;
}

/** Schedules before and after a change. */
export interface Comparison {
  from: Instant;
  to: Instant;
  cut: RehearsalCut;
  schedules: ComparedSchedule[];
  /** Findings about the schedules after the change. */
  findings: Finding[];
}

/** A schedule before and after a change. */
export interface ComparedSchedule {
  key: string | null;
  result: "created" | "changed" | "unchanged" | "removed";
  /** What it does without the change; null if it is new. */
  before: RehearsedSchedule | null;
  /** What it does with the change; null if it is removed. */
  after: RehearsedSchedule | null;
  /** How the due times of its runs differ. */
  difference: {
    /** The first run that differs; null if none does. */
    first: ({
      before: Instant | null;
      after: Instant | null;
    }) | null;
    /** How many runs there are more. */
    added: number;
    /** How many runs there are less. */
    dropped: number;
    /** How many runs are due at another time. */
    moved: number;
  };
}

/**
 * The schedules that an owner should have. Without `owner`, each schedule
 * names its own, as the export of all schedules has it; such a document
 * removes none, and its `ETag` is that of the schedules that it lists.
 */
export interface ScheduleDocument {
  /** A name for where the document is kept, such as a repository. */
  owner?: string;
  /** The schedules. Their keys must differ. */
  schedules: DocumentSchedule[];
  /** Remove schedules of the owner that are not listed, at most 1,000. */
  prune?: boolean | null;
  /** With `prune`, allow a document that lists no schedules. */
  all?: boolean | null;
  /** Respond with what would be done, and change nothing. */
  dry_run?: boolean | null;
}

/** A document as `POST /api/apply` takes it. If all schedules were exported, each has its `owner`. */
export interface ExportedDocument {
  owner?: string;
  schedules: DocumentSchedule[];
}

/**
 * A key, and the fields of a create request with `repeat_every` or `cron`,
 * without `idempotency_key`.
 */
export interface DocumentSchedule {
  /** Names the schedule. It is the idempotency key of its runs. */
  key: string;
  /**
   * Who keeps the schedule; null for nobody. Required if the document has no
   * `owner`, else that of the document.
   */
  owner?: string | null;
  url?: Url;
  /** A group of targets in place of `url`. */
  group?: GroupName | null;
  [name: string]: unknown;
}

/** What applying a document did to a schedule. */
export interface ApplyResult {
  key: string;
  result: "created" | "changed" | "unchanged" | "removed";
  /** The fields that differ; empty for what is removed. */
  diff: {
    /** A JSON pointer to the field. */
    path: string;
    /** The value before; null if there was none. */
    from: unknown;
    /** The value afterwards; null if there is none. */
    to: unknown;
  }[];
}

/**
 * What every error looks like (RFC 9457). `detail` is a sentence to act
 * on; `errors` lists each thing found wrong with a request.
 */
export interface Problem {
  /** The kind of problem; `about:blank` when the status says it all. */
  type: string;
  /**
   * What went wrong, for programs. Codes are stable; new ones may be
   * added. 400 `unreadable_body`, `unreadable_request`, `no_handshake`; 401 `unauthorized`; 403 `forbidden`;
   * 404 `not_found`, `unknown_path`; 405 `method_not_allowed`; 408
   * `body_too_slow`; 409 `conflict`; 410 `gone`; 412 `stale_revision`;
   * 413 `body_too_large`; 415 `unsupported_media_type`; 417
   * `expectation_failed`; 421 `misdirected`; 422 `invalid_request`; 429
   * `rate_limited`, `quota_exceeded`, `too_much_at_once`,
   * `read_too_slow`; 431 `header_too_large`; 500 `internal`; 501
   * `not_implemented`; 503 `unavailable`; 505 `version_not_supported`.
   */
  code: string;
  /** The status in words. */
  title: string;
  /** The status of the response. */
  status: number;
  /** What went wrong and what to do. */
  detail: string;
  /** Everything found wrong, up to the first 100 problems. */
  errors?: ProblemEntry[];
  /** How many problems were found beyond those in `errors`. */
  more?: number;
}

/** One thing found wrong, and where. */
export interface ProblemEntry {
  /** Completes the sentence that begins with the field. */
  detail: string;
  /**
   * The place in the body, as a JSON pointer in a URI fragment (RFC
   * 6901): `#/url`, `#/headers/host`, `#/schedule_in/1`. It has at most
   * 500 bytes: where it would be longer, it names what holds the place.
   */
  pointer?: string;
  /** The name of the query parameter. */
  parameter?: string;
}

/** A job's record under `data`. */
export interface JobAnswer {
  data: JobRecord;
}

/** A job's record under `data`, outside of a create. */
export type StoredJobAnswer = JobAnswer;

/** The ids of a job. */
export interface MinimalJob {
  id: Uuid;
  job_id: number;
  /** The job existed already; the spelling is part of the contract. */
  has_confict?: true;
}

/** The jobs of a request with a group, or their ids if the client prefers, in the order of the targets. */
export interface GroupJobsAnswer {
  data: (MinimalJob | JobRecord)[];
}

/** A job's ids under `data`. */
export interface MinimalJobAnswer {
  data: MinimalJob;
}

/** Jobs to wait for. */
export interface After {
  /**
   * Jobs of yours: each by its `job_id`, its `id`, or `key:KEY`, which is the job
   * that holds this idempotency key when the call is made. Final ones count too.
   */
  jobs: (number | string)[];
  /**
   * `completed`: if one of the jobs is discarded or cancelled, this one is cancelled,
   * and its log `worker.job.orphaned` names the other. `final`: it starts however
   * they end.
   */
  on?: "completed" | "final" | null;
}

/** Jobs, and one that waits until all of them are final. */
export interface BatchThen {
  jobs: JobRequest[];
  /**
   * A one-off job. Its body, if that is an object or absent, gets
   * `"$batch": {"completed", "discarded", "cancelled", "failed_jobs"}`: how many of
   * the jobs have ended how, and the ids of the first 100 that were discarded. Items
   * whose key is held by an existing job count with that job.
   */
  then: JobRequest;
}

/** The jobs of a batch under `data`, in the order sent. */
export interface BatchAnswer {
  data: (MinimalJob | JobRecord)[];
  /** The job that waits for the others, if the batch has one. */
  then?: MinimalJob | JobRecord;
}

/** What became of each item of a batch, in the order sent. */
export interface BatchOutcomes {
  data: ({
    /** The status that the call for a single job would have returned. */
    status: 200 | 201 | 409 | 422 | 429;
    job?: MinimalJob | JobRecord;
    problem?: Problem;
  })[];
  /** The job that waits for the others, if the batch has one. */
  then?: MinimalJob | JobRecord;
}

/** Jobs under `data`. */
export interface JobList {
  data: JobRecord[];
}

/**
 * What to do with each job, as the call for one job does it: `cancel` an
 * unfinished one, `rerun` a final one that was not rerun before, `run` a
 * pending one now, `reschedule` one that waits for its first attempt.
 */
export type OperationAction = "cancel" | "rerun" | "run" | "reschedule";

/** Which jobs; all members must match. A job that doesn't exist when the call is accepted is not selected. */
export interface OperationFilter {
  /** The state; `scheduled` selects `available` and `retryable` jobs. */
  state?: "scheduled" | "available" | "executing" | "retryable" | "completed" | "cancelled" | "discarded" | null;
  /** Tags that the job must have, all of them. */
  tags?: Tags | null;
  /** The schedule that created the job. */
  schedule_id?: UuidOrNull;
  /** The host name of the job's url, without the port. */
  host?: string | null;
  /** The job's name, exactly. */
  name?: string | null;
  /**
   * The kind of failure of the job's latest attempt that has ended:
   * `timeout`, `connect`, `status` for a response that is no success, and
   * so on. A completed job has none.
   */
  error_kind?: string | null;
  /** Jobs created at or after this time. */
  since?: When | string | null;
  /** Jobs created before this time. */
  until?: When | string | null;
}

/** An operation on many jobs. */
export interface OperationRequest {
  action: OperationAction;
  /** Which jobs. One without any member selects every job and needs `all`. */
  filter?: OperationFilter | null;
  /**
   * For `rerun`, the fields of create that differ from the job's, except
   * `idempotency_key` and those of schedules. For `reschedule`,
   * `schedule_in` or `scheduled_at`. For both, `spread`: a duration over
   * which the due times are distributed evenly, from that time or from now
   * on. Times count from the call. At most 256 KiB.
   */
  set?: {
    [name: string]: unknown;
  } | null;
  /** Permits a filter that selects every job. */
  all?: boolean | null;
  /** Only count the jobs that match. */
  dry_run?: boolean | null;
}

/** An operation on many jobs, and how far it is. */
export interface OperationRecord {
  id: Uuid;
  action: OperationAction;
  /** The filter as sent; `{}` if there was none. */
  filter: {
    [name: string]: unknown;
  };
  /** The set as sent. */
  set: {
    [name: string]: unknown;
  } | null;
  /** Whether it still runs. */
  state: "running" | "finished" | "stopped";
  /** How many jobs match. While an operation runs, it may still be finding more. */
  matched: number;
  /** How many jobs were changed. */
  done: number;
  /**
   * How many jobs could not be changed so, by reason: `final` it has
   * ended; `unfinished` it has not, and only a final job is rerun;
   * `started` its attempt has started; `retrying` it waits for a retry;
   * `has_rerun` it was rerun before; `invalid` it would not be valid with
   * `set`; `over_limit` a limit of the account; `removed` it was deleted by
   * then; `failed` the store can't change it.
   */
  skipped: {
    [name: string]: number;
  };
  inserted_at: Instant;
  finished_at: InstantOrNull;
}

/** An operation under `data`. */
export interface OperationAnswer {
  data: OperationRecord;
}

/** Operations under `data`. */
export interface OperationList {
  data: OperationRecord[];
}

/** What an operation would find. */
export interface OperationDryRun {
  /** The request, and how many jobs match. */
  data: {
    action: OperationAction;
    /** The filter as sent. */
    filter: {
      [name: string]: unknown;
    };
    /** The set as sent. */
    set: {
      [name: string]: unknown;
    } | null;
    /** How many jobs match. */
    matched: number;
  };
  /** Present if counting ended early; there may be more jobs. */
  partial?: true;
}

/** Which jobs to cancel. */
export interface CancelRequest {
  /** Integer ids or UUIDs. */
  job_ids: (number | string)[];
}

/** An integer `job_id`, a UUID, or an idempotency key after `key:`. */
export type JobInPath = string;

/** A UUID, or an idempotency key after `key:`. */
export type ScheduleInPath = string;

/** An integer `job_id` or a UUID. */
export type JobIdText = string;

/**
 * Fields of `JobRequest`; `null` removes one. Not `idempotency_key`,
 * `repeat_every`, `cron` and the options of schedules, unless they are
 * `null` and the job has none.
 */
export interface JobEdit {
  [name: string]: unknown;
}

/** Fields of `JobRequest`; `null` removes one. Not `idempotency_key`. */
export interface ScheduleEdit {
  [name: string]: unknown;
}

/** An attempt of a job. */
export interface AttemptSummary {
  /** Its number. An interrupted attempt has the same as the next. */
  attempt: number;
  started_at: Instant;
  /** How long it took; null while it is under way. */
  duration_ms: number | null;
  /** The status of the response; null without one. */
  status: number | null;
  /** Why it failed; null if it did not, or is under way. */
  error: {
    /** As in logs, and `status` for a response that is no success. */
    kind: string;
    /** In words. */
    message: string;
  } | null;
  /** When it was tried again; null if it was not. */
  retry_at: Instant | null;
}

/** The details of a job. */
export interface JobDetailsAnswer {
  /** The details. */
  data: {
    job: JobRecord;
    /** How many definitions the job has had. */
    revision: number;
    /** The latest, oldest first. */
    attempts: AttemptSummary[];
    /** When the next attempt is due; null when the job is executing, final or waits for other jobs. */
    next_attempt_at: Instant | null;
    /**
     * What the job waits for at this moment: the keys of limits, and `job:ID` for
     * the first hundred of the jobs that it is to start `after`.
     */
    waiting_for: string[];
    /** The `job_id` of the job that this one repeats. */
    rerun_of: number | null;
    /** The `job_id`s of the jobs that repeat this one, newest first. */
    reruns: number[];
    /** The `job_id`s of the jobs that a run with a group became, in the order of the targets. */
    children: number[];
    /** The `job_id` of the run that became this job. */
    parent: number | null;
    /** For a job whose outcome is reported later; null otherwise. */
    completion: CompletionState | null;
    /** The points of the schedule's grid that the run stands for; null for a one-off job. */
    points: {
      /** How many. */
      count: number;
      from: Instant;
      to: Instant;
    } | null;
    /** The callbacks and webhook events of the job. */
    deliveries: {
      /** How many are still to be delivered. */
      pending: number;
      /** How many were given up. */
      failed: number;
    };
  };
}

/** The details of a schedule. */
export interface ScheduleDetailsAnswer {
  /** The details. */
  data: {
    schedule: ScheduleRecord;
    /** How many definitions the schedule has had. */
    revision: number;
    /** When the next run is due; null when the schedule is disabled. */
    next_run_at: Instant | null;
    /** The next due times. */
    next: Instant[];
    /** The latest run that is final; null if there is none. */
    last_run: JobRecord | null;
    /** How many of the latest runs were discarded since the last that was completed. Cancelled runs don't count. */
    failures_in_a_row: number;
    /** How many runs remain; null unless their number is limited. */
    runs_left: number | null;
    /** The mute in force, with `include=mute`; null if the schedule is not muted. */
    mute?: Mute | null;
  };
}

/** Alerts send no failures of a muted schedule. */
export interface Mute {
  /** When the mute ends; null if only `DELETE` ends it. */
  until: Instant | "recovered" | null;
  /** Why. */
  note: string | null;
  muted_at: Instant;
}

/** Until when a schedule is muted. */
export interface NewMute {
  /**
   * A time with its offset, in the future and at most a year ahead; `recovered`
   * for the next success of the schedule; or null for a mute that only `DELETE`
   * ends.
   */
  until?: string | "recovered" | null;
  /** Why, up to 500 characters. */
  note?: string | null;
}

/** A mute. */
export interface MuteAnswer {
  data: Mute;
}

/** The edits of a record. */
export interface RevisionsAnswer {
  /** The latest first. */
  data: ({
    /** The revision that it made. */
    revision: number;
    changed_at: Instant;
    /** Who made it. */
    by: {
      /** An API key, the public key, a signed-in user, an operator, or the service itself. */
      kind: "key" | "public" | "session" | "operator" | "system";
      /** The id of the key or the account. */
      id: string | null;
      /** The name of the key or the user's email, as it was then. */
      name: string | null;
    };
    /** The fields that changed. */
    changes: {
      /** A JSON pointer to the field. */
      path: string;
      /** The value before; null if there was none. */
      from: AnyValue;
      /** The value after; null if it was removed. */
      to: AnyValue;
    }[];
  })[];
}

/** Any JSON value. */
export type AnyValue = {
  [name: string]: unknown;
} | unknown[] | string | number | boolean | null;

/** What a schedule's runs share. */
export interface StateAnswer {
  /** The state and the last response. */
  data: {
    /** The `$state`; `{}` when there is none. */
    state: {
      [name: string]: unknown;
    };
    /** The `$previous`, of any type; null when there is none. */
    previous: unknown;
  };
}

/** When a job would run. */
export interface Preview {
  /** In words, and as times. */
  data: {
    /** How often, for people. The text may change with any version. */
    words: string;
    /** The next five due times; of a one-off job one. */
    next: Instant[];
  };
}

/** A letter `a` to `z` or a digit, then up to 63 of these and of `:._-`. */
export type Tag = string;

/** Up to 10 different tags. */
export type Tags = Tag[];

/** How many jobs are in each state. */
export interface JobCounts {
  /** A count for every state, from 0 to `limit`. */
  data: {
    available: Count;
    executing: Count;
    retryable: Count;
    completed: Count;
    cancelled: Count;
    discarded: Count;
  };
  /** Up to which number each state is counted. */
  limit: number;
  /** Counting ended early. Absent otherwise. */
  partial?: true;
}

/** A number of jobs. */
export type Count = number;

/** A schedule's record under `data`. */
export interface ScheduleAnswer {
  data: ScheduleRecord;
}

/** Schedules under `data`. */
export interface ScheduleList {
  data: ListedSchedule[];
}

/** A log entry under `data`. */
export interface LogAnswer {
  data: LogRecord;
}

/** Log entries under `data`. */
export interface LogList {
  data: LogRecord[];
}

/** The definition of an alert. */
export interface AlertRequest {
  /**
   * What is reported. `failed`: `after` discarded runs of a schedule in a
   * row, or discarded one-off jobs; one that a success has overtaken is not
   * sent. `recovered`: the first success after a `failed` was sent, or
   * without `failed` the first after `after` such failures. `late`: a job
   * hasn't started `late_by` after its due time. `skipped`: a schedule has
   * passed over due times. `ended`: a schedule has ended with its last run.
   */
  on: ("failed" | "recovered" | "late" | "skipped" | "ended")[];
  /** How many failures in a row are reported. */
  after?: number | null;
  /** How late a job is that is reported; at least a second, a minute unless given. */
  late_by?: Duration | null;
  match?: AlertMatch | null;
  to: AlertReceiver[];
  /** How often a reminder is sent while it lasts; at least a second, none unless given. */
  remind_every?: Duration | null;
}

/**
 * Which jobs the alert watches: those that have all of the tags, the runs of
 * a schedule, or both. An empty object watches all.
 */
export interface AlertMatch {
  tags?: Tag[] | null;
  schedule_id?: UuidOrNull;
}

/**
 * Where the alert sends messages: one of the members. A `webhook` gets JSON; `slack` is the
 * URL of an incoming webhook of Slack, `teams` of a Workflows webhook of Microsoft
 * Teams; `pagerduty` is an integration key of PagerDuty's Events API v2, or the URL
 * of such an API with `routing_key`; `email` needs `--smtp-url`.
 */
export interface AlertReceiver {
  webhook?: Url;
  slack?: Url;
  teams?: Url;
  pagerduty?: string;
  email?: string;
}

/** An alert with its definition, and defaults for what was not given. */
export interface Alert {
  name: string;
  on: ("failed" | "recovered" | "late" | "skipped" | "ended")[];
  after: number;
  late_by: Duration;
  match: AlertMatch;
  to: AlertReceiver[];
  remind_every: Duration | null;
  inserted_at: Instant;
  updated_at: Instant;
}

/** One alert. */
export interface AlertAnswer {
  data: Alert;
}

/** A list of alerts. */
export interface AlertList {
  data: Alert[];
}

/** What the receivers of an alert said to a test. */
export interface AlertTestAnswer {
  data: {
    alert: string;
    results: ({
      to: AlertReceiver;
      /** The status of the response; 250 for an e-mail that the mail server has taken. */
      status: number | null;
      /** The beginning of the response's body, at most 300 bytes. */
      response: string | null;
      /** Why there was no response. */
      error: Failure | null;
      duration_ms: number;
    })[];
  };
}

/** What an alert sends to a webhook. It never has request headers or bodies. */
export interface AlertMessage {
  type: "alert.failed" | "alert.recovered" | "alert.late" | "alert.skipped" | "alert.ended" | "alert.merged" | "alert.test";
  timestamp: Instant;
  data: {
    /** The alert's name. */
    alert: string;
    /** The schedule; null for one-off jobs. */
    schedule: UuidOrNull;
    /** The integer id of the job. */
    job: number | null;
    /** Failures in a row; 0 unless the type is `alert.failed`. */
    failures: number;
    /** The status of the response to the last attempt. */
    status: number | null;
    error: Failure | null;
    /** The beginning of the response's body, at most 300 bytes. */
    excerpt: string | null;
    /** The job's `url`. */
    url: string | null;
    /** Of `alert.ended` only. Why the schedule has ended, as in the log `worker.schedule.ended`. */
    reason?: string;
    /** Of `alert.merged` only. How many messages it stands for, by type. */
    merged?: {
      [name: string]: number;
    };
  };
}

/** `worker.alert.failed`: a message of an alert was given up. */
export interface AlertFailedPayload {
  /** The receiver; `mailto:` and the address for an e-mail. */
  url: string;
  /** The type of the message. */
  type: string;
  attempts: number;
  response: LastResponse | null;
  error: Failure | null;
}

/** Any object; three keys are strings if they are there. */
export interface Broadcast {
  /** What is said. */
  content?: string | null;
  /** Who says it. */
  author?: string | null;
  /** Where it is said. */
  channel?: string | null;
  [name: string]: unknown;
}

/** All is well. */
export interface Health {
  /** Always `ok`. */
  status: "ok";
}

/** A UUID in lower case. */
export type Uuid = string;

/** A UUID in lower case, or null. */
export type UuidOrNull = string | null;

/** A moment in UTC, with six fractional digits and `Z`. */
export type Instant = string;

/** A moment in UTC, with six fractional digits and `Z`; or null. */
export type InstantOrNull = string | null;

/** A moment in UTC to the second, without a zone designator. */
export type LocalSeconds = string;

/** An absolute https URL; http if the operator permits it. */
export type Url = string;

/** A method, in lower case. */
export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Headers by name. An array sends the header once for each value. */
export interface HeaderMap {
  [name: string]: HeaderValue | HeaderValue[];
}

/** One value of a header, without control characters. */
export type HeaderValue = string | number | boolean;

/** Parameters by name, or a ready query string. */
export type QueryMap = { [name: string]: QueryValue } | string;

/** A scalar, an array of scalars, or an object of such values. */
export type QueryValue = string | number | boolean | null | (string | number | boolean | null)[] | { [name: string]: QueryValue };

/** A string, a number, a boolean or null. */
export type QueryScalar = string | number | boolean | null;

/** Seconds, or an amount and a unit. */
export type Duration = Seconds | AmountAndUnit;

/** Seconds, at least one, or an amount and a unit. */
export type Interval = number | AmountAndUnit;

/** A number of seconds, up to 3,652 days. Fractions are fine. */
export type Seconds = number;

/**
 * An amount, fractions included, and `second`, `minute`, `hour`, `day` or
 * `week`, singular or plural.
 */
export type AmountAndUnit = [number, Unit];

/** A timestamp, a date, or unix seconds. */
export type When = string | number;

/** Five fields, or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
export type Cron = string;

/** The IANA name of a zone. */
export type Timezone = string;

/** The status of the response. */
export type StatusCode = number;

/** Headers by name; several values of one name are joined with a comma and a space. */
export interface ResponseHeaders {
  [name: string]: string;
}

/**
 * The JSON value if the response declares JSON and is valid; else a string;
 * else, when that is not UTF-8, base64. At most 256 KiB are kept.
 */
export type ResponseBody = unknown;

/** Standard base64 with padding, without line breaks. */
export type Base64 = string;

/** What is sent but never shown of the request, `body`, `headers` or `header:NAME`, and of the `response`. */
export type Redact = string[];

/**
 * The body; null when there was none. Bytes of `body_base64` are shown as a
 * string if they are UTF-8, else as base64.
 */
export type SentBody = unknown;

/**
 * There when `body` is base64: the bytes of `body_base64` are not UTF-8, or
 * escaping would lengthen them by more than half as a JSON string.
 */
export type SentEncoding = "base64";

/**
 * There when `body` is base64: the response's body is not UTF-8, or it is text
 * that escaping would make longer than 384 KiB as a JSON string.
 */
export type Base64Marker = "base64";

/**
 * There when `body` is null because it is not kept: the request had secrets or
 * `X-Punctual-Complete`, and the response a content coding or charset in which these can't
 * be masked.
 */
export type WithheldMarker = true;

/** Whether the body was longer than what is kept. */
export type Truncated = boolean;

/** How long the attempt took, in milliseconds. */
export type Milliseconds = number;

/** Which attempt it was, counted from 1. */
export type Attempt = number;

/** What went wrong, for people. */
export type Sentence = string;

/** An account, without its keys and secrets. */
export interface AccountAnswer {
  data: {
    /** The `user_id` of the account's records. */
    id: Uuid;
    email: string;
    /** What the account may use. Null is unlimited. */
    limits: {
      /**
       * How many calls a second the account may make on each node of
       * the service. A second's worth may come at once.
       */
      calls_per_second: number | null;
      /** How many unfinished one-off jobs there may be. Runs of schedules don't count. */
      pending_jobs: number | null;
      /** How many schedules there may be, disabled ones included. */
      schedules: number | null;
      /** How many bytes the account's records may take up. */
      stored_bytes: number | null;
      /** How many keys that are not revoked there may be. */
      keys: number;
      /** How large a request's body may be. */
      body_bytes: number;
    };
    /** What the account uses of its limits. */
    usage: {
      /** Counted up to 1,000, or up to the limit when that is higher. */
      pending_jobs: number;
      /** Counted up to 1,000, or up to the limit when that is higher. */
      schedules: number;
      /** As sampled. Null when it is not limited, or not sampled yet. */
      stored_bytes: number | null;
      /** When `stored_bytes` was sampled. Null when it was not. */
      sampled_at: KeyTime | null;
    };
    /** How long final jobs and logs are kept; null is forever. */
    retention_seconds: number | null;
    /** The public keys of the signatures `v1a`, newest first: one for each signing secret. Empty while none can be decrypted. */
    signing_public_keys: string[];
  };
}

/** A key as it is listed, without the key itself. */
export interface ApiKey {
  id: Uuid;
  name: string;
  /** What the key begins with. */
  prefix: string;
  scope: Scope;
  /** The networks it can be used from; none for any. */
  cidrs: string[];
  created_at: KeyTime;
  /** From when on it does not work. Null for never. */
  expires_at: KeyTime | null;
  /** Exact to half a minute. Null when it was never used. */
  last_used_at: KeyTime | null;
  /** Null when it was not revoked. */
  revoked_at: KeyTime | null;
  /**
   * Who made the key: a person's email, or what the key begins with that made it.
   * Null for the command line, and if it isn't known.
   */
  created_by: string | null;
}

/** A time in UTC, with six digits of a second. */
export type KeyTime = string;

/** What a new key is to be. */
export interface NewKey {
  /** What the key is for. */
  name?: string | null;
  /** What it permits; `admin` when it is not given. */
  scope?: Scope | null;
  /**
   * From when on it does not work, in the notations of `scheduled_at`;
   * ahead, by at most 100 years. Never when it is not given.
   */
  expires_at?: string | null;
  /** Networks and single addresses it can be used from; any when there are none. */
  cidrs?: string[] | null;
}

/** What a key permits. Each scope includes those before it. */
export type Scope = "read" | "jobs" | "admin";

/** An entry of the audit log. */
export interface AuditEntry {
  id: Uuid;
  /** When it happened first. */
  inserted_at: KeyTime;
  /**
   * What happened, such as `signin.succeeded`, `signin.failed`,
   * `signout`, `session.ended`, `identity.added`,
   * `identity.removed`, `email.confirmed`, `email.change_asked`,
   * `email.changed`, `key.created`, `key.revoked`,
   * `secret.rotated`, `token_keys.rotated`, `header_secret.created`, `header_secret.changed`,
   * `header_secret.deleted`, `password.changed`, `password.failed`,
   * `totp.enabled`, `totp.disabled`, `totp.reset`,
   * `totp.recovery_used`, `totp.recovery_replaced`, `account.created`,
   * `account.operator`, `alert.created`, `alert.changed`,
   * `alert.deleted`, `limit.created`, `limit.changed`,
   * `limit.deleted`, `schedule.disabled`, `schedule.enabled`,
   * `schedule.deleted`, `schedule.muted`, `schedule.unmuted`, `document.applied`, `operation.started`,
   * `operation.stopped`. Others may be added.
   */
  event: string;
  /** Who did it. */
  actor: {
    /**
     * `key` (a call of the API), `session` (the dashboard), `cli` (the
     * command line on the service's machine), `operator` (an operator
     * in the dashboard) or `nobody` (whoever tried to sign in, or anyone
     * in the account of the public key).
     */
    kind: "key" | "session" | "cli" | "operator" | "nobody";
    /** The prefix of the key, or the operator's email. */
    name: string | null;
  };
  /** The client's network address, the latest one when it happened more than once. */
  address: string | null;
  /** More about it, in words. */
  detail: string | null;
  /** How often it happened. */
  count: number;
  /** When it happened last. */
  last_at: KeyTime;
}

/** Entries of the audit log, the latest first. */
export interface AuditList {
  data: AuditEntry[];
}

/**
 * What a person may do in an account. Each role includes those before it: `viewer`
 * sees jobs, schedules and logs, `editor` changes jobs and schedules, `admin` also
 * keys, secrets and people, and `owner` also owners and the account itself.
 */
export type Role = "viewer" | "editor" | "admin" | "owner";

/** A person in an account, or an invitation. */
export interface Member {
  id: Uuid;
  email: string;
  role: Role;
  /** `invited` until the invitation is accepted. */
  state: "member" | "invited";
}

/** Persons and invitations, ordered by email. */
export interface MemberList {
  data: Member[];
}

/** A person or invitation. */
export interface MemberAnswer {
  data: Member;
}

/** An invitation with its link. */
export interface InvitationAnswer {
  data: Member & {
    /** The page where the person accepts, shown this once. */
    link: string;
  };
}

/** Whom to invite. */
export interface NewMember {
  /** The email that the person signs in with. */
  email: string;
  role: Role;
}

/** The new role of a person or an invitation. */
export interface MemberChange {
  role: Role;
}

/** Keys in the order they were made. */
export interface KeyList {
  data: ApiKey[];
}

/** A new key. */
export interface KeyAnswer {
  data: ApiKey & {
    /** The key itself, shown this once. */
    key: string;
  };
}

/** A secret that jobs can name, without its value. */
export interface HeaderSecret {
  name: string;
  hosts: SecretHosts;
  /**
   * There for secrets that `auth.mtls` and `auth.aws` name; not for header
   * values, and not if it can't be decrypted.
   */
  kind?: "certificate" | "access_key";
  /** There, and true, if targets of http may receive the secret, too. */
  http?: true;
  created_at: KeyTime;
  updated_at: KeyTime;
}

/**
 * The hosts that may receive the secret: names in lower case, or addresses,
 * without ports.
 */
export type SecretHosts = string[];

/**
 * A secret to store: `value` or `oauth2` for headers, `certificate` and
 * `private_key` for `auth.mtls`, or `access_key_id` and `secret_access_key` for
 * `auth.aws`.
 */
export interface NewHeaderSecret {
  /** What replaces the placeholder. Visible ASCII and spaces. */
  value?: string | null;
  /**
   * A client certificate in PEM, followed by those that lead to its authority,
   * 8 at most.
   */
  certificate?: string | null;
  /** The private key of the certificate in PEM, not encrypted. */
  private_key?: string | null;
  access_key_id?: string | null;
  secret_access_key?: string | null;
  /** For an access key that lasts for a time only. */
  session_token?: string | null;
  hosts: SecretHosts;
  /**
   * Whether targets of `http` may receive the secret, too. Anybody on the way to
   * them can read it.
   */
  http?: boolean | null;
  /**
   * OAuth2 client credentials (RFC 6749, section 4.4). A token is fetched
   * when one is needed, used until a minute before it ends, and fetched
   * once more when a target responds with 401; that request is repeated
   * once.
   */
  oauth2?: {
    token_url: Url;
    client_id: string;
    client_secret: string;
    scope?: string | null;
  } | null;
}

/** A secret. */
export interface HeaderSecretAnswer {
  data: HeaderSecret;
}

/** The name of a group of targets. */
export type GroupName = string;

/** A target of a group. */
export interface Target {
  /** Its name, which no other target of the group has. */
  name: GroupName;
  /** Where the request goes. */
  url: Url;
  /** Headers for this target. They win over the job's of the same names. */
  headers?: HeaderMap | null;
}

/** The targets of a group. */
export interface NewGroup {
  /** The targets, in the order of their jobs. */
  targets: Target[];
}

/** A group of targets. */
export interface Group {
  name: GroupName;
  /** The targets, as sent. */
  targets: Target[];
  inserted_at: Instant;
  updated_at: Instant;
  /**
   * A number that rises with each change, and when a group is created again
   * after it was deleted. As a tag it is the `ETag`.
   */
  revision: number;
}

/** A group. */
export interface GroupAnswer {
  data: Group;
}

/** The account's groups, ordered by name. */
export interface GroupList {
  data: Group[];
}

/**
 * The state of a workflow run. One that is `waiting` makes no request until a sleep
 * ends, an event arrives or another run ends.
 */
export type RunState = "started" | "waiting" | "succeeded" | "failed" | "cancelled";

/** A workflow run. */
export interface Run {
  /** The id, unique within the account. */
  id: string;
  /** The address of the workflow's route. */
  url: string;
  state: RunState;
  /** The labels that it was started with. */
  labels: string[];
  /** When it was started. */
  inserted_at: string;
  /** When it ended. */
  ended_at: string | null;
  /** Why it failed, if no response says so. */
  error: string | null;
  /** The job whose end has failed it. */
  failed_job: string | null;
  /** The run that waits for its end. */
  invoked_by: string | null;
  /** The failed run that it resumes or restarts. */
  repeats: string | null;
  /** How many records of steps there are. */
  records: number;
}

/**
 * A record of a step. A step in parallel has a `plan` before its `result`; a call to
 * a third party, a wait for an event and an invocation have records of their own
 * before their `result`.
 */
export interface RunStep {
  /** The number of the step within the run; 0 is the payload. */
  step: number;
  /** What the record is. */
  kind: "payload" | "plan" | "result" | "call" | "wait" | "invoke" | "event";
  /** The name of the step. */
  name: string;
  /** The type of the step as the SDK names it, such as `Run` or `SleepFor`. */
  type: string;
  /** How many steps run in parallel with it, itself included. */
  concurrent: number;
  /** When the record was stored. For a result, that is the end of the step. */
  inserted_at: string;
  /** When its message is due, which is the end of a sleep. */
  due_at: string | null;
  /** Whether what its message was to do is done. */
  settled: boolean;
  /** The event that a wait is for, or the run that an invocation is for. */
  waits_for: string | null;
  /** The job that carries its message; it may have been removed. */
  job: string | null;
}

/** A workflow run with its steps. */
export type RunWithSteps = Run & {
  /** The first 1,000 records of steps, in the order in which they were stored. */
  steps: RunStep[];
};

/** A workflow run. */
export interface RunAnswer {
  data: RunWithSteps;
}

/** The account's workflow runs, latest first. */
export interface RunList {
  data: Run[];
}

/** A limit for receivers. */
export interface NewLimit {
  /** How many attempts may start in any window of a length; null for no rate. */
  rate?: {
    /** How many attempts. To permit none, set `paused`. */
    calls: number;
    /** The window's length, from a millisecond to 31 days. */
    per: Duration;
  } | null;
  /** How many attempts may be under way at once; null for any number. */
  parallel?: number | null;
  /**
   * Whether attempts start in the order of their jobs' due times, then of their
   * creation. A job that waits for a retry keeps its place of `parallel` until it
   * is final. A limit with a key that begins with `host:` can't be ordered.
   */
  ordered?: boolean | null;
  /** While true, no attempt that needs the limit starts. */
  paused?: boolean | null;
}

/** A limit for receivers. */
export interface Limit {
  /** What jobs name it by. */
  key: string;
  /** How many attempts may start in any window of a length; null for no rate. */
  rate: {
    /** How many attempts. */
    calls: number;
    /** The window's length in seconds. */
    per: number;
  } | null;
  /** How many attempts may be under way at once; null for any number. */
  parallel: number | null;
  /** Whether attempts start in the order of their jobs' due times, then of their creation. */
  ordered: boolean;
  /** Whether no attempt that needs the limit may start. */
  paused: boolean;
}

/** A limit. */
export interface LimitAnswer {
  data: Limit;
}

/** The account's limits, ordered by key. */
export interface LimitList {
  data: Limit[];
}

/** A limit and its use. */
export interface LimitUseAnswer {
  data: Limit & ({
    /** How many due jobs wait in its line, up to 100,000. */
    waiting: number;
    /** How many attempts are granted or under way, up to 100,000. */
    in_flight: number;
    /** When the next attempt may start; null while it is paused or `parallel` attempts are under way. */
    next_at: KeyTime | null;
    /** The first job that waits in an ordered limit, due or not; null if none does, or if the limit is not ordered. */
    first: {
      /** The job. */
      job_id: number;
      /** What it waits for at this moment; empty if it is not due. */
      waiting_for: string[];
    } | null;
  });
}

/** The account's secrets, ordered by name. */
export interface HeaderSecretList {
  data: HeaderSecret[];
}

/** Signing secrets, newest first. */
export interface SecretList {
  data: ({
    /** Null if it is encrypted with a key that the service does not have. */
    secret: string | null;
    created_at: KeyTime;
    /** Until when it signs. Null for the newest. */
    expires_at: KeyTime | null;
  })[];
}

/** Statistics by minute, and all together. */
export interface StatsResponse {
  data: (RunStats & {
    /** When the minute began. */
    minute: KeyTime;
  })[];
  total: RunStats;
}

/** How late the jobs of all accounts began. */
export interface PunctualityAnswer {
  data: {
    /** When this was computed. */
    at: KeyTime;
    hour: Lateness;
    day: Lateness;
    week: Lateness;
  };
}

/** How punctual a schedule was in a month. */
export interface SchedulePunctualityAnswer {
  data: {
    schedule_id: string;
    /** The month in UTC, such as 2026-11. */
    month: string;
    /** Whether all final runs are counted. */
    complete: boolean;
    /** How many runs were due. */
    due: number;
    /** How many runs were attempted. */
    made: number;
    completed: number;
    /** How many runs were discarded. */
    failed: number;
    cancelled: number;
    /** How many runs began more than `late_after_ms` after their due time. */
    late: number;
    /**
     * How many points of the grid had no run, by reason, as in logs of the event
     * `worker.schedule.skipped`. Those with the reason `next` were passed over
     * because a response asked for that; they were not due.
     */
    missed: {
      down: number;
      overlap: number;
      limit: number;
      expired: number;
      next: number;
    };
    /** The lateness in milliseconds above which a run counts as late. */
    late_after_ms: number;
    lateness_ms: LatenessFigures;
    /** The longest outages, in order of their first runs. */
    outages: ScheduleOutage[];
    /** How many shorter outages are not listed. */
    outages_omitted: number;
  };
}

/** A time without successful runs. */
export interface ScheduleOutage {
  /**
   * `service`: runs were due and did not start; the service was down or
   * overloaded. `target`: runs failed, one after the other.
   */
  reason: "service" | "target";
  from: KeyTime;
  to: KeyTime;
  /** How many runs were late or failed, with the points that had no run. */
  runs: number;
}

/** How late the attempts began that ended since a time. */
export interface Lateness {
  /** From when on attempts count. */
  since: KeyTime;
  attempts: number;
  lateness_ms: LatenessFigures;
}

/** Milliseconds; null when there were no attempts. */
export interface LatenessFigures {
  /** The median. */
  p50: number | null;
  /** The 99th percentile. */
  p99: number | null;
  /** The 99.9th percentile. */
  p999: number | null;
  worst: number | null;
}

/** How many runs there were and how they went. */
export interface RunStats {
  runs: number;
  succeeded: number;
  failed: number;
  /** How long after their due times runs began. */
  lateness_ms: Percentiles;
  /** How long attempts took. */
  duration_ms: Percentiles;
}

/** Milliseconds; null when there were no runs. */
export interface Percentiles {
  p50: number | null;
  p99: number | null;
}

/** The filters of `GET /api/jobs/counts`. */
export interface JobParameters {
  /**
   * Only jobs in this state. `scheduled` means pending: `available` or
   * `retryable`. The others mean themselves.
   */
  state?: "scheduled" | "completed" | "cancelled" | "available" | "executing" | "retryable" | "discarded";
  /** Only the runs of this schedule. */
  schedule_id?: Uuid;
  /** Only jobs that carry this key. */
  idempotency_key?: string;
  /**
   * Only records that have this tag. Given several times, up to 10, only those
   * that have all of them.
   */
  tag?: Tag | readonly Tag[];
  /**
   * Only jobs whose url has this host name, whatever the case and the port.
   * Jobs stored by a version before this filter are not found.
   */
  host?: string;
  /** Only jobs with exactly this name. */
  name?: string;
  /** Only the jobs that the run with this `job_id` became, because its schedule names a group. */
  parent?: number;
  /**
   * Only jobs whose latest attempt that has ended failed so: `timeout`,
   * `connect`, `status` for a response that is no success, and so on. A
   * completed job has none. It is read from the logs, so each page looks at up
   * to 1,000 jobs that the other filters select: a page may have fewer jobs
   * than `limit`, or none, and still have a next one. It does not go with
   * `offset` and `order_by`.
   */
  error_kind?: string;
  /**
   * Only jobs created from this time on: a datetime as in `scheduled_at`, or
   * unix seconds.
   */
  since?: string;
  /** Only jobs created before this time, in the same forms as `since`. */
  until?: string;
}

/** The filters of `GET /api/logs/export`. */
export interface LogParameters {
  /** Only entries of this job, by its integer `job_id` or the record's UUID. */
  job_id?: JobIdText;
  /** Only entries of this schedule's runs. */
  schedule_id?: Uuid;
  /** Only entries of this event, such as `worker.http.response`. */
  event?: string;
  /**
   * Only entries from this time on: a datetime as in `scheduled_at`, or unix
   * seconds.
   */
  since?: string;
  /** Only entries before this time, which must not be earlier than `since`. */
  until?: string;
}
