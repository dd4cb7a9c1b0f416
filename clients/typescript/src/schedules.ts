import type { Call } from "./call.js";
import { nothing, start, whole } from "./call.js";
import type { ApplyResult, Comparison, ExportedDocument, JobRecord, ListedSchedule, Mute, NewMute, RehearsalResult, RevisionsAnswer, ScheduleDetailsAnswer, SchedulePunctualityAnswer, ScheduleRecord } from "./generated.js";
import type { List } from "./list.js";
import { conditional, pathOf, Resource } from "./resource.js";
import type { CallOptions } from "./transport.js";
import type { Changes, IfMatch, IfNew, Masking, NewSchedule, Rehearsal, SchedulePlans, ScheduleQuery, ScheduleRef } from "./types.js";

const schedules = "/api/schedules";
const rehearsed = { prefer: "rehearse" };

/** What a schedule's runs share, and the response of the last one that succeeded. */
export interface StateOf<State> {
  state: State;
  previous: unknown;
}

/** Schedules: jobs that repeat. `jobs.create` with `cron` or `repeat_every` creates one too. */
export class Schedules extends Resource {
  /**
   * Creates the schedule that a key names, or makes it what is given: what is
   * absent goes back to its default. With an id it replaces an existing one.
   */
  put(ref: ScheduleRef, schedule: NewSchedule, options?: CallOptions & IfMatch & IfNew): Call<ScheduleRecord> {
    return this.call("PUT", pathOf(schedules, ref), options, { body: schedule, ...conditional(options) });
  }

  list(query: ScheduleQuery = {}, options?: CallOptions): List<ListedSchedule> {
    return this.listOf(schedules, query, options);
  }

  get(ref: ScheduleRef, options?: CallOptions & Masking): Call<ScheduleRecord> {
    return this.call("GET", pathOf(schedules, ref), options, { query: { mask: options?.mask } });
  }

  edit(ref: ScheduleRef, changes: Changes, options?: CallOptions & IfMatch): Call<ScheduleRecord> {
    return this.call("PATCH", pathOf(schedules, ref), options, { body: changes, ...conditional(options) });
  }

  /**
   * Deletes a schedule and cancels its pending run. Jobs and logs stay. A retry
   * after a lost response finds nothing left, and fails with `not_found`.
   */
  delete(ref: ScheduleRef, options?: CallOptions & IfMatch): Call<void> {
    return start(this.transport, { method: "DELETE", path: pathOf(schedules, ref), repeatable: true, ...conditional(options) }, options, nothing);
  }

  /** The next due times, the last run, how many runs failed in a row, and the mute. */
  details(ref: ScheduleRef, options?: CallOptions): Call<ScheduleDetailsAnswer["data"]> {
    return this.call("GET", pathOf(schedules, ref, "/details"), options, { query: { include: "mute" } });
  }

  /** How punctual the schedule was in one of the last 13 months, such as "2026-11". */
  punctuality(ref: ScheduleRef, options?: CallOptions & { month?: string }): Call<SchedulePunctualityAnswer["data"]> {
    return this.call("GET", pathOf(schedules, ref, "/punctuality"), options, { query: { month: options?.month } });
  }

  /** The last 50 edits, latest first. */
  revisions(ref: ScheduleRef, options?: CallOptions): Call<RevisionsAnswer["data"]> {
    return this.call("GET", pathOf(schedules, ref, "/revisions"), options);
  }

  /** Makes the pending run due now; of a disabled schedule, makes one run. */
  run(ref: ScheduleRef, options?: CallOptions): Call<JobRecord> {
    return this.once("POST", pathOf(schedules, ref, "/run"), options);
  }

  enable(ref: ScheduleRef, options?: CallOptions & IfMatch): Call<ScheduleRecord> {
    return this.call("POST", pathOf(schedules, ref, "/enable"), options, conditional(options));
  }

  disable(ref: ScheduleRef, options?: CallOptions & IfMatch): Call<ScheduleRecord> {
    return this.call("POST", pathOf(schedules, ref, "/disable"), options, conditional(options));
  }

  /** Alerts send none of its failures; it goes on running. `until` may be `"recovered"`, or null until `unmute`. */
  mute(ref: ScheduleRef, mute: NewMute = {}, options?: CallOptions & IfMatch): Call<Mute> {
    return this.call("PUT", pathOf(schedules, ref, "/mute"), options, { body: mute, ...conditional(options) });
  }

  unmute(ref: ScheduleRef, options?: CallOptions & IfMatch): Call<void> {
    return start(this.transport, { method: "DELETE", path: pathOf(schedules, ref, "/mute"), repeatable: true, ...conditional(options) }, options, nothing);
  }

  /** `$state` and `$previous`. The type is the caller's word: nothing checks it. */
  state<State extends object = Record<string, unknown>>(ref: ScheduleRef, options?: CallOptions): Call<StateOf<Partial<State>>> {
    return this.call("GET", pathOf(schedules, ref, "/state"), options);
  }

  /** Replaces `$state`, at most 64 KiB. */
  setState<State extends object = Record<string, unknown>>(ref: ScheduleRef, state: State, options?: CallOptions & IfNew): Call<StateOf<State>> {
    return this.call("PUT", pathOf(schedules, ref, "/state"), options, { body: state, ...conditional(options) });
  }

  clearState(ref: ScheduleRef, options?: CallOptions): Call<void> {
    return start(this.transport, { method: "DELETE", path: pathOf(schedules, ref, "/state"), repeatable: true }, options, nothing);
  }

  /** Makes an owner's schedules match a document of up to 1,000, all or nothing. */
  apply(document: SchedulePlans, options?: CallOptions & IfMatch): Call<ApplyResult[]> {
    return this.call("POST", "/api/apply", options, { body: document, ...conditional(options) });
  }

  /** What schedules will do. Nothing is sent or stored. */
  rehearse(rehearsal: Rehearsal = {}, options?: CallOptions): Call<RehearsalResult> {
    return this.call("POST", "/api/rehearse", options, { body: rehearsal });
  }

  /** How an edit would change a schedule's runs. */
  rehearseEdit(ref: ScheduleRef, changes: Changes, options?: CallOptions): Call<Comparison> {
    return this.call("PATCH", pathOf(schedules, ref), options, { body: changes, headers: rehearsed });
  }

  /** How put would change a schedule's runs. */
  rehearsePut(ref: ScheduleRef, schedule: NewSchedule, options?: CallOptions): Call<Comparison> {
    return this.call("PUT", pathOf(schedules, ref), options, { body: schedule, headers: rehearsed });
  }

  /** How apply would change the runs of a document's schedules. */
  rehearseApply(document: SchedulePlans, options?: CallOptions): Call<Comparison> {
    return this.call("POST", "/api/apply", options, { body: document, headers: rehearsed });
  }

  /** The schedules that have a key, as a document for apply. */
  export(options?: CallOptions & Masking & { owner?: string }): Call<ExportedDocument> {
    const query = { owner: options?.owner, mask: options?.mask };
    return start(this.transport, { method: "GET", path: "/api/export", query, repeatable: true }, options, whole<ExportedDocument>);
  }
}
