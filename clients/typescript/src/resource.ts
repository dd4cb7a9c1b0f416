import type { Call } from "./call.js";
import { data, start } from "./call.js";
import { List } from "./list.js";
import type { CallOptions, CallRequest, Transport } from "./transport.js";
import type { IfMatch, IfNew, JobRef } from "./types.js";

/** What the calls of one kind of record share. */
export abstract class Resource {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** A call that may be repeated, and whose result stands under `data`. */
  protected call<T>(method: string, path: string, options?: CallOptions, request: Partial<CallRequest> = {}): Call<T> {
    return start(this.transport, { method, path, repeatable: true, ...request }, options, data<T>);
  }

  /** A call that creates something each time: repeated only if it was not carried out. */
  protected once<T>(method: string, path: string, options?: CallOptions, request: Partial<CallRequest> = {}): Call<T> {
    return this.call(method, path, options, { ...request, repeatable: false });
  }

  protected listOf<T>(path: string, query: object, options?: CallOptions): List<T> {
    return new List<T>(this.transport, path, query as CallRequest["query"], options);
  }
}

/** A path with a job's or schedule's name in it. */
export function pathOf(base: string, ref: JobRef, action = ""): string {
  const name = typeof ref === "object" ? `key:${ref.key}` : String(ref);
  return segment(base, name) + action;
}

/** A path with any name in it. */
export function segment(base: string, name: string): string {
  // "." and ".." would be resolved as directories, an empty name would be the list.
  if (name === "" || name === "." || name === "..") throw new TypeError(`${JSON.stringify(name)} names no record`);
  return `${base}/${encodeURIComponent(name)}`;
}

/**
 * The headers and repeatability of a conditional call. Its repetition would find
 * the revision that the call itself made, so it is not repeated.
 */
export function conditional(options: (IfMatch & IfNew) | undefined): Partial<CallRequest> {
  const tags = options?.ifMatch;
  const headers: Record<string, string> = {};
  if (tags !== undefined) headers["if-match"] = typeof tags === "string" ? tags : tags.join(", ");
  if (options?.ifNew) headers["if-none-match"] = "*";
  return Object.keys(headers).length === 0 ? {} : { headers, repeatable: false };
}

/** A final state of a job. */
export const isFinal = (state: string): boolean => state === "completed" || state === "cancelled" || state === "discarded";
