// examples/checkout-workflow: it compiles with the SDK's types, and survives kills.
import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import {cpSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {join} from 'node:path';
import {test} from 'node:test';
import {until} from './application.mjs';

const source = new URL('../../../../examples/checkout-workflow/checkout.ts', import.meta.url);

/** listen starts a server that hands JSON with its key to a function, and returns its address. */
async function listen(t, handle) {
  const server = createServer(async (incoming, response) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    response.end();
    handle(JSON.parse(Buffer.concat(parts)), incoming.headers['idempotency-key']);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
}

// It compiles a program, which takes seconds, and has nothing to do with the store.
test('the example of a checkout', {skip: process.env.PUNCTUAL_TEST_STORE !== 'sqlite'}, async (t) => {
  const built = mkdtempSync(join(import.meta.dirname, '.example-'));
  t.after(() => rmSync(built, {recursive: true}));
  writeFileSync(join(built, 'package.json'), '{"type": "module"}');
  cpSync(source, join(built, 'checkout.ts'));
  execFileSync('node', ['node_modules/typescript/bin/tsc', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', join(built, 'checkout.ts')], {
    cwd: import.meta.dirname, stdio: 'inherit',
  });

  const charges = new Map(), mails = new Map();
  const provider = await listen(t, ({card, callback}, key) => {
    if (!charges.has(key)) fetch(callback, {method: 'POST', body: JSON.stringify({state: card})});
    charges.set(key, card);
  });
  const mailer = await listen(t, ({order, text}, key) => mails.set(key, `${order}: ${text}`));
  const free = createServer();
  await new Promise((listening) => free.listen(0, '127.0.0.1', listening));
  const env = {...process.env, PORT: free.address().port, PROVIDER_URL: provider, MAIL_URL: mailer, REVIEW_AFTER: '1s'};
  free.close();
  let program;
  const start = () => (program = spawn('node', [join(built, 'checkout.js')], {env, stdio: 'inherit'}));
  t.after(() => program.kill('SIGKILL'));
  const send = (path, order) => until(
    () => fetch(`http://127.0.0.1:${env.PORT}${path}`, {method: 'POST', body: JSON.stringify(order)}).catch(() => null), 'the program',
  );
  const mailed = (text) => until(() => [...mails.values()].includes(text), text);

  start();
  for (let i = 0; i < 2; i++) assert.equal((await send('/orders', {id: '7', cents: 1200, card: 'paid'})).status, 202);
  assert.equal((await send('/orders', {id: '8', cents: 1, card: 'declined'})).status, 202);
  await mailed('7: Thank you for your order.');
  await mailed('8: Your order was not placed: the payment is declined');
  program.kill('SIGKILL');
  start();
  await until(async () => (await (await send('/shipped', {id: '7'})).json()).length === 1, 'the wait for the shipment');
  await mailed('7: How do you like it?');
  assert.deepEqual([...charges.values()].sort(), ['declined', 'paid']);
  assert.equal(mails.size, 3);
});
