// Routes: signed by the service, and through Express, Hono and Next.js.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import expressFramework from "express";
import { Hono } from "hono";
import { Receiver, reply, RetryLater, sign, type JobDelivery, type JobEvent, type Route } from "@punctual-dev/client/receiver";
import { express } from "@punctual-dev/client/express";
import { hono } from "@punctual-dev/client/hono";
import { next } from "@punctual-dev/client/next";
import type { AlertMessage, CallbackMessage } from "@punctual-dev/client";
import { client, eventually, listen, service } from "./support.js";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const quiet = { secrets: secret, onError: () => undefined };

async function request(body: string, options: { id?: string; headers?: Record<string, string> } = {}): Promise<Request> {
  const headers = { "content-type": "application/json", ...(await sign(secret, { id: options.id ?? "job_1", body })), ...options.headers };
  return new Request("https://receiver.example/hook", { method: "POST", headers, body });
}

const answer = async (route: Route, sent: Request | Promise<Request>): Promise<[number, unknown]> => {
  const response = await route(await sent);
  const text = await response.text();
  return [response.status, text && JSON.parse(text)];
};

describe("a route", () => {
  it("gives the handler the job, and its result to the service", async () => {
    let seen: JobDelivery<{ to: string }, { count: number }> | undefined;
    const route = new Receiver(quiet).job<{ to: string }, { count: number }>((job) => {
      seen = job;
      return { $set: { count: (job.state.count ?? 0) + 1 } };
    });
    const headers = { "x-punctual-job-id": "7", "x-punctual-attempt": "2", "x-punctual-points": "3", "x-punctual-scheduled-at": "2026-01-01T00:00:00.000000Z" };
    const body = JSON.stringify({ to: "a", $job: { id: 7 }, $state: { count: 4 }, $previous: { ok: true } });
    assert.deepEqual(await answer(route, request(body, { headers })), [200, { $set: { count: 5 } }]);
    assert.deepEqual(
      [seen?.id, seen?.body, seen?.state, seen?.previous, seen?.jobId, seen?.attempt, seen?.points, seen?.scheduledAt.getTime(), seen?.completion],
      ["job_1", { to: "a" }, { count: 4 }, { ok: true }, 7, 2, 3, Date.UTC(2026, 0), undefined],
    );
  });

  it("reports completions to the service only", async () => {
    const made: boolean[] = [];
    const route = new Receiver({ ...quiet, url: "https://punctual.example.com" }).job((job) => {
      made.push(job.completion !== undefined);
    });
    const to = (address: string, id: string) => answer(route, request("{}", { id, headers: { "x-punctual-complete": address } }));
    assert.equal((await to("https://punctual.example.com/api/completions/t", "job_c1"))[0], 204);
    assert.equal((await to("https://evil.example/api/completions/t", "job_c2"))[0], 500);
    assert.deepEqual(made, [true]);
  });

  it("answers repeats with the first response", async () => {
    let calls = 0;
    const route = new Receiver(quiet).job(() => ({ call: ++calls }));
    assert.deepEqual(await answer(route, request("{}")), [200, { call: 1 }]);
    assert.deepEqual(await answer(route, request("{}")), [200, { call: 1 }]);
    assert.deepEqual(await answer(route, request("{}", { id: "job_2" })), [200, { call: 2 }]);
  });

  it("calls the handler again after a failure", async () => {
    const results = [
      () => { throw new Error("broken"); },
      () => { throw new RetryLater(90.5); },
      () => ({ $fail: "no quota" }),
      () => reply(409, { busy: true }),
      () => reply(202),
      () => undefined,
      () => reply(200, "second"),
    ];
    const statuses: number[] = [];
    const errors: unknown[] = [];
    const route = new Receiver({ secrets: secret, onError: (error) => errors.push(error) }).job(() => results.shift()!() as undefined);
    for (let call = 0; call < 7; call++) {
      const response = await route(await request(""));
      statuses.push(response.status);
      if (call === 1) assert.equal(response.headers.get("retry-after"), "91");
    }
    assert.deepEqual(statuses, [500, 503, 200, 409, 202, 204, 204]);
    assert.equal(String(errors[0]), "Error: broken");
  });

  it("refuses strangers before it reads a body", async () => {
    const route = new Receiver(quiet).job(() => ({}));
    let read = false;
    const refuse = async (headers: Record<string, string>) =>
      (await route.receive({ method: "POST", url: "/", headers }, async () => ((read = true), new Uint8Array()))).status;
    assert.equal(await refuse({}), 401);
    assert.equal(await refuse({ "webhook-id": "job_1", "webhook-timestamp": "1", "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}` }), 401);
    assert.equal(read, false);
    const forged = await request("{}");
    assert.equal((await route(new Request(forged, { body: "{ }" }))).status, 401);
  });

  it("bounds bodies, also without a length", async () => {
    const route = new Receiver({ ...quiet, maxBodyBytes: 1000 }).job(() => ({}));
    assert.equal((await route(await request("x".repeat(1000)))).status, 200);
    assert.equal((await route(await request("x".repeat(1001), { id: "job_2" }))).status, 413);
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(100)) });
    const { headers } = await request("");
    assert.equal((await route(new Request("https://a.example", { method: "POST", headers, body: endless, duplex: "half" } as RequestInit))).status, 413);
  });

  it("refuses responses that the service would cut", async () => {
    const route = new Receiver(quiet).job(() => ({ text: "é".repeat(140_000) }));
    assert.equal((await route(await request("{}"))).status, 500);
  });

  it("refuses messages of another kind", async () => {
    const receiver = new Receiver(quiet);
    assert.equal((await receiver.job(() => ({}))(await request("{}", { id: "msg_1" }))).status, 422);
    assert.equal((await receiver.callback(() => undefined)(await request("{}", { id: "job_1" }))).status, 422);
    assert.equal((await receiver.event(() => undefined)(await request('{"type":"alert.failed"}', { id: "msg_1" }))).status, 422);
    assert.equal((await receiver.alert(() => undefined)(await request("{", { id: "msg_1" }))).status, 422);
  });

  it("keeps bodies that are not JSON as they are", async () => {
    const bodies: unknown[] = [];
    const route = new Receiver(quiet).job((job) => void bodies.push(job.body, job.bytes.byteLength));
    await route(await request("a=1&b=2", { headers: { "content-type": "application/x-www-form-urlencoded" } }));
    await route(await request("[1]", { id: "job_2" }));
    await route(await request("", { id: "job_3" }));
    assert.deepEqual(bodies, ["a=1&b=2", 7, [1], 3, undefined, 0]);
  });
});

describe("frameworks", () => {
  it("pass jobs, callbacks, events and alerts of the service on", async () => {
    const receiver = new Receiver({ secrets: service.secret });
    const jobs: string[] = [];
    const callbacks: CallbackMessage[] = [];
    const events: JobEvent[] = [];
    const alerts: AlertMessage[] = [];
    const job = receiver.job<{ n: number }>(({ body, url }) => (jobs.push(new URL(url, "http://x").pathname), { twice: body.n * 2 }));
    const callback = receiver.callback(({ content }) => void callbacks.push(content));
    const event = receiver.event(({ content }) => void events.push(content));
    const alert = receiver.alert(({ content }) => void alerts.push(content));

    const app = expressFramework();
    app.all("/express", express(job));
    app.post("/callback", express(callback));
    app.post("/event", expressFramework.raw({ type: "*/*" }), express(event));
    app.post("/late", expressFramework.json(), express(job));
    app.post("/alert", express(alert));
    const honoApp = new Hono();
    honoApp.post("/hono", hono(job));
    const { PUT } = next(job);
    const web = (handler: (request: Request) => Response | Promise<Response>) =>
      createServer(async (incoming, outgoing) => {
        const chunks: Buffer[] = [];
        for await (const chunk of incoming) chunks.push(chunk as Buffer);
        const response = await handler(new Request(`http://localhost${incoming.url}`, { method: incoming.method!, headers: incoming.headers as Record<string, string>, body: Buffer.concat(chunks) }));
        outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(Buffer.from(await response.arrayBuffer()));
      });
    const handlers = [app, (await web((one) => honoApp.fetch(one))).listeners("request")[0], web(PUT).listeners("request")[0]];
    const [onExpress, onHono, onNext] = await Promise.all(handlers.map((handler) => listen(handler as never)));
    try {
      const punctual = client();
      const made = await punctual.jobs.createMany([
        { url: `${onExpress!.target}/express`, method: "POST", body: { n: 1 }, callback_url: `${onExpress!.target}/callback`, webhook_url: `${onExpress!.target}/event` },
        { url: `${onHono!.target}/hono`, method: "POST", body: { n: 2 } },
        { url: `${onNext!.target}/next`, method: "PUT", body: { n: 3 } },
      ]);
      for (const one of made) assert.equal((await punctual.jobs.wait(one.id, { within: 60_000 })).job.state, "completed");
      assert.deepEqual(jobs.sort(), ["/express", "/hono", "/next"]);
      await eventually("the callback and the last event", () => callbacks.length === 1 && events.length === 4);
      assert.deepEqual([callbacks[0]?.job.job_id, callbacks[0]?.response?.body], [made[0]?.job_id, { twice: 2 }]);
      assert.deepEqual(events.map((one) => one.type), ["job.started", "job.request", "job.response", "job.finished"]);
      await punctual.alerts.put("receiver", { on: ["failed"], to: [{ webhook: `${onExpress!.target}/alert` }] });
      assert.equal((await punctual.alerts.test("receiver")).results[0]?.status, 204);
      await punctual.alerts.delete("receiver");
      assert.equal(alerts[0]?.type, "alert.test");
    } finally {
      await Promise.all([onExpress!.close(), onHono!.close(), onNext!.close()]);
    }
  });

  it("of Node are bounded too, and want the bytes", async () => {
    const errors: string[] = [];
    const job = new Receiver({ secrets: secret, maxBodyBytes: 1000, onError: (error) => errors.push(String(error)) }).job(() => ({ ok: true }));
    const app = expressFramework();
    app.post("/plain", express(job));
    app.post("/late", expressFramework.json(), express(job));
    const server = await listen(app);
    try {
      const post = async (path: string, body: string, id: string) =>
        (await fetch(`http://127.0.0.1:${server.port}${path}`, { method: "POST", body, headers: { "content-type": "application/json", ...(await sign(secret, { id, body })) } })).status;
      assert.equal(await post("/plain", "{}", "job_1"), 200);
      assert.equal(await post("/plain", JSON.stringify("x".repeat(2000)), "job_2"), 413);
      assert.equal(await post("/late", "{}", "job_3"), 500);
      assert.match(errors[0] ?? "", /before express\.json/);
    } finally {
      await server.close();
    }
  });
});
