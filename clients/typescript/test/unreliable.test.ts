// Each job arrives once, whatever becomes of requests and answers on their way.
import assert from "node:assert/strict";
import { it } from "node:test";
import type { NewJob } from "@punctual-dev/client";
import { client, service } from "./support.js";

const hits = async (name: string): Promise<Record<string, number>> => (await fetch(`${service.unreliable}/hits/${name}`)).json() as Promise<Record<string, number>>;

it("jobs arrive once though answers are lost, cut and delayed, and requests are late", async () => {
  const watcher = client();
  const tags = ["unreliable"];
  await watcher.groups.put("unreliable", { targets: [{ name: "a", url: `${service.counted}/ts-group/a` }, { name: "b", url: `${service.counted}/ts-group/b` }] });
  const calls: Promise<unknown>[] = [];
  let want = 0;
  for (const faults of ["lose", "cut", "delay", "late", "late,lose,cut,delay"]) {
    const punctual = client({ url: `${service.unreliable}/${faults}`, timeout: 2000, maxRetries: 12 });
    for (const own of ["", "own"]) {
      const job = (n: number): NewJob => ({ url: `${service.counted}/ts/${faults}/${n}${own}`, tags, ...(own && { idempotency_key: `ts-${faults}-${n}` }) });
      calls.push(
        punctual.jobs.create(job(0)).then((record) => assert.equal(record.job.has_confict && !own, false)),
        punctual.jobs.createMany([job(1), job(2)]).then((records) => assert.equal(records.length, 2)),
      );
      want += 3;
    }
  }
  const lossy = client({ url: `${service.unreliable}/late,lose`, maxRetries: 12 });
  for (const own of [{}, { idempotency_key: "ts-group" }]) {
    calls.push(lossy.jobs.createForGroup({ group: "unreliable", tags, ...own } as NewJob).then((records) => assert.equal(records.length, 2)));
  }
  await Promise.all(calls);
  let jobs = 0;
  for await (const record of watcher.jobs.list({ tag: "unreliable" })) {
    await watcher.jobs.wait(record.id);
    jobs++;
  }
  assert.equal(jobs, want + 4);
  const arrived = await hits("ts");
  assert.deepEqual(Object.entries(arrived).filter(([, n]) => n !== 1), []);
  assert.equal(Object.keys(arrived).length, want);
  assert.deepEqual(await hits("ts-group"), { a: 2, b: 2 });
});
