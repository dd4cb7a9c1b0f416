// Makes the calls that the reference shows in TypeScript, one after the other. Each
// function has the id of its call in the API document; its body is what the
// reference shows.
import { writeFile } from "node:fs/promises";
import { Punctual, type JobRecord } from "@punctual-dev/client";

const punctual = new Punctual();

async function createJob() {
  const job = await punctual.jobs.create({
    url: "https://example.com/invoices",
    method: "POST",
    body: { invoice: 1042 },
    schedule_in: [30, "minutes"],
    idempotency_key: "invoice-1042",
  });
  return job;
}

async function createJobs() {
  const jobs = await punctual.jobs.createMany([
    { url: "https://example.com/reminders", schedule_in: [1, "hour"], idempotency_key: "reminder-17" },
    { url: "https://example.com/reminders", schedule_in: [1, "hour"], tags: ["billing"] },
  ]);
  console.log(jobs.length);
}

async function listJobs() {
  for await (const job of punctual.jobs.list({ state: "available", tag: "billing" })) {
    console.log(job.job_id, job.job.scheduled_at);
  }
}

async function getJob() {
  const job = await punctual.jobs.get({ key: "invoice-1042" });
  console.log(job.job.state);
}

async function editJob() {
  await punctual.jobs.edit({ key: "invoice-1042" }, { retries: 5 });
}

async function runJob() {
  await punctual.jobs.run({ key: "invoice-1042" });
}

async function rerunJob(job: JobRecord) {
  await punctual.jobs.rerun(job.job_id, { schedule_in: [1, "minute"] });
}

async function cancelJob() {
  await punctual.jobs.cancel({ key: "reminder-17" });
}

async function putSchedule() {
  const schedule = await punctual.schedules.put({ key: "nightly-report" }, {
    url: "https://example.com/report",
    method: "POST",
    cron: "0 2 * * *",
    timezone: "Europe/Berlin",
  });
  console.log(schedule.id);
}

async function listSchedules() {
  for await (const schedule of punctual.schedules.list()) {
    console.log(schedule.id, schedule.disabled_at === null);
  }
}

async function getSchedule() {
  const schedule = await punctual.schedules.get({ key: "nightly-report" });
  console.log(schedule.args);
}

async function editSchedule() {
  await punctual.schedules.edit({ key: "nightly-report" }, { cron: "0 4 * * *" });
}

async function runSchedule() {
  const job = await punctual.schedules.run({ key: "nightly-report" });
  console.log(job.job_id);
}

async function disableSchedule() {
  await punctual.schedules.disable({ key: "nightly-report" });
}

async function enableSchedule() {
  await punctual.schedules.enable({ key: "nightly-report" });
}

async function apply() {
  const results = await punctual.schedules.apply({
    owner: "my-repository",
    schedules: [{ key: "cleanup", url: "https://example.com/cleanup", repeat_every: [1, "day"] }],
    prune: true,
  });
  console.log(results[0]?.key, results[0]?.result);
}

async function exportSchedules() {
  const document = await punctual.schedules.export({ owner: "my-repository" });
  await writeFile("schedules.json", JSON.stringify(document));
}

async function deleteSchedule() {
  await punctual.schedules.delete({ key: "nightly-report" });
}

async function startOperation() {
  const operation = await punctual.operations.start({ action: "cancel", filter: { tags: ["billing"] } });
  await punctual.operations.wait(operation.id);
}

async function listLogs() {
  for await (const entry of punctual.logs.list({ event: "worker.http.error" })) {
    console.log(entry.event, entry.payload);
  }
}

async function exportLogs() {
  let count = 0;
  for await (const entry of punctual.logs.export({ since: new Date(Date.now() - 3_600_000) })) {
    if (entry.event === "worker.http.response") count++;
  }
  console.log(count);
}

async function putLimit() {
  await punctual.limits.put("stripe", { rate: { calls: 100, per: 1 }, parallel: 5 });
}

async function listLimits() {
  for await (const limit of punctual.limits.list()) {
    console.log(limit.key);
  }
}

async function deleteLimit() {
  await punctual.limits.delete("stripe");
}

async function putAlert() {
  await punctual.alerts.put("billing", {
    on: ["failed", "recovered"],
    after: 3,
    match: { tags: ["billing"] },
    to: [{ webhook: "https://example.com/alerts" }],
  });
}

async function testAlert() {
  await punctual.alerts.test("billing");
}

async function deleteAlert() {
  await punctual.alerts.delete("billing");
}

async function putHeaderSecret() {
  await punctual.secrets.put("github", { value: process.env.GITHUB_TOKEN!, hosts: ["api.github.com"] });
}

async function deleteHeaderSecret() {
  await punctual.secrets.delete("github");
}

async function createKey() {
  const key = await punctual.account.createKey({ name: "deploy", scope: "jobs" });
  console.log(key.id);
}

async function getStats() {
  const stats = await punctual.account.stats(60);
  console.log(stats.data.length);
}

const created = await createJob();
for (const call of [createJobs, listJobs, getJob, editJob, runJob]) await call();
await punctual.jobs.wait(created.job_id);
await rerunJob(created);
for (const call of [
  cancelJob,
  putSchedule, listSchedules, getSchedule, editSchedule, runSchedule, disableSchedule, enableSchedule, apply, exportSchedules, deleteSchedule,
  startOperation, listLogs, exportLogs, putLimit, listLimits, deleteLimit, putAlert, testAlert, deleteAlert,
  putHeaderSecret, deleteHeaderSecret, createKey, getStats,
]) await call();
