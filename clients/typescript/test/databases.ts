// Databases that the tests of stores use.
import { rmSync } from "node:fs";
import type { SQLiteDatabase } from "@punctual-dev/client/sqlite";

/** Opens a SQLite file: with node:sqlite where Node has it, else with a WebAssembly build. */
export async function openSQLite(file: string): Promise<SQLiteDatabase & { close(): void }> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) {
    const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (file: string) => SQLiteDatabase & { close(): void } };
    return new DatabaseSync(file);
  }
  rmSync(`${file}.lock`, { recursive: true, force: true }); // this build's lock, which a killed process leaves behind
  const { Database } = (await import("node-sqlite3-wasm")).default;
  const database = new Database(file);
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => ({
      run: (...values) => database.run(sql, values),
      get: (...values) => database.get(sql, values),
    }),
    close: () => database.close(),
  };
}
