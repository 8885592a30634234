// Sends one request over a dispatcher without a Node stream for the answer: chunks go from the parser directly to the caller. A stream
// costs more than the rest of a small exchange, and delays every event of a watch by three turns.
import type { Dispatcher } from 'undici';
import type { Deadline } from './deadline.ts';

/** An answer whose headers have arrived. */
export interface Incoming {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
  /** Reads the whole body. Call it once, and not together with `take`. */
  whole(): Promise<Buffer>;
  /** Passes every further chunk, then calls `end` exactly once, with an error if the body broke. */
  take(taker: ChunkTaker): void;
  /** Stops the chunks until `resume`. */
  pause(): void;
  resume(): void;
  /** Closes the connection unless the body has ended. */
  close(): void;
}

export interface ChunkTaker {
  chunk(bytes: Buffer): void;
  end(error?: unknown): void;
}

/** Sends a request. Resolves when the headers of the answer have arrived. Rejects if none arrive or the deadline ends first. */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  deadline: Deadline,
): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(deadline, resolve, reject);
    try {
      dispatcher.dispatch(options, handler);
    } catch (error) {
      handler.fail(error);
    }
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler, Incoming {
  status = 0;
  headers: Record<string, string> = {};
  private controller: Dispatcher.DispatchController | undefined;
  private readonly answered: (incoming: Incoming) => void;
  private readonly refused: (error: unknown) => void;
  private readonly forget: () => void;
  private chunks: Buffer[] = [];
  private taker: ChunkTaker | undefined;
  /** Set when no more chunks follow. */
  private over: { readonly error?: unknown } | undefined;

  constructor(deadline: Deadline, answered: (incoming: Incoming) => void, refused: (error: unknown) => void) {
    this.answered = answered;
    this.refused = refused;
    this.forget = deadline.onEnd(() => this.close());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // The caller stopped waiting while the request waited for a connection.
    if (this.over !== undefined) controller.abort(new Error(CLOSED));
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return;
    this.status = status;
    for (const name in headers) {
      const value = headers[name];
      if (value !== undefined) this.headers[name] = Array.isArray(value) ? value.join(', ') : value;
    }
    this.answered(this);
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.over !== undefined) return;
    if (this.taker === undefined) this.chunks.push(chunk);
    else this.taker.chunk(chunk);
  }

  onResponseEnd(): void {
    this.finish({});
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    this.refused(error);
    this.finish({ error });
  }

  whole(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.take({
        chunk: (bytes) => void this.chunks.push(bytes),
        end: (error) => {
          const [only] = this.chunks;
          if (error !== undefined) reject(error instanceof Error ? error : new Error(CLOSED, { cause: error }));
          else resolve(only !== undefined && this.chunks.length === 1 ? only : Buffer.concat(this.chunks));
        },
      });
    });
  }

  take(taker: ChunkTaker): void {
    const before = this.chunks;
    this.chunks = [];
    this.taker = taker;
    for (const chunk of before) taker.chunk(chunk);
    if (this.over !== undefined) taker.end(this.over.error);
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  close(): void {
    if (this.over !== undefined) return;
    const error = new Error(CLOSED);
    this.fail(error);
    this.controller?.abort(error);
  }

  private finish(over: { readonly error?: unknown }): void {
    if (this.over !== undefined) return;
    this.over = over;
    this.forget();
    this.taker?.end(over.error);
  }
}

const CLOSED = 'the exchange was ended by this side';
