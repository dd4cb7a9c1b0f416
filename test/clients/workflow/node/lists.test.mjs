// Runs in lists, cancelled in bulk, resumed and restarted.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Client} from '@upstash/workflow';
import {effects, ended, plain, until} from './application.mjs';

const client = new Client();

/** api calls the service directly. */
const api = (method, path, {key = process.env.QSTASH_TOKEN, body, headers} = {}) =>
  fetch(process.env.QSTASH_URL + path, {method, body, headers: {authorization: `Bearer ${key}`, ...headers}});
const key = process.env.PUNCTUAL_TEST_OTHER_KEY;

/** logged waits for a run in a state, and returns it. */
const logged = (workflowRunId, state) => until(async () => (await client.logs({workflowRunId})).runs.find((r) => r.workflowState === state), `${workflowRunId} in ${state}`);

test('logs', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push((await client.trigger({url: `${app.base}/sequential`, body: {n}, label: `logs-${n}-${new URL(app.base).port}`})).workflowRunId);
  const run = await logged(ids[1], 'RUN_SUCCESS');
  assert.equal(run.workflowUrl, `${app.base}/sequential`);
  assert.equal(JSON.parse(run.workflowRunResponse).two[1], 'zwei');
  assert.deepEqual(run.steps.map((s) => [s.type, s.steps[0].stepName, s.steps[0].state]), ['init', 'one', 'two', 'nothing'].map((name) => ['sequential', name, 'STEP_SUCCESS']));
  const {runs} = await client.logs({filter: {label: `logs-2-${new URL(app.base).port}`}});
  assert.deepEqual(runs.map((r) => r.workflowRunId), [ids[2]]);
  const seen = [];
  for (let cursor; ;) {
    const page = await client.logs({cursor, count: 1, filter: {workflowUrl: `${app.base}/sequential`}});
    seen.push(...page.runs.map((r) => r.workflowRunId));
    if (!(cursor = page.cursor)) break;
  }
  assert.deepEqual(seen, ids.toReversed());
  assert.deepEqual((await (await api('GET', `/v2/workflows/events?workflowRunId=${ids[0]}`, {key})).json()).runs, []);
  assert.equal((await api('GET', '/v2/workflows/events?nothing=1')).status, 400);
  assert.equal((await api('GET', '/v2/workflows/events?cursor=x')).status, 400);
  assert.match((await (await api('POST', '/v2/workflows/none')).json()).error, /not served here: workflows\/none/);
});

test('cancel in bulk', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const ids = [];
  for (let i = 0; i < 4; i++) ids.push((await client.trigger({url: `${app.base}/napping`, body: {}, label: `bulk-${i}-${new URL(app.base).port}`})).workflowRunId);
  assert.deepEqual(await (await api('DELETE', `/v2/workflows/runs?workflowRunIds=${ids[0]}`, {key})).json(), {cancelled: 0});
  assert.deepEqual(await client.cancel(ids[0]), {cancelled: 1});
  assert.deepEqual(await client.cancel([ids[0], ids[1]]), {cancelled: 1});
  assert.deepEqual(await client.cancel({filter: {label: `bulk-2-${new URL(app.base).port}`}}), {cancelled: 1});
  assert.deepEqual(await client.cancel({filter: {workflowUrlStartingWith: `${app.base}/nap`}}), {cancelled: 1});
  for (const id of ids) await logged(id, 'RUN_CANCELED');
});

test('the failure function is called again', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const {workflowRunId} = await client.trigger({url: `${app.base}/failing`, body: {unreported: true}, retries: 0});
  const failed = await until(async () => {
    const run = (await client.logs({workflowRunId})).runs[0];
    return run.failureFunction?.state === 'CALLBACK_FAIL' && run;
  }, 'the failure of the failure function');
  assert.equal(ended.get(workflowRunId), undefined);
  const retry = (id, options) => api('POST', `/v2/workflows/dlq/callback/${id}`, options);
  assert.equal((await retry(failed.dlqId, {key})).status, 404);
  assert.equal((await retry('dlq_x')).status, 404);
  const again = await client.dlq.retryFailureFunction({dlqId: failed.dlqId});
  assert.deepEqual([again.workflowRunId, again.workflowCreatedAt], [workflowRunId, failed.workflowRunCreatedAt]);
  const {failure} = await until(() => ended.get(workflowRunId), 'the second report');
  assert.deepEqual([failure.status, failure.payload], [500, {unreported: true}]);
  await until(async () => (await client.logs({workflowRunId})).runs[0].failureFunction.state === 'CALLBACK_SUCCESS', 'its success');
  assert.equal((await retry(failed.dlqId)).status, 404); // it has succeeded
});

test('resume and restart', async (t) => {
  const app = await plain();
  t.after(() => app.close());
  const fail = async () => {
    const {workflowRunId} = await client.trigger({url: `${app.base}/failing`, body: {order: 8}, retries: 0, label: `again-${new URL(app.base).port}`});
    const {dlqId} = await logged(workflowRunId, 'RUN_FAILED');
    return [workflowRunId, dlqId];
  };
  const [first, dlqId] = await fail();
  const {messages} = await client.dlq.list({filter: {label: `again-${new URL(app.base).port}`}});
  assert.deepEqual(messages.map((m) => [m.dlqId, m.workflowRunId, m.responseStatus]), [[dlqId, first, 500]]);
  assert.equal((await api('POST', `/v2/workflows/dlq/resume?dlqIds=${dlqId}`, {key})).status, 404);
  const resumed = await client.dlq.resume({dlqId, retries: 0});
  assert.notEqual(resumed.workflowRunId, first);
  await until(() => ended.get(resumed.workflowRunId)?.failure, 'the failure of the resumed run');
  assert.equal(effects.get(`${resumed.workflowRunId} fine`), undefined); // its result is stored
  assert.equal((await api('POST', `/v2/workflows/dlq/resume?dlqIds=${dlqId}`)).status, 404);
  const [second, other] = await fail();
  const restarted = await client.dlq.restart({dlqId: other, retries: 0});
  const {failure} = await until(() => ended.get(restarted.workflowRunId), 'the failure of the restarted run');
  assert.deepEqual(failure.payload, {order: 8});
  assert.equal(effects.get(`${restarted.workflowRunId} fine`), 1);
  assert.equal(effects.get(`${second} fine`), 1);
  await logged(restarted.workflowRunId, 'RUN_FAILED');
  await logged(resumed.workflowRunId, 'RUN_FAILED');
  assert.equal((await client.dlq.delete({filter: {label: `again-${new URL(app.base).port}`}})).deleted, 2);
  assert.deepEqual((await client.dlq.list({filter: {label: `again-${new URL(app.base).port}`}})).messages, []);
});
