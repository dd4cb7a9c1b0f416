import { Account } from "./account.js";
import { data, start, whole, type Call } from "./call.js";
import { follow, type AccountEvent, type EventOptions } from "./events.js";
import type { Broadcast } from "./generated.js";
import { Jobs } from "./jobs.js";
import { Logs } from "./logs.js";
import { Operations } from "./operations.js";
import { Runs } from "./runs.js";
import { Schedules } from "./schedules.js";
import { Alerts, Groups, Limits, Secrets } from "./settings.js";
import { Transport, type CallOptions, type CallRequest, type ClientOptions } from "./transport.js";

/**
 * A client of one account. It holds no connection and needs no closing.
 *
 *     const punctual = new Punctual({ url: "https://punctual.example.com", apiKey: "sk_…" });
 *     await punctual.jobs.create({ url: "https://example.com/hook", schedule_in: [30, "minutes"] });
 */
export class Punctual {
  readonly jobs: Jobs;
  readonly schedules: Schedules;
  readonly operations: Operations;
  readonly logs: Logs;
  readonly runs: Runs;
  readonly alerts: Alerts;
  readonly groups: Groups;
  readonly limits: Limits;
  readonly secrets: Secrets;
  readonly account: Account;
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    const transport = (this.#transport = new Transport(options));
    this.jobs = new Jobs(transport);
    this.schedules = new Schedules(transport);
    this.operations = new Operations(transport);
    this.logs = new Logs(transport);
    this.runs = new Runs(transport);
    this.alerts = new Alerts(transport);
    this.groups = new Groups(transport);
    this.limits = new Limits(transport);
    this.secrets = new Secrets(transport);
    this.account = new Account(transport);
  }

  /** Follows what happens in the account: `for await (const event of punctual.events()) …` */
  events(options?: EventOptions): AsyncGenerator<AccountEvent, void, undefined> {
    return follow(this.#transport, options);
  }

  /** Whether the service responds; needs no key. */
  ping(options?: CallOptions): Call<{ message: "Pong" }> {
    return this.#open("GET", "/api/ping", undefined, options);
  }

  /** Returns what it is sent; needs no key. */
  echo<T>(value: T, options?: CallOptions): Call<T> {
    return this.#open("POST", "/api/echo", value, options);
  }

  /** Shows a message on the service's welcome page; needs no key. */
  broadcast<T extends Broadcast>(message: T, options?: CallOptions): Call<T> {
    return this.#open("POST", "/api/broadcast", message, options);
  }

  /**
   * Any other call, whose result stands under `data`. It is repeated after a lost
   * response if `repeatable` says so, which is the default for GET and PUT.
   */
  request<T = unknown>(method: string, path: string, request: Partial<Omit<CallRequest, "method" | "path">> = {}, options?: CallOptions): Call<T> {
    const repeatable = method === "GET" || method === "PUT";
    return start(this.#transport, { repeatable, ...request, method, path }, options, data<T>);
  }

  #open<T>(method: string, path: string, body: unknown, options?: CallOptions): Call<T> {
    return start(this.#transport, { method, path, body, repeatable: method === "GET", anonymous: true }, options, whole<T>);
  }
}
