import { readLines, TooLargeError } from "./body.js";
import { PunctualError } from "./errors.js";
import type { JobRecord, LogRecord } from "./generated.js";
import { lost, type CallOptions, type Transport } from "./transport.js";
import type { Deadline } from "./wait.js";

/** What happened in the account. */
export type AccountEvent =
  /** A job was created, or its state or time has changed. */
  | { type: "job"; job: JobRecord }
  /** A log was written. `id` is for `lastEventId`. */
  | { type: "log"; id: string; log: LogRecord }
  /** More happened at once than the stream reports. */
  | { type: "skipped" }
  /** The stream was opened again. Logs continue; changes of jobs may be missing. */
  | { type: "reconnected" };

export interface EventOptions extends CallOptions {
  /** The last log that was received: those after it come first, up to a thousand. */
  lastEventId?: string;
}

const path = "/api/events";

/** Bytes of one event: a log has a request or a response. */
const lineBytes = 32 << 20;

/** The service sends a comment every 15 seconds; a stream silent for this long is broken. */
const silence = 45_000;

/** Tries to open the stream again, which take about two minutes. */
const reconnects = 20;

/**
 * Follows what happens in the account, from now on, until the loop is left or the
 * signal aborted. The stream is opened again when it ends, as it does every 15
 * minutes; if the service is away for about two minutes, that is an error.
 */
export async function* follow(transport: Transport, options: EventOptions = {}): AsyncGenerator<AccountEvent, void, undefined> {
  let last = options.lastEventId;
  for (let first = true; ; first = false) {
    const headers = { accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) };
    const { response, deadline } = await transport.open({ method: "GET", path, headers, repeatable: true }, { ...options, maxRetries: options.maxRetries ?? reconnects });
    try {
      if (!first) yield { type: "reconnected" };
      if (!response.body) throw new PunctualError(`GET ${path}`, { status: response.status, code: "protocol", detail: "the response has no body" });
      for await (const event of parse(response.body, deadline)) {
        if (event.type === "log") last = event.id;
        deadline.restart(0); // the reader may take its time
        yield event;
        deadline.restart(silence);
      }
    } catch (error) {
      const reason = error instanceof PunctualError ? error : lost(`GET ${path}`, error, options, deadline);
      if (error instanceof TooLargeError) throw new PunctualError(`GET ${path}`, { code: "protocol", detail: error.message });
      if (!(reason instanceof PunctualError) || reason.code === "protocol") throw reason;
      // The connection was lost: opened again.
    } finally {
      deadline.end();
    }
  }
}

async function* parse(body: ReadableStream<Uint8Array>, deadline: Deadline): AsyncGenerator<AccountEvent, void, undefined> {
  let type = "";
  let id = "";
  let text = "";
  for await (const line of readLines(body, lineBytes)) {
    deadline.restart(silence);
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") type = value ?? "";
    else if (field === "id") id = value ?? "";
    else if (field === "data") text = value ?? ""; // the service sends one line of data
    else if (line === "") {
      const event = read(type, id, text);
      if (event) yield event;
      type = id = text = "";
    }
  }
}

/** Events of kinds that this version doesn't know are left out. */
function read(type: string, id: string, text: string): AccountEvent | undefined {
  switch (type) {
    case "job":
      return { type, job: JSON.parse(text) as JobRecord };
    case "log":
      return { type, id, log: JSON.parse(text) as LogRecord };
    case "skipped":
      return { type };
    default:
      return undefined;
  }
}
