// Applications with workflows: each is served by a plain Node.js server and by one with Hono.
import {createServer} from 'node:http';
import {serve as listen} from '@hono/node-server';
import {Hono} from 'hono';
import {serve, WorkflowNonRetryableError} from '@upstash/workflow';
import {serve as serveHono, serveMany as serveManyHono} from '@upstash/workflow/hono';
import {createWorkflow, serveMany} from '@upstash/workflow/nextjs';

/** effects counts what the steps have done, by run and name. */
export const effects = new Map();
const done = (context, name) => {
  const key = `${context.workflowRunId} ${name}`;
  effects.set(key, (effects.get(key) ?? 0) + 1);
};
/** ended has what runs ended with, by id: {result}, or {failure} as the failure function got it. */
export const ended = new Map();
/** hooks are the addresses of webhooks by run. */
export const hooks = new Map();
/** gates are promises that runs await before they wait for an event, by event. */
export const gates = new Map();
const failed = new Set(); // the webhooks of runs that have failed once, and runs whose failure function has

let third, closed; // the addresses of the third party, and of one that is closed

/** workflows are the route functions by path. */
const workflows = {
  sequential: async (context) => {
    const one = await context.run('one', () => (done(context, 'one'), {n: context.requestPayload.n + 1}));
    const two = await context.run('two', () => (done(context, 'two'), [one.n, 'zwei', context.headers.get('x-mine')]));
    await context.run('nothing', () => void done(context, 'nothing'));
    return {two, created: context.workflowRunCreatedAt, labels: context.labels};
  },
  parallel: async (context) => {
    const before = await context.run('before', () => 1);
    const all = await Promise.all([
      context.run('a', () => (done(context, 'a'), before + 1)),
      context.run('b', () => (done(context, 'b'), before + 2)),
      context.sleep('nap', 1),
      context.call('c', {url: `${third}/json`, method: 'POST', body: {from: 'c'}}),
    ]);
    const after = await context.run('after', () => (done(context, 'after'), 'end'));
    return [all[0], all[1], all[3].body, after];
  },
  sleep: async (context) => {
    const from = await context.run('from', () => Date.now());
    await context.sleep('a second', '1s');
    const between = await context.run('between', () => Date.now());
    await context.sleepUntil('until', new Date(between + 1000));
    return [between - from, Date.now() - between];
  },
  call: async (context) => {
    const good = await context.call('good', {url: `${third}/json`, method: 'PUT', body: {a: 'ä'}, headers: {'x-to': 'third'}, timeout: 20});
    const bad = await context.call('bad', {url: `${third}/bad`, retries: 1, retryDelay: '10', timeout: '20s'});
    const gone = await context.call('gone', {url: closed});
    return {good, bad: {status: bad.status, body: bad.body}, gone: gone.status};
  },
  retried: async (context) => {
    const first = await context.run('flaky', () => {
      done(context, 'flaky');
      if (context.retried < 2) throw new Error('not yet');
      return context.retried;
    });
    return first;
  },
  failing: async (context) => {
    await context.run('fine', () => done(context, 'fine'));
    await context.run('broken', () => {
      throw new Error('broken on purpose');
    });
  },
  refused: async (context) => {
    await context.run('final', () => {
      done(context, 'final');
      throw new WorkflowNonRetryableError('never again');
    });
  },
  cancelling: async (context) => {
    await context.run('once', () => done(context, 'once'));
    await context.cancel();
  },
  napping: async (context) => {
    await context.sleep('long', '30d');
  },
  large: async (context) => {
    let total = 0;
    for (let i = 0; i < 6; i++) total += (await context.run(`part ${i}`, () => 'x'.repeat(60_000))).length;
    return total;
  },
  many: async (context) => {
    let n = 0;
    for (let i = 0; i < context.requestPayload.steps; i++) n = await context.run(`step ${i}`, () => i + 1);
    return n;
  },
  killed: async (context) => {
    const runs = [];
    for (let i = 0; i < 5; i++) runs.push(await context.run(`step ${i}`, () => (done(context, `step ${i}`), i)));
    await context.sleep('nap', 1);
    const more = await Promise.all([5, 6, 7].map((i) => context.run(`step ${i}`, () => (done(context, `step ${i}`), i))));
    return [...runs, ...more];
  },
};

/** called is a workflow that others invoke. */
export const called = createWorkflow(async (context) => {
  const {n} = context.requestPayload;
  if (n < 0) throw new WorkflowNonRetryableError('negative');
  const doubled = await context.run('double', () => (done(context, 'double'), n * 2));
  return {doubled, mine: context.headers.get('x-mine'), quoted: '"'.repeat(context.requestPayload.quotes ?? 0)};
});

Object.assign(workflows, {
  waiting: async (context) => {
    const {event, timeout} = context.requestPayload;
    await gates.get(event);
    const first = await context.waitForEvent('first', event, {timeout});
    await context.run('between', () => done(context, 'between'));
    return first;
  },
  waitingTwice: async (context) => {
    const {event} = context.requestPayload;
    const both = await Promise.all([
      context.waitForEvent('one', `${event}-1`, {timeout: '1h'}),
      context.waitForEvent('two', `${event}-2`, {timeout: 1}),
      context.run('beside', () => 'beside'),
    ]);
    return both;
  },
  hooked: async (context) => {
    const webhook = await context.createWebhook('hook');
    await context.run('hand out', () => void hooks.set(context.workflowRunId, webhook.webhookUrl));
    const seen = [];
    for (let i = 0; i < context.requestPayload.calls; i++) {
      const {timeout, request} = await context.waitForWebhook(`call ${i}`, webhook, context.requestPayload.timeout ?? '1d');
      seen.push(timeout ? 'timeout' : {url: request.url, method: request.method, headers: Object.fromEntries(request.headers), body: await request.text()});
      await context.run(`between ${i}`, () => done(context, `between ${i}`));
      if (context.requestPayload.fails && !failed.has(webhook.eventId)) {
        failed.add(webhook.eventId);
        throw new WorkflowNonRetryableError('once');
      }
    }
    return {seen, webhook};
  },
  hookedByCall: async (context) => {
    const webhook = await context.createWebhook('hook');
    const call = await context.call('third', {url: `${third}/hook`, method: 'POST', body: {to: webhook.webhookUrl}});
    const {request} = await context.waitForWebhook('wait', webhook, '1d');
    return {status: call.status, got: await request.json(), same: request.url === webhook.webhookUrl};
  },
  notifying: async (context) => {
    const {event, to} = context.requestPayload;
    return context.notify('tell', event, {from: 'notifying'}, to);
  },
  invoking: async (context) => {
    const one = await context.invoke('one', {workflow: called, body: {n: 21}, headers: {'x-mine': 'invoked'}});
    const [two, three, beside] = await Promise.all([
      context.invoke('two', {workflow: called, body: {n: 4}, label: 'inner'}),
      context.invoke('three', {workflow: called, body: {n: -1}, retries: 0}),
      context.run('beside', () => 'beside'),
    ]);
    const huge = await context.invoke('huge', {workflow: called, body: {n: 1, quotes: 400_000}});
    return {one, two, three, beside, huge};
  },
});

const options = {
  failureFunction: async ({context, failStatus, failResponse}) => {
    if (context.requestPayload?.unreported && !failed.has(context.workflowRunId)) {
      failed.add(context.workflowRunId);
      throw new WorkflowNonRetryableError('not reported');
    }
    ended.set(context.workflowRunId, {failure: {status: failStatus, response: failResponse, payload: context.requestPayload}});
    return 'noted';
  },
};

/** watched notes what a workflow returns. */
const watched = (route) => async (context) => {
  const result = await route(context);
  ended.set(context.workflowRunId, {result});
  return result;
};

/** plain starts a plain Node.js server, and returns its address and how to end it. */
export async function plain(port = 0) {
  const handlers = Object.fromEntries(Object.entries(workflows).map(([name, route]) => [`/${name}`, serve(watched(route), {...options}).handler]));
  const many = serveMany({called});
  let base;
  const server = createServer(async (incoming, response) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    const handle = incoming.url === '/called' ? many.POST : handlers[new URL(incoming.url, base).pathname];
    if (!handle) return response.writeHead(404).end();
    const request = new Request(base + incoming.url, {method: incoming.method, headers: incoming.headers, body: Buffer.concat(parts)});
    const result = await handle(request);
    response.writeHead(result.status, Object.fromEntries(result.headers)).end(await result.text());
  });
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening));
  base = `http://127.0.0.1:${server.address().port}`;
  return {base, close: () => (server.closeAllConnections(), server.close())};
}

/** hono starts the same with Hono. */
export async function hono() {
  const app = new Hono();
  app.post('/called', serveManyHono({called}, {env: process.env}));
  for (const [name, route] of Object.entries(workflows)) app.post(`/${name}`, serveHono(watched(route), {...options, env: process.env}));
  return new Promise((started) => {
    const server = listen({fetch: app.fetch, port: 0, hostname: '127.0.0.1'}, (info) => {
      started({base: `http://127.0.0.1:${info.port}`, close: () => (server.closeAllConnections(), server.close())});
    });
  });
}

/** thirdParty starts what context.call calls, and returns what it got. */
export async function thirdParty() {
  const got = [];
  const server = createServer(async (incoming, response) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    got.push({url: incoming.url, method: incoming.method, headers: incoming.headers, body: Buffer.concat(parts).toString()});
    if (incoming.url === '/hook') {
      const {status} = await fetch(JSON.parse(got.at(-1).body).to, {method: 'POST', body: JSON.stringify({from: 'third', text: 'größe'})});
      return response.writeHead(status).end();
    }
    if (incoming.url === '/bad') return response.writeHead(500, {'content-type': 'text/plain'}).end('schlecht');
    response.writeHead(200, {'content-type': 'application/json'}).end(JSON.stringify({echo: JSON.parse(got.at(-1).body), text: 'größe'}));
  });
  const gone = createServer();
  await new Promise((listening) => gone.listen(0, '127.0.0.1', listening));
  closed = `http://127.0.0.1:${gone.address().port}/`;
  gone.close();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  third = `http://127.0.0.1:${server.address().port}`;
  return {got, close: () => (server.closeAllConnections(), server.close())};
}

/** until waits until a condition gives something. */
export async function until(condition, what, seconds = 180) {
  for (let waited = 0; waited < seconds * 1000; waited += 20) {
    const found = await condition();
    if (found) return found;
    await new Promise((later) => setTimeout(later, 20));
  }
  throw new Error(`waited in vain for ${what}`);
}
