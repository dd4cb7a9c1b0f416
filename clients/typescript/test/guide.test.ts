import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { root } from "./support.js";

it("the guide's integration is the one that compiles", () => {
  const guide = readFileSync(join(root, "../../docs/guides/clients-typescript.md"), "utf8");
  const [, program = ""] = readFileSync(join(root, "test/integration.ts"), "utf8").split(/^\/\/.*\n/);
  assert.ok(program.length > 500);
  assert.ok(guide.includes(`\`\`\`ts\n${program}\`\`\``), "the guide and test/integration.ts differ");
});
