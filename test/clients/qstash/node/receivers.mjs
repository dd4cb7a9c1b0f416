// What receives the messages of the tests: an HTTP server whose routes are handlers as
// applications write them, each behind a helper of the client that verifies signatures.
import {createServer} from 'node:http';
import {Receiver} from '@upstash/qstash';
import {verifySignature, verifySignatureAppRouter, verifySignatureEdge} from '@upstash/qstash/nextjs';

/** plain verifies with the Receiver itself, the URL included. */
export function plain(keys, base) {
  const receiver = new Receiver(keys);
  return async (request) => {
    await receiver.verify({signature: request.headers.get('upstash-signature'), body: await request.clone().text(), url: base + new URL(request.url).pathname});
    return new Response('plain');
  };
}

/** start starts a server and returns its URL, and functions: next waits for a request to a path. */
export async function start() {
  const waiting = new Map(), came = new Map();
  let keys = {currentSigningKey: process.env.QSTASH_CURRENT_SIGNING_KEY, nextSigningKey: process.env.QSTASH_NEXT_SIGNING_KEY};
  const deliver = (path, got) => {
    const waits = waiting.get(path) ?? [];
    if (waits.length) return waits.shift()(got);
    came.set(path, [...(came.get(path) ?? []), got]);
  };
  let base;
  const routes = {
    '/app': (request) => verifySignatureAppRouter(async (r) => Response.json({app: await r.text()}), keys)(request),
    '/edge': (request) => verifySignatureEdge(async (r) => Response.json({edge: await r.text()}), keys)(request),
    '/plain': (request) => plain(keys, base)(request),
    '/fail': () => new Response('no', {status: 500, headers: {'x-why': 'down'}}),
  };
  const pages = (request, response) => {
    response.status = (code) => ((response.statusCode = code), response);
    response.send = (text) => response.write(text);
    return verifySignature((r, w) => w.status(200).end(JSON.stringify({pages: r.body})), keys)(request, response);
  };
  const server = createServer(async (incoming, response) => {
    const path = new URL(incoming.url, base).pathname;
    let got = {method: incoming.method, url: incoming.url, headers: incoming.headers, status: 200};
    try {
      if (path === '/pages') {
        await pages(incoming, response);
        return deliver(path, {...got, body: incoming.body, status: response.statusCode});
      }
      const parts = [];
      for await (const part of incoming) parts.push(part);
      const body = Buffer.concat(parts);
      got = {...got, body: body.toString(), bytes: body};
      const handle = routes[path] ?? (() => new Response('ok', {headers: {'x-receiver': 'node'}}));
      const result = await handle(new Request(base + incoming.url, {
        method: incoming.method, headers: incoming.headers, body: ['GET', 'HEAD'].includes(incoming.method) ? undefined : body,
      }));
      got.status = result.status;
      response.writeHead(result.status, Object.fromEntries(result.headers)).end(await result.text());
    } catch (error) {
      got.status = 401;
      response.writeHead(401).end(String(error));
    }
    deliver(path, got);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${server.address().port}`;
  return {
    url: base,
    close: () => server.closeAllConnections() ?? server.close(),
    useKeys: (other) => (keys = other),
    next: (path) => new Promise((resolve) => {
      const got = came.get(path) ?? [];
      if (got.length) return resolve(got.shift());
      waiting.set(path, [...(waiting.get(path) ?? []), resolve]);
    }),
  };
}

/** eventually repeats a check until it passes. The runner of the tests bounds the time. */
export async function eventually(check) {
  for (let wait = 5; ; wait = Math.min(wait * 2, 200)) {
    try {
      return await check();
    } catch (error) {
      if (error?.code !== 'ERR_ASSERTION') throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
