// Time by what a client does. While something is held back from a client it is pinged, one ping at a time, and the answered pings are
// counted. A client that gets no processor answers none: what is sent to it too early it would use too early when it goes on, so
// its time does not count.
import type { Clock, Timer } from '@capstan/kube';

/** Changes wait for one another for so many answered pings without anything else from the client: two seconds of one that runs. */
const HOLD_PINGS = 4;
const PING_EVERY_MS = 500;
/** A client that answers other things all the time gets what is held after so many pings. */
const LONGEST_HOLD_PINGS = 30;

export interface ClientTimeOptions {
  readonly clock: Clock;
  isNeeded(): boolean;
  /** False: there is no client to ping, and nothing to wait for. */
  ping(onEnd: (isAnswered: boolean) => void): boolean;
  /** The time has gone on. */
  onTick(): void;
}

export class ClientTime {
  readonly #options: ClientTimeOptions;
  #answered = 0;
  /** When the client last answered a response or asked for something. */
  #heardAt = 0;
  #isPinging = false;
  #timer: Timer | undefined;

  constructor(options: ClientTimeOptions) {
    this.#options = options;
  }

  get now(): number {
    return this.#answered;
  }

  heard(): void {
    this.#heardAt = this.#answered;
  }

  /** Waited for long enough: the client runs, and has not answered. */
  isOverdue(since: number): boolean {
    return this.#answered >= Math.min(Math.max(since, this.#heardAt) + HOLD_PINGS, since + LONGEST_HOLD_PINGS);
  }

  /** Goes on while it is needed. */
  start(): void {
    const { clock, isNeeded } = this.#options;
    if (isNeeded() && !this.#isPinging) this.#timer ??= clock.after(PING_EVERY_MS, () => this.#ping());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #ping(): void {
    const { isNeeded, ping } = this.#options;
    this.#timer = undefined;
    if (!isNeeded()) return;
    this.#isPinging = true;
    const isSent = ping((isAnswered) => {
      this.#isPinging = false;
      this.#advance(isAnswered ? 1 : 0);
    });
    if (isSent) return;
    this.#isPinging = false;
    this.#advance(LONGEST_HOLD_PINGS);
  }

  #advance(by: number): void {
    this.#answered += by;
    this.#options.onTick();
    this.start();
  }
}
