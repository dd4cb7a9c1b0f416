import { join, TooLargeError } from "../body.js";
import type { PlainResponse, Route } from "./receiver.js";
import type { HeaderSource } from "./signature.js";

/** What a listener gets depends on the event. */
type Listener = (...values: any[]) => void;

/** A request of Express, or of `node:http`. */
export interface NodeRequest {
  method?: string | undefined;
  url?: string | undefined;
  originalUrl?: string;
  headers: { [name: string]: string | string[] | undefined };
  /** Set by body parsers: bytes from `express.raw`, else something parsed. */
  body?: unknown;
  readableEnded: boolean;
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
  resume(): unknown;
}

/** A response of Express, or of `node:http`. */
export interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body?: string): unknown;
}

/**
 * Makes a route a handler of Express, or of `http.createServer`. Mount it before
 * `express.json()`: the signature covers the bytes that were sent.
 */
export function express(route: Route): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => void {
  return (request, response, next) => {
    const incoming = { method: request.method ?? "GET", url: request.originalUrl ?? request.url ?? "/", headers: request.headers as HeaderSource };
    route
      .receive(incoming, (maxBytes) => readBody(request, maxBytes))
      .then((result) => write(result, response))
      .catch((error: unknown) => {
        if (next) next(error);
        else write({ status: 500, headers: {}, body: "" }, response);
      });
  };
}

function write({ status, headers, body }: PlainResponse, response: NodeResponse): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status === 413) response.setHeader("connection", "close"); // what is left is not read
  response.end(body);
}

function readBody(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new TooLargeError(`the body has more than ${maxBytes} bytes`);
  if (request.body instanceof Uint8Array) {
    return request.body.byteLength > maxBytes ? Promise.reject(tooLarge()) : Promise.resolve(request.body);
  }
  if (request.readableEnded) return Promise.reject(new Error("the body has been read already: mount this route before express.json() and other body parsers"));
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const finish = (end: () => void) => {
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("error", onError);
      request.off("close", onClose);
      end();
    };
    const onData = (chunk: Uint8Array) => {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size > maxBytes) finish(() => (request.resume(), reject(tooLarge())));
    };
    const onEnd = () => finish(() => resolve(join(chunks, size)));
    const onError = (error: unknown) => finish(() => reject(error));
    const onClose = () => finish(() => reject(new Error("the connection was closed before the body was whole")));
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("error", onError);
    request.on("close", onClose);
  });
}
