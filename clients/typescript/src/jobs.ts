import type { Call } from "./call.js";
import { data, start, whole } from "./call.js";
import type { JobCounts, JobDetailsAnswer, JobRecord, MinimalJob, Preview, RevisionsAnswer } from "./generated.js";
import type { List } from "./list.js";
import { poll, type WaitOptions } from "./poll.js";
import { conditional, isFinal, pathOf, Resource } from "./resource.js";
import type { CallOptions } from "./transport.js";
import type { BatchOutcome, Changes, IfMatch, JobFilter, JobQuery, JobRef, Masking, NewJob, WithKey } from "./types.js";

const jobs = "/api/jobs";
const minimal = { prefer: "return=minimal" };

/** Asks for ids in place of whole records. */
export interface Minimal {
  minimal: true;
}

/** Stores the items of a batch that are right, even if others are wrong. */
export interface NotAtomic {
  atomic: false;
}

/** Jobs: requests to be sent now, later, or (as runs) on a schedule. */
export class Jobs extends Resource {
  /**
   * Creates a job. The call carries a `request_id`, made for it unless the job has
   * one, so that its retries create one job.
   */
  create(job: NewJob, options: CallOptions & Minimal): Call<MinimalJob>;
  create(job: NewJob, options?: CallOptions): Call<JobRecord>;
  create(job: NewJob, options?: CallOptions & Partial<Minimal>): Call<JobRecord | MinimalJob> {
    const headers = options?.minimal ? minimal : {};
    return start(this.transport, { method: "POST", path: jobs, body: identified(job), headers, repeatable: true }, options, (body) => {
      const record = data<JobRecord | MinimalJob>(body);
      if (isOwn(job)) withoutConflict(record);
      return record;
    });
  }

  /** Creates a job for each target of `job.group`, in one transaction. */
  createForGroup(job: NewJob, options?: CallOptions): Call<JobRecord[]> {
    return start(this.transport, { method: "POST", path: jobs, body: identified(job), repeatable: true }, options, (body) => {
      const records = data<JobRecord[]>(body);
      if (isOwn(job)) records.forEach(withoutConflict);
      return records;
    });
  }

  /**
   * Creates up to 1,000 jobs in one transaction: all, or with `atomic: false`
   * those that are right. Each item carries a `request_id`, made for the call
   * unless the item has one, so that retries create each job once.
   */
  createMany(items: readonly NewJob[], options: CallOptions & NotAtomic & Minimal): Call<BatchOutcome<MinimalJob>[]>;
  createMany(items: readonly NewJob[], options: CallOptions & NotAtomic): Call<BatchOutcome[]>;
  createMany(items: readonly NewJob[], options: CallOptions & Minimal): Call<MinimalJob[]>;
  createMany(items: readonly NewJob[], options?: CallOptions): Call<JobRecord[]>;
  createMany(items: readonly NewJob[], options?: CallOptions & Partial<NotAtomic & Minimal>): Call<unknown[]> {
    const query = { atomic: options?.atomic === false ? false : undefined };
    const headers = options?.minimal ? minimal : {};
    return start(this.transport, { method: "POST", path: `${jobs}/batch`, query, body: items.map(identified), headers, repeatable: true }, options, (body) => {
      const results = data<(JobRecord | MinimalJob | BatchOutcome<JobRecord | MinimalJob>)[]>(body);
      results.forEach((result, i) => {
        const item = items[i];
        if (item === undefined || !isOwn(item)) return;
        const record = "status" in result ? result.job : result;
        if (record) withoutConflict(record as JobRecord | MinimalJob);
      });
      return results as unknown[];
    });
  }

  /**
   * Creates up to 1,000 jobs in one transaction, and another that waits until all of
   * them are final. Its body gets `$batch`, which says how they have ended.
   */
  createManyThen(items: readonly NewJob[], then: NewJob, options?: CallOptions): Call<{ jobs: JobRecord[]; then: JobRecord }> {
    const body = { jobs: items.map(identified), then: identified(then) };
    return start(this.transport, { method: "POST", path: `${jobs}/batch`, body, repeatable: true }, options, (answer) => {
      const records = data<JobRecord[]>(answer);
      const last = (answer as { then: JobRecord }).then;
      [...items, then].forEach((item, i) => {
        const record = i < items.length ? records[i] : last;
        if (record !== undefined && isOwn(item)) withoutConflict(record);
      });
      return { jobs: records, then: last };
    });
  }

  /** Lists jobs, by default the most recently created first. */
  list(query: JobQuery = {}, options?: CallOptions): List<JobRecord> {
    return this.listOf(jobs, query, options);
  }

  get(ref: JobRef, options?: CallOptions & Masking): Call<JobRecord> {
    return this.call("GET", pathOf(jobs, ref), options, { query: { mask: options?.mask } });
  }

  /** Changes a job that waits for its first attempt. */
  edit(ref: JobRef, changes: Changes, options?: CallOptions & IfMatch): Call<JobRecord> {
    return this.call("PATCH", pathOf(jobs, ref), options, { body: changes, ...conditional(options) });
  }

  /** Cancels a job; a final one stays as it is. Of a schedule's run it skips the run. */
  cancel(ref: JobRef, options?: CallOptions & IfMatch): Call<JobRecord> {
    return this.call("POST", pathOf(jobs, ref, "/cancel"), options, conditional(options));
  }

  /** Cancels up to 100 jobs, or none if one is unknown. */
  cancelMany(ids: readonly (number | string)[], options?: CallOptions): Call<JobRecord[]> {
    return this.call("POST", `${jobs}/cancel`, options, { body: { job_ids: ids } });
  }

  /** Counts jobs by state. */
  counts(filter: JobFilter = {}, options?: CallOptions): Call<JobCounts> {
    return start(this.transport, { method: "GET", path: `${jobs}/counts`, query: { ...filter }, repeatable: true }, options, whole<JobCounts>);
  }

  /** Attempts, the next attempt, what a job waits for, reruns and deliveries. */
  details(ref: JobRef, options?: CallOptions): Call<JobDetailsAnswer["data"]> {
    return this.call("GET", pathOf(jobs, ref, "/details"), options);
  }

  /** The last 50 edits, latest first. */
  revisions(ref: JobRef, options?: CallOptions): Call<RevisionsAnswer["data"]> {
    return this.call("GET", pathOf(jobs, ref, "/revisions"), options);
  }

  /** Makes a pending job due now. */
  run(ref: JobRef, options?: CallOptions): Call<JobRecord> {
    return this.once("POST", pathOf(jobs, ref, "/run"), options);
  }

  /**
   * Creates a job with the same request, apart from the fields that differ. The call
   * carries an `Idempotency-Key`, made for it unless one is given, so that its retries
   * create one job.
   */
  rerun(ref: JobRef, changes?: Changes, options?: CallOptions & WithKey): Call<JobRecord> {
    const own = options?.idempotencyKey === undefined;
    const headers = { "idempotency-key": options?.idempotencyKey ?? crypto.randomUUID() };
    return start(this.transport, { method: "POST", path: pathOf(jobs, ref, "/rerun"), body: changes, headers, repeatable: true }, options, (body) => {
      const record = data<JobRecord>(body);
      if (own) withoutConflict(record);
      return record;
    });
  }

  /** When a job would run, in words and times. Nothing is created. */
  preview(job: NewJob, options?: CallOptions): Call<Preview["data"]> {
    return this.call("POST", "/api/preview", options, { body: job });
  }

  /** Waits until a job is final. */
  wait(ref: JobRef, options: WaitOptions<JobRecord> = {}): Promise<JobRecord> {
    return poll("waiting for the job", options, () => this.get(ref, options), (record) => isFinal(record.job.state));
  }
}

/** The job with a request_id, by which the service recognizes a repeated call. */
function identified(job: NewJob): NewJob {
  return typeof job.request_id === "string" ? job : { ...job, request_id: crypto.randomUUID() };
}

/** Whether a conflict can only be with an earlier try of the same call. */
const isOwn = (job: NewJob): boolean => typeof job.request_id !== "string" && typeof job.idempotency_key !== "string";

/**
 * Clears the mark of a duplicate: the job was created by an earlier try of the same
 * call.
 */
function withoutConflict(record: JobRecord | MinimalJob): void {
  if ("job" in record) record.job.has_confict = false;
  else delete record.has_confict;
}
