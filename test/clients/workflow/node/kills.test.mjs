// Service and application are killed while runs are under way: each step that was stored
// is carried out once, and every run ends.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Client} from '@upstash/workflow';
import {effects, ended, plain, until} from './application.mjs';

test('runs survive kills of the service and of the application', async (t) => {
  const client = new Client({retry: {retries: 50, backoff: () => 100}});
  let app = await plain();
  t.after(() => app.close());
  const port = Number(new URL(app.base).port);
  const started = await client.trigger(Array.from({length: 20}, (_, i) => ({url: `${app.base}/killed`, body: {i}, retryDelay: '500', retries: 20})));
  for (let kill = 0; kill < 3; kill++) {
    await new Promise((later) => setTimeout(later, 150));
    const response = await fetch(process.env.PUNCTUAL_TEST_CONTROL);
    assert.equal(response.status, 200, await response.text());
    app.close(); // its requests under way end without a response
    app = await plain(port);
  }
  for (const {workflowRunId} of started) {
    const {result} = await until(() => ended.get(workflowRunId), `the end of ${workflowRunId}`);
    assert.deepEqual(result, [0, 1, 2, 3, 4, 5, 6, 7]);
  }
  const repeated = [...effects].filter(([key, n]) => key.includes('step') && n > 3);
  assert.deepEqual(repeated, []);
});
