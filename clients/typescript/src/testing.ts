/**
 * Starts the service for a test and moves its time. The command punctual must be
 * installed, or PUNCTUAL_BINARY name its file.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { Punctual } from "./client.js";

const stopWithin = 10_000; // milliseconds
const advanceWithin = 600_000;

/** A service that runs until stop. */
export interface TestService {
  /** Its address, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** An API key with all scopes. */
  readonly key: string;
  /** What programs need to reach the service and its compatible APIs, by the name of the variable. */
  readonly env: Readonly<Record<string, string>>;
  /** Calls the service. */
  readonly client: Punctual;
  /**
   * Moves the service's time ahead by milliseconds and returns what it is then. Everything
   * that is due until then has been sent, and responses have been dealt with: retries, runs
   * of schedules, callbacks.
   */
  advance(milliseconds: number): Promise<Date>;
  /** Stops the service, by force if it takes long. */
  stop(): Promise<void>;
}

/**
 * Starts a service with an empty database on free ports: `punctual dev`, for this machine
 * only, and with targets on this machine. Only its time moves: requests are signed with the
 * machine's.
 */
export async function start(): Promise<TestService> {
  const binary = process.env["PUNCTUAL_BINARY"] || "punctual";
  const child = spawn(binary, ["dev", "--listen", "127.0.0.1:0", "--google-listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (text: Buffer) => { said = (said + text).slice(-4096); });
  const failed = new Promise<never>((_, reject) => child.once("error", (cause) => {
    reject(new Error(`${binary} can't be started; install the command punctual, or set PUNCTUAL_BINARY to its file`, { cause }));
  }));
  const env = await Promise.race([failed, exported(child)]);
  const url = env["PUNCTUAL_URL"], key = env["PUNCTUAL_API_KEY"];
  if (url === undefined || key === undefined) {
    child.kill("SIGKILL");
    throw new Error(`${binary} dev does not serve: ${said}`);
  }
  return {
    url, key, env, client: new Punctual({ url, apiKey: key }),
    advance: (milliseconds) => advance(url, key, milliseconds),
    stop: () => stop(child),
  };
}

/** Reads the lines to export until the service serves; none if it does not. */
async function exported(child: ChildProcess): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for await (const line of createInterface({ input: child.stdout! })) {
    const found = /^export ([A-Z_]+)='(.*)'$/.exec(line);
    if (found) {
      env[found[1]!] = found[2]!;
    }
    if (line.startsWith("listening on ")) {
      child.stdout!.resume(); // so that the service never waits for a reader
      return env;
    }
  }
  return {};
}

async function advance(url: string, key: string, milliseconds: number): Promise<Date> {
  const end = Date.now() + advanceWithin;
  for (let by = milliseconds; ;) {
    const response = await fetch(`${url}/api/dev/advance`, {
      method: "POST", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, body: JSON.stringify({ by: by / 1000 }),
    });
    if (!response.ok) {
      throw new Error(`the service responded ${response.status}: ${await response.text()}`);
    }
    const { data } = await response.json() as { data: { now: string; until: string; complete: boolean } };
    if (data.complete) {
      return new Date(data.now);
    }
    if (Date.now() > end) {
      throw new Error(`the service has not moved its time to ${data.until} within ${advanceWithin / 1000} seconds`);
    }
    by = Math.max(1, Date.parse(data.until) - Date.parse(data.now)); // the service ends a call that takes long
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), stopWithin);
  await ended;
  clearTimeout(force);
}
