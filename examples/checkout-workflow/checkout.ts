// A checkout as a workflow: charge, wait for the payment, confirm, and ask for a review
// three days later. It survives restarts: each step's result is stored by the service.
import {createServer} from 'node:http';
import {Client, serve, WorkflowNonRetryableError} from '@upstash/workflow';

interface Order {
  id: string;
  cents: number;
  card: string;
}

const {PORT = '3000', APP_URL = `http://127.0.0.1:${PORT}`, REVIEW_AFTER = '3d'} = process.env;
const PROVIDER_URL = process.env.PROVIDER_URL!; // of a payment provider, which calls back
const MAIL_URL = process.env.MAIL_URL!; // takes {to, text}

/** post sends JSON with a key, by which a receiver drops repeats. */
async function post(url: string, key: string, body: unknown) {
  const response = await fetch(url, {
    method: 'POST', headers: {'content-type': 'application/json', 'idempotency-key': key}, body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
}

const checkout = serve<Order>(
  async (context) => {
    const order = context.requestPayload;
    const key = (step: string) => `${context.workflowRunId} ${step}`;
    const paid = await context.createWebhook('payment webhook');
    await context.run('charge', () => post(PROVIDER_URL, key('charge'), {cents: order.cents, card: order.card, callback: paid.webhookUrl}));
    const {request, timeout} = await context.waitForWebhook('payment', paid, '1h');
    if (timeout) throw new WorkflowNonRetryableError('the provider has not called back');
    const {state} = (await request!.json()) as {state: string};
    if (state !== 'paid') throw new WorkflowNonRetryableError(`the payment is ${state}`);
    const mail = (step: string, text: string) => context.run(step, () => post(MAIL_URL, key(step), {order: order.id, text}));
    await mail('confirm', 'Thank you for your order.');
    await context.waitForEvent('shipped', `shipped-${order.id}`, {timeout: '30d'});
    await context.sleep('three days', REVIEW_AFTER as '3d');
    await mail('review', 'How do you like it?');
  },
  {
    url: `${APP_URL}/checkout`,
    failureFunction: async ({context, failResponse}) => {
      const order = context.requestPayload as Order;
      await post(MAIL_URL, `${context.workflowRunId} failed`, {order: order.id, text: `Your order was not placed: ${failResponse}`});
    },
  },
).handler;

const client = new Client({});

/** handle starts a checkout, notes that an order was shipped, and runs the workflow. */
async function handle(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname;
  if (path === '/checkout') return checkout(request);
  const order = (await request.json()) as Order;
  switch (path) {
    case '/orders': // an order that is sent twice is checked out once
      return Response.json(await client.trigger({
        url: `${APP_URL}/checkout`, body: order, workflowRunId: order.id, label: 'checkout',
        retries: 10, retryDelay: '1000 * pow(2, retried)', // by default the second retry waits two minutes
      }), {status: 202});
    case '/shipped':
      return Response.json(await client.notify({eventId: `shipped-${order.id}`}));
  }
  return new Response('not found', {status: 404});
}

createServer(async (incoming, outgoing) => {
  const parts: Uint8Array[] = [];
  for await (const part of incoming) parts.push(part);
  const request = new Request(APP_URL + incoming.url, {method: 'POST', headers: incoming.headers as Record<string, string>, body: Buffer.concat(parts)});
  const response = await handle(request).catch((error: unknown) => new Response(String(error), {status: 500}));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
}).listen(Number(PORT), '127.0.0.1');
