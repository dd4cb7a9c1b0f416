import type { Problem, ProblemEntry } from "./generated.js";

/**
 * What went wrong. Most codes are the service's own (`invalid_request`,
 * `not_found`, `stale_revision`, …); these are the client's:
 *
 * - `network`: there was no response
 * - `timeout`: there was no whole response in time
 * - `protocol`: the response is not one of this API
 */
export type ErrorCode =
  | "unreadable_body" | "unreadable_request" | "unauthorized" | "forbidden" | "not_found" | "unknown_path" | "method_not_allowed" | "body_too_slow"
  | "conflict" | "gone" | "stale_revision" | "body_too_large" | "unsupported_media_type" | "misdirected" | "invalid_request"
  | "rate_limited" | "quota_exceeded" | "too_much_at_once" | "read_too_slow" | "internal" | "unavailable"
  | "expectation_failed" | "header_too_large" | "not_implemented" | "version_not_supported"
  | "network" | "timeout" | "protocol"
  | (string & {});

/** What a {@link PunctualError} is made of. */
export interface ErrorFields {
  status?: number;
  code: ErrorCode;
  detail: string;
  errors?: ProblemEntry[];
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/** Any failure of a call, except that the caller aborted it. */
export class PunctualError extends Error {
  override readonly name = "PunctualError";
  /** The status of the response; 0 if there was none. */
  readonly status: number;
  readonly code: ErrorCode;
  /** A sentence that says what to do. */
  readonly detail: string;
  /** Everything found wrong with the request, at most the first 100 problems. */
  readonly errors: readonly ProblemEntry[];
  /** Where the first problem is in the body, as a URI fragment: `#/url`. */
  readonly pointer: string | undefined;
  /** Seconds to wait before another try, if the service said so. */
  readonly retryAfter: number | undefined;
  /** The id by which the service's log names the request. */
  readonly requestId: string | undefined;

  constructor(call: string, fields: ErrorFields) {
    super(`${call}: ${fields.status ? `${fields.status} ` : ""}${fields.detail}`, fields.cause === undefined ? {} : { cause: fields.cause });
    this.status = fields.status ?? 0;
    this.code = fields.code;
    this.detail = fields.detail;
    this.errors = fields.errors ?? [];
    this.pointer = this.errors.find((entry) => entry.pointer !== undefined)?.pointer;
    this.retryAfter = fields.retryAfter;
    this.requestId = fields.requestId;
  }
}

/** Reads a problem document; undefined if the value is not one. */
export function asProblem(value: unknown): Problem | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const problem = value as Partial<Problem>;
  return typeof problem.detail === "string" && typeof problem.code === "string" ? (problem as Problem) : undefined;
}

/** Reads Retry-After, a number of seconds or a date; undefined if it is neither. */
export function parseRetryAfter(value: string | null, now: number = Date.now()): number | undefined {
  const text = value?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = /[a-z]/i.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}
