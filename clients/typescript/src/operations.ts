import type { Call } from "./call.js";
import type { OperationDryRun, OperationRecord } from "./generated.js";
import type { List } from "./list.js";
import { poll, type WaitOptions } from "./poll.js";
import { Resource, segment } from "./resource.js";
import type { CallOptions } from "./transport.js";
import type { NewOperation, Paging } from "./types.js";

const operations = "/api/operations";

/** Operations: changes to all jobs that a filter selects, in the background. */
export class Operations extends Resource {
  /** Starts an operation. While another one runs, it fails with `conflict`. */
  start(operation: NewOperation, options?: CallOptions): Call<OperationRecord> {
    return this.once("POST", operations, options, { body: operation });
  }

  /** How many jobs an operation would change. Nothing is changed. */
  dryRun(operation: NewOperation, options?: CallOptions): Call<OperationDryRun["data"]> {
    return this.call("POST", operations, options, { body: { ...operation, dry_run: true } });
  }

  /** The latest 100 operations. */
  list(query: Pick<Paging, "limit" | "cursor"> = {}, options?: CallOptions): List<OperationRecord> {
    return this.listOf(operations, query, options);
  }

  get(id: string, options?: CallOptions): Call<OperationRecord> {
    return this.call("GET", segment(operations, id), options);
  }

  /** Stops an operation. What it has changed stays so. */
  stop(id: string, options?: CallOptions): Call<OperationRecord> {
    return this.call("DELETE", segment(operations, id), options);
  }

  /** Waits until an operation has finished or was stopped. */
  wait(id: string, options: WaitOptions<OperationRecord> = {}): Promise<OperationRecord> {
    return poll("waiting for the operation", options, () => this.get(id, options), (record) => record.state !== "running");
  }
}
