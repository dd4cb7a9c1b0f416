import { readBytes, TooLargeError } from "./body.js";
import { asProblem, parseRetryAfter, PunctualError } from "./errors.js";
import { VERSION } from "./version.js";
import { Deadline, wait } from "./wait.js";

/** How a client is set up. */
export interface ClientOptions {
  /** The service's address; by default the variable `PUNCTUAL_URL`. */
  url?: string;
  /** By default the variable `PUNCTUAL_API_KEY`. */
  apiKey?: string;
  /** Milliseconds allowed for one try, response read whole. 30,000 by default; 0 is no limit. */
  timeout?: number;
  /** How often a failed call is repeated, if that is safe: 3 by default, at most 20. */
  maxRetries?: number;
  /**
   * For how long a call is repeated while nothing listens at the address, in
   * milliseconds, beyond `maxRetries`: a restart takes a moment. 30,000 by default.
   * With `maxRetries: 0` it is not.
   */
  refusedFor?: number;
  /**
   * The longest wait before a retry, in milliseconds, 30,000 by default. If the
   * service asks for a longer one (`Retry-After`), the call fails at once.
   */
  maxRetryWait?: number;
  /** The most bytes of a response that are read: 128 MiB by default. */
  maxResponseBytes?: number;
  /** Used instead of the global fetch. */
  fetch?: typeof fetch;
  /** Sent with every request. */
  headers?: Record<string, string>;
}

/** What every call takes. */
export interface CallOptions {
  /** Aborts the call: it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** In place of the client's `timeout`. */
  timeout?: number;
  /** In place of the client's `maxRetries`. */
  maxRetries?: number;
}

/** A value in a query; undefined is left out, an array repeats the name. */
export type QueryParameter = string | number | boolean | Date | undefined | readonly (string | number)[];

/** One call of the API. */
export interface CallRequest {
  method: string;
  /** The path and nothing else, percent-encoded: `/api/jobs`. */
  path: string;
  query?: { [name: string]: QueryParameter };
  /** Sent as JSON unless undefined. */
  body?: unknown;
  headers?: Record<string, string | undefined>;
  /**
   * Whether the call may be repeated after its outcome was lost. Without it, it
   * is repeated only if it surely was not carried out.
   */
  repeatable: boolean;
  /** Calls without a key. */
  anonymous?: boolean;
}

/** A response whose body has not been read; done releases what the call holds. */
export interface OpenResponse {
  response: Response;
  deadline: Deadline;
  requestId: string | undefined;
}

/** A successful response, read whole. */
export interface JSONResponse {
  response: Response;
  body: unknown;
  requestId: string | undefined;
}

const problemBytes = 1 << 20;
const firstWait = 250;
const longestBackoff = 8000;
const longestRefusedWait = 2000;

/** Statuses after which a call that may be repeated is tried again. */
const transient = new Set([408, 429, 500, 502, 503, 504]);

/** Errors of connections that were never made, as Node, Bun and Deno name them. */
const notConnected = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"]);

/** Sends requests, with retries and time limits. */
export class Transport {
  readonly base: string;
  readonly #options: Required<Omit<ClientOptions, "url" | "apiKey">>;
  readonly #apiKey: string | undefined;

  constructor(options: ClientOptions) {
    const url = options.url ?? variable("PUNCTUAL_URL");
    if (!url) throw new TypeError("the service's address is missing: pass url, or set PUNCTUAL_URL");
    const parsed = new URL(url);
    if (parsed.protocol !== "https:" && parsed.protocol !== "http:") throw new TypeError(`url must begin with https:// or http://, not ${parsed.protocol}`);
    this.base = parsed.origin + parsed.pathname.replace(/\/+$/, "");
    this.#apiKey = options.apiKey ?? variable("PUNCTUAL_API_KEY");
    this.#options = {
      timeout: atLeastZero("timeout", options.timeout ?? 30_000),
      maxRetries: Math.min(atLeastZero("maxRetries", options.maxRetries ?? 3), 20),
      refusedFor: atLeastZero("refusedFor", options.refusedFor ?? 30_000),
      maxRetryWait: atLeastZero("maxRetryWait", options.maxRetryWait ?? 30_000),
      maxResponseBytes: atLeastZero("maxResponseBytes", options.maxResponseBytes ?? 128 << 20),
      // Not the function itself: browsers and edge runtimes call it with their own `this`.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      headers: options.headers ?? {},
    };
  }

  /** Milliseconds allowed for one try. */
  get timeout(): number {
    return this.#options.timeout;
  }

  /** Sends a request until it has a successful response, whose body the caller reads. */
  open(request: CallRequest, options: CallOptions = {}): Promise<OpenResponse> {
    return this.#retrying(request, options, () => this.#try(request, options));
  }

  /** Sends a request and reads the response as JSON; undefined if it has no body. */
  send(request: CallRequest, options: CallOptions = {}): Promise<JSONResponse> {
    return this.#retrying(request, options, async () => {
      const opened = await this.#try(request, options);
      return { response: opened.response, body: await this.#json(request, options, opened), requestId: opened.requestId };
    });
  }

  async #retrying<T>(request: CallRequest, options: CallOptions, attempt: () => Promise<T>): Promise<T> {
    const retries = Math.min(options.maxRetries ?? this.#options.maxRetries, 20);
    const start = Date.now();
    for (let failed = 0; ; failed++) {
      try {
        return await attempt();
      } catch (error) {
        const restarts = retries > 0 && isRefused(error) && Date.now() - start < this.#options.refusedFor;
        const delay = failed < retries || restarts ? this.#retryDelay(error, failed, request) : undefined;
        if (delay === undefined) throw error;
        await wait(delay, options.signal);
      }
    }
  }

  /** The milliseconds until the next try; undefined if there is none. */
  #retryDelay(error: unknown, failed: number, request: CallRequest): number | undefined {
    if (!(error instanceof PunctualError) || !isTransient(error, request.repeatable)) return undefined;
    const backoff = Math.min(firstWait * 2 ** failed, isRefused(error) ? longestRefusedWait : longestBackoff) * (0.5 + Math.random() / 2);
    const delay = Math.max(backoff, (error.retryAfter ?? 0) * 1000);
    return delay <= this.#options.maxRetryWait ? delay : undefined;
  }

  async #try(request: CallRequest, options: CallOptions): Promise<OpenResponse> {
    const call = `${request.method} ${request.path}`;
    const deadline = new Deadline(options.signal, options.timeout ?? this.#options.timeout);
    try {
      const response = await this.#fetch(call, request, options, deadline);
      const requestId = response.headers.get("x-request-id") ?? undefined;
      if (!response.ok) throw await this.#problem(call, response, requestId);
      return { response, deadline, requestId };
    } catch (error) {
      deadline.end();
      throw error;
    }
  }

  async #fetch(call: string, request: CallRequest, options: CallOptions, deadline: Deadline): Promise<Response> {
    try {
      return await this.#options.fetch(this.base + request.path + encodeQuery(request.query), {
        method: request.method,
        headers: this.#headers(request),
        signal: deadline.signal,
        redirect: "manual", // a redirect would turn POST into GET; the address must be right
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      });
    } catch (error) {
      throw lost(call, error, options, deadline);
    }
  }

  #headers(request: CallRequest): Headers {
    const headers = new Headers(this.#options.headers);
    headers.set("user-agent", `punctual-typescript/${VERSION}`); // browsers leave their own
    headers.set("accept", "application/json");
    if (request.body !== undefined) headers.set("content-type", "application/json");
    if (this.#apiKey && !request.anonymous) headers.set("authorization", `Bearer ${this.#apiKey}`);
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    return headers;
  }

  async #problem(call: string, response: Response, requestId: string | undefined): Promise<PunctualError> {
    const retryAfter = parseRetryAfter(response.headers.get("retry-after"));
    const status = response.status;
    let problem;
    try {
      problem = asProblem(JSON.parse(new TextDecoder().decode(await readBytes(response.body, problemBytes))));
    } catch {
      // Not a response of the service, or not a whole one: the status says enough.
    }
    if (problem) {
      return new PunctualError(call, { status, code: problem.code, detail: problem.detail, errors: problem.errors ?? [], retryAfter, requestId });
    }
    const detail = status >= 300 && status < 400 || response.type === "opaqueredirect"
      ? `the server redirects to ${response.headers.get("location") ?? "another address"}; set url to the service's own address`
      : "the response is not one of the service; a proxy may have sent it";
    return new PunctualError(call, { status, code: "protocol", detail, retryAfter, requestId });
  }

  async #json(request: CallRequest, options: CallOptions, { response, deadline, requestId }: OpenResponse): Promise<unknown> {
    const call = `${request.method} ${request.path}`;
    const fields = { status: response.status, code: "protocol", requestId };
    try {
      const bytes = await readBytes(response.body, this.#options.maxResponseBytes);
      if (bytes.byteLength === 0) return undefined;
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch (error) {
      if (error instanceof TooLargeError) throw new PunctualError(call, { ...fields, detail: `the response is larger than maxResponseBytes (${this.#options.maxResponseBytes})` });
      if (error instanceof SyntaxError) throw new PunctualError(call, { ...fields, detail: "the response is not JSON; is url the address of the service?", cause: error });
      throw lost(call, error, options, deadline);
    } finally {
      deadline.end();
    }
  }
}

/** What a call without a whole response is reported as. */
export function lost(call: string, error: unknown, options: CallOptions, deadline: Deadline): unknown {
  if (options.signal?.aborted) return options.signal.reason;
  if (deadline.expired) return new PunctualError(call, { code: "timeout", detail: "there was no whole response in time", cause: error });
  return new PunctualError(call, { code: "network", detail: "the service could not be reached, or the connection was lost", cause: error });
}

function isTransient(error: PunctualError, repeatable: boolean): boolean {
  if (error.status === 429) return true; // nothing was done
  if (error.status > 0) return repeatable && transient.has(error.status);
  return repeatable || notConnected.has(causeCode(error.cause));
}

/** Whether nothing listens at the address. */
function isRefused(error: unknown): boolean {
  return error instanceof PunctualError && ["ECONNREFUSED", "ConnectionRefused"].includes(causeCode(error.cause));
}

/** The code of a network error, which fetch wraps once or twice. */
function causeCode(error: unknown, depth = 0): string {
  if (typeof error !== "object" || error === null || depth > 3) return "";
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return typeof code === "string" && notConnected.has(code) ? code : causeCode(cause, depth + 1);
}

function encodeQuery(query: CallRequest["query"]): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? (value as readonly (string | number)[]) : [value as string | number | boolean | Date]) {
      parameters.append(name, one instanceof Date ? one.toISOString() : String(one));
    }
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

/** A variable of the environment, where there is one. */
function variable(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
}

function atLeastZero(name: string, value: number): number {
  if (!Number.isFinite(value) || value < 0) throw new TypeError(`${name} must be a number of at least 0`);
  return value;
}
