import { data } from "./call.js";
import { PunctualError } from "./errors.js";
import type { CallOptions, CallRequest, Transport } from "./transport.js";

/**
 * The records of a list. Iterating over it reads page after page, as they are
 * needed:
 *
 *     for await (const job of punctual.jobs.list({ tag: "billing" })) …
 */
export class List<T> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #request: CallRequest;
  readonly #options: CallOptions | undefined;

  constructor(transport: Transport, path: string, query: CallRequest["query"], options?: CallOptions) {
    this.#transport = transport;
    this.#request = { method: "GET", path, query: { limit: 100, ...query }, repeatable: true };
    this.#options = options;
  }

  /** The records of the first page. */
  async page(): Promise<T[]> {
    return (await this.#read(this.#request)).records;
  }

  /** Page after page. Pages of searches and of several filters may be empty. */
  async *pages(): AsyncGenerator<T[], void, undefined> {
    for (let request: CallRequest | undefined = this.#request; request; ) {
      const { records, next }: { records: T[]; next: CallRequest | undefined } = await this.#read(request);
      yield records;
      request = next;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const records of this.pages()) yield* records;
  }

  /** The records in an array, at most so many. */
  async toArray(atMost: number): Promise<T[]> {
    const all: T[] = [];
    if (atMost <= 0) return all;
    for await (const record of this) {
      all.push(record);
      if (all.length >= atMost) break;
    }
    return all;
  }

  async #read(request: CallRequest): Promise<{ records: T[]; next: CallRequest | undefined }> {
    const { response, body } = await this.#transport.send(request, this.#options);
    const link = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(response.headers.get("link") ?? "")?.[1];
    return { records: data<T[]>(body), next: link === undefined ? undefined : this.#follow(request, link) };
  }

  /** The request for a link. Only its query is used: the key goes nowhere else. */
  #follow(request: CallRequest, link: string): CallRequest {
    const query: Record<string, string[]> = {};
    for (const [name, value] of new URL(link, this.#transport.base).searchParams) (query[name] ??= []).push(value);
    if (JSON.stringify(query) === JSON.stringify(request.query)) {
      throw new PunctualError(`GET ${request.path}`, { code: "protocol", detail: "the list's next page is the same page again" });
    }
    return { ...request, query };
  }
}
