/** Resolves after a time, or rejects with the signal's reason as soon as it is aborted. */
export function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/**
 * A signal that is aborted by a parent or by a time limit, which can be started
 * again. Unlike AbortSignal.any it leaves nothing behind on the parent.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #aborted = () => this.#controller.abort(this.#parent?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expired = false;

  constructor(parent: AbortSignal | undefined, milliseconds: number) {
    this.#parent = parent;
    if (parent?.aborted) this.#aborted();
    parent?.addEventListener("abort", this.#aborted, { once: true });
    this.restart(milliseconds);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time ran out. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Starts the time again; 0 is no limit. */
  restart(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (milliseconds <= 0 || this.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#controller.abort(new Error("the time ran out"));
    }, milliseconds);
  }

  /** Releases the timer and the parent. */
  end(): void {
    clearTimeout(this.#timer);
    this.#parent?.removeEventListener("abort", this.#aborted);
  }
}
