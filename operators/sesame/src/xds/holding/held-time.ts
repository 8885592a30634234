// Time while a change is held back from a client. A held change goes out when its dependency is acknowledged, refused or gone. Two limits
// keep a client from waiting for ever for a response that it never answers.
import type { Clock, Timer } from '@capstan/kube';

/** A client that answers nothing at all for so long gets the held changes. */
const SILENCE_MS = 60_000;
/**
 * Envoy itself waits 15 s for the first endpoints of a cluster, and then uses the cluster without them. It may begin to wait some time
 * after it has acknowledged the cluster.
 */
const ENDPOINTS_MS = 30_000;
const TICK_MS = 5_000;

export interface HeldTimeOptions {
  readonly clock: Clock;
  isNeeded(): boolean;
  /** Time has gone on: limits may be reached. */
  onTick(): void;
  /** The work under way has ended, after `soon`. */
  onSoon(): void;
}

export class HeldTime {
  readonly #options: HeldTimeOptions;
  /** When the client last answered a response or asked for something. */
  #heardAt: number;
  #timer: Timer | undefined;
  #soon: Timer | undefined;

  constructor(options: HeldTimeOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
  }

  get now(): number {
    return this.#options.clock.now();
  }

  heard(): void {
    this.#heardAt = this.now;
  }

  /** The client has answered nothing since this was held, for long enough. */
  isSilent(since: number): boolean {
    return this.now >= Math.max(since, this.#heardAt) + SILENCE_MS;
  }

  /** Envoy has stopped waiting for endpoints of a cluster that it has had since then. */
  hasGivenUp(since: number): boolean {
    return this.now >= since + ENDPOINTS_MS;
  }

  /** Goes on while it is needed. */
  start(): void {
    const { clock, isNeeded, onTick } = this.#options;
    if (!isNeeded()) return;
    this.#timer ??= clock.after(TICK_MS, () => {
      this.#timer = undefined;
      onTick();
      this.start();
    });
  }

  soon(): void {
    const { clock, onSoon } = this.#options;
    this.#soon ??= clock.after(0, () => {
      this.#soon = undefined;
      onSoon();
    });
  }

  stop(): void {
    this.#soon?.cancel();
    this.#soon = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
