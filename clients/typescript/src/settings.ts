import type { Call } from "./call.js";
import { nothing, start } from "./call.js";
import type { Alert, AlertTestAnswer, Group, HeaderSecret, Limit, LimitUseAnswer, NewGroup, NewHeaderSecret, NewLimit } from "./generated.js";
import type { List } from "./list.js";
import { conditional, Resource, segment } from "./resource.js";
import type { CallOptions } from "./transport.js";
import type { IfMatch, IfNew, NewAlert, Paging } from "./types.js";

type Pages = Pick<Paging, "limit" | "offset">;

/** Records that have a name, and are made by giving one. */
abstract class Named<Stored, Given, Single = Stored> extends Resource {
  protected abstract readonly base: string;

  list(query: Pages = {}, options?: CallOptions): List<Stored> {
    return this.listOf(this.base, query, options);
  }

  get(name: string, options?: CallOptions): Call<Single> {
    return this.call("GET", segment(this.base, name), options);
  }

  /** Creates or replaces it. */
  put(name: string, value: Given, options?: CallOptions & IfNew): Call<Stored> {
    return this.call("PUT", segment(this.base, name), options, { body: value, ...conditional(options) });
  }

  delete(name: string, options?: CallOptions): Call<void> {
    return start(this.transport, { method: "DELETE", path: segment(this.base, name), repeatable: true }, options, nothing);
  }
}

/** Limits for receivers; get adds how many jobs wait. `host:NAME` is for all jobs to a host. */
export class Limits extends Named<Limit, NewLimit, LimitUseAnswer["data"]> {
  protected readonly base = "/api/limits";
}

/** Groups of targets: a request with a group becomes a job for each. */
export class Groups extends Named<Group, NewGroup> {
  protected readonly base = "/api/groups";

  override put(name: string, value: NewGroup, options?: CallOptions & IfMatch & IfNew): Call<Group> {
    return super.put(name, value, options);
  }

  override delete(name: string, options?: CallOptions & IfMatch): Call<void> {
    return start(this.transport, { method: "DELETE", path: segment(this.base, name), repeatable: true, ...conditional(options) }, options, nothing);
  }
}

/** Secrets for headers, used as `{{secret.NAME}}`. Their values are never shown. */
export class Secrets extends Named<HeaderSecret, NewHeaderSecret> {
  protected readonly base = "/api/secrets";
}

/** Alerts: messages when something fails, recovers, is late, skips due times or ends. */
export class Alerts extends Named<Alert, NewAlert> {
  protected readonly base = "/api/alerts";

  /** Sends a test message now and returns what each receiver responded. */
  test(name: string, options?: CallOptions): Call<AlertTestAnswer["data"]> {
    return this.once("POST", `${segment(this.base, name)}/test`, options);
  }
}
