// What the client does with responses, shown with a fetch of the test's own.
import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import { Completion, Punctual, PunctualError, VERSION, type ClientOptions } from "@punctual-dev/client";

interface Sent {
  url: string;
  method: string;
  headers: Headers;
  body: unknown;
}

type Answer = Response | Error | ((sent: Sent, signal: AbortSignal) => Promise<Response>);

const job = (id: number, conflict = false) => ({ id: `id-${id}`, job_id: id, job: { id, state: "available", has_confict: conflict } });
const json = (status: number, body: unknown, headers: Record<string, string> = {}) => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
const problem = (status: number, code: string, extra: object = {}, headers: Record<string, string> = {}) =>
  json(status, { type: "about:blank", code, title: "T", status, detail: "what to do", ...extra }, headers);
const refused = () => Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
const reset = () => Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("read"), { code: "ECONNRESET" }) });

/** A client whose calls get these responses in turn. */
function scripted(answers: Answer[], options: ClientOptions = {}): { punctual: Punctual; sent: Sent[] } {
  const sent: Sent[] = [];
  const punctual = new Punctual({
    url: "https://punctual.example.com/base/",
    apiKey: "sk_test",
    fetch: async (input, init) => {
      const one = { url: String(input), method: init?.method ?? "GET", headers: new Headers(init?.headers), body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined };
      sent.push(one);
      const answer = answers.shift();
      if (!answer) throw new Error("an unexpected call");
      if (answer instanceof Error) throw answer;
      return typeof answer === "function" ? answer(one, init?.signal as AbortSignal) : answer;
    },
    ...options,
  });
  return { punctual, sent };
}

const hang: Answer = (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

async function fails(call: PromiseLike<unknown>): Promise<PunctualError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof PunctualError, String(error));
    return error;
  }
  throw new Error("the call did not fail");
}

describe("requests", () => {
  it("carry the key, the version and JSON below the base path", async () => {
    const { punctual, sent } = scripted([json(201, { data: job(1) })]);
    const record = await punctual.jobs.create({ url: "https://example.com", method: "POST", scheduled_at: new Date("2031-06-01T09:00:00Z") });
    assert.equal(record.job_id, 1);
    assert.equal(sent[0]?.url, "https://punctual.example.com/base/api/jobs");
    assert.equal(sent[0]?.headers.get("authorization"), "Bearer sk_test");
    assert.equal(sent[0]?.headers.get("user-agent"), `punctual-typescript/${VERSION}`);
    const { request_id: _, ...fields } = sent[0]?.body as Record<string, unknown>;
    assert.deepEqual(fields, { url: "https://example.com", method: "POST", scheduled_at: "2031-06-01T09:00:00.000Z" });
  });

  it("encode keys, ids and filters", async () => {
    const { punctual, sent } = scripted([json(200, { data: job(1) }), json(200, { data: [] }), json(200, { data: job(1) })]);
    await punctual.jobs.cancel({ key: "invoice/10 42?" });
    await punctual.jobs.list({ tag: ["a", "b"], since: new Date(0), order_by: ["job_id", "asc"] }).page();
    await punctual.jobs.edit(7, { name: "x" }, { ifMatch: ['"1"', '"2"'] });
    assert.equal(sent[0]?.url, "https://punctual.example.com/base/api/jobs/key%3Ainvoice%2F10%2042%3F/cancel");
    assert.equal(sent[1]?.url, "https://punctual.example.com/base/api/jobs?limit=100&tag=a&tag=b&since=1970-01-01T00%3A00%3A00.000Z&order_by=job_id&order_by=asc");
    assert.equal(sent[2]?.headers.get("if-match"), '"1", "2"');
    assert.throws(() => punctual.schedules.get(".."), TypeError);
    assert.throws(() => punctual.logs.get(""), TypeError);
  });

  it("carry conditions", async () => {
    const { punctual, sent } = scripted([1, 2, 3, 4, 5].map(() => json(200, { data: job(1) })));
    await punctual.schedules.put({ key: "k" }, { url: "https://example.com", cron: "@daily" }, { ifMatch: '"1"' });
    await punctual.schedules.put({ key: "k" }, { url: "https://example.com", cron: "@daily" }, { ifNew: true });
    await punctual.limits.put("k", { parallel: 1 }, { ifNew: true });
    await punctual.jobs.cancel(1, { ifMatch: '"2"' });
    await punctual.schedules.disable({ key: "k" }, { ifMatch: '"3"' });
    assert.deepEqual(sent.map((one) => [one.headers.get("if-match"), one.headers.get("if-none-match")]), [['"1"', null], [null, "*"], [null, "*"], ['"2"', null], ['"3"', null]]);
  });

  it("need an address", () => {
    assert.throws(() => new Punctual({ apiKey: "x" }), /PUNCTUAL_URL/);
    assert.throws(() => new Punctual({ url: "ftp://example.com" }), /https/);
  });
});

describe("completions", () => {
  const url = "https://punctual.example.com/base/";
  const path = "/base/api/completions/t0k-en_";

  it("are reported to the service", async () => {
    const sent: string[] = [];
    const completion = new Completion(`https://PUNCTUAL.example.com:443${path}`, {
      url,
      fetch: async (input) => {
        sent.push(String(input));
        return json(200, { data: { awaiting: true } });
      },
    });
    await completion.progress(1);
    assert.deepEqual(sent, [`https://punctual.example.com${path}`]);
  });

  it("are reported nowhere else", () => {
    for (const address of [
      "", "not a url", path, `https://evil.example${path}`, `http://punctual.example.com${path}`, `https://punctual.example.com:444${path}`,
      `https://punctual.example.com.evil.example${path}`, `https://punctual.example.com@evil.example${path}`, `https://user@punctual.example.com${path}`,
      "http://169.254.169.254/base/api/completions/t", "https://punctual.example.com/api/completions/t", "https://punctual.example.com/base/api/completions/",
      "https://punctual.example.com/base/api/completions/../jobs", "https://punctual.example.com/base/api/completions/%2e%2e%2fjobs",
      "https://punctual.example.com/base/api/completions/a/b", `https://punctual.example.com${path}?a=b`, `https://punctual.example.com${path}#a`,
      `https://punctual.example.com/x${path}`,
    ]) {
      assert.throws(() => new Completion(address, { url }), (error) => error instanceof TypeError && !error.message.includes("t0k-en_"), address);
    }
    delete process.env.PUNCTUAL_URL;
    assert.throws(() => new Completion(`https://evil.example${path}`), /PUNCTUAL_URL/);
  });
});

describe("retries", () => {
  it("of a create have one request_id, and its own job is no conflict", async () => {
    const { punctual, sent } = scripted([reset(), problem(503, "unavailable", {}, { "retry-after": "0" }), json(200, { data: job(1, true) })]);
    const record = await punctual.jobs.create({ url: "https://example.com" });
    assert.equal(record.job.has_confict, false);
    const keys = sent.map((one) => (one.body as { request_id?: string }).request_id);
    assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
  });

  it("leave a key of the caller's as it is", async () => {
    const { punctual, sent } = scripted([json(200, { data: job(1, true) })]);
    const record = await punctual.jobs.create({ url: "https://example.com", idempotency_key: "mine" });
    assert.equal(record.job.has_confict, true);
    assert.equal((sent[0]?.body as { idempotency_key?: string }).idempotency_key, "mine");
  });

  it("of a rerun have one Idempotency-Key, and its own job is no conflict", async () => {
    const { punctual, sent } = scripted([reset(), problem(503, "unavailable", {}, { "retry-after": "0" }), json(200, { data: job(2, true) }), json(200, { data: job(2, true) })]);
    assert.equal((await punctual.jobs.rerun(1)).job.has_confict, false);
    const keys = sent.map((one) => one.headers.get("idempotency-key"));
    assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);

    assert.equal((await punctual.jobs.rerun(1, {}, { idempotencyKey: "mine" })).job.has_confict, true);
    assert.equal(sent[3]?.headers.get("idempotency-key"), "mine");
  });

  it("don't repeat what may have been done", async () => {
    for (const lostAnswer of [reset(), problem(503, "unavailable"), problem(502, "x")]) {
      const { punctual, sent } = scripted([lostAnswer]);
      await fails(punctual.jobs.run(1));
      assert.equal(sent.length, 1);
    }
    const conditional = scripted([reset()]);
    await fails(conditional.punctual.jobs.edit(1, {}, { ifMatch: '"1"' }));
  });

  it("of a batch have one request_id for each job", async () => {
    const { punctual, sent } = scripted([reset(), json(201, { data: [job(1, true), job(2, true)] })]);
    const records = await punctual.jobs.createMany([{ url: "https://example.com" }, { url: "https://example.com", request_id: "mine" }]);
    assert.deepEqual(records.map((record) => record.job.has_confict), [false, true]);
    assert.deepEqual(sent[0]?.body, sent[1]?.body);
    assert.equal((sent[0]?.body as { request_id: string }[])[1]?.request_id, "mine");
  });

  it("outlast a restart", async () => {
    const cases: [ClientOptions, number, boolean][] = [
      [{}, 25, true], [{}, 40, false], [{ refusedFor: 60_000 }, 40, true], [{ refusedFor: 0 }, 10, false], [{ maxRetries: 0 }, 1, false],
    ];
    for (const [options, down, outlasts] of cases) {
      mock.timers.enable({ apis: ["setTimeout", "Date"] });
      try {
        const up = () => Date.now() >= down * 1000;
        const answered = () => Promise.resolve(new Response('{"data": "pong"}', { headers: { "content-type": "application/json" } }));
        const punctual = new Punctual({ url: "https://punctual.example.com", apiKey: "sk_test", fetch: () => up() ? answered() : Promise.reject(refused()), ...options });
        let ended: boolean | undefined;
        void punctual.ping().then(() => (ended = true), () => (ended = false));
        while (ended === undefined) {
          await new Promise(setImmediate);
          mock.timers.tick(50);
        }
        assert.equal(ended, outlasts, `${JSON.stringify(options)}, down for ${down} s`);
      } finally {
        mock.timers.reset();
      }
    }
  });

  it("repeat what surely was not done", async () => {
    const { punctual, sent } = scripted([refused(), problem(429, "rate_limited", {}, { "retry-after": "0" }), json(201, { data: job(2) })]);
    assert.equal((await punctual.jobs.run(1)).job_id, 2);
    assert.equal(sent.length, 3);
  });

  it("wait as long as Retry-After says, but not longer than maxRetryWait", async () => {
    const { punctual } = scripted([problem(429, "rate_limited", {}, { "retry-after": "1" }), json(200, { data: [] })]);
    const start = Date.now();
    await punctual.jobs.list().page();
    assert.ok(Date.now() - start >= 990);

    const late = scripted([problem(429, "quota_exceeded", {}, { "retry-after": "60" })]);
    const error = await fails(late.punctual.jobs.list().page());
    assert.deepEqual([error.status, error.code, error.retryAfter], [429, "quota_exceeded", 60]);
  });

  it("end after maxRetries", async () => {
    const { punctual, sent } = scripted([reset(), reset(), reset()], { maxRetries: 2 });
    assert.equal((await fails(punctual.jobs.get(1))).code, "network");
    assert.equal(sent.length, 3);
  });
});

describe("errors", () => {
  it("have what the problem says", async () => {
    const errors = [{ detail: "must use https", pointer: "#/url" }, { detail: "is unknown", pointer: "#/urls" }];
    const { punctual } = scripted([problem(422, "invalid_request", { errors }, { "x-request-id": "r1" })]);
    const error = await fails(punctual.jobs.create({ url: "http://example.com" }));
    assert.deepEqual(
      { name: error.name, status: error.status, code: error.code, detail: error.detail, pointer: error.pointer, errors: error.errors, requestId: error.requestId, message: error.message },
      { name: "PunctualError", status: 422, code: "invalid_request", detail: "what to do", pointer: "#/url", errors, requestId: "r1", message: "POST /api/jobs: 422 what to do" },
    );
  });

  it("name a redirect, a page and a response that is too large", async () => {
    const { punctual } = scripted([
      new Response(null, { status: 301, headers: { location: "https://other.example" } }),
      new Response("<html>", { status: 200 }),
      json(200, { data: "x".repeat(2000) }),
    ], { maxResponseBytes: 1000 });
    assert.match((await fails(punctual.jobs.get(1))).detail, /redirects to https:\/\/other\.example/);
    assert.match((await fails(punctual.jobs.get(1))).detail, /not JSON/);
    assert.match((await fails(punctual.jobs.get(1))).detail, /maxResponseBytes/);
  });

  it("of an aborted call are the caller's reason", async () => {
    const controller = new AbortController();
    const { punctual, sent } = scripted([hang]);
    const call = punctual.jobs.get(1, { signal: controller.signal });
    controller.abort(new Error("no longer needed"));
    await assert.rejects(Promise.resolve(call), { message: "no longer needed" });
    assert.equal(sent.length, 1);
  });

  it("of a wait that is aborted come at once", async () => {
    const controller = new AbortController();
    const { punctual } = scripted([problem(429, "rate_limited", {}, { "retry-after": "20" })]);
    const call = punctual.jobs.get(1, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await assert.rejects(Promise.resolve(call), { message: "enough" });
  });

  it("of a time limit, also while the body is read, are timeouts", async () => {
    const body: Answer = async (_, signal) =>
      new Response(new ReadableStream({ start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)) }));
    const { punctual } = scripted([hang, body], { maxRetries: 0, timeout: 50 });
    assert.equal((await fails(punctual.jobs.get(1))).code, "timeout");
    assert.equal((await fails(punctual.jobs.get(1))).code, "timeout");
  });
});

describe("lists", () => {
  it("follow links, but to no other server and path", async () => {
    const { punctual, sent } = scripted([
      json(200, { data: [job(2)] }, { link: '<https://evil.example/api/secrets?limit=1&cursor=c>; rel="next"' }),
      json(200, { data: [job(1)] }),
    ]);
    const ids = (await punctual.jobs.list({ limit: 1 }).toArray(10)).map((record) => record.job_id);
    assert.deepEqual(ids, [2, 1]);
    assert.equal(sent[1]?.url, "https://punctual.example.com/base/api/jobs?limit=1&cursor=c");
  });

  it("read no page that nobody asks for", async () => {
    const { punctual, sent } = scripted([json(200, { data: [job(2), job(1)] }, { link: '</api/jobs?cursor=c>; rel="next"' })]);
    for await (const record of punctual.jobs.list()) {
      assert.equal(record.job_id, 2);
      break;
    }
    assert.equal(sent.length, 1);
  });
});

describe("calls", () => {
  it("return status, ETag and headers on request", async () => {
    const { punctual } = scripted([json(201, { data: { id: "s" } }, { etag: '"3"', "x-request-id": "r" })]);
    const { data, etag, created, status, requestId } = await punctual.schedules.put({ key: "k" }, { url: "https://example.com", cron: "@daily" }).withResponse();
    assert.deepEqual([data.id, etag, created, status, requestId], ["s", '"3"', true, 201, "r"]);
  });
});

describe("streams", () => {
  const chunks = (...parts: string[]) => new Response(new ReadableStream({ start: (controller) => (parts.forEach((part) => controller.enqueue(new TextEncoder().encode(part))), controller.close()) }));

  it("of events continue after the last log", async () => {
    const { punctual, sent } = scripted([
      chunks(": hello\n\nevent: job\nda", 'ta: {"job_id":1}\n\nevent: new\ndata: {}\n\nevent: log\nid: L1\ndata: {"id":"L1"}\r\n\r\n', "event: log\nid: L2\ndata: {"),
      reset(),
      chunks("event: skipped\ndata: {}\n\n"),
    ]);
    const seen: string[] = [];
    for await (const event of punctual.events()) {
      seen.push(event.type);
      if (event.type === "skipped") break;
    }
    assert.deepEqual(seen, ["job", "log", "reconnected", "skipped"]);
    assert.deepEqual(sent.map((one) => one.headers.get("last-event-id")), [null, "L1", "L1"]);
  });

  it("of logs are read line by line, and fail when cut off", async () => {
    const { punctual } = scripted([chunks('{"id":"1"}\n{"id', '":"2"}\n'), chunks('{"id":"1"}\n{"id')]);
    const ids: string[] = [];
    for await (const log of punctual.logs.export()) ids.push(log.id);
    assert.deepEqual(ids, ["1", "2"]);
    await fails((async () => { for await (const log of punctual.logs.export()) assert.equal(log.id, "1"); })());
  });
});
