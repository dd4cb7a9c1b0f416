import type { Outcome } from "./reply.js";

/** What became of a message. */
export interface Handled {
  outcome: Outcome;
  /** Whether it was handled before, and the outcome is the one of that time. */
  repeated: boolean;
}

/**
 * Remembers which messages were handled. A store in the receiver's own database
 * makes effects happen once: it records the message's id in the transaction in
 * which the handler writes.
 */
export interface ReceiptStore<Tx> {
  /**
   * Runs work unless the id has been handled, and returns the outcome of now or of
   * then. Of simultaneous calls with one id one runs work at a time. If work
   * throws, or its outcome says so, the transaction is rolled back and the id is
   * not recorded.
   */
  once(id: string, work: (tx: Tx) => Outcome | Promise<Outcome>): Promise<Handled>;
}

/** How long a store in a database remembers, and where. */
export interface TableOptions {
  /** `punctual_receipts` by default; may have a schema: `app.receipts`. */
  table?: string;
  /** Days until an id is forgotten, 30 by default: longer than the service retries. */
  keepDays?: number;
}

/** Thrown when the store can't take the message now; the service tries again. */
export class BusyError extends Error {
  override readonly name = "BusyError";
}

/** The rows that one call removes at most, once they are old enough. */
export const pruneAtOnce = 10;

export function readTableOptions(options: TableOptions): { table: string; index: string; keepMs: number } {
  const table = options.table ?? "punctual_receipts";
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,50}\.)?[A-Za-z_][A-Za-z0-9_]{0,50}$/.test(table)) throw new TypeError("table must be a plain identifier");
  const keepDays = options.keepDays ?? 30;
  if (!(keepDays > 0)) throw new TypeError("keepDays must be positive");
  return { table, index: `${table.replace(/^.*\./, "")}_age`, keepMs: keepDays * 24 * 60 * 60 * 1000 };
}

/** The outcome of a stored row. */
export function remembered(status: unknown, body: unknown): Handled {
  return { outcome: { status: Number(status), body: String(body), commit: true, remember: true }, repeated: true };
}
