// What the tests share. The Go test in test/clients/typescript starts the service
// and sets the variables.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Punctual, type ClientOptions } from "@punctual-dev/client";

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run go test ./test/clients/typescript`);
  return value;
}

/** The service under test, and its account. */
export const service = {
  url: variable("PUNCTUAL_TEST_URL"),
  key: variable("PUNCTUAL_TEST_KEY"),
  secret: variable("PUNCTUAL_TEST_SECRET"),
  /** A TLS server that passes /PORT/path on to 127.0.0.1:PORT/path. */
  target: variable("PUNCTUAL_TEST_TARGET"),
  postgres: variable("PUNCTUAL_TEST_POSTGRES"),
  /** The socket of a MariaDB server, if there is one. */
  mariadb: process.env.PUNCTUAL_TEST_MARIADB,
  /** A proxy before the service: /lose,cut,delay,late/api/… spoils the first tries of a call so; /hits/NAME counts. */
  unreliable: variable("PUNCTUAL_TEST_UNRELIABLE"),
  /** Counts what is sent to /NAME/… */
  counted: variable("PUNCTUAL_TEST_COUNTED"),
  /** Kills the service and starts it again. */
  async crash(): Promise<void> {
    const response = await fetch(`${variable("PUNCTUAL_TEST_CONTROL")}/crash`, { method: "POST" });
    assert.equal(response.status, 204, await response.text());
  },
};

export const client = (options: ClientOptions = {}): Punctual => new Punctual({ url: service.url, apiKey: service.key, ...options });

/** The package's directory. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

export const api = JSON.parse(readFileSync(new URL("../../../../api/openapi.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, { operationId?: string }>>;
};

export interface Listening {
  port: number;
  /** Where the service reaches it. */
  target: string;
  close(): Promise<void>;
}

/** Serves on a free port until close is called. */
export async function listen(listener: RequestListener): Promise<Listening> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    target: `${service.target}/${port}`,
    close: () => new Promise((resolve) => (server.close(() => resolve()), server.closeAllConnections())),
  };
}

/** Waits until a condition holds; only a broken program reaches the limit. */
export async function eventually<T>(what: string, condition: () => T | undefined | false | Promise<T | undefined | false>, within = 60_000): Promise<T> {
  const end = Date.now() + within;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what} did not happen within ${within / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
