import type { Duration } from "../generated.js";
import type { Time } from "../types.js";

/** A response to a job's request. Its members steer the job; the whole becomes `$previous`. */
export interface JobReply<State extends object = Record<string, unknown>> {
  /** Merged into the schedule's `$state`. */
  $set?: Partial<State>;
  /** When the schedule's next run is due, once. */
  $next?: Duration | Time;
  /** Ends the schedule after this run. */
  $stop?: boolean;
  /** Fails the attempt, which is retried. The handler's transaction is rolled back. */
  $fail?: string;
  [name: string]: unknown;
}

/** A response with a status of its own; see {@link reply}. */
export class Reply {
  readonly status: number;
  readonly body: unknown;
  readonly commit: boolean;

  constructor(status: number, body: unknown, commit: boolean) {
    this.status = status;
    this.body = body;
    this.commit = commit;
  }
}

/**
 * A response with a status. With a 2xx the handler's transaction is committed, with
 * any other rolled back, because the service tries again; `commit` overrides that,
 * for jobs whose `success` says so.
 */
export function reply(status: number, body?: unknown, options: { commit?: boolean } = {}): Reply {
  if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError("a status is 200 to 599");
  return new Reply(status, body, options.commit ?? (status >= 200 && status < 300));
}

/** Thrown by a handler: rolls back, and asks the service to try again after so many seconds. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  readonly after: number;

  constructor(after: number, message = "try again later") {
    super(message);
    this.after = Math.min(Math.max(1, Math.ceil(after)), 24 * 60 * 60);
  }
}

/** What a handler's result comes to, and what stores remember. */
export interface Outcome {
  status: number;
  /** JSON, or "" for none. */
  body: string;
  /** Whether the handler's transaction is committed. */
  commit: boolean;
  /** Whether repeats are answered with this. */
  remember: boolean;
}

/** The service keeps at most so many bytes of a response. */
const maxReplyBytes = 256 << 10;

export function outcomeOf(result: unknown): Outcome {
  const { status, body, commit } = result instanceof Reply ? result : reply(result === undefined ? 204 : 200, result);
  const text = body === undefined || status === 204 ? "" : JSON.stringify(body);
  if (new TextEncoder().encode(text).byteLength > maxReplyBytes) throw new RangeError(`a response may have ${maxReplyBytes} bytes; the service keeps no more`);
  const failed = typeof body === "object" && body !== null && typeof (body as JobReply).$fail === "string";
  const kept = commit && !failed;
  // After a 202 the outcome is reported later. If there is a further try, the report
  // of the first one is not accepted any more, so the work has to be begun again.
  return { status, body: text, commit: kept, remember: kept && status !== 202 };
}
