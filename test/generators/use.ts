// What users of the generated types write. It only has to compile.
import type { JobRequest, JobRecord, Problem } from "./hey/types.gen.js";
import { createJob, listJobs } from "./hey/sdk.gen.js";
import type { components, paths } from "./schema.js";

const request: JobRequest = {
  url: "https://example.com/hook",
  method: "post",
  schedule_in: [30, "seconds"],
  headers: { "x-trace": 1 },
  query: { tag: ["a", "b"] },
  body: { content: "hi" },
  tags: ["billing"],
};
const same: components["schemas"]["JobRequest"] = { url: request.url, schedule_in: [30, "seconds"], repeat_every: 60 };
type Order = NonNullable<NonNullable<paths["/api/jobs"]["get"]["parameters"]["query"]>["order_by"]>;
const order: Order = ["scheduled_at", "desc"];

export async function use(): Promise<[JobRecord | undefined, Problem | undefined, typeof same, Order]> {
  await createJob({ body: request });
  const { data, error } = await listJobs({ query: { order_by: ["scheduled_at", "desc"], state: "scheduled" } });
  return [data?.data[0], error, same, order];
}
