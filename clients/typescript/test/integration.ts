// The integration of docs/guides/clients-typescript.md, compiled here; guide.test.ts compares them.
import expressFramework from "express";
import { Punctual } from "@punctual-dev/client";
import { express } from "@punctual-dev/client/express";
import { Receiver } from "@punctual-dev/client/receiver";

const punctual = new Punctual(); // PUNCTUAL_URL and PUNCTUAL_API_KEY
const receiver = new Receiver({ secrets: process.env.PUNCTUAL_SIGNING_SECRET! });
const app = expressFramework();

app.post("/reminders", express(receiver.job<{ to: string }>(({ body }) => {
  console.log(`reminder for ${body.to}`);
})));

app.post("/finished", express(receiver.callback(({ content: { job, error } }) => { // typed
  console.log(`job ${job.job_id} is ${job.job.state}`, error?.message ?? "");
})));

app.listen(3000, async () => {
  const url = process.env.APP_URL;
  const job = await punctual.jobs.create({
    url: `${url}/reminders`, method: "POST", body: { to: "alex" }, schedule_in: [30, "seconds"], callback_url: `${url}/finished`,
  });
  console.log(`due at ${job.job.scheduled_at}`);
});
