// Compiles the samples of the reference and the examples of the guides against the
// package and runs them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { promisify } from "node:util";
import { client, eventually, listen, root, service } from "./support.js";

const run = promisify(execFile);
const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const directory = join(root, "test/.build/examples");

/** The schedule that each guide's example leaves behind, and the body that its requests have. */
const examples = [
  { guide: "quickstart", key: "report-typescript", body: { hello: "typescript" }, now: true },
  { guide: "from-bullmq", key: "digest", body: { list: "news" }, now: false },
];

/** What the programs send their requests to, in place of https://example.com. */
const target = "https://target.invalid";

/** Compiles the programs against the package, strictly and at once: a compiler takes seconds to start. */
before(async () => {
  const texts = new Map([["samples", readFileSync(join(root, "../../api/samples/samples.ts"), "utf8")]]);
  for (const { guide } of examples) {
    const text = readFileSync(join(root, `../../docs/guides/${guide}.md`), "utf8");
    const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = ""]) => block);
    assert.equal(blocks.length, 1);
    texts.set(guide, blocks[0]!);
  }
  mkdirSync(directory, { recursive: true });
  const sources = [...texts].map(([name, text]) => {
    const source = join(directory, `${name}.mts`);
    writeFileSync(source, text.replaceAll("https://example.com", target));
    return source;
  });
  const options = ["--strict", "--target", "ES2022", "--module", "NodeNext", "--lib", "ES2022,DOM", "--types", "node", "--skipLibCheck"];
  await run(process.execPath, [compiler, ...options, ...sources]);
});

/** Has a compiled program send its requests to a target, and returns the file to run. */
function program(name: string, receiver: string): string {
  const file = join(directory, `${name}.mjs`);
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(target, receiver));
  return file;
}

describe("the samples of the reference", () => {
  it("make their calls", { timeout: 300_000 }, async () => {
    const receiver = await listen((_request, response) => void response.end());
    try {
      const env = { ...process.env, PUNCTUAL_URL: service.url, PUNCTUAL_API_KEY: service.key, GITHUB_TOKEN: "ghp_test" };
      await run(process.execPath, [program("samples", receiver.target)], { env, cwd: directory });
    } finally {
      await client().schedules.apply({ owner: "my-repository", schedules: [], prune: true, all: true });
      await receiver.close();
    }
  });
});

describe("the examples of the guides", () => {
  for (const { guide, key, body, now } of examples) {
    it(guide, { timeout: 300_000 }, async () => {
      const received: Record<string, unknown>[] = [];
      const receiver = await listen((request, response) => {
        let text = "";
        request.on("data", (part) => (text += part)).on("end", () => {
          received.push(JSON.parse(text || "{}") as Record<string, unknown>);
          response.end();
        });
      });
      try {
        const env = { ...process.env, PUNCTUAL_URL: service.url, PUNCTUAL_API_KEY: service.key, TARGET_URL: receiver.target };
        const { stdout } = await run(process.execPath, [program(guide, receiver.target)], { env });
        if (now) assert.match(stdout, /^completed\n[0-9a-f-]{36}\n$/);
        else await client().schedules.run({ key });
        const wanted = Object.entries(body);
        await eventually("the request", () => received.find((one) => wanted.every(([name, value]) => one[name] === value)));
      } finally {
        await client().schedules.delete({ key });
        await receiver.close();
      }
    });
  }
});
