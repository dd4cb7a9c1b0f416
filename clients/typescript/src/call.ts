import type { CallOptions, CallRequest, Transport } from "./transport.js";

/** A result with what the response said beside it. */
export interface WithResponse<T> {
  data: T;
  status: number;
  /** The record's `ETag`, for `ifMatch`; undefined if the response has none. */
  etag: string | undefined;
  /** Whether the call created the record (201). */
  created: boolean;
  /** The id by which the service's log names the request. */
  requestId: string | undefined;
  headers: Headers;
}

/** A call under way: a promise of its result, or of more with withResponse(). */
export class Call<T> implements PromiseLike<T> {
  readonly #result: Promise<WithResponse<T>>;

  constructor(result: Promise<WithResponse<T>>) {
    this.#result = result;
  }

  /** The result with status, ETag and headers. */
  withResponse(): Promise<WithResponse<T>> {
    return this.#result;
  }

  then<A = T, B = never>(fulfilled?: ((value: T) => A | PromiseLike<A>) | null, rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#result.then((result) => result.data).then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected);
  }

  finally(done?: (() => void) | null): Promise<T> {
    return this.#result.then((result) => result.data).finally(done);
  }
}

/** Starts a call whose result is read from the response's body. */
export function start<T>(transport: Transport, request: CallRequest, options: CallOptions | undefined, read: (body: unknown) => T): Call<T> {
  return new Call(
    transport.send(request, options).then(({ response, body, requestId }) => ({
      data: read(body),
      status: response.status,
      etag: response.headers.get("etag") ?? undefined,
      created: response.status === 201,
      requestId,
      headers: response.headers,
    })),
  );
}

/** Reads what stands under `data`. */
export const data = <T>(body: unknown): T => (body as { data: T }).data;

/** Reads the whole body. */
export const whole = <T>(body: unknown): T => body as T;

/** Reads nothing. */
export const nothing = (): void => undefined;
