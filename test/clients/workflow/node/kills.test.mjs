// Service and application are killed while runs are under way or wait: each step that was
// stored is carried out once, and every run ends.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Client} from '@upstash/workflow';
import {effects, ended, hooks, plain, until} from './application.mjs';

/** runs is how many there are, in thirds: of steps, waits for an event, and for a webhook. */
const runs = Number(process.env.PUNCTUAL_WORKFLOW_RUNS ?? 24);
const kills = Math.max(3, Math.floor(runs / 20));
const patience = 180 + runs;

test('runs survive kills of the service and of the application', async (t) => {
  const client = new Client({retry: {retries: 50, backoff: () => 100}});
  let app = await plain();
  t.after(() => app.close());
  const port = Number(new URL(app.base).port);
  const kill = async () => {
    const response = await fetch(process.env.PUNCTUAL_TEST_CONTROL);
    assert.equal(response.status, 200, await response.text());
    app.close(); // its requests under way end without a response
    app = await plain(port);
  };
  const start = async (name, body) => {
    const options = {url: `${app.base}/${name}`, body, retryDelay: '500', retries: 20};
    return (await client.trigger(Array.from({length: runs / 3}, () => options))).map((started) => started.workflowRunId);
  };
  const [stepping, waiting, hooked] = await Promise.all([
    start('killed', {}), start('waiting', {event: 'after the kills', timeout: '1d'}), start('hooked', {calls: 2}),
  ]);
  for (let n = 0; n < kills; n++) {
    const before = effects.size; // what is being prepared at three kills would be set aside
    await until(() => effects.size > before || stepping.every((id) => ended.has(id)), 'a further step', patience);
    await new Promise((later) => setTimeout(later, 150));
    await kill();
  }
  const results = async (ids) => {
    const all = [];
    for (const id of ids) {
      const {result} = await until(() => ended.get(id), `the end of ${id}`, patience).catch(async (error) => {
        error.message += `: ${JSON.stringify((await client.logs({workflowRunId: id})).runs)}`;
        throw error;
      });
      all.push(result);
    }
    return all;
  };
  for (const result of await results(stepping)) assert.deepEqual(result, [0, 1, 2, 3, 4, 5, 6, 7]);
  await until(async () => (await client.getWaiters({eventId: 'after the kills'})).length === waiting.length, 'the waits', patience);
  await until(() => hooked.every((id) => hooks.has(id)), 'the webhooks', patience);
  const call = async (id, body) => assert.equal((await fetch(hooks.get(id), {method: 'POST', body})).status, 200);
  for (const id of hooked) await call(id, 'one');
  await kill(); // with open waits, and calls that are kept or have just ended waits
  for (const id of hooked) await call(id, 'two');
  assert.equal((await client.notify({eventId: 'after the kills', eventData: 'over'})).length, waiting.length);
  for (const result of await results(waiting)) assert.deepEqual(result, {eventData: 'over', timeout: false});
  for (const {seen} of await results(hooked)) assert.deepEqual(seen.map(({body}) => body), ['one', 'two']);
  // A step is carried out again only if it was killed before its result was stored.
  const repeated = [...effects.values()].filter((n) => n > 1);
  assert.ok(repeated.every((n) => n <= kills + 2), `${repeated}`);
  t.diagnostic(`${runs} runs, ${kills + 1} kills: ${effects.size} steps, of which ${repeated.length} were carried out again`);
});
