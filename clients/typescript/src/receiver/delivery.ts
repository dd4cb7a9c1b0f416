import { Completion } from "../completion.js";
import { headerOf, type HeaderSource, type Verified } from "./signature.js";
import type { Claims } from "./token.js";

/** A request of a job, as its handler gets it. */
export interface JobDelivery<Body = unknown, State extends object = Record<string, unknown>, Previous = unknown> {
  /** `webhook-id`: the same for every attempt of the job. */
  id: string;
  /** When this attempt was sent. */
  timestamp: Date;
  method: string;
  url: string;
  headers: HeaderSource;
  /**
   * The body: parsed if it is JSON, else text, undefined if there is none. An
   * object is without `$job`, `$state` and `$previous`. The type is the caller's
   * word: nothing checks it.
   */
  body: Body;
  /** The body as it was sent. */
  bytes: Uint8Array;
  /** The schedule's `$state`; `{}` if there is none. */
  state: Partial<State>;
  /** The JSON response of the schedule's last successful run; `{}` if there is none. */
  previous: Previous | Record<string, never>;
  /** What the token says, where the receiver has `tokens`. */
  claims: Claims | undefined;
  /** The job's integer id. Like what follows, it is from a header, which isn't signed. */
  jobId: number;
  attempt: number;
  scheduledAt: Date;
  /** How many due times of the schedule this run stands for. */
  points: number;
  /**
   * Reports the outcome later, after a response with 202; of jobs with `completion`. It
   * throws unless the address is one of the service's `url`.
   */
  readonly completion: Completion | undefined;
}

/** What all kinds of messages have. */
export interface Incoming {
  method: string;
  url: string;
  headers: HeaderSource;
}

/** A message that is JSON: a callback, an event or an alert. */
export interface Message<Content> {
  /** `webhook-id`: the same for every try of the message. */
  id: string;
  timestamp: Date;
  content: Content;
}

/** Thrown for signed requests that are not what the route is for. */
export class UnexpectedError extends Error {
  override readonly name = "UnexpectedError";
}

/** Ids of jobs' requests begin so, those of callbacks, events and alerts with msg_. */
const jobPrefix = "job_";

export function readJob<Body, State extends object, Previous>(verified: Verified, incoming: Incoming, bytes: Uint8Array, service: { url?: string } = {}, claims?: Claims): JobDelivery<Body, State, Previous> {
  if (!verified.id.startsWith(jobPrefix)) throw new UnexpectedError("this is a callback, an event or an alert, and the route is for jobs");
  const { body, state, previous } = split(parse(incoming.headers, bytes));
  const address = headerOf(incoming.headers, "x-punctual-complete");
  return {
    ...verified,
    method: incoming.method,
    url: incoming.url,
    headers: incoming.headers,
    body: body as Body,
    bytes,
    state: (state ?? {}) as Partial<State>,
    previous: (previous ?? {}) as Previous,
    claims,
    jobId: numberOf(incoming.headers, "x-punctual-job-id", NaN),
    attempt: numberOf(incoming.headers, "x-punctual-attempt", 1),
    scheduledAt: new Date(headerOf(incoming.headers, "x-punctual-scheduled-at") ?? NaN),
    points: numberOf(incoming.headers, "x-punctual-points", 1),
    get completion() {
      return address === undefined ? undefined : new Completion(address, service);
    },
  };
}

export function readMessage<Content>(verified: Verified, bytes: Uint8Array, isContent: (value: object) => boolean): Message<Content> {
  if (verified.id.startsWith(jobPrefix)) throw new UnexpectedError("this is the request of a job, and the route is not for jobs");
  const content = parse({ "content-type": "application/json" }, bytes);
  if (typeof content !== "object" || content === null || !isContent(content)) throw new UnexpectedError("this is another kind of message than the route is for");
  return { ...verified, content: content as Content };
}

function parse(headers: HeaderSource, bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined;
  const text = new TextDecoder().decode(bytes);
  const mediaType = headerOf(headers, "content-type") ?? "";
  if (!/^application\/(json|[^;\s]+\+json)\s*(;|$)/i.test(mediaType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // a string that a job sends under a type of its own
  }
}

/** Takes the service's own members out of a body. */
function split(body: unknown): { body: unknown; state?: unknown; previous?: unknown } {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return { body };
  const { $job, $state, $previous, ...rest } = body as Record<string, unknown>;
  void $job; // its id is in a header too
  return { body: rest, state: $state, previous: $previous };
}

function numberOf(headers: HeaderSource, name: string, otherwise: number): number {
  const text = headerOf(headers, name);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : otherwise;
}
