// The recipes that the outbox's guide has for query builders, run with these as the guide has them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { enqueueWith } from "@punctual-dev/client/outbox";
import { root, service } from "./support.js";

const guide = readFileSync(join(root, "../../docs/guides/outbox.md"), "utf8");
const job = { url: "https://shop.example/remind", schedule_in: [1, "hour"] };
const schema = "recipes";
const url = `${service.postgres}${service.postgres.includes("?") ? "&" : "?"}options=-csearch_path%3D${schema}`;
const order = "INSERT INTO orders DEFAULT VALUES";

/** Loads a package without its types, which take the compiler longer than the tests. */
const load = (name: string) => import(name) as Promise<any>;

/** The guide's call for a library, with what the application has by names. */
function recipe(library: string, has: Record<string, unknown>): Promise<string> {
  const cell = new RegExp(`^\\| ${library} \\| (\`+)(.+?)\\1 \\|$`, "m").exec(guide)?.[2];
  assert.ok(cell, `the guide has no recipe for ${library}`);
  const run = new Function("enqueueWith", "job", ...Object.keys(has), `return (async () => ${cell})()`);
  return run(enqueueWith, job, ...Object.values(has)) as Promise<string>;
}

/** A transaction that ends with a rollback. */
class Undo extends Error {}

/** Makes a transaction with an order and a job, which is committed or fails with Undo. */
type Shop = (commits: boolean) => Promise<string>;

describe("the recipe of the outbox for", () => {
  const admin = new pg.Client({ connectionString: url });

  before(async () => {
    await admin.connect();
    await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE; CREATE SCHEMA ${schema}`);
    await admin.query(execFileSync(process.env.PUNCTUAL_BINARY!, ["outbox", "schema"], { encoding: "utf8" }));
    await admin.query("CREATE TABLE orders (number bigint GENERATED ALWAYS AS IDENTITY)");
  });

  after(async () => {
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    await admin.end();
  });

  /** Checks a shop, whose connections close ends. */
  async function commitsTogether(close: () => Promise<void>, shop: Shop): Promise<void> {
    try {
      await admin.query("TRUNCATE orders, punctual_outbox");
      const id = await shop(true);
      await assert.rejects(shop(false), Undo);
      const { rows } = await admin.query("SELECT id, job::text AS job, ordering_key, (SELECT count(*)::int FROM orders) AS orders FROM punctual_outbox");
      assert.deepEqual(rows, [{ id, job: JSON.stringify(job), ordering_key: null, orders: 1 }]);
    } finally {
      await close();
    }
  }

  it("Drizzle", async () => {
    const [{ drizzle }, { sql }] = [await load("drizzle-orm/node-postgres"), await load("drizzle-orm")];
    const pool = new pg.Pool({ connectionString: url });
    await commitsTogether(pool.end.bind(pool), (commits) => drizzle(pool).transaction(async (tx: any) => {
      await tx.execute(sql.raw(order));
      const id = await recipe("Drizzle", { tx, sql });
      if (!commits) throw new Undo();
      return id;
    }));
  });

  it("Knex", async () => {
    const knex = (await load("knex")).default({ client: "pg", connection: url });
    await commitsTogether(() => knex.destroy(), (commits) => knex.transaction(async (trx: any) => {
      await trx.raw(order);
      const id = await recipe("Knex", { trx });
      if (!commits) throw new Undo();
      return id;
    }));
  });

  it("TypeORM", async () => {
    const source = await new (await load("typeorm")).DataSource({ type: "postgres", url }).initialize();
    await commitsTogether(() => source.destroy(), async (commits) => {
      const queryRunner = source.createQueryRunner();
      try {
        await queryRunner.startTransaction();
        await queryRunner.query(order);
        const id = await recipe("TypeORM", { queryRunner });
        if (!commits) throw new Undo();
        await queryRunner.commitTransaction();
        return id;
      } finally {
        if (queryRunner.isTransactionActive) await queryRunner.rollbackTransaction();
        await queryRunner.release();
      }
    });
  });
});
