// Webhooks: addresses that strangers call, and the runs that wait for the calls.
import assert from 'node:assert/strict';
import {request} from 'node:http';
import {after, before, describe, test} from 'node:test';
import {Client} from '@upstash/workflow';
import {effects, ended, hono, hooks, plain, thirdParty, until} from './application.mjs';

const client = new Client();

/** api calls the service's own API, whose key is in the token. */
const api = (method, path, {key = JSON.parse(atob(process.env.QSTASH_TOKEN)).Password, body} = {}) =>
  fetch(process.env.QSTASH_URL + path, {method, body, headers: {authorization: `Bearer ${key}`}});

/** raw sends a request as it is, and returns the status of the response. */
const raw = (url, options, body) => new Promise((resolve, reject) => {
  request(url, options, (response) => (response.resume(), resolve(response.statusCode))).on('error', reject).end(body);
});

let third;
before(async () => (third = await thirdParty()));
after(() => third.close());

const trigger = async (app, name, body, options) => (await client.trigger({url: `${app.base}/${name}`, body, ...options})).workflowRunId;
const result = async (id) => (await until(() => ended.get(id), `the end of ${id}`)).result;
const hook = (id) => until(() => hooks.get(id), `the webhook of ${id}`);

for (const [kind, start] of Object.entries({plain, hono})) {
  describe(kind, {concurrency: true}, () => {
    let app;
    before(async () => (app = await start()));
    after(() => app.close());

    test('calls before and during the waits', async () => {
      const id = await trigger(app, 'hooked', {calls: 3});
      const url = await hook(id);
      assert.equal(new URL(url).pathname.split('/').slice(-2)[0], id);
      assert.equal(await raw(`${url}?a=1&qstash_token=theirs&b=%20ü`, {method: 'GET', headers: {authorization: 'Bearer theirs', cookie: 'session=1'}}), 200);
      assert.equal((await fetch(url, {method: 'PUT', body: 'größe', headers: {'content-type': 'text/plain', 'x-two': 'b'}})).status, 200);
      // What a header may not have elsewhere, and what no Request has, can't fail the run.
      assert.equal(await raw(url, {method: 'POST', headers: {'x-odd': '\xf0\x9f\x98\x80', __proto__: null, 'x-none': ''}}, Buffer.from([0xff, 0, 1])), 200);
      const {seen} = await result(id);
      assert.equal(seen[0].url, `${url}?a=1&qstash_token=theirs&b=%20%C3%BC`);
      assert.deepEqual([seen[0].method, seen[0].headers.authorization, seen[0].headers.cookie, seen[0].body], ['GET', 'Bearer theirs', undefined, '']);
      assert.deepEqual([seen[1].method, seen[1].headers['x-two'], seen[1].body], ['PUT', 'b', 'größe']);
      assert.deepEqual([seen[2].method, seen[2].headers['x-odd']], ['POST', '\xf0\x9f\x98\x80']);
      for (let i = 0; i < 3; i++) assert.equal(effects.get(`${id} between ${i}`), 1);
      await until(async () => (await fetch(url, {method: 'POST'})).status === 410, 'the end of the webhook');
    });

    test('a call that does not come', async () => {
      assert.deepEqual((await result(await trigger(app, 'hooked', {calls: 1, timeout: '1s'}))).seen, ['timeout']);
    });

    test('a third party that is called calls back', async () => {
      const id = await trigger(app, 'hookedByCall', {});
      assert.deepEqual(await result(id), {status: 200, got: {from: 'third', text: 'größe'}, same: true});
    });
  });
}

test('a run that is resumed keeps its webhook', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const id = await trigger(app, 'hooked', {calls: 2, fails: true}, {retries: 0});
  const url = await hook(id);
  assert.equal((await fetch(url, {method: 'POST', body: 'one'})).status, 200);
  await until(async () => (await (await api('GET', `/api/runs/${id}`)).json()).data.state === 'failed', 'the failure');
  assert.equal((await fetch(url, {method: 'POST'})).status, 410);
  const {messages} = await client.dlq.list({filter: {workflowRunId: id}});
  const {workflowRunId} = await client.dlq.resume({dlqId: messages[0].dlqId});
  assert.notEqual(workflowRunId, id);
  assert.equal((await fetch(url, {method: 'POST', body: 'two'})).status, 200);
  assert.deepEqual((await result(workflowRunId)).seen.map((call) => call.body), ['one', 'two']);
});

test('what strangers may not do', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const id = await trigger(app, 'hooked', {calls: 1});
  const url = await hook(id);
  const [account, event] = [url.split('/').at(-3), url.split('/').at(-1)];
  const base = url.slice(0, url.indexOf(account));
  const other = (await (await api('GET', '/api/account', {key: process.env.PUNCTUAL_TEST_OTHER_KEY})).json()).data.user_id;
  for (const path of [
    `${account}/${id}/${event}x`, `${account}/${id}/evt_`, `${account}/wfr_none/${event}`, `${other}/${id}/${event}`, `none/${id}/${event}`,
    `${account.replaceAll('-', '')}/${id}/${event}`, `${account}/${id}/%00${event}`, `${account}/${id}/${'x'.repeat(3000)}`,
  ]) {
    const response = await fetch(base + path, {method: 'POST', headers: {authorization: `Bearer ${process.env.QSTASH_TOKEN}`}});
    assert.equal(response.status, 404, path);
    assert.deepEqual(await response.json(), {error: 'there is no webhook at this address'}, path);
  }
  assert.equal(await raw(url, {method: 'TRACE'}), 405);
  assert.equal((await fetch(url, {method: 'POST', body: 'x'.repeat((256 << 10) + 1)})).status, 413);
  assert.equal((await fetch(url, {method: 'POST', headers: {'x-large': 'x'.repeat(33 << 10)}})).status, 431);
  assert.equal((await fetch(url, {method: 'POST', body: 'x', headers: {'content-encoding': 'br'}})).status, 415);
  // Steps and events of the run don't tell the address to whom may only read.
  const shown = await (await api('GET', `/api/runs/${id}`)).text();
  assert.ok(shown.includes('CreateWebhook') && !shown.includes(event), shown);
  // More calls than the run uses up are refused, as are too many a second.
  const many = await Promise.all(Array.from({length: 60}, () => fetch(url, {method: 'POST', body: 'x'.repeat(1000)})));
  const statuses = many.map((response) => response.status);
  assert.ok(statuses.includes(200) && statuses.every((status) => [200, 410, 429].includes(status)), `${statuses}`);
  assert.ok((await result(id)).seen[0].body.startsWith('x'));
});
