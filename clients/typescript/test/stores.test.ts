// What every store of receipts promises, in memory, SQLite and PostgreSQL.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import pg from "pg";
import { BusyError, MemoryStore, type Outcome, type ReceiptStore } from "@punctual-dev/client/receiver";
import { PostgresStore, type PostgresClient } from "@punctual-dev/client/postgres";
import { SQLiteStore, type SQLiteDatabase } from "@punctual-dev/client/sqlite";
import { openSQLite } from "./databases.js";
import { service } from "./support.js";

const done = (body = "{}"): Outcome => ({ status: 200, body, commit: true, remember: true });
const failed: Outcome = { status: 500, body: "", commit: false, remember: false };

interface Subject {
  store: ReceiptStore<never>;
  /** Writes an effect in the transaction. */
  write(tx: never, name: string): void | Promise<void>;
  /** How often an effect was written. */
  count(name: string): Promise<number>;
  receipts(): Promise<number>;
}

const dir = mkdtempSync(join(tmpdir(), "punctual-client-"));
const database = await openSQLite(join(dir, "receiver.db"));
database.exec("CREATE TABLE effects (name TEXT)");
const pool = new pg.Pool({ connectionString: service.postgres });
await pool.query("CREATE TABLE effects (name text)");
const postgresStore = new PostgresStore<pg.PoolClient>(pool, { keepDays: 1 });
await Promise.all([postgresStore.createTable(), postgresStore.createTable()]);
after(async () => {
  database.close();
  await pool.end();
  rmSync(dir, { recursive: true });
});

const effects: string[] = [];
const subjects: Record<string, Subject> = {
  memory: (() => {
    const store = new MemoryStore();
    return {
      store: store as unknown as ReceiptStore<never>,
      write: (_tx, name) => void effects.push(name),
      count: async (name) => effects.filter((one) => one === name).length,
      receipts: async () => store.size,
    };
  })(),
  sqlite: {
    store: new SQLiteStore(database, { keepDays: 1 }) as unknown as ReceiptStore<never>,
    write: (tx, name) => void (tx as SQLiteDatabase).prepare("INSERT INTO effects (name) VALUES (?)").run(name),
    count: async (name) => Number((database.prepare("SELECT count(*) AS n FROM effects WHERE name = ?").get(name) as { n: unknown }).n),
    receipts: async () => Number((database.prepare("SELECT count(*) AS n FROM punctual_receipts").get() as { n: unknown }).n),
  },
  postgres: {
    store: postgresStore as unknown as ReceiptStore<never>,
    write: async (tx, name) => void (await (tx as PostgresClient).query("INSERT INTO effects (name) VALUES ($1)", [name])),
    count: async (name) => Number((await pool.query("SELECT count(*) AS n FROM effects WHERE name = $1", [name])).rows[0].n),
    receipts: async () => Number((await pool.query("SELECT count(*) AS n FROM punctual_receipts")).rows[0].n),
  },
};

for (const [name, { store, write, count, receipts }] of Object.entries(subjects)) {
  /** Writes an effect and returns an outcome, at once or after the write. */
  const work = (effect: string, outcome: Outcome) => (tx: never) => {
    const written = write(tx, effect);
    return written instanceof Promise ? written.then(() => outcome) : outcome;
  };

  describe(`a store in ${name}`, () => {
    it("handles an id once and repeats its outcome", async () => {
      assert.deepEqual(await store.once("one", work("one", done('{"a":1}'))), { outcome: done('{"a":1}'), repeated: false });
      assert.deepEqual(await store.once("one", work("one", done('{"a":2}'))), { outcome: done('{"a":1}'), repeated: true });
      assert.equal(await count("one"), 1);
    });

    it("handles an id once among simultaneous calls", async () => {
      const all = await Promise.all(Array.from({ length: 8 }, () => store.once("many", work("many", done()))));
      assert.equal(all.filter((one) => !one.repeated).length, 1);
      assert.equal(await count("many"), 1);
    });

    it("handles an id again after a failure, whose effects are gone", async () => {
      await assert.rejects(store.once("thrown", (tx) => {
        const written = write(tx, "thrown");
        const fail = (): never => { throw new Error("no"); };
        return written instanceof Promise ? written.then(fail) : fail();
      }), /^Error: no$/);
      assert.equal((await store.once("thrown", work("failed", failed))).repeated, false);
      assert.equal((await store.once("thrown", work("good", done()))).repeated, false);
      // Memory can't take back what a handler did.
      if (name !== "memory") assert.deepEqual([await count("thrown"), await count("failed")], [0, 0]);
      assert.equal(await count("good"), 1);
    });

    it("commits without remembering if the outcome says so", async () => {
      const before = await receipts();
      const accepted = { ...done(), status: 202, remember: false };
      assert.equal((await store.once("accepted", work("accepted", accepted))).repeated, false);
      assert.equal((await store.once("accepted", work("accepted", accepted))).repeated, false);
      assert.equal(await count("accepted"), 2);
      assert.equal(await receipts(), before);
    });
  });
}

describe("a store in memory", () => {
  it("is bounded in ids, in size and in time", async () => {
    const few = new MemoryStore({ maxEntries: 3 });
    for (let id = 0; id < 10; id++) await few.once(`${id}`, () => done());
    assert.equal(few.size, 3);
    assert.equal((await few.once("9", () => done())).repeated, true);
    assert.equal((await few.once("0", () => done())).repeated, false);

    const small = new MemoryStore({ maxSize: 100 });
    for (let id = 0; id < 10; id++) await small.once(`${id}`, () => done("x".repeat(40)));
    assert.equal(small.size, 2);

    const short = new MemoryStore({ keepFor: -1 });
    await short.once("1", () => done());
    assert.equal((await short.once("1", () => done())).repeated, false);
  });

  it("refuses more at once than it may remember", async () => {
    const store = new MemoryStore({ maxEntries: 1 });
    let finish = (_: Outcome): void => undefined;
    const first = store.once("1", () => new Promise<Outcome>((resolve) => (finish = resolve)));
    await assert.rejects(store.once("2", () => done()), BusyError);
    finish(done());
    await first;
  });
});

describe("a store in a database", () => {
  it("forgets old ids, a few at a time", async () => {
    database.exec("UPDATE punctual_receipts SET received_at = 0");
    await pool.query("UPDATE punctual_receipts SET received_at = 0");
    const work = () => done();
    for (const { store, receipts } of [subjects["sqlite"]!, subjects["postgres"]!]) {
      await store.once("new", work);
      assert.equal(await receipts(), 1);
    }
  });

  it("of SQLite refuses asynchronous handlers", async () => {
    await assert.rejects(subjects["sqlite"]!.store.once("async", async () => done()), /must be synchronous/);
    assert.equal((await subjects["sqlite"]!.store.once("async", () => done())).repeated, false);
  });

  it("of PostgreSQL keeps its connections after failures", async () => {
    for (let round = 0; round < 30; round++) {
      await assert.rejects(postgresStore.once("broken", async (tx) => (await tx.query("SELECT 1/0"), done())));
    }
    assert.equal(pool.totalCount - pool.idleCount, 0);
  });

  it("takes only plain names of tables", () => {
    for (const table of ["a b", "a;b", '"a"', "a.b.c", ""]) assert.throws(() => new PostgresStore(pool, { table }), TypeError);
    assert.deepEqual(new PostgresStore(pool, { table: "app.receipts" }).schema.length, 2);
  });
});
