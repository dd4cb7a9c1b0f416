import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { start } from "@punctual-dev/client/testing";

const day = 86_400_000;

test("a year of reminders", async () => {
  const got: string[] = [];
  const program = createServer((request, response) => {
    got.push(`${request.url} ${request.headers["x-punctual-scheduled-at"]}`);
    response.end();
  });
  await new Promise<void>((listening) => program.listen(0, "127.0.0.1", listening));
  const service = await start();
  try {
    const url = `http://127.0.0.1:${(program.address() as AddressInfo).port}/monthly`;
    await service.client.jobs.create({ url, method: "post", cron: "0 9 1 * *" });
    const first = await service.advance(day);
    got.length = 0;
    const last = await service.advance(365 * day);
    assert.ok(last.getTime() - first.getTime() >= 365 * day);
    assert.equal(service.env["PUNCTUAL_API_KEY"], service.key);
  } finally {
    await service.stop();
    program.closeAllConnections();
    program.close();
  }
  assert.equal(got.length, 12, got.join("\n"));
  assert.deepEqual(got, [...got].sort());
  for (const line of got) {
    assert.match(line, /^\/monthly \d{4}-\d{2}-01T09:00:00.000000Z$/);
  }
});

test("what is missing is said", async () => {
  const before = process.env["PUNCTUAL_BINARY"];
  try {
    process.env["PUNCTUAL_BINARY"] = "/there/is/none";
    await assert.rejects(start(), /install the command punctual/);
    process.env["PUNCTUAL_BINARY"] = "/bin/false";
    await assert.rejects(start(), /does not serve/);
  } finally {
    process.env["PUNCTUAL_BINARY"] = before;
  }
});
