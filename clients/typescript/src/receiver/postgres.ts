import type { Outcome } from "./reply.js";
import { BusyError, pruneAtOnce, readTableOptions, remembered, type Handled, type ReceiptStore, type TableOptions } from "./store.js";

/** A connection of `pg`, or one that is like it. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  release(destroy?: boolean): void;
}

/** A `Pool` of `pg`, or one that is like it. */
export interface PostgresPool<Client extends PostgresClient = PostgresClient> {
  connect(): Promise<Client>;
}

/** How long a repeat waits for the first try to end. */
const waitForFirst = "10s";
const lockTimeout = "55P03";

/**
 * Remembers ids in a PostgreSQL database, in the transaction in which the handler
 * writes: the handler gets the connection and uses no other.
 */
export class PostgresStore<Client extends PostgresClient> implements ReceiptStore<Client> {
  readonly #pool: PostgresPool<Client>;
  readonly #table: string;
  readonly #keepMs: number;
  /** The statements that create the table, for migrations. */
  readonly schema: readonly string[];

  constructor(pool: PostgresPool<Client>, options: TableOptions = {}) {
    const { table, index, keepMs } = readTableOptions(options);
    this.#pool = pool;
    this.#table = table;
    this.#keepMs = keepMs;
    this.schema = [
      `CREATE TABLE IF NOT EXISTS ${table} (id text PRIMARY KEY, received_at bigint NOT NULL, status integer NOT NULL, body text NOT NULL)`,
      `CREATE INDEX IF NOT EXISTS ${index} ON ${table} (received_at)`,
    ];
  }

  /** Creates the table if there is none. Several processes may call it at once. */
  async createTable(): Promise<void> {
    await this.#transaction(async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(hashtext($1))", [this.#table]);
      for (const statement of this.schema) await client.query(statement);
      return true;
    });
  }

  async once(id: string, work: (tx: Client) => Outcome | Promise<Outcome>): Promise<Handled> {
    let handled: Handled | undefined;
    await this.#transaction(async (client) => {
      handled = (await this.#claim(client, id)) ? { outcome: await work(client), repeated: false } : await this.#recall(client, id);
      const { outcome, repeated } = handled;
      if (!repeated && outcome.commit) await this.#record(client, id, outcome);
      return outcome.commit;
    });
    return handled as unknown as Handled; // assigned unless the transaction threw
  }

  /** Inserts the id; false if it is there. Waits for a transaction that has inserted it. */
  async #claim(client: Client, id: string): Promise<boolean> {
    await client.query(`SET LOCAL lock_timeout = '${waitForFirst}'`);
    try {
      const inserted = await client.query(`INSERT INTO ${this.#table} (id, received_at, status, body) VALUES ($1, $2, 0, '') ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`, [id, Date.now()]);
      await client.query("SET LOCAL lock_timeout TO DEFAULT"); // the handler's statements have the usual one
      return inserted.rows.length > 0;
    } catch (error) {
      if ((error as { code?: unknown }).code === lockTimeout) throw new BusyError("the same message is still being handled");
      throw error;
    }
  }

  async #recall(client: Client, id: string): Promise<Handled> {
    const { rows } = await client.query(`SELECT status, body FROM ${this.#table} WHERE id = $1`, [id]);
    if (!rows[0]) throw new BusyError("the message was just forgotten"); // removed between the two statements
    return remembered(rows[0]["status"], rows[0]["body"]);
  }

  async #record(client: Client, id: string, outcome: Outcome): Promise<void> {
    if (outcome.remember) await client.query(`UPDATE ${this.#table} SET status = $2, body = $3 WHERE id = $1`, [id, outcome.status, outcome.body]);
    else await client.query(`DELETE FROM ${this.#table} WHERE id = $1`, [id]);
    await client.query(
      `DELETE FROM ${this.#table} WHERE id IN (SELECT id FROM ${this.#table} WHERE received_at < $1 ORDER BY received_at LIMIT ${pruneAtOnce} FOR UPDATE SKIP LOCKED)`,
      [Date.now() - this.#keepMs],
    );
  }

  /** Runs f in a transaction, which is committed if f returns true. */
  async #transaction(f: (client: Client) => Promise<boolean>): Promise<void> {
    const client = await this.#pool.connect();
    let broken = true; // a connection whose transaction may not have ended is of no use
    try {
      await client.query("BEGIN");
      let commit = false;
      try {
        commit = await f(client);
      } finally {
        await client.query(commit ? "COMMIT" : "ROLLBACK");
        broken = false;
      }
    } finally {
      client.release(broken);
    }
  }
}
