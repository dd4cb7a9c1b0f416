// Google's clients for Node.js, unmodified. PUNCTUAL_TEST_GOOGLE is the address of the
// service, PUNCTUAL_TEST_KEY a key.
import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {test} from 'node:test';
import {CloudSchedulerClient} from '@google-cloud/scheduler';
import {CloudTasksClient} from '@google-cloud/tasks';
import {grpc} from 'google-gax';

const [host, port] = process.env.PUNCTUAL_TEST_GOOGLE.split(':');
const options = {apiEndpoint: host, port: Number(port), sslCreds: grpc.credentials.createInsecure()};
const call = {otherArgs: {headers: {authorization: `Bearer ${process.env.PUNCTUAL_TEST_KEY}`}}};
const location = 'projects/node/locations/here';

/** receive starts a target and returns its URL, and a function that waits for a request. */
function receive(t) {
  const waiting = [], came = [];
  const server = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      response.end();
      const got = {headers: request.headers, method: request.method, url: request.url, body: Buffer.concat(parts).toString()};
      waiting.length ? waiting.shift()(got) : came.push(got);
    });
  });
  t.after(() => server.closeAllConnections() ?? server.close());
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({
    url: `http://127.0.0.1:${server.address().port}`,
    next: () => new Promise((got) => (came.length ? got(came.shift()) : waiting.push(got))),
  })));
}

test('tasks', async (t) => {
  const client = new CloudTasksClient(options);
  t.after(() => client.close());
  const target = await receive(t);
  const name = `${location}/queues/q`;
  const [queue] = await client.createQueue({parent: location, queue: {name, rateLimits: {maxDispatchesPerSecond: 50}}}, call);
  assert.equal(queue.state, 'RUNNING');
  await assert.rejects(client.createQueue({parent: location, queue: {name}}, call), {code: grpc.status.ALREADY_EXISTS});
  const task = {name: `${name}/tasks/t`, httpRequest: {url: `${target.url}/hook`, httpMethod: 'PUT', body: Buffer.from('hello').toString('base64'), headers: {'x-shop': '7'}}};
  const [created] = await client.createTask({parent: name, task, responseView: 'FULL'}, call);
  assert.equal(created.httpRequest.body.toString(), 'hello');
  const got = await target.next();
  assert.deepEqual([got.method, got.url, got.body, got.headers['x-shop'], got.headers['x-cloudtasks-taskname'], got.headers['x-cloudtasks-queuename']],
    ['PUT', '/hook', 'hello', '7', 't', 'q']);
  await assert.rejects(client.createTask({parent: name, task}, call), {code: grpc.status.ALREADY_EXISTS});
  for (let i = 0; i < 3; i++) {
    await client.createTask({parent: name, task: {scheduleTime: {seconds: Math.floor(Date.now() / 1000) + 3600}, httpRequest: {url: target.url}}}, call);
  }
  const [tasks] = await client.listTasks({parent: name, pageSize: 2}, call);
  assert.equal(tasks.length, 3);
  const [paused] = await client.pauseQueue({name}, call);
  assert.equal(paused.state, 'PAUSED');
  await client.purgeQueue({name}, call);
  assert.equal((await client.listTasks({parent: name}, call))[0].length, 0);
  await client.deleteQueue({name}, call);
  await assert.rejects(client.getQueue({name}, call), {code: grpc.status.NOT_FOUND});
});

test('scheduler', async (t) => {
  const client = new CloudSchedulerClient(options);
  t.after(() => client.close());
  const target = await receive(t);
  const name = `${location}/jobs/j`;
  const job = {name, schedule: '0 3 1 1 *', timeZone: 'Europe/Berlin', httpTarget: {uri: `${target.url}/run`, httpMethod: 'POST', body: Buffer.from('hello')}};
  const [created] = await client.createJob({parent: location, job}, call);
  assert.equal(created.state, 'ENABLED');
  await client.runJob({name}, call);
  const got = await target.next();
  assert.deepEqual([got.url, got.body, got.headers['x-cloudscheduler'], got.headers['x-cloudscheduler-jobname']], ['/run', 'hello', 'true', 'j']);
  const [updated] = await client.updateJob({job: {name, description: 'new'}, updateMask: {paths: ['description']}}, call);
  assert.deepEqual([updated.description, updated.schedule], ['new', '0 3 1 1 *']);
  assert.equal((await client.listJobs({parent: location}, call))[0].length, 1);
  assert.equal((await client.pauseJob({name}, call))[0].state, 'PAUSED');
  assert.equal((await client.resumeJob({name}, call))[0].state, 'ENABLED');
  await client.deleteJob({name}, call);
  await assert.rejects(client.getJob({name}, call), {code: grpc.status.NOT_FOUND});
});
