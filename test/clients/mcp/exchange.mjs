// An agent with the official TypeScript SDK creates, explains and cancels a job: over
// HTTP, and through the command on standard input.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { PUNCTUAL_URL: url, PUNCTUAL_API_KEY: key, PUNCTUAL_BINARY: binary } = process.env;

const transports = {
  http: () => new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }),
  stdio: () => new StdioClientTransport({ command: binary, args: ["mcp"], env: { PUNCTUAL_URL: url, PUNCTUAL_API_KEY: key, HOME: process.env.HOME ?? "" } }),
};

for (const [name, transport] of Object.entries(transports)) {
  const client = new Client({ name: "exchange", version: "1.0.0" });
  await client.connect(transport());
  const call = async (tool, args) => {
    const result = await client.callTool({ name: tool, arguments: args });
    assert.equal(result.isError ?? false, false, `${name}: ${tool}: ${JSON.stringify(result)}`);
    return result.structuredContent;
  };
  const { tools } = await client.listTools();
  assert.ok(tools.find((t) => t.name === "get_job").annotations.readOnlyHint);
  assert.ok(tools.find((t) => t.name === "cancel_job").annotations.destructiveHint);

  const created = await call("create_job", { url: "https://example.com/wake", schedule_in: [1, "hour"], name: "Wake me", body: { thread: 42 } });
  const job_id = created.data.job_id;
  assert.match(created.next, new RegExp(`^Job ${job_id} is available`));
  assert.match((await call("why", { job_id })).because, /due at/);
  assert.equal((await call("cancel_job", { job_id })).data.job.state, "cancelled");

  const wrong = await client.callTool({ name: "create_job", arguments: { urll: "https://example.com" } });
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /did you mean url/);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 3);
  const { contents } = await client.readResource({ uri: `punctual://jobs/${job_id}` });
  assert.equal(JSON.parse(contents[0].text).data.job.job_id, job_id);
  const { messages } = await client.getPrompt({ name: "failed_last_night" });
  assert.match(messages[0].content.text, /list_jobs/);
  await client.close();
}
