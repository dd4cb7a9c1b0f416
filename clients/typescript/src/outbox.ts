import type { NewJob } from "./types.js";

/** The most bytes of a job as JSON. */
export const maxJobBytes = 1 << 20;

/** A transaction of `pg`, and of what passes its client on. */
export interface PgTransaction {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** A transaction of `mysql2/promise`. */
export interface MySQLTransaction {
  execute(text: string, values: unknown[]): Promise<unknown>;
}

/** A database of `better-sqlite3` or `node:sqlite`, in a transaction of yours. */
export interface SQLiteDatabase {
  prepare(text: string): { run(...values: unknown[]): unknown };
}

/** Runs one statement with parameters in a transaction: for query builders. */
export type Execute = (text: string, values: [id: string, job: string, orderingKey: string | null]) => unknown;

/** What every enqueue takes. */
export interface EnqueueOptions {
  /** Rows with one key become jobs in their order. */
  orderingKey?: string;
  /** `punctual_outbox` by default; may have a schema: `app.punctual_outbox`. */
  table?: string;
}

/**
 * Adds a job to the outbox in a transaction of yours, and returns the id of its row.
 * Once the transaction is committed, the job is created; if it is rolled back, it
 * never was. The tables are those of `punctual outbox schema`.
 */
export async function enqueue(tx: PgTransaction | MySQLTransaction, job: NewJob, options: EnqueueOptions = {}): Promise<string> {
  const row = rowOf(job, options);
  // A mysql2 connection has both methods; execute is the one that knows question marks.
  if ("execute" in tx) await tx.execute(statement(options, "?"), row);
  else await tx.query(statement(options, "$"), row);
  return row[0];
}

/** enqueue for SQLite, which needs no promise. */
export function enqueueSync(database: SQLiteDatabase, job: NewJob, options: EnqueueOptions = {}): string {
  const row = rowOf(job, options);
  database.prepare(statement(options, "?")).run(...row);
  return row[0];
}

/** enqueue by a function that runs a statement, with parameters as `$1` or `?`. */
export async function enqueueWith(execute: Execute, job: NewJob, options: EnqueueOptions & { parameters?: "$" | "?" } = {}): Promise<string> {
  const row = rowOf(job, options);
  await execute(statement(options, options.parameters ?? "$"), row);
  return row[0];
}

function statement(options: EnqueueOptions, parameters: "$" | "?"): string {
  const table = options.table ?? "punctual_outbox";
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(table)) throw new TypeError("table must be a plain identifier");
  return `INSERT INTO ${table} (id, job, ordering_key) VALUES (${parameters === "$" ? "$1, $2, $3" : "?, ?, ?"})`;
}

function rowOf(job: NewJob, options: EnqueueOptions): [id: string, job: string, orderingKey: string | null] {
  if (job.request_id != null) throw new TypeError("the outbox sets request_id to the id of the row; leave it out");
  const text = JSON.stringify(job);
  if (new TextEncoder().encode(text).length > maxJobBytes) throw new RangeError("the job is larger than 1 MiB; send a reference to its data in place of the data");
  return [timeOrderedId(Date.now()), text, options.orderingKey ?? null];
}

/** A UUID of version 7 (RFC 9562, section 5.7). */
function timeOrderedId(at: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(at / 2 ** (40 - 8 * i)) & 0xff;
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
