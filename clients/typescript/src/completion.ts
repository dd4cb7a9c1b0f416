import { data, start, type Call } from "./call.js";
import type { CompletionReport, CompletionState } from "./generated.js";
import { Transport, type CallOptions, type ClientOptions } from "./transport.js";

/** Reports the outcome and the progress of an attempt that was answered with 202. */
export class Completion {
  readonly #transport: Transport;
  readonly #path: string;

  /**
   * The address is the request's header `X-Punctual-Complete`; treat it like a
   * password. The header isn't signed, so an address with another origin than the
   * service's `url` is refused: reports go to the service only.
   */
  constructor(address: string, options: Omit<ClientOptions, "apiKey"> = {}) {
    this.#transport = new Transport({ ...options, apiKey: "" });
    const base = new URL(this.#transport.base);
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url?.origin !== base.origin) {
      throw new TypeError(`the address of the completion is not one of the service at ${base.origin}; url, or PUNCTUAL_URL, must be the service's public address`);
    }
    const path = base.pathname.replace(/\/+$/, "") + "/api/completions/";
    const token = url.pathname.startsWith(path) ? url.pathname.slice(path.length) : "";
    if (!/^[A-Za-z0-9_-]+$/.test(token) || url.search || url.hash || url.username || url.password) {
      throw new TypeError("this is not the address of X-Punctual-Complete");
    }
    this.#path = "/api/completions/" + token;
  }

  /** Completes the job. In an object, `$set`, `$next` and `$stop` count. */
  succeed(result: unknown = {}, options?: CallOptions): Call<CompletionState> {
    return this.report({ result }, options);
  }

  /** Fails the attempt; with `retry: false` there is no other one. */
  fail(error: string, options?: CallOptions & { retry?: boolean }): Call<CompletionState> {
    return this.report({ error, ...(options?.retry === undefined ? {} : { retry: options.retry }) }, options);
  }

  /** A sign of life: percent, 0 to 100, and a message. */
  progress(percent: number, message?: string, options?: CallOptions): Call<CompletionState> {
    return this.report({ progress: percent, ...(message === undefined ? {} : { message }) }, options);
  }

  /**
   * Sends a report. `conflict` (409): another outcome was reported before. `gone`
   * (410): the attempt is over, stop working.
   */
  report(report: CompletionReport, options?: CallOptions): Call<CompletionState> {
    // The same outcome again is accepted, so it may be repeated.
    return start(this.#transport, { method: "POST", path: this.#path, body: report, repeatable: true, anonymous: true }, options, data<CompletionState>);
  }
}
