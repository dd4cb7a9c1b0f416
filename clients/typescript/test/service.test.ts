// Every call of the API, against the service.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Completion, Punctual, PunctualError, type AccountEvent } from "@punctual-dev/client";
import { api, client, eventually, listen, service, type Listening } from "./support.js";

/** Calls of the document that this client has no method for: they are for browsers and machines. */
const leftOut = ["getHealth", "getReadiness", "getMetrics", "getOpenAPI", "getReference", "getIssuer", "getIssuerKeys", "listen"];

const called = new Set<string>();
const templates = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).filter(([, operation]) => operation.operationId).map(([method, operation]) => ({
    id: operation.operationId as string,
    method: method.toUpperCase(),
    // Of two templates that match, the one without parameters is meant.
    fixed: !path.includes("{"),
    pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
  })),
).sort((a, b) => Number(b.fixed) - Number(a.fixed));

const recording: typeof fetch = (input, init) => {
  const path = new URL(String(input)).pathname;
  const found = templates.find((one) => one.method === init?.method && one.pattern.test(path));
  assert.ok(found, `${init?.method} ${path} is not in the document`);
  called.add(found.id);
  return fetch(input, init);
};

const punctual = client({ fetch: recording });
const far = "2031-06-01T09:00:00Z";
const rejected = async (call: PromiseLike<unknown>): Promise<PunctualError> => {
  const error: unknown = await Promise.resolve(call).then(() => undefined, (reason: unknown) => reason);
  assert.ok(error instanceof PunctualError, String(error));
  return error;
};

describe("the client", () => {
  let target: Listening;
  let completions: string[] = [];
  before(async () => {
    target = await listen((request, response) => {
      request.resume();
      const address = request.headers["x-punctual-complete"];
      if (typeof address === "string") {
        completions.push(address);
        response.statusCode = 202;
      }
      response.setHeader("content-type", "application/json");
      response.end(request.url?.startsWith("/state") ? '{"$set": {"count": 1}}' : "{}");
    });
  });
  after(() => target.close());

  it("creates, reads, changes and cancels jobs", async () => {
    const { data: job, created, etag } = await punctual.jobs.create({ url: "https://example.com/a", scheduled_at: far, tags: ["jobs"], name: "first" }).withResponse();
    assert.deepEqual([created, job.name, job.job.state, job.job.scheduled_at], [true, "first", "available", "2031-06-01T09:00:00.000000Z"]);
    assert.equal(job.idempotency_key, null);
    assert.equal(etag, undefined);

    const read = await punctual.jobs.get(job.job_id).withResponse();
    assert.equal(read.etag, '"1"');
    assert.deepEqual((await punctual.jobs.edit(job.id, { retries: 1, tags: ["jobs", "edited"] }, { ifMatch: '"1"' })).args.retries, 1);
    const stale = await rejected(punctual.jobs.edit(job.id, { retries: 2 }, { ifMatch: '"1"' }));
    assert.deepEqual([stale.status, stale.code], [412, "stale_revision"]);
    assert.equal((await punctual.jobs.revisions(job.job_id))[0]?.changes.length, 2);

    const again = await punctual.jobs.create({ url: "https://example.com/a", scheduled_at: far, idempotency_key: "key of/mine" });
    const duplicate = await punctual.jobs.create({ url: "https://example.com/a", idempotency_key: "key of/mine" }, { minimal: true });
    assert.deepEqual([duplicate.job_id, duplicate.has_confict], [again.job_id, true]);
    assert.equal((await punctual.jobs.cancel({ key: "key of/mine" })).job.state, "cancelled");
    assert.equal((await rejected(punctual.jobs.get({ key: "key of/mine" }))).code, "not_found");

    const stillThere = await rejected(punctual.jobs.cancel(job.id, { ifMatch: '"1"' }));
    assert.deepEqual([stillThere.status, stillThere.code], [412, "stale_revision"]);

    const changes = { url: `${target.target}/rerun`, schedule_in: 0 };
    const rerun = await punctual.jobs.rerun(again.id, changes, { idempotencyKey: "rerun of/mine" });
    const repeated = await punctual.jobs.rerun(again.id, changes, { idempotencyKey: "rerun of/mine" });
    assert.deepEqual([repeated.job_id, repeated.job.has_confict], [rerun.job_id, true]);
    assert.notEqual((await punctual.jobs.rerun(again.id, { schedule_in: 3600 })).job_id, rerun.job_id);
    assert.equal((await rejected(punctual.jobs.rerun(again.id, { schedule_in: 3600 }, { idempotencyKey: "rerun of/mine" }))).status, 422);
    assert.equal((await punctual.jobs.wait(rerun.id, { within: 60_000 })).job.state, "completed");
    const details = await punctual.jobs.details(rerun.id);
    assert.deepEqual([details.rerun_of, details.attempts[0]?.status], [again.job_id, 200]);
    await punctual.jobs.edit(job.id, { url: `${target.target}/run` });
    await punctual.jobs.run(job.id);
    await punctual.jobs.wait(job.id);

    const preview = await punctual.jobs.preview({ url: "https://example.com", cron: "0 9 * * *", timezone: "Europe/Berlin" });
    assert.equal(preview.next.length, 5);
  });

  it("creates many jobs at once", async () => {
    const items = [1, 2, 3].map((number) => ({ url: `https://example.com/${number}`, scheduled_at: far, tags: ["many"] }));
    const jobs = await punctual.jobs.createMany(items);
    assert.deepEqual(jobs.map((job) => job.args.url), items.map((item) => item.url));
    const outcomes = await punctual.jobs.createMany([items[0]!, { url: "http://example.com" }], { atomic: false, minimal: true });
    assert.deepEqual(outcomes.map((one) => one.status), [201, 422]);
    const wrong = await rejected(punctual.jobs.createMany([items[0]!, { url: "http://example.com" }]));
    assert.deepEqual([wrong.pointer, wrong.code], ["#/1/url", "invalid_request"]);
    assert.equal((await punctual.jobs.counts({ tag: "many" })).data.available, 4);
    const { jobs: first, then } = await punctual.jobs.createManyThen([{ url: "https://example.com/", scheduled_at: far }], { url: "https://example.com/then" });
    assert.deepEqual((await punctual.jobs.details(then.job_id)).waiting_for, [`job:${first[0]!.job_id}`]);
    const after = await punctual.jobs.create({ url: "https://example.com/", after: { jobs: [then.job_id], on: "final" } });
    assert.equal(after.job.has_confict, false);

    const seen: number[] = [];
    for await (const job of punctual.jobs.list({ tag: "many", limit: 2 })) seen.push(job.job_id);
    assert.equal(new Set(seen).size, 4);
    assert.deepEqual(seen, [...seen].sort((a, b) => b - a));
    assert.equal((await punctual.jobs.cancelMany(jobs.map((job) => job.job_id))).every((job) => job.job.state === "cancelled"), true);
  });

  it("keeps schedules and their state", async () => {
    const key = { key: "nightly report" };
    const first = await punctual.schedules.put(key, { url: `${target.target}/state`, method: "POST", body: {}, cron: "0 2 * * *" }).withResponse();
    assert.equal(first.created, true);
    const second = await punctual.schedules.put(key, { url: `${target.target}/state`, method: "POST", body: {}, cron: "0 3 * * *" }, { ifMatch: first.etag! }).withResponse();
    assert.deepEqual([second.created, second.etag], [false, '"2"']);
    const spec = { url: "https://example.com", cron: "0 3 * * *" };
    const edited = await punctual.schedules.rehearseEdit(key, { cron: "0 4 * * *" });
    assert.deepEqual(edited.schedules.map((one) => [one.key, one.result]), [["nightly report", "changed"]]);
    assert.notEqual(edited.schedules[0]!.difference.first, null);
    assert.equal((await punctual.schedules.rehearsePut(key, spec)).schedules[0]?.result, "changed");
    assert.equal((await punctual.schedules.rehearsePut({ key: "new one" }, spec)).schedules[0]?.result, "created");
    assert.equal((await punctual.schedules.details(key)).revision, 2, "a rehearsal stores nothing");
    assert.equal((await rejected(punctual.schedules.get({ key: "new one" }))).status, 404);
    assert.equal((await rejected(punctual.schedules.put(key, spec, { ifMatch: first.etag! }))).status, 412);
    assert.equal((await rejected(punctual.schedules.put(key, spec, { ifNew: true }))).status, 412);
    assert.equal((await punctual.schedules.edit(key, { name: "Report", tags: ["reports"] })).name, "Report");
    assert.deepEqual((await punctual.schedules.list({ tag: "reports" }).toArray(10)).map((one) => one.id), [first.data.id]);
    assert.equal((await punctual.schedules.get(first.data.id)).name, "Report");
    assert.equal((await punctual.schedules.details(key)).next.length, 5);
    assert.equal((await punctual.schedules.revisions(key)).length, 2);
    const report = await punctual.schedules.punctuality(key);
    assert.equal(report.schedule_id, first.data.id);
    assert.equal((await punctual.schedules.punctuality(key, { month: report.month })).month, report.month);

    const run = await punctual.schedules.run(key);
    await punctual.jobs.wait(run.job_id);
    const { state, previous } = await punctual.schedules.state<{ count: number }>(key);
    assert.deepEqual([state.count, previous], [1, { $set: { count: 1 } }]);
    await punctual.schedules.setState<{ count: number }>(key, { count: 5 });
    assert.equal((await punctual.schedules.state<{ count: number }>(key)).state.count, 5);
    await punctual.schedules.clearState(key);
    assert.deepEqual((await punctual.schedules.state(key)).state, {});

    const due = async () => (await punctual.schedules.list({ tag: "reports", include: "next_run_at" }).toArray(10)).map((one) => one.next_run_at);
    assert.match((await due())[0] ?? "", /T03:00:00\.000000Z$/);
    assert.ok(!("next_run_at" in (await punctual.schedules.list({ tag: "reports" }).toArray(10))[0]!));
    assert.equal((await rejected(punctual.schedules.disable(key, { ifMatch: first.etag! }))).status, 412);
    assert.notEqual((await punctual.schedules.disable(key)).disabled_at, null);
    assert.deepEqual(await due(), [null]);
    assert.equal((await punctual.schedules.enable(key)).disabled_at, null);
    assert.equal((await rejected(punctual.schedules.mute(key, { until: "recovered" }))).status, 409);
    assert.equal((await punctual.schedules.mute(key, { note: "Known." })).until, null);
    assert.equal((await punctual.schedules.details(key)).mute?.note, "Known.");
    await punctual.schedules.unmute(key);
    await punctual.schedules.delete(key);
    assert.equal((await rejected(punctual.schedules.get(key))).status, 404);
  });

  it("applies and exports documents", async () => {
    const plan = { owner: "tests", schedules: [{ key: "from-file", url: "https://example.com/file", cron: "0 4 * * *" }] };
    assert.equal((await punctual.schedules.rehearseApply(plan)).schedules[0]?.result, "created");
    assert.ok((await punctual.schedules.rehearse({ schedules: plan.schedules })).schedules.length > 0);
    const { data, etag } = await punctual.schedules.apply(plan).withResponse();
    assert.deepEqual(data.map((one) => one.result), ["created"]);
    const exported = await punctual.schedules.export({ owner: "tests" });
    assert.deepEqual(exported.schedules.map((one) => one.key), ["from-file"]);
    assert.deepEqual((await punctual.schedules.apply({ ...exported, owner: "tests" }, { ifMatch: etag! })).map((one) => one.result), ["unchanged"]);
    await punctual.schedules.apply({ owner: "tests", schedules: [], prune: true, all: true });
    assert.equal((await rejected(punctual.schedules.apply(plan, { ifMatch: etag! }))).status, 412);
  });

  it("carries out operations and waits for them", async () => {
    await punctual.jobs.createMany(Array.from({ length: 20 }, () => ({ url: "https://example.com/op", scheduled_at: far, tags: ["operation"] })));
    const operation = { action: "cancel" as const, filter: { tags: ["operation"], state: "scheduled" as const } };
    assert.equal((await punctual.operations.dryRun(operation)).matched, 20);
    const started = await punctual.operations.start(operation);
    const seen: number[] = [];
    const finished = await punctual.operations.wait(started.id, { within: 60_000, onProgress: (record) => seen.push(record.done) });
    assert.deepEqual([finished.state, finished.done, seen.at(-1)], ["finished", 20, 20]);
    assert.equal((await punctual.operations.get(started.id)).done, 20);
    assert.equal((await punctual.operations.stop(started.id)).state, "finished");
    assert.ok((await punctual.operations.list().toArray(10)).some((one) => one.id === started.id));
  });

  it("lists workflow runs", async () => {
    assert.deepEqual(await punctual.runs.list({ state: "failed", label: "none" }).toArray(10), []);
    await assert.rejects(async () => punctual.runs.get("wfr_none"), { status: 404 });
    await assert.rejects(async () => punctual.runs.cancel("wfr_none"), { status: 404 });
  });

  it("keeps groups", async () => {
    await punctual.groups.put("mirrors", { targets: [{ name: "a", url: "https://a.example.com/" }] });
    assert.equal((await punctual.groups.get("mirrors")).targets.length, 1);
    assert.equal((await punctual.groups.list().toArray(10)).length, 1);
    await punctual.groups.delete("mirrors");
  });

  it("keeps limits, alerts and secrets", async () => {
    const limit = await punctual.limits.put("stripe", { rate: { calls: 100, per: [1, "minute"] }, parallel: 5 }).withResponse();
    assert.deepEqual([limit.created, limit.data.rate?.per], [true, 60]);
    assert.equal((await punctual.limits.get("stripe")).waiting, 0);
    assert.equal((await punctual.limits.put("host:example.com", { paused: true })).paused, true);
    assert.equal((await punctual.limits.list().toArray(10)).length, 2);
    await punctual.limits.delete("stripe");
    await punctual.limits.delete("host:example.com");

    const alert = await punctual.alerts.put("failures", { on: ["failed"], to: [{ webhook: `${target.target}/alert` }] });
    assert.equal(alert.after, 1);
    assert.equal((await punctual.alerts.test("failures")).results[0]?.status, 200);
    assert.equal((await punctual.alerts.get("failures")).name, "failures");
    assert.equal((await punctual.alerts.list().toArray(10)).length, 1);
    await punctual.alerts.delete("failures");

    await punctual.secrets.put("github", { value: "a secret value", hosts: ["api.github.com"] });
    assert.deepEqual((await punctual.secrets.get("github")).hosts, ["api.github.com"]);
    assert.equal((await punctual.secrets.list().toArray(10)).length, 1);
    await punctual.secrets.delete("github");
  });

  it("reads and exports logs, and follows events", async () => {
    const controller = new AbortController();
    const events = punctual.events({ signal: controller.signal });
    const next = events.next(); // opens the stream
    await eventually("the stream's first event", async () => {
      await punctual.jobs.create({ url: `${target.target}/logged`, tags: ["logged"] });
      return Promise.race([next, new Promise<undefined>((resolve) => setTimeout(resolve, 500))]);
    });
    const job = await punctual.jobs.create({ url: `${target.target}/logged` });
    let finished: AccountEvent | undefined;
    for await (const event of events) {
      if (event.type === "log" && event.log.job_id === job.job_id && event.log.event === "worker.http.response") {
        finished = event;
        assert.equal(event.log.payload.status, 200); // narrowed by the event's name
        break;
      }
    }
    controller.abort();
    assert.ok(finished?.type === "log");
    const listed = await punctual.logs.list({ job_id: job.job_id, order_by: ["inserted_at", "asc"] }).toArray(10);
    assert.deepEqual(listed.map((log) => log.event), ["worker.http.request", "worker.http.response"]);
    assert.equal((await punctual.logs.get(finished.id)).id, finished.id);
    const exported: string[] = [];
    for await (const log of punctual.logs.export({ job_id: job.job_id })) exported.push(log.id);
    assert.deepEqual(exported, listed.map((log) => log.id));
  });

  it("reports the outcome of long work", async () => {
    completions = [];
    const job = await punctual.jobs.create({ url: `${target.target}/long`, method: "POST", completion: { within: [1, "hour"] } });
    const address = await eventually("the request", () => completions[0]);
    const completion = new Completion(address, { url: service.url, fetch: recording });
    assert.equal((await completion.progress(40, "sorting")).progress?.progress, 40);
    await completion.succeed({ rows: 5120 });
    await completion.succeed({ rows: 5120 });
    assert.equal((await rejected(completion.fail("no", { retry: false }))).code, "conflict");
    assert.equal((await punctual.jobs.wait(job.id)).job.state, "completed");
  });

  it("manages the account", async () => {
    assert.ok((await punctual.account.get()).limits.body_bytes > 0);
    const key = await punctual.account.createKey({ name: "for a test", scope: "read" });
    const reader = client({ apiKey: key.key });
    assert.ok((await reader.jobs.list().page()).length > 0);
    const forbidden = await rejected(reader.jobs.create({ url: "https://example.com" }));
    assert.deepEqual([forbidden.status, forbidden.code], [403, "forbidden"]);
    await punctual.account.revokeKey(key.id);
    assert.equal((await rejected(reader.jobs.list().page())).code, "unauthorized");
    assert.ok((await punctual.account.keys()).some((one) => one.id === key.id && one.revoked_at !== null));
    const guest = await punctual.account.inviteMember({ email: "guest@example.com", role: "viewer" });
    assert.match(guest.link, /\/join\/join_/);
    assert.equal((await punctual.account.changeMember(guest.id, { role: "editor" })).role, "editor");
    assert.deepEqual((await punctual.account.members().toArray(5)).map((one) => one.state).sort(), ["invited", "member"]);
    await punctual.account.removeMember(guest.id);
    assert.equal((await punctual.account.signingSecrets())[0]?.secret, service.secret);
    assert.ok((await punctual.account.audit({ event: "key.created" }).toArray(5)).length > 0);
    assert.equal((await punctual.account.stats(5)).data.length, 5);
    assert.ok((await punctual.account.punctuality()).week.attempts >= 0);
  });

  it("calls what needs no key, and everything else", async () => {
    const stranger = new Punctual({ url: service.url, apiKey: "", fetch: recording });
    assert.deepEqual(await stranger.ping(), { message: "Pong" });
    assert.deepEqual(await stranger.echo({ a: [1] }), { a: [1] });
    assert.deepEqual(await stranger.broadcast({ content: "hello" }), { content: "hello" });
    assert.equal((await punctual.request<{ email: string }>("GET", "/api/account")).email.includes("@"), true);
  });

  it("rotates the signing secret", async () => {
    // The old one signs for another day, so the other tests can go on using it.
    assert.equal((await punctual.account.rotateSigningSecret()).length, 2);
  });

  it("has every call of the document", () => {
    const missing = templates.map((one) => one.id).filter((id) => !called.has(id) && !leftOut.includes(id));
    assert.deepEqual(missing, []);
  });
});
