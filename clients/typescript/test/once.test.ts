// Effectively once: receivers are killed before and after their commit, and the
// service while it waits for the response. The effect of each job is there once.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { openSQLite } from "./databases.js";
import { client, eventually, service } from "./support.js";

const program = fileURLToPath(new URL("once.child.js", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "punctual-once-"));
const pool = new pg.Pool({ connectionString: service.postgres });
await pool.query("CREATE TABLE once_effects (name text)");
const running = new Set<ChildProcess>();
after(async () => {
  for (const child of running) child.kill("SIGKILL");
  await pool.end();
  rmSync(dir, { recursive: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a receiver and returns it once it listens. */
async function receiver(kind: string, file: string, port: number, dieAt: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, kind, file, String(port), dieAt], { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("exit", () => reject(new Error("the receiver ended before it listened")));
  });
  return child;
}

const ended = (child: ChildProcess) => eventually("the receiver's end", () => child.exitCode !== null || child.signalCode !== null);

async function effects(kind: string, file: string): Promise<string[]> {
  if (kind === "postgres") return (await pool.query("SELECT name FROM once_effects WHERE name LIKE $1", [`${kind}:%`])).rows.map((row) => row.name as string);
  const database = await openSQLite(file);
  try {
    const { names } = database.prepare("SELECT group_concat(name) AS names FROM effects").get() as { names: string | null };
    return names?.split(",") ?? [];
  } finally {
    database.close();
  }
}

for (const kind of ["sqlite", "postgres"]) {
  describe(`a receiver with ${kind}`, () => {
    for (const dieAt of ["before the commit", "before the response", "crash the service"]) {
      it(`has each effect once: ${dieAt}`, async () => {
        const port = await freePort();
        const file = join(dir, `${kind} ${dieAt}.db`);
        const punctual = client({ maxRetries: 10 });
        const first = await receiver(kind, file, port, dieAt);
        const name = `${kind}:${dieAt}`;
        const job = await punctual.jobs.create({ url: `${service.target}/${port}/`, method: "POST", body: { effect: name }, backoff: [1], retries: 20 });
        if (dieAt !== "crash the service") {
          await ended(first);
          await receiver(kind, file, port, "never");
        }
        const final = await punctual.jobs.wait(job.id, { within: 60_000 });
        assert.equal(final.job.state, "completed");
        const logs = await punctual.logs.list({ job_id: job.job_id, event: "worker.http.request" }).toArray(30);
        assert.ok(logs.length >= 2, "the service did not send the request again");
        for (const child of running) child.kill("SIGKILL");
        await eventually("the receivers' end", () => running.size === 0);
        assert.deepEqual((await effects(kind, file)).filter((one) => one === name), [name]);
      });
    }
  });
}
