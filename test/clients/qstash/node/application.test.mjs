// An application that uses the published client, unmodified. QSTASH_URL, QSTASH_TOKEN and
// the signing keys are in the environment, as punctual keys qstash prints them.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Client, QstashError, Receiver, SignatureError} from '@upstash/qstash';
import {eventually, start} from './receivers.mjs';

const client = new Client();
const later = {delay: '1h'};
let target;
before(async () => (target = await start()));
after(() => target.close());

// Every public method must be called. These have no service behind them here.
const excluded = ['Client.chat', 'Client.workflow'];
const called = new Set(), methods = new Set();
for (const part of [Client.prototype, ...['urlGroups', 'dlq', 'messages', 'schedules', 'flowControl'].map((name) => Object.getPrototypeOf(client[name])),
  Object.getPrototypeOf(client.queue()), Receiver.prototype]) {
  const type = part === Client.prototype ? 'Client' : part === Receiver.prototype ? 'Receiver' : part.constructor.name.replace(/^_/, '');
  for (const [name, {value, get}] of Object.entries(Object.getOwnPropertyDescriptors(part))) {
    const key = `${type}.${name}`;
    if (name === 'constructor' || excluded.includes(key) || (type === 'Receiver' && name !== 'verify')) continue;
    methods.add(key);
    Object.defineProperty(part, name, get
      ? {get() { called.add(key); return get.call(this); }}
      : {value(...given) { called.add(key); return value.apply(this, given); }});
  }
}

/** idle waits until a queue has no messages. */
const idle = (queueName) => eventually(async () => assert.equal((await client.queue({queueName}).get()).lag, 0));
const status = (code) => (error) => error instanceof QstashError && error.status === code;

test('publish', async () => {
  const sent = await client.publish({
    url: `${target.url}/plain?a=b%20c`, body: 'hello', method: 'PUT', headers: {'X-Shop': '7', 'Content-Type': 'text/plain'},
    label: ['one', 'two words'], callback: `${target.url}/called`, retries: 0, timeout: 30,
  });
  assert.match(sent.messageId, /^msg_/);
  assert.equal(sent.url, `${target.url}/plain?a=b%20c`);
  const got = await target.next('/plain');
  assert.deepEqual([got.status, got.method, got.url, got.body, got.headers['x-shop'], got.headers['content-type'], got.headers['upstash-message-id'],
    got.headers['upstash-retried'], got.headers['upstash-label']],
    [401, 'PUT', '/plain?a=b%20c', 'hello', '7', 'text/plain', sent.messageId, '0', 'one,two words'],
    'the receiver compares the URL without the query, and must refuse');
  const report = JSON.parse((await target.next('/called')).body);
  assert.deepEqual([report.sourceMessageId, report.status, report.url, report.method, report.retried, report.maxRetries, atob(report.sourceBody)],
    [sent.messageId, 401, sent.url, 'PUT', 0, 0, 'hello']);
});

test('receivers verify, and refuse what was changed', async () => {
  for (const path of ['/plain', '/app', '/edge', '/pages']) {
    await client.publishJSON({url: target.url + path, body: {path}, retries: 0});
    const got = await target.next(path);
    assert.equal(got.status, 200, path);
    assert.deepEqual(path === '/pages' ? got.body : JSON.parse(got.body), {path});
    assert.equal(got.headers['content-type'], 'application/json');
  }
  await client.publish({url: `${target.url}/signed`, body: 'signed'});
  const {headers, body} = await target.next('/signed');
  const receiver = new Receiver(), signature = headers['upstash-signature'];
  assert.equal(await receiver.verify({signature, body, url: `${target.url}/signed`}), true);
  for (const changed of [{body: 'other'}, {url: `${target.url}/other`}, {signature: `${signature.slice(0, -4)}AAAA`}]) {
    await assert.rejects(receiver.verify({signature, body, url: `${target.url}/signed`, ...changed}), SignatureError);
  }
});

test('a body of bytes arrives as it is', async () => {
  const body = Uint8Array.from({length: 256}, (_, i) => i);
  const {messageId} = await client.publish({url: `${target.url}/bytes`, body});
  assert.deepEqual([...(await target.next('/bytes')).bytes], [...body]);
  assert.equal((await client.messages.get(messageId)).bodyBase64, Buffer.from(body).toString('base64'));
});

test('messages', async () => {
  await eventually(async () => assert.deepEqual(await client.messages.cancel({all: true}), {cancelled: 0})); // what still runs
  const notBefore = Math.floor(Date.now() / 1000) + 86_400;
  const {messageId} = await client.publishJSON({
    url: 'https://example.com/a', body: {a: 1}, notBefore, retries: 2, retryDelay: 'pow(2, retried) * 1000', label: 'l',
    callback: 'https://example.com/c', failureCallback: 'https://example.com/f', headers: {Secret: 's'}, redact: {header: ['Secret']},
  });
  const message = await client.messages.get(messageId);
  assert.deepEqual({
    url: message.url, body: message.body, notBefore: message.notBefore, maxRetries: message.maxRetries, retryDelayExpression: message.retryDelayExpression,
    method: message.method, callback: message.callback, failureCallback: message.failureCallback, labels: message.labels, label: message.label,
    secret: message.header.Secret, type: message.header['Content-Type'],
  }, {
    url: 'https://example.com/a', body: '{"a":1}', notBefore: notBefore * 1000, maxRetries: 2, retryDelayExpression: 'pow(2, retried) * 1000',
    method: 'POST', callback: 'https://example.com/c', failureCallback: 'https://example.com/f', labels: ['l'], label: 'l',
    secret: ['[redacted]'], type: ['application/json'],
  });
  assert.deepEqual(await client.messages.cancel(messageId), {cancelled: 1});
  await assert.rejects(client.messages.cancel(messageId), status(404));
  await assert.rejects(client.messages.get('msg_unknown'), status(404));

  const publish = async (more) => (await client.publish({url: 'https://example.com/b', ...later, ...more})).messageId;
  await client.messages.delete(await publish());
  assert.equal(await client.messages.deleteMany([await publish(), await publish()]), 2);
  await Promise.all([publish({label: 'x'}), publish({label: 'x'}), publish({label: 'y'})]);
  assert.deepEqual(await client.messages.cancel({filter: {label: 'x', host: 'example.com', url: ['https://example.com/b', 'https://example.com/c']}}), {cancelled: 2});
  assert.deepEqual(await client.messages.cancel({filter: {label: 'x'}}), {cancelled: 0});
  assert.equal(await client.messages.deleteAll(), 1);
  await publish();
  assert.deepEqual(await client.messages.cancel({all: true}), {cancelled: 1});
});

test('deduplication', async () => {
  const publish = (more) => client.publish({url: 'https://example.com/d', ...later, ...more});
  const [first, second] = [await publish({deduplicationId: 'order-7'}), await publish({deduplicationId: 'order-7', body: 'other'})];
  assert.deepEqual([second.messageId, second.deduplicated, first.deduplicated], [first.messageId, true, undefined]);
  const content = await publish({body: 'same', contentBasedDeduplication: true});
  assert.equal((await publish({body: 'same', contentBasedDeduplication: true})).messageId, content.messageId);
  assert.notEqual((await publish({body: 'another', contentBasedDeduplication: true})).messageId, content.messageId);
  assert.deepEqual(await client.messages.cancel({all: true}), {cancelled: 3});
});

test('batches', async () => {
  const results = await client.batch([
    {url: `${target.url}/batch`, body: 'one'}, {queueName: 'batched', url: `${target.url}/batch`, body: 'two'},
    {url: 'https://example.com', delay: '1h', label: 'batch'},
  ]);
  assert.equal(results.length, 3);
  assert.deepEqual([(await target.next('/batch')).body, (await target.next('/batch')).body].sort(), ['one', 'two']);
  const [json] = await client.batchJSON([{url: `${target.url}/app`, body: {n: 1}}]);
  const got = await target.next('/app');
  assert.deepEqual([got.status, got.body, got.headers['upstash-message-id']], [200, '{"n":1}', json.messageId]);
  assert.deepEqual(await client.messages.cancel([results[2].messageId]), {cancelled: 1});
  await idle('batched');
  await client.queue({queueName: 'batched'}).delete();
});

test('queues', async () => {
  const queue = client.queue({queueName: 'orders'});
  await queue.upsert({parallelism: 2, paused: true});
  const sent = [await queue.enqueue({url: `${target.url}/queued`, body: '0'}), await queue.enqueueJSON({url: `${target.url}/queued`, body: 1})];
  const shown = await queue.get();
  assert.deepEqual([shown.name, shown.parallelism, shown.paused, shown.lag], ['orders', 2, true, 2]);
  assert.equal((await client.messages.get(sent[0].messageId)).queueName, 'orders');
  assert.deepEqual((await client.queue().list()).map((q) => q.name), ['orders']);
  await queue.resume();
  assert.equal((await queue.get()).paused, false);
  assert.deepEqual([(await target.next('/queued')).body, (await target.next('/queued')).body].sort(), ['0', '1']);
  await idle('orders');
  await queue.pause();
  assert.equal((await queue.get()).paused, true);
  await queue.delete();
  await assert.rejects(queue.get(), status(404));
});

test('URL groups', async () => {
  const {urlGroups} = client, name = 'everyone';
  await urlGroups.addEndpoints({name, endpoints: [{name: 'first', url: `${target.url}/first`}, {url: `${target.url}/second`}]});
  assert.deepEqual((await urlGroups.get(name)).endpoints, [{name: 'first', url: `${target.url}/first`}, {url: `${target.url}/second`}]);
  assert.deepEqual((await client.topics.list()).map((group) => group.name), [name]);
  const sent = await client.publishJSON({urlGroup: name, body: {to: 'all'}});
  assert.deepEqual(sent.map((one) => one.url), [`${target.url}/first`, `${target.url}/second`]);
  for (const path of ['/first', '/second']) {
    const got = await target.next(path);
    assert.equal(got.body, '{"to":"all"}');
    await new Receiver().verify({signature: got.headers['upstash-signature'], body: got.body, url: target.url + path});
  }
  assert.equal((await client.messages.get(sent[0].messageId)).urlGroup, name);
  await urlGroups.removeEndpoints({name, endpoints: [{name: 'first'}]});
  assert.deepEqual((await urlGroups.get(name)).endpoints, [{url: `${target.url}/second`}]);
  await urlGroups.delete(name);
  await assert.rejects(urlGroups.get(name), status(404));
});

test('schedules', async () => {
  const {schedules} = client;
  const request = {
    destination: `${target.url}/scheduled`, cron: 'CRON_TZ=Europe/Berlin 0 4 1 1 *', body: 'b', headers: {'X-A': 'b'}, retries: 1, method: 'PUT',
    callback: 'https://example.com/c', failureCallback: 'https://example.com/f', label: 'yearly', timeout: 20,
  };
  const {scheduleId} = await schedules.create(request);
  const schedule = await schedules.get(scheduleId);
  assert.deepEqual({
    destination: schedule.destination, cron: schedule.cron, body: schedule.body, xA: schedule.header['X-A'], retries: schedule.retries,
    method: schedule.method, callback: schedule.callback, failureCallback: schedule.failureCallback, label: schedule.label, isPaused: schedule.isPaused,
  }, {
    destination: request.destination, cron: request.cron, body: 'b', xA: ['b'], retries: 1, method: 'PUT', callback: request.callback,
    failureCallback: request.failureCallback, label: 'yearly', isPaused: false,
  });
  assert.ok(schedule.nextScheduleTime > Date.now());
  assert.deepEqual(await schedules.create({...request, scheduleId: 'nightly', cron: '0 3 * * *'}), {scheduleId: 'nightly'});
  assert.deepEqual(await schedules.create({...request, scheduleId: 'nightly', cron: '0 2 * * *'}), {scheduleId: 'nightly'});
  assert.deepEqual((await schedules.list()).map((s) => [s.scheduleId, s.cron]).sort(), [['nightly', '0 2 * * *'], [scheduleId, request.cron]].sort());
  await schedules.pause({schedule: 'nightly'});
  assert.equal((await schedules.get('nightly')).isPaused, true);
  await schedules.resume({schedule: 'nightly'});
  assert.equal((await schedules.get('nightly')).isPaused, false);
  await schedules.delete('nightly');
  await schedules.delete(scheduleId);
  await assert.rejects(schedules.get(scheduleId), status(404));
});

test('the dead letter queue', async () => {
  const {dlq} = client;
  await dlq.delete({all: true}); // what the tests before have left
  const fail = async (label) => (await client.publish({url: `${target.url}/fail`, body: label, retries: 0, label, failureCallback: `${target.url}/failed`})).messageId;
  const ids = [];
  for (const label of ['a', 'b', 'c', 'd', 'e']) {
    ids.push(await fail(label));
    const report = JSON.parse((await target.next('/failed')).body);
    assert.deepEqual([report.sourceMessageId, report.status, atob(report.body), report.dlqId.slice(0, 4)], [ids.at(-1), 500, 'no', 'dlq_']);
  }
  const found = await dlq.listMessages({filter: {label: 'a', responseStatus: 500}});
  assert.deepEqual(found.messages.map((m) => [m.messageId, m.responseStatus, m.responseBody, m.responseHeader['X-Why'], m.body]), [[ids[0], 500, 'no', ['down'], 'a']]);
  assert.deepEqual((await dlq.listMessages({filter: {label: 'a', responseStatus: 404}})).messages, []);
  const pages = [];
  for (let cursor; ;) {
    const page = await dlq.listMessages({count: 2, cursor});
    pages.push(page.messages.map((m) => m.messageId));
    if (!(cursor = page.cursor)) break;
  }
  assert.deepEqual(pages.flat(), ids.toReversed());
  const byLabel = async (label) => (await dlq.listMessages({filter: {label}})).messages[0]?.dlqId;
  assert.deepEqual((await dlq.listMessages({dlqIds: [await byLabel('b')]})).messages.map((m) => m.body), ['b']);

  const again = await dlq.retry(await byLabel('a'));
  assert.match(again.responses[0].messageId, /^msg_/);
  assert.equal((await target.next('/failed')).status, 200);
  assert.equal((await dlq.retry({filter: {label: 'a'}})).responses.length, 1, 'it failed again');
  await target.next('/failed');
  await dlq.delete(await byLabel('b'));
  await assert.rejects(dlq.delete('dlq_unknown'), status(404));
  assert.equal((await dlq.deleteMany({dlqIds: [await byLabel('c')]})).deleted, 1);
  assert.equal((await dlq.delete({filter: {label: 'd'}})).deleted, 1);
  assert.equal((await dlq.delete({all: true})).deleted, 2);
  assert.deepEqual((await dlq.listMessages()).messages, []);
});

test('logs', async () => {
  const {messageId} = await client.publish({url: `${target.url}/logged`, body: 'l', label: 'logged'});
  await target.next('/logged');
  const states = await eventually(async () => {
    const {logs} = await client.logs({filter: {label: 'logged'}});
    assert.equal(logs.length, 3);
    return logs.map((log) => log.state);
  });
  assert.deepEqual(states, ['DELIVERED', 'ACTIVE', 'CREATED']);
  assert.deepEqual((await client.logs({messageIds: [messageId]})).logs.map((log) => log.messageId), [messageId, messageId, messageId]);
  assert.deepEqual((await client.events({filter: {state: 'DELIVERED', label: 'logged'}})).events.map((log) => log.messageId), [messageId]);
  const first = await client.logs({count: 2, filter: {label: 'logged'}});
  const rest = await client.logs({count: 2, cursor: first.cursor, filter: {label: 'logged'}});
  assert.deepEqual([...first.logs, ...rest.logs].map((log) => log.state), states);
});

test('flow control', async () => {
  const key = 'tenant/7 ü', {flowControl} = client;
  await client.publish({url: 'https://example.com', ...later, flowControl: {key, rate: 5, period: '1m', parallelism: 3}});
  const info = await flowControl.get(key);
  assert.deepEqual([info.flowControlKey, info.rateMax, info.ratePeriod, info.parallelismMax, info.isPaused, info.isPinnedRate, info.isPinnedParallelism],
    [key, 5, 60, 3, false, false, false]);
  await flowControl.pause(key);
  assert.equal((await flowControl.get(key)).isPaused, true);
  await flowControl.resume(key);
  assert.equal((await flowControl.get(key)).isPaused, false);
  await flowControl.pin(key, {parallelism: 1, rate: 2, period: 10});
  await client.publish({url: 'https://example.com', ...later, flowControl: {key, rate: 50, parallelism: 30}});
  const pinned = await flowControl.get(key);
  assert.deepEqual([pinned.rateMax, pinned.ratePeriod, pinned.parallelismMax, pinned.isPinnedRate, pinned.isPinnedParallelism], [2, 10, 1, true, true]);
  await flowControl.unpin(key, {rate: true, parallelism: true});
  await client.publish({url: 'https://example.com', ...later, flowControl: {key, rate: 50, parallelism: 30}});
  assert.deepEqual([(await flowControl.get(key)).rateMax, (await flowControl.get(key)).parallelismMax], [50, 30]);
  await flowControl.resetRate(key);
  const all = await flowControl.getGlobalParallelism();
  assert.ok(all.parallelismMax > 0 && all.parallelismCount >= 0);
  await client.messages.cancel({filter: {flowControlKey: key}});
});

test('what is not there is refused', async () => {
  await assert.rejects(client.publishJSON({api: {name: 'llm', provider: undefined}, callback: 'https://example.com', body: {}}),
    (error) => error.message.includes('provider') || error.status === 400);
  await assert.rejects(new Client({token: 'sk_wrong'}).messages.get('msg_x'), status(401));
});

test('keys rotate under a receiver', async () => {
  const call = async (method, path) => (await fetch(`${process.env.QSTASH_URL}/v2/keys${path}`, {method, headers: {authorization: `Bearer ${process.env.QSTASH_TOKEN}`}})).json();
  assert.deepEqual(await call('GET', ''), {current: process.env.QSTASH_CURRENT_SIGNING_KEY, next: process.env.QSTASH_NEXT_SIGNING_KEY});
  const rotated = await call('POST', '/rotate');
  assert.equal(rotated.current, process.env.QSTASH_NEXT_SIGNING_KEY);
  const send = async () => {
    await client.publish({url: `${target.url}/app`, body: 'x', retries: 0});
    return (await target.next('/app')).status;
  };
  await eventually(async () => assert.equal(await send(), 200)); // still with the keys from before
  target.useKeys({currentSigningKey: rotated.current, nextSigningKey: rotated.next});
  assert.equal(await send(), 200);
  target.useKeys({currentSigningKey: 'sig_other', nextSigningKey: 'sig_another'});
  assert.notEqual(await send(), 200);
});

test('every public method was called', () => {
  assert.deepEqual([...methods].filter((method) => !called.has(method)), []);
});
