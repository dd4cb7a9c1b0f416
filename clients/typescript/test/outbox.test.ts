// The outbox: a job is committed with the application's data, or never was.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import pg from "pg";
import { enqueue, enqueueSync, enqueueWith } from "@punctual-dev/client/outbox";
import { openSQLite } from "./databases.js";
import { service } from "./support.js";

const dir = mkdtempSync(join(tmpdir(), "punctual-outbox-"));
const table = "CREATE TABLE punctual_outbox (id TEXT PRIMARY KEY, job TEXT NOT NULL, ordering_key TEXT)";
const job = { url: "https://shop.example/remind", body: { order: 7 }, schedule_in: [1, "hours"] as [number, "hours"] };
const text = '{"url":"https://shop.example/remind","body":{"order":7},"schedule_in":[1,"hours"]}';

describe("the outbox", () => {
  after(() => rmSync(dir, { recursive: true, force: true }));

  it("commits with a transaction of SQLite, and rolls back with it", async () => {
    const database = await openSQLite(join(dir, "shop.db"));
    database.exec(table);
    database.exec("BEGIN");
    const id = enqueueSync(database, job, { orderingKey: "customer-7" });
    database.exec("COMMIT");
    database.exec("BEGIN");
    enqueueSync(database, job);
    database.exec("ROLLBACK");
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const row = database.prepare("SELECT count(*) AS n, max(id) AS id, max(job) AS job, max(ordering_key) AS key FROM punctual_outbox").get() as Record<string, unknown>;
    assert.deepEqual({ ...row }, { n: 1, id, job: text, key: "customer-7" });
    database.close();
  });

  it("commits with a transaction of pg", async () => {
    const client = new pg.Client({ connectionString: service.postgres });
    await client.connect();
    await client.query("CREATE TABLE punctual_outbox (id uuid PRIMARY KEY, job json NOT NULL, ordering_key text)");
    for (const end of ["COMMIT", "ROLLBACK"]) {
      await client.query("BEGIN");
      await client.query("SELECT 1");
      await enqueue(client, job);
      await client.query(end);
    }
    const { rows } = await client.query("SELECT job::text AS job FROM punctual_outbox");
    assert.deepEqual(rows, [{ job: text }]);
    await client.query("DROP TABLE punctual_outbox");
    await client.end();
  });

  it("commits with a transaction of mysql2", { skip: service.mariadb === undefined && "MariaDB's server is missing: install mariadb-server" }, async () => {
    const { createConnection } = await import("mysql2/promise");
    const connection = await createConnection({ socketPath: service.mariadb!, user: "root", database: "punctual_test", multipleStatements: true });
    await connection.query(execFileSync(process.env.PUNCTUAL_BINARY!, ["outbox", "schema", "--dialect", "mysql"], { encoding: "utf8" }));
    let id = "";
    for (const commits of [true, false]) {
      await connection.beginTransaction();
      const row = await enqueue(connection, job, { orderingKey: "customer-7" });
      if (commits) id = row;
      await connection[commits ? "commit" : "rollback"]();
    }
    const [rows] = await connection.query("SELECT id, job, ordering_key FROM punctual_outbox");
    assert.deepEqual((rows as object[]).map((row) => ({ ...row })), [{ id, job: text, ordering_key: "customer-7" }]);
    await connection.query("DROP TABLE punctual_outbox, punctual_outbox_failed, punctual_outbox_relay");
    await connection.end();
  });

  it("calls execute, and functions of query builders", async () => {
    const calls: [string, unknown[]][] = [];
    await enqueue({ execute: async (sql: string, values: unknown[]) => void calls.push([sql, values]) }, job);
    await enqueueWith((sql, values) => calls.push([sql, values]), job, { table: "app.punctual_outbox" });
    assert.deepEqual(calls.map(([sql, values]) => [sql, values[1], values[2]]), [
      ["INSERT INTO punctual_outbox (id, job, ordering_key) VALUES (?, ?, ?)", text, null],
      ["INSERT INTO app.punctual_outbox (id, job, ordering_key) VALUES ($1, $2, $3)", text, null],
    ]);
  });

  it("refuses what can't be sent", async () => {
    const never = () => assert.fail("it was executed");
    await assert.rejects(enqueueWith(never, { url: "https://x", description: "x".repeat(1 << 20) }), RangeError);
    await assert.rejects(enqueueWith(never, { url: "https://x", request_id: "mine" }), TypeError);
    await assert.rejects(enqueueWith(never, job, { table: "a b" }), TypeError);
  });
});
