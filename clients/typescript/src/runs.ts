import type { Call } from "./call.js";
import type { Run, RunState, RunWithSteps } from "./generated.js";
import type { List } from "./list.js";
import { Resource, segment } from "./resource.js";
import type { CallOptions } from "./transport.js";
import type { Paging } from "./types.js";

const runs = "/api/runs";

/** Workflow runs, which the QStash-compatible API starts. */
export class Runs extends Resource {
  /** Latest first, without their steps. */
  list(query: Pick<Paging, "limit" | "cursor"> & { state?: RunState; label?: string } = {}, options?: CallOptions): List<Run> {
    return this.listOf(runs, query, options);
  }

  /** A run with its first 1,000 records of steps. */
  get(id: string, options?: CallOptions): Call<RunWithSteps> {
    return this.call("GET", segment(runs, id), options);
  }

  /** Cancels a run. One that has ended stays as it is. */
  cancel(id: string, options?: CallOptions): Call<RunWithSteps> {
    return this.call("POST", `${segment(runs, id)}/cancel`, options);
  }
}
