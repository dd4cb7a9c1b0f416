import assert from 'node:assert/strict';
import {after, before, describe, test} from 'node:test';
import {Client} from '@upstash/workflow';
import {effects, ended, hono, plain, thirdParty, until} from './application.mjs';

const client = new Client();
let third;
before(async () => (third = await thirdParty()));
after(() => third.close());

/** api calls the service directly. */
const api = (method, path, {key = process.env.QSTASH_TOKEN, body, headers} = {}) =>
  fetch(process.env.QSTASH_URL + path, {method, body, headers: {authorization: `Bearer ${key}`, ...headers}});

/** over waits until a run has ended. */
const over = (id) => until(async () => (await api('GET', `/v2/workflows/runs/${id}`)).status === 404, `the end of ${id}`);

for (const [kind, start] of Object.entries({plain, hono})) {
  describe(kind, {concurrency: true}, () => {
    let app;
    before(async () => (app = await start()));
    after(() => app.close());
    const trigger = (name, body, options) => client.trigger({url: `${app.base}/${name}`, body, ...options});
    const result = async (name, body, options) => {
      const {workflowRunId} = await trigger(name, body, options);
      return [await until(() => ended.get(workflowRunId), `the end of ${name}`), workflowRunId];
    };

    test('sequential steps', async () => {
      const [{result: got}, id] = await result('sequential', {n: 1}, {headers: {'x-mine': 'yes'}, label: ['one', 'two'], workflowRunId: `chosen-${kind}`});
      assert.equal(id, `wfr_chosen-${kind}`);
      assert.deepEqual(got.two, [2, 'zwei', 'yes']);
      assert.ok(Math.abs(got.created - Date.now()) < 3_600_000, `created ${got.created}`);
      assert.deepEqual(got.labels, ['one', 'two']);
      for (const name of ['one', 'two', 'nothing']) assert.equal(effects.get(`${id} ${name}`), 1, name);
      await over(id);
    });

    test('parallel steps', async () => {
      const [{result: got}, id] = await result('parallel', {});
      assert.deepEqual(got, [2, 3, {echo: {from: 'c'}, text: 'größe'}, 'end']);
      for (const name of ['a', 'b', 'after']) assert.equal(effects.get(`${id} ${name}`), 1, name);
    });

    test('sleep and sleepUntil', async () => {
      const [{result: got}] = await result('sleep', {});
      assert.ok(got[0] >= 990 && got[1] >= 0, `slept ${got}`);
    });

    test('call', async () => {
      const seen = third.got.length;
      const [{result: got}] = await result('call', {});
      assert.deepEqual(got.good.body, {echo: {a: 'ä'}, text: 'größe'});
      assert.equal(got.good.status, 200);
      assert.match(String(got.good.header['Content-Type'] ?? got.good.header['content-type']), /application\/json/);
      assert.deepEqual(got.bad, {status: 500, body: 'schlecht'});
      assert.equal(got.gone, 0);
      const put = third.got.slice(seen).find((r) => r.method === 'PUT');
      assert.equal(put.headers['x-to'], 'third');
      assert.equal(put.headers['upstash-workflow-sdk-version'], undefined);
      assert.equal(put.headers['upstash-workflow-runid'], undefined);
    });

    test('retries', async () => {
      const [{result: got}, id] = await result('retried', {}, {retryDelay: '10', retries: 5});
      assert.equal(got, 2);
      assert.equal(effects.get(`${id} flaky`), 3);
    });

    test('failure function', async () => {
      const [{failure}, id] = await result('failing', {order: 7}, {retries: 1, retryDelay: '10'});
      assert.equal(failure.status, 500);
      assert.equal(failure.response, 'broken on purpose');
      assert.deepEqual(failure.payload, {order: 7});
      assert.equal(effects.get(`${id} fine`), 1);
    });

    test('an error that is not retried', async () => {
      const [{failure}, id] = await result('refused', 'text', {retries: 3, retryDelay: '10'});
      assert.deepEqual(failure, {status: 489, response: 'never again', payload: 'text'});
      assert.equal(effects.get(`${id} final`), 1);
    });

    test('cancel from within', async () => {
      const {workflowRunId} = await trigger('cancelling', {});
      await over(workflowRunId);
      assert.equal(effects.get(`${workflowRunId} once`), 1);
    });

    test('cancel from outside', async () => {
      const {workflowRunId} = await trigger('napping', {});
      const steps = await until(async () => {
        const list = await (await api('GET', `/v2/workflows/runs/${workflowRunId}`)).json();
        return list.length === 2 && list;
      }, 'the sleep');
      assert.deepEqual(steps.map((s) => s.callType), ['step', 'step']);
      assert.equal((await api('DELETE', `/v2/workflows/runs/${workflowRunId}?cancel=true`)).status, 200);
      assert.equal((await api('GET', `/v2/workflows/runs/${workflowRunId}`)).status, 404);
      assert.equal((await api('GET', `/v2/messages/${steps[1].messageId}`)).status, 200);
    });

    test('steps that are too large for a body are read', async () => {
      const [{result: got}] = await result('large', {});
      assert.equal(got, 360_000);
    });
  });
}

test('a run that exists is not started again', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const start = () => client.trigger({url: `${app.base}/napping`, body: {}, workflowRunId: 'twice'});
  await start();
  await start();
  const again = await api('POST', `/v2/trigger/${app.base}/napping`, {body: '{}', headers: {'upstash-workflow-runid': 'wfr_twice'}});
  const answer = await again.json();
  assert.equal(answer.deduplicated, true);
  assert.equal(answer.workflowRunId, 'wfr_twice');
});

test('trigger without the SDK, and a failure function that is found', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const response = await api('POST', `/v2/trigger/${app.base}/failing`, {body: '{"a":1}', headers: {'upstash-retries': '0', 'content-type': 'application/json'}});
  const {workflowRunId, workflowCreatedAt} = await response.json();
  assert.ok(workflowCreatedAt > 0);
  const {failure} = await until(() => ended.get(workflowRunId), 'the failure');
  assert.deepEqual(failure.payload, {a: 1});
});

test('one account does not see the runs of another', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const {workflowRunId} = await client.trigger({url: `${app.base}/napping`, body: {}});
  const key = process.env.PUNCTUAL_TEST_OTHER_KEY;
  const step = {destination: `${app.base}/napping`, body: JSON.stringify({stepId: 1, stepName: 'x', stepType: 'Run', out: '1', concurrent: 1})};
  step.headers = {'Upstash-Workflow-RunId': workflowRunId, 'Upstash-Workflow-Init': 'false'};
  assert.equal((await api('GET', `/v2/workflows/runs/${workflowRunId}`, {key})).status, 404);
  assert.equal((await api('DELETE', `/v2/workflows/runs/${workflowRunId}`, {key})).status, 404);
  assert.equal((await api('POST', '/v2/batch', {key, body: JSON.stringify([step])})).status, 404);
  assert.equal((await api('GET', `/v2/workflows/runs/${workflowRunId}`)).status, 200);
});

test('what is refused', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  await assert.rejects(client.trigger({url: `${app.base}/napping`, body: {}, retries: 1_000_000}), {status: 412});
  const {workflowRunId} = await client.trigger({url: `${app.base}/napping`, body: {}});
  const publish = (step, headers) => api('POST', `/v2/publish/${app.base}/napping`, {
    body: JSON.stringify(step), headers: {'upstash-workflow-runid': workflowRunId, 'upstash-workflow-init': 'false', ...headers},
  });
  const step = {stepId: 10_001, stepName: 'x', stepType: 'Run', out: '1', concurrent: 1};
  assert.equal((await publish(step)).status, 412);
  assert.equal((await publish({...step, stepId: -1})).status, 412);
  assert.equal((await publish({...step, stepId: 1, stepName: ''})).status, 412);
  assert.equal((await publish(step, {'upstash-workflow-calltype': 'toCallback'})).status, 412);
  assert.equal((await publish({...step, stepId: 1, out: 'x'.repeat(1_100_000)})).status, 413);
  await api('DELETE', `/v2/workflows/runs/${workflowRunId}`);
  assert.equal((await publish({...step, stepId: 1})).status, 400);
});
