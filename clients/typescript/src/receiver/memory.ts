import type { Outcome } from "./reply.js";
import { BusyError, type Handled, type ReceiptStore } from "./store.js";

export interface MemoryStoreOptions {
  /** Ids that are remembered at most, 10,000 by default; the oldest is forgotten first. */
  maxEntries?: number;
  /** Characters of responses that are remembered at most: 16 Mi by default. */
  maxSize?: number;
  /** Milliseconds until an id is forgotten: 24 hours by default. */
  keepFor?: number;
}

/** Milliseconds that a repeat waits for the first try to end. */
const waitForFirst = 10_000;

interface Entry {
  outcome: Outcome;
  at: number;
}

/**
 * Remembers ids in this process: repeats are dropped until it ends or the bounds
 * are reached. For effects that must not happen twice use a database.
 */
export class MemoryStore implements ReceiptStore<undefined> {
  readonly #done = new Map<string, Entry>(); // oldest first
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #maxEntries: number;
  readonly #maxSize: number;
  readonly #keepFor: number;
  #size = 0;

  constructor(options: MemoryStoreOptions = {}) {
    this.#maxEntries = options.maxEntries ?? 10_000;
    this.#maxSize = options.maxSize ?? 16 << 20;
    this.#keepFor = options.keepFor ?? 24 * 60 * 60 * 1000;
  }

  /** How many ids are remembered. */
  get size(): number {
    return this.#done.size;
  }

  async once(id: string, work: (tx: undefined) => Outcome | Promise<Outcome>): Promise<Handled> {
    const end = Date.now() + waitForFirst;
    for (let running = this.#running.get(id); running; running = this.#running.get(id)) await within(running, end - Date.now());
    this.#forgetOld();
    const known = this.#done.get(id);
    if (known) return { outcome: known.outcome, repeated: true };
    if (this.#running.size >= this.#maxEntries) throw new BusyError("too many messages are being handled");

    const outcome = (async () => work(undefined))();
    // Others with this id wait for its end, whatever it is.
    this.#running.set(id, outcome.catch(() => undefined).finally(() => this.#running.delete(id)));
    const result = await outcome;
    if (result.remember) this.#remember(id, result);
    return { outcome: result, repeated: false };
  }

  #remember(id: string, outcome: Outcome): void {
    this.#done.set(id, { outcome, at: Date.now() });
    this.#size += outcome.body.length;
    for (const [oldest, entry] of this.#done) {
      if (this.#done.size <= this.#maxEntries && this.#size <= this.#maxSize) break;
      this.#forget(oldest, entry);
    }
  }

  #forgetOld(): void {
    const before = Date.now() - this.#keepFor;
    for (const [id, entry] of this.#done) {
      if (entry.at > before) break;
      this.#forget(id, entry);
    }
  }

  #forget(id: string, entry: Entry): void {
    this.#done.delete(id);
    this.#size -= entry.outcome.body.length;
  }
}

/** Waits for a promise that doesn't reject, and throws if that takes too long. */
async function within(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BusyError("the same message is still being handled")), Math.max(0, milliseconds));
  });
  try {
    await Promise.race([promise, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}
