// Time limits of many streams with one timer: all have the same limit, so the one that was added first is due first.
import type { Clock, Timer } from '@capstan/kube';

export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onDue: (item: T) => void;
  readonly #since = new Map<T, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock, limitMs: number, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onDue = onDue;
  }

  /** Starts the time of an item; one whose time runs already goes on. */
  start(item: T): void {
    if (!this.#since.has(item)) this.#since.set(item, this.#clock.now());
    this.#schedule();
  }

  stop(item: T): void {
    this.#since.delete(item);
    if (this.#since.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    const [first] = this.#since.values();
    if (first === undefined || this.#timer) return;
    this.#timer = this.#clock.after(Math.max(0, first + this.#limitMs - this.#clock.now()), () => this.#expire());
  }

  #expire(): void {
    this.#timer = undefined;
    const before = this.#clock.now() - this.#limitMs;
    for (const [item, since] of this.#since) {
      if (since > before) break;
      this.#since.delete(item);
      this.#onDue(item);
    }
    this.#schedule();
  }
}
