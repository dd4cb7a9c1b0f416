// Runs that wait: for events, for other runs, and for webhooks.
import assert from 'node:assert/strict';
import {after, before, describe, test} from 'node:test';
import {Client} from '@upstash/workflow';
import {effects, ended, gates, hono, plain, until} from './application.mjs';

const client = new Client();
const key = process.env.PUNCTUAL_TEST_OTHER_KEY;

/** api calls the service directly. */
const api = (method, path, {key = process.env.QSTASH_TOKEN, body, headers} = {}) =>
  fetch(process.env.QSTASH_URL + path, {method, body, headers: {authorization: `Bearer ${key}`, ...headers}});

/** waiters waits until so many runs wait for an event. */
const waiters = (eventId, n = 1) => until(async () => {
  const list = await client.getWaiters({eventId});
  return list.length === n && list;
}, `${n} waiters of ${eventId}`);

for (const [kind, start] of Object.entries({plain, hono})) {
  describe(kind, {concurrency: true}, () => {
    let app;
    before(async () => (app = await start()));
    after(() => app.close());
    const trigger = async (name, body, options) => (await client.trigger({url: `${app.base}/${name}`, body, ...options})).workflowRunId;
    const result = async (id) => (await until(() => ended.get(id), `the end of ${id}`)).result;

    test('an event', async () => {
      const event = `paid ${kind}`;
      const ids = [await trigger('waiting', {event, timeout: '1d'}), await trigger('waiting', {event, timeout: '1d'})];
      const [one] = await waiters(event, 2);
      assert.equal(one.url, `${app.base}/waiting`);
      assert.ok(Math.abs(one.deadline - Date.now() / 1000 - 86_400) < 3600, `deadline ${one.deadline}`);
      assert.deepEqual(await (await api('POST', `/v2/notify/${encodeURIComponent(event)}`, {key, body: 'not yours'})).json(), []);
      const notified = await client.notify({eventId: event, eventData: {sum: 7, text: 'größe'}});
      assert.deepEqual(notified.map((n) => [n.error, n.waiter.url]), [['', `${app.base}/waiting`], ['', `${app.base}/waiting`]]);
      for (const id of ids) {
        assert.deepEqual(await result(id), {eventData: {sum: 7, text: 'größe'}, timeout: false});
        assert.equal(effects.get(`${id} between`), 1);
      }
      assert.deepEqual(await client.notify({eventId: event, eventData: 'late'}), []);
      for (const n of notified) {
        const job = await (await api('GET', `/v2/messages/${n.waiter.messageId}`)).json();
        assert.ok(job.messageId, 'the job that would have timed the wait out is there');
      }
    });

    test('an event that does not come', async () => {
      const id = await trigger('waiting', {event: `never ${kind}`, timeout: '1s'});
      assert.deepEqual(await result(id), {eventData: undefined, timeout: true});
      assert.equal(effects.get(`${id} between`), 1);
    });

    test('an event before its wait', async () => {
      const event = `early-${kind}`;
      let open;
      gates.set(event, new Promise((opened) => (open = opened)));
      const id = await trigger('waiting', {event, timeout: '1d'});
      const [kept] = await client.notify({eventId: event, eventData: 'early', workflowRunId: id});
      assert.equal(kept.waiter, undefined);
      open();
      assert.deepEqual(await result(id), {eventData: 'early', timeout: false});
    });

    test('parallel waits, of which one times out', async () => {
      const id = await trigger('waitingTwice', {event: `both-${kind}`});
      await waiters(`both-${kind}-1`);
      await client.notify({eventId: `both-${kind}-1`, eventData: '1'});
      assert.deepEqual(await result(id), [{eventData: 1, timeout: false}, {eventData: undefined, timeout: true}, 'beside']);
    });

    test('notify within a run', async () => {
      const event = `told-${kind}`;
      const id = await trigger('waiting', {event, timeout: '1d'});
      await waiters(event);
      const notifier = await trigger('notifying', {event});
      assert.deepEqual(await result(id), {eventData: {from: 'notifying'}, timeout: false});
      const {notifyResponse, ...rest} = await result(notifier);
      assert.deepEqual(rest, {eventId: event, eventData: {from: 'notifying'}});
      assert.equal(notifyResponse[0].waiter.workflowRunId, id);
    });

    test('invoke', async () => {
      const got = await result(await trigger('invoking', {}));
      assert.deepEqual(got.one.body, {doubled: 42, mine: 'invoked', quoted: ''});
      assert.equal(got.two.body.doubled, 8);
      assert.equal(got.three.isFailed, true);
      assert.equal(got.beside, 'beside');
      assert.equal(got.huge.isFailed, true);
      assert.match(got.huge.body, /has more than 1 MiB/);
    });

    test('a cancelled run does not wait any more', async () => {
      const event = `cancelled-${kind}`;
      const id = await trigger('waiting', {event, timeout: '1d'});
      await waiters(event);
      assert.equal((await api('DELETE', `/v2/workflows/runs/${id}`)).status, 200);
      assert.deepEqual(await client.notify({eventId: event, eventData: 'x'}), []);
      assert.equal((await api('POST', `/v2/notify/${id}/${event}`, {body: 'x'})).status, 400);
    });
  });
}

test('what is refused to others, and what is too much', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const {workflowRunId: id} = await client.trigger({url: `${app.base}/waiting`, body: {event: 'mine', timeout: '1d'}});
  await waiters('mine');
  assert.deepEqual(await (await api('GET', '/v2/waiters/mine', {key})).json(), []);
  assert.equal((await api('POST', `/v2/notify/${id}/mine`, {key, body: 'x'})).status, 404);
  const wait = {timeout: '1d', step: {stepId: 2, stepName: 'x', stepType: 'Wait', concurrent: 1}};
  const headers = {'upstash-workflow-runid': id};
  assert.equal((await api('POST', '/v2/wait/theirs', {key, headers, body: JSON.stringify(wait)})).status, 404);
  assert.equal((await api('POST', '/v2/wait/x', {headers, body: JSON.stringify({...wait, timeout: '99999d'})})).status, 412);
  assert.equal((await api('POST', `/v2/wait/${'x'.repeat(256)}`, {headers, body: JSON.stringify(wait)})).status, 412);
  assert.equal((await api('POST', '/v2/wait/x', {headers, body: '{'})).status, 412);
  assert.equal((await api('POST', '/v2/notify/mine', {body: 'x'.repeat(524_289)})).status, 413);
  const invoke = (run, options) => api('POST', `/v2/publish/${app.base}/called`, {
    ...options, body: JSON.stringify({workflowRunId: run, step: {stepId: 2, stepName: 'x', stepType: 'Invoke', concurrent: 1}, body: '{}'}),
    headers: {'upstash-workflow-runid': 'wfr_stolen', 'upstash-workflow-init': 'true', 'upstash-workflow-invoke': 'true'},
  });
  assert.equal((await invoke(id, {key})).status, 404);
  assert.equal((await invoke('wfr_none')).status, 404);
  assert.equal((await api('GET', '/v2/workflows/runs/wfr_stolen', {key})).status, 404);
  for (let i = 0; i < 100; i++) assert.equal((await api('POST', `/v2/notify/${id}/kept`, {body: 'x'})).status, 200);
  const over = await api('POST', `/v2/notify/${id}/kept`, {body: 'x'});
  assert.equal(over.status, 412);
  assert.match((await over.json()).error, /100 events "kept"/);
  // Notify and timeout at the same moment: one of them ends the wait.
  const runs = await client.trigger(Array.from({length: 20}, () => ({url: `${app.base}/waiting`, body: {event: 'race', timeout: '1s'}})));
  await until(async () => {
    await client.notify({eventId: 'race', eventData: 'now'});
    return runs.every(({workflowRunId}) => ended.has(workflowRunId));
  }, 'the ends of all');
  for (const {workflowRunId} of runs) assert.equal(effects.get(`${workflowRunId} between`), 1);
});
