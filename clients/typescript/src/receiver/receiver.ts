import { readBytes, TooLargeError } from "../body.js";
import type { AlertMessage, CallbackMessage, JobErrorEvent, JobFinishedEvent, JobRequestEvent, JobResponseEvent, JobStartedEvent } from "../generated.js";
import { readJob, readMessage, UnexpectedError, type Incoming, type JobDelivery, type Message } from "./delivery.js";
import { MemoryStore } from "./memory.js";
import { outcomeOf, RetryLater, type JobReply, type Outcome, type Reply } from "./reply.js";
import { SignatureError, Verifier, type Verified, type VerifyOptions } from "./signature.js";
import { BusyError, type ReceiptStore } from "./store.js";
import { TokenError, type Claims, type TokenVerifier } from "./token.js";

/** An event sent to a job's `webhook_url`. */
export type JobEvent = JobStartedEvent | JobRequestEvent | JobResponseEvent | JobErrorEvent | JobFinishedEvent;

export interface ReceiverOptions<Tx = undefined> extends VerifyOptions {
  /** The account's signing secret; during a rotation, the new and the old one. */
  secrets: string | readonly string[];
  /** Also verifies the token that jobs whose `auth` has `oidc` send; callbacks, events and alerts have none. Check `claims.sub`. */
  tokens?: TokenVerifier;
  /** By default ids are remembered in this process only. */
  store?: ReceiptStore<Tx>;
  /** Larger bodies get a 413: 4 MiB by default. */
  maxBodyBytes?: number;
  /** The service's public address, to which `completion` reports; by default the variable `PUNCTUAL_URL`. */
  url?: string;
  /** Gets errors of handlers and stores, which are answered with 500. By default they go to the console. */
  onError?: (error: unknown, id: string) => void;
}

/** What a handler may return, or a promise of it. Undefined is a 204. */
export type Result<R> = R | Reply | undefined | void | Promise<R | Reply | undefined | void>;

/** A response that any server can send. */
export interface PlainResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A route: takes the platform's Request, or through an adapter that of a framework. */
export interface Route {
  (request: Request): Promise<Response>;
  /** Handles a request whose body is read when it is needed, at most so many bytes. */
  receive(incoming: Incoming, readBody: (maxBytes: number) => Promise<Uint8Array>): Promise<PlainResponse>;
}

/**
 * Makes routes for what the service sends. A route verifies the signature, bounds
 * the body, and answers a repeat with the response of the first time, without
 * calling the handler. With a store in the handler's database, what the handler
 * writes with its second argument happens once, whatever crashes.
 */
export class Receiver<Tx = undefined> {
  readonly #verifier: Verifier;
  readonly #tokens: TokenVerifier | undefined;
  readonly #store: ReceiptStore<Tx>;
  readonly #maxBodyBytes: number;
  readonly #service: { url?: string };
  readonly #onError: (error: unknown, id: string) => void;

  constructor(options: ReceiverOptions<Tx>) {
    this.#verifier = new Verifier(options.secrets, options);
    this.#tokens = options.tokens;
    // Without a store Tx is undefined, unless somebody wrote another type by hand.
    this.#store = options.store ?? (new MemoryStore() as unknown as ReceiptStore<Tx>);
    this.#maxBodyBytes = options.maxBodyBytes ?? 4 << 20;
    this.#service = options.url === undefined ? {} : { url: options.url };
    this.#onError = options.onError ?? ((error, id) => console.error(`handling ${id}:`, error));
  }

  /** A route for a job's `url`. The response becomes `$previous`, and steers the job. */
  job<Body = unknown, State extends object = Record<string, unknown>, Previous = unknown>(
    handler: (job: JobDelivery<Body, State, Previous>, tx: Tx) => Result<JobReply<State>>,
  ): Route {
    return this.#route(async (verified, incoming, bytes) => {
      const job = readJob<Body, State, Previous>(verified, incoming, bytes, this.#service, await this.#claims(verified, incoming));
      return (tx) => handler(job, tx);
    });
  }

  /** A route for a job's `callback_url`: its result, once. */
  callback(handler: (message: Message<CallbackMessage>, tx: Tx) => Result<never>): Route {
    return this.#message(handler, (content) => "job" in content && "attempt" in content);
  }

  /** A route for a job's `webhook_url`: an event for every step. */
  event(handler: (message: Message<JobEvent>, tx: Tx) => Result<never>): Route {
    return this.#message(handler, (content) => String((content as JobEvent).type).startsWith("job."));
  }

  /** A route for the webhooks of alerts. */
  alert(handler: (message: Message<AlertMessage>, tx: Tx) => Result<never>): Route {
    return this.#message(handler, (content) => String((content as AlertMessage).type).startsWith("alert."));
  }

  #message<Content>(handler: (message: Message<Content>, tx: Tx) => Result<never>, isContent: (content: object) => boolean): Route {
    return this.#route((verified, _incoming, bytes) => {
      const message = readMessage<Content>(verified, bytes, isContent);
      return (tx) => handler(message, tx);
    });
  }

  async #claims(verified: Verified, incoming: Incoming): Promise<Claims | undefined> {
    try {
      const claims = await this.#tokens?.verifyRequest(incoming.headers);
      if (claims && claims.jti !== verified.id) throw new TokenError("the token is of another request");
      return claims;
    } catch (error) {
      if (error instanceof TokenError) throw error;
      this.#onError(error, verified.id);
      throw new RetryLater(1); // the keys can't be fetched
    }
  }

  #route(read: (verified: Verified, incoming: Incoming, bytes: Uint8Array) => Handle<Tx> | Promise<Handle<Tx>>): Route {
    const receive: Route["receive"] = async (incoming, readBody) => {
      let id = "";
      try {
        this.#verifier.check(incoming.headers); // before anything is read for a stranger
        const bytes = await readBody(this.#maxBodyBytes);
        const verified = await this.#verifier.verify(incoming.headers, bytes);
        id = verified.id;
        const handle = await read(verified, incoming, bytes);
        const { outcome } = await this.#store.once(id, (tx) => settle(handle(tx)));
        return plain(outcome);
      } catch (error) {
        return this.#refuse(error, id);
      }
    };
    const route = async (request: Request): Promise<Response> => {
      const incoming = { method: request.method, url: request.url, headers: request.headers };
      const { status, headers, body } = await receive(incoming, (maxBytes) => readBytes(request.body, maxBytes));
      return new Response(body === "" ? null : body, { status, headers });
    };
    return Object.assign(route, { receive });
  }

  #refuse(error: unknown, id: string): PlainResponse {
    if (error instanceof SignatureError || error instanceof TokenError) return problem(401, error.message);
    if (error instanceof TooLargeError) return problem(413, error.message);
    if (error instanceof UnexpectedError) return problem(422, error.message);
    if (error instanceof BusyError) return problem(503, error.message, 1);
    if (error instanceof RetryLater) return problem(503, "try again later", error.after);
    this.#onError(error, id);
    return problem(500, "the receiver failed; its log says why");
  }
}

type Handle<Tx> = (tx: Tx) => unknown;

/** Keeps synchronous what is synchronous, as stores of SQLite need it. */
function settle(result: unknown): Outcome | Promise<Outcome> {
  const isThenable = typeof (result as PromiseLike<unknown> | undefined)?.then === "function";
  return isThenable ? Promise.resolve(result).then(outcomeOf) : outcomeOf(result);
}

function plain(outcome: Outcome): PlainResponse {
  return { status: outcome.status, headers: outcome.body ? { "content-type": "application/json" } : {}, body: outcome.body };
}

function problem(status: number, detail: string, retryAfter?: number): PlainResponse {
  return {
    status,
    headers: { "content-type": "application/problem+json", ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }) },
    body: JSON.stringify({ type: "about:blank", status, detail }),
  };
}
