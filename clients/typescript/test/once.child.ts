// A receiver of its own process, which once.test.ts kills at the worst moments.
import { createServer } from "node:http";
import pg from "pg";
import { express } from "@punctual-dev/client/express";
import { PostgresStore } from "@punctual-dev/client/postgres";
import { Receiver, type Route } from "@punctual-dev/client/receiver";
import { SQLiteStore } from "@punctual-dev/client/sqlite";
import { openSQLite } from "./databases.js";
import { service } from "./support.js";

const [, , kind, file, port, dieAt] = process.argv;
const die = (when: string) => {
  if (dieAt === when) process.kill(process.pid, "SIGKILL");
};

interface Work {
  effect: string;
}

async function sqliteRoute(): Promise<Route> {
  const database = await openSQLite(file!);
  database.exec("CREATE TABLE IF NOT EXISTS effects (name TEXT)");
  return new Receiver({ secrets: service.secret, store: new SQLiteStore(database) }).job<Work>((job, tx) => {
    tx.prepare("INSERT INTO effects (name) VALUES (?)").run(job.body.effect);
    die("before the commit");
    return { done: true };
  });
}

async function postgresRoute(): Promise<Route> {
  const pool = new pg.Pool({ connectionString: service.postgres });
  const store = new PostgresStore<pg.PoolClient>(pool);
  await store.createTable();
  return new Receiver({ secrets: service.secret, store }).job<Work>(async (job, tx) => {
    await tx.query("INSERT INTO once_effects (name) VALUES ($1)", [job.body.effect]);
    die("before the commit");
    return { done: true };
  });
}

const route = kind === "sqlite" ? await sqliteRoute() : await postgresRoute();
const handler = express(route);
let responses = 0;
createServer((request, response) => {
  const end = response.end.bind(response) as (body?: string) => unknown;
  response.end = ((body?: string) => {
    die("before the response");
    // The effect is committed; the service loses the first response.
    if (dieAt === "crash the service" && responses++ === 0) void service.crash().finally(() => end(body));
    else end(body);
    return response;
  }) as typeof response.end;
  handler(request, response);
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
