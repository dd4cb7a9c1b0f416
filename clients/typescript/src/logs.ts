import { readLines, TooLargeError } from "./body.js";
import type { Call } from "./call.js";
import { PunctualError } from "./errors.js";
import type { LogRecord } from "./generated.js";
import type { List } from "./list.js";
import { Resource, segment } from "./resource.js";
import { lost, type CallOptions } from "./transport.js";
import type { LogFilter, LogQuery, Masking } from "./types.js";

const logs = "/api/logs";

/** The most bytes of one log: a request's body and a response's, escaped. */
const lineBytes = 32 << 20;

/** Logs of every request and its result. */
export class Logs extends Resource {
  /** Lists logs, by default the latest first. */
  list(query: LogQuery = {}, options?: CallOptions): List<LogRecord> {
    return this.listOf(logs, query, options);
  }

  get(id: string, options?: CallOptions & Masking): Call<LogRecord> {
    return this.call("GET", segment(logs, id), options, { query: { mask: options?.mask } });
  }

  /**
   * Reads all logs that match, oldest first, as a stream of any length. `timeout`
   * is the longest pause between two pieces of it. A stream that was cut off is
   * an error.
   */
  async *export(filter: LogFilter = {}, options: CallOptions = {}): AsyncGenerator<LogRecord, void, undefined> {
    const path = `${logs}/export`;
    const request = { method: "GET", path, query: { ...filter }, headers: { accept: "application/x-ndjson" }, repeatable: true };
    const { response, deadline } = await this.transport.open(request, options);
    try {
      if (!response.body) return;
      for await (const line of readLines(response.body, lineBytes)) {
        deadline.restart(0); // the reader may take its time
        if (line) yield JSON.parse(line) as LogRecord;
        deadline.restart(options.timeout ?? this.transport.timeout);
      }
    } catch (error) {
      if (error instanceof TooLargeError) throw new PunctualError(`GET ${path}`, { code: "protocol", detail: error.message });
      throw lost(`GET ${path}`, error, options, deadline);
    } finally {
      deadline.end();
    }
  }
}
