import { isRecord } from '../../json/is-record.ts';
import type { WatchEvent, WatchStream } from '../transport.ts';
import type { Incoming } from './exchange.ts';
import { createLineSplitter } from './line-splitter.ts';

export interface WatchStreamOptions {
  body: Incoming;
  maxLineBytes: number;
  /** The errors to throw for each problem. */
  failures: {
    tooLong: () => Error;
    malformed: () => Error;
    cut: () => Error;
    broken: (cause: unknown) => Error;
  };
  /** Called once when the watch has ended for any reason. */
  closed(): void;
}

/** Reading pauses while more than this many bytes wait to be iterated. */
const HIGH_WATER = 1024 * 1024;

/** Creates the stream of events of a watch's body, with one batch for each chunk that completes at least one line. */
export function createWatchStream({ body, maxLineBytes, failures, closed }: WatchStreamOptions): WatchStream {
  const lines = createLineSplitter(maxLineBytes);
  const batches: WatchEvent[][] = [];
  let waitingBytes = 0;
  let isPaused = false;
  let over: { readonly error?: Error } | undefined;
  let waiting: { resolve(result: IteratorResult<WatchEvent[]>): void; reject(error: Error): void } | undefined;

  function finish(error?: Error): void {
    if (over !== undefined) return;
    over = error === undefined ? {} : { error };
    body.close();
    closed();
    const waiter = waiting;
    waiting = undefined;
    if (error === undefined) waiter?.resolve(DONE);
    else waiter?.reject(error);
  }

  function hand(batch: WatchEvent[], bytes: number): void {
    const waiter = waiting;
    waiting = undefined;
    if (waiter !== undefined) return waiter.resolve({ done: false, value: batch });
    batches.push(batch);
    waitingBytes += bytes;
    if (waitingBytes > HIGH_WATER && !isPaused) {
      isPaused = true;
      body.pause();
    }
  }

  body.take({
    chunk(bytes) {
      if (over !== undefined) return;
      const batch: WatchEvent[] = [];
      let isMalformed = false;
      for (const line of lines.push(bytes)) {
        const event = parse(line);
        isMalformed = event === undefined;
        if (event === undefined) break;
        batch.push(event);
      }
      // Events that arrived before a bad line are still valid.
      if (batch.length > 0) hand(batch, bytes.length);
      if (isMalformed) finish(failures.malformed());
      else if (lines.isOverflown) finish(failures.tooLong());
    },
    end(error) {
      if (error !== undefined) finish(failures.broken(error));
      else finish(lines.pendingBytes > 0 ? failures.cut() : undefined);
    },
  });

  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const batch = batches.shift();
        if (batch !== undefined) {
          if (batches.length === 0) {
            waitingBytes = 0;
            if (isPaused) body.resume();
            isPaused = false;
          }
          return Promise.resolve({ done: false, value: batch });
        }
        if (over === undefined) {
          return new Promise((resolve, reject) => {
            waiting = { resolve, reject };
          });
        }
        const { error } = over;
        // The error is thrown once. After that, the stream is at its end.
        over = {};
        return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
      },
      return() {
        batches.length = 0;
        finish();
        return Promise.resolve(DONE);
      },
      throw(error: unknown) {
        batches.length = 0;
        finish();
        return Promise.reject(error instanceof Error ? error : failures.broken(error));
      },
    }),
  };
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

function parse(line: string): WatchEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const TYPES: ReadonlySet<unknown> = new Set<WatchEvent['type']>(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

function isEvent(value: unknown): value is WatchEvent {
  return isRecord(value) && TYPES.has(value['type']) && 'object' in value;
}
