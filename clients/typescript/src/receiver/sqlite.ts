import type { Outcome } from "./reply.js";
import { BusyError, pruneAtOnce, readTableOptions, remembered, type Handled, type ReceiptStore, type TableOptions } from "./store.js";

/** A database of `node:sqlite` or `better-sqlite3`. */
export interface SQLiteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | number)[]): unknown; get(...values: (string | number)[]): unknown };
}

/**
 * Remembers ids in a SQLite database, in the transaction in which the handler
 * writes. The handler gets the database and must be synchronous: during an await,
 * others would write into its transaction.
 */
export class SQLiteStore<Database extends SQLiteDatabase> implements ReceiptStore<Database> {
  readonly #database: Database;
  readonly #table: string;
  readonly #keepMs: number;

  /** Creates the table if there is none. */
  constructor(database: Database, options: TableOptions = {}) {
    const { table, index, keepMs } = readTableOptions(options);
    this.#database = database;
    this.#table = table;
    this.#keepMs = keepMs;
    const schema = /^.*\./.exec(table)?.[0] ?? "";
    database.exec(`CREATE TABLE IF NOT EXISTS ${table} (id TEXT PRIMARY KEY, received_at INTEGER NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL)`);
    database.exec(`CREATE INDEX IF NOT EXISTS ${schema}${index} ON ${table.slice(schema.length)} (received_at)`);
  }

  async once(id: string, work: (tx: Database) => Outcome | Promise<Outcome>): Promise<Handled> {
    const database = this.#database;
    this.#begin();
    let handled: Handled;
    try {
      const row = database.prepare(`SELECT status, body FROM ${this.#table} WHERE id = ?`).get(id) as { status: unknown; body: unknown } | null | undefined;
      handled = row ? remembered(row.status, row.body) : { outcome: this.#run(id, work), repeated: false };
      if (handled.outcome.commit) {
        database.exec("COMMIT");
        return handled;
      }
    } catch (error) {
      this.#rollback();
      throw error;
    }
    this.#rollback();
    return handled;
  }

  #run(id: string, work: (tx: Database) => Outcome | Promise<Outcome>): Outcome {
    const outcome = work(this.#database);
    if (outcome instanceof Promise) {
      outcome.catch(() => undefined); // it is the second error, and follows from the first
      throw new TypeError("with SQLite the handler must be synchronous: do asynchronous work before or after it");
    }
    if (outcome.remember) {
      const now = Date.now();
      this.#database.prepare(`INSERT INTO ${this.#table} (id, received_at, status, body) VALUES (?, ?, ?, ?)`).run(id, now, outcome.status, outcome.body);
      this.#database
        .prepare(`DELETE FROM ${this.#table} WHERE id IN (SELECT id FROM ${this.#table} WHERE received_at < ? ORDER BY received_at LIMIT ${pruneAtOnce})`)
        .run(now - this.#keepMs);
    }
    return outcome;
  }

  /** Waits for other processes as long as the database's busy timeout says. */
  #begin(): void {
    try {
      this.#database.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (/database is (locked|busy)/i.test(String(error))) throw new BusyError("another process is writing to the database");
      throw error;
    }
  }

  /** SQLite has rolled back by itself after some errors; a second time is an error. */
  #rollback(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch (error) {
      if (!/no transaction/i.test(String(error))) throw error;
    }
  }
}
