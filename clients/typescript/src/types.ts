import type { AlertRequest, DocumentSchedule, ExportedDocument, JobParameters, JobRecord, JobRequest, LogParameters, MinimalJob, OperationFilter, OperationRequest, Problem, RehearsalRequest, ScheduleDocument, Scope, When } from "./generated.js";

/** A time: a `Date`, a timestamp, a date, or unix seconds. */
export type Time = When | Date;

type WithTimes<T, Names extends keyof T> = Omit<T, Names> & { [Name in Names]?: Time | null };

type FilterOf<T extends { since?: string; until?: string }> = Omit<T, "since" | "until"> & {
  /** From this time on. */
  since?: Time;
  /** Before this time. */
  until?: Time;
};

/** A request to create a job, or with `repeat_every` or `cron` a schedule. */
export type NewJob = Omit<WithTimes<JobRequest, "scheduled_at" | "ends_at">, "method"> & {
  /** By default `get`. */
  method?: Method | Uppercase<Method> | null;
};

type Method = "get" | "post" | "put" | "patch" | "delete";

/** Fields to change; null removes one, what is absent stays. */
export type Changes = { [Name in keyof Omit<NewJob, "idempotency_key">]?: NewJob[Name] | null };

/** A schedule in full, for put: with `repeat_every` or `cron`. */
export type NewSchedule = Omit<NewJob, "idempotency_key">;

/** One schedule of a document for apply. */
export type SchedulePlan = NewSchedule & Pick<DocumentSchedule, "key">;

/** A document for apply. What export returns is one too. */
export type SchedulePlans = (Omit<ScheduleDocument, "schedules"> & { schedules: readonly SchedulePlan[] }) | (ExportedDocument & { owner: string });

/** What to rehearse; all members are optional. */
export type Rehearsal = Omit<WithTimes<RehearsalRequest, "from" | "to">, "schedules" | "outages"> & {
  outages?: readonly { at: Time; for: NonNullable<NewJob["schedule_in"]> }[] | null;
  /** Rehearsed instead of the stored schedules. */
  schedules?: readonly SchedulePlan[] | null;
};

/** Which jobs an operation changes, and what it sets. */
export type NewOperation = Omit<OperationRequest, "filter" | "set" | "dry_run"> & {
  filter?: WithTimes<OperationFilter, "since" | "until"> | null;
  set?: (Changes & { spread?: NewJob["schedule_in"] }) | null;
};

export type NewAlert = AlertRequest;

/** A new API key. */
export interface NewApiKey {
  name?: string;
  scope?: Scope;
  expires_at?: string | Date;
  cidrs?: readonly string[];
}

/**
 * Names a job: its `job_id` or `id`, or `{ key }` for the unfinished job with
 * that idempotency key.
 */
export type JobRef = number | string | { key: string };

/** Names a schedule: its `id`, or `{ key }` for the one with that idempotency key. */
export type ScheduleRef = string | { key: string };

/** What became of one item of a batch that is not atomic. */
export type BatchOutcome<Record = JobRecord> = { status: 200 | 201; job: Record } | { status: number; problem: Problem; job?: never };

export type MinimalOutcome = BatchOutcome<MinimalJob>;

/** A field to sort by, and a direction. */
export type Order<Field extends string> = readonly [Field, "asc" | "desc"] | readonly [Field];

/** The size of a page, and where to begin. */
export interface Paging<Field extends string = never> {
  /** Records in a page, 1 to 100, by default 100. */
  limit?: number;
  /** How many records to skip; not with `cursor`. */
  offset?: number;
  order_by?: Order<Field>;
  cursor?: string;
}

/** Which jobs a list or a count selects; all must match. */
export type JobFilter = FilterOf<JobParameters>;

export type JobOrder = "inserted_at" | "scheduled_at" | "attempted_at" | "completed_at" | "cancelled_at" | "discarded_at" | "state" | "job_id" | "id";
export type ScheduleOrder = "inserted_at" | "disabled_at" | "name" | "id";
export type LogOrder = "inserted_at" | "event" | "job_id" | "id";

/** Hides credentials in headers. */
export interface Masking {
  mask?: boolean;
}

export interface JobQuery extends JobFilter, Paging<JobOrder>, Masking {
  /** An id, an idempotency key, or text in the url or name. */
  q?: string;
}

export interface ScheduleQuery extends Paging<ScheduleOrder>, Masking {
  tag?: string | readonly string[];
  /** Adds when the next run is due to each record. */
  include?: "next_run_at";
}

/** Which log entries a list or an export selects; all must match. */
export type LogFilter = Omit<FilterOf<LogParameters>, "job_id"> & Masking & { job_id?: number | string };

export interface LogQuery extends LogFilter, Paging<LogOrder> {}

/** Changes only the revision with this `ETag` (or one of these); else 412. */
export interface IfMatch {
  ifMatch?: string | readonly string[];
}

/** Only creates: if there is one already, 412. */
export interface IfNew {
  ifNew?: boolean;
}

/** Another call with the same key returns the job that the first one created. */
export interface WithKey {
  idempotencyKey?: string;
}
