import { PunctualError } from "./errors.js";
import type { CallOptions } from "./transport.js";
import { wait } from "./wait.js";

/** How to wait for a record to be final. */
export interface WaitOptions<T> extends CallOptions {
  /** Milliseconds to wait at most; by default there is no limit. */
  within?: number;
  /** Called with the record each time it was read. */
  onProgress?: (record: T) => void;
}

const firstPause = 100;
const longestPause = 5000;

/** Reads a record until it is final, at first often, later every five seconds. */
export async function poll<T>(what: string, options: WaitOptions<T>, read: () => PromiseLike<T>, isDone: (record: T) => boolean): Promise<T> {
  const end = options.within === undefined ? Infinity : Date.now() + options.within;
  for (let pause = firstPause; ; pause = Math.min(pause * 1.5, longestPause)) {
    const record = await read();
    options.onProgress?.(record);
    if (isDone(record)) return record;
    const left = end - Date.now();
    if (left <= 0) throw new PunctualError(what, { code: "timeout", detail: `not final within ${options.within} ms` });
    await wait(Math.min(pause, left), options.signal);
  }
}
