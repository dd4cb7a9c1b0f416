// What npm publishes: its files, that it installs and that its types resolve; and
// the example, which is built with it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { VERSION } from "@punctual-dev/client";
import { client, eventually, listen, root, service } from "./support.js";

interface Manifest {
  version: string;
  dependencies?: object;
  exports: Record<string, string | { types: string; default: string }>;
}

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
const tsc = join(root, "node_modules/typescript/bin/tsc");
const dir = mkdtempSync(join(tmpdir(), "punctual-package-"));
const installed = join(dir, "node_modules/@punctual-dev/client");
after(() => rmSync(dir, { recursive: true }));

/** Runs a program; its output is in the error if it fails. */
function run(program: string, args: string[], cwd: string): string {
  try {
    return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(" ")}:\n${stdout}\n${stderr}`);
  }
}

const filesBelow = (path: string): string[] =>
  readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(path, name)).isFile()).sort();

describe("the package", () => {
  before(() => {
    // It has been built; prepack would build it again under the other tests.
    run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", dir], root);
    writeFileSync(join(dir, "package.json"), '{"private": true, "type": "module"}');
    const archive = readdirSync(dir).find((name) => name.endsWith(".tgz"));
    assert.ok(archive);
    assert.ok(statSync(join(dir, archive)).size < 72 << 10, "the archive has more than 72 KiB");
    run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", join(dir, archive)], dir);
  });

  it("has the built files and nothing else, and no dependency", () => {
    const files = filesBelow(installed);
    const built = filesBelow(join(root, "dist")).map((name) => `dist/${name}`);
    assert.deepEqual(files, ["LICENSE", "README.md", "package.json", ...built].sort());
    assert.equal(files.filter((name) => !/\.(js|d\.ts)$/.test(name)).length, 3);
    const size = files.reduce((sum, name) => sum + statSync(join(installed, name)).size, 0);
    assert.ok(size < 256 << 10, `unpacked it has ${size} bytes`);
    assert.equal(manifest.dependencies, undefined);
    assert.equal(VERSION, manifest.version);
  });

  it("exports what exists", async () => {
    for (const [name, target] of Object.entries(manifest.exports)) {
      if (typeof target === "string") continue;
      assert.ok(existsSync(join(installed, target.types)) && existsSync(join(installed, target.default)), name);
      assert.ok(Object.keys((await import(pathToFileURL(join(installed, target.default)).href)) as object).length > 0, name);
    }
  });

  it("imports only its own files: it runs on Deno, Bun and the edge", () => {
    const seen = new Set<string>();
    const visit = (file: string) => {
      if (seen.has(file)) return;
      seen.add(file);
      const text = readFileSync(file, "utf8");
      for (const [, name = ""] of text.matchAll(/\b(?:from|import|require)\s*\(?\s*["']([^"']+)["']/g)) {
        assert.match(name, /^\.{1,2}\//, `${relative(installed, file)} imports ${name}`);
        visit(resolve(dirname(file), name));
      }
      const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
      assert.doesNotMatch(code, /\b(Buffer|__dirname|setImmediate)\b|\bprocess\.(?!env)/, relative(installed, file));
    };
    for (const [name, target] of Object.entries(manifest.exports)) {
      if (typeof target !== "string" && name !== "./testing") visit(join(installed, target.default)); // that one starts a process
    }
    assert.ok(seen.size > 20);
  });

  it("has types that resolve, in strict projects with and without DOM", () => {
    const names = Object.keys(manifest.exports).filter((name) => name !== "./package.json").map((name) => `@punctual-dev/client${name.slice(1)}`);
    const use = `${names.map((name, n) => `import * as m${n} from "${name}";`).join("\n")}
import { Punctual, PunctualError, type JobRecord } from "@punctual-dev/client";
export const all = [${names.map((_, n) => `m${n}`).join(", ")}];
export async function first(punctual: Punctual): Promise<JobRecord | undefined> {
  try {
    const state = (await punctual.schedules.state<{ count: number }>({ key: "k" })).state.count;
    const count: number | undefined = state;
    void count;
    // @ts-expect-error: not a method
    await punctual.jobs.create({ url: "https://example.com", method: "fetch" });
    // @ts-expect-error: no such field
    await punctual.jobs.create({ url: "https://example.com", schedule_at: 1 });
    // @ts-expect-error: not a unit
    await punctual.jobs.create({ url: "https://example.com", schedule_in: [1, "hor"] });
    // @ts-expect-error: not a state
    punctual.jobs.list({ state: "complete" });
    // @ts-expect-error: states are compared with states only
    if ((await punctual.jobs.get(1)).job.state === "failed") return undefined;
    return (await punctual.jobs.list().page())[0];
  } catch (error) {
    if (error instanceof PunctualError && error.code === "not_found") return undefined;
    throw error;
  }
}
`;
    writeFileSync(join(dir, "use.ts"), use);
    const strict = ["--noEmit", "--skipDefaultLibCheck", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "use.ts"];
    cpSync(join(root, "node_modules/@types/node"), join(dir, "node_modules/@types/node"), { recursive: true });
    cpSync(join(root, "node_modules/undici-types"), join(dir, "node_modules/undici-types"), { recursive: true });
    run(process.execPath, [tsc, ...strict, "--module", "nodenext", "--lib", "es2022", "--types", "node"], dir);
    run(process.execPath, [tsc, ...strict, "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable"], dir);
  });

  it("has a lock file that names no registry", () => {
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    assert.doesNotMatch(lock, /"resolved"/);
    assert.ok(JSON.parse(lock).packages[""].devDependencies);
  });
});

describe("the example reminders-nextjs", () => {
  const example = fileURLToPath(new URL("../../../../examples/reminders-nextjs", import.meta.url));

  it("schedules a reminder and receives it", async () => {
    const copy = join(dir, "example");
    cpSync(example, copy, { recursive: true, filter: (path) => !/node_modules|\.next/.test(path) });
    cpSync(join(dir, "node_modules"), join(copy, "node_modules"), { recursive: true });
    run(process.execPath, [tsc, "-p", ".", "--skipLibCheck", "--noEmit", "false", "--rootDir", ".", "--outDir", "built", "--module", "nodenext", "--moduleResolution", "nodenext"], copy);

    Object.assign(process.env, { PUNCTUAL_URL: service.url, PUNCTUAL_API_KEY: service.key, PUNCTUAL_SIGNING_SECRET: service.secret });
    const load = async (path: string) => (await import(pathToFileURL(join(copy, "built", path)).href)) as { POST(request: Request): Promise<Response> };
    const due = await load("app/api/reminders/due/route.js");
    const server = await listen(async (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const request = new Request(`http://localhost${incoming.url}`, { method: "POST", headers: incoming.headers as Record<string, string>, body: Buffer.concat(chunks) });
      const response = await due.POST(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    });
    const written: string[] = [];
    const log = console.log;
    console.log = (...words: unknown[]) => void written.push(words.join(" "));
    try {
      process.env["APP_URL"] = server.target;
      const { POST } = await load("app/api/reminders/route.js");
      const post = (body: object) => POST(new Request("http://localhost/api/reminders", { method: "POST", body: JSON.stringify(body) }));
      const response = await post({ to: "alex@example.com", text: "call back", at: "2020-01-01T00:00:00Z" });
      assert.equal(response.status, 201);
      const { id } = (await response.json()) as { id: number };
      assert.equal((await client().jobs.wait(id, { within: 60_000 })).job.state, "completed");
      await eventually("the reminder", () => written.includes("reminder for alex@example.com: call back"));
      assert.equal((await post({ to: "alex@example.com", text: "x", at: "tomorrow" })).status, 422);
    } finally {
      console.log = log;
      await server.close();
    }
  });
});
