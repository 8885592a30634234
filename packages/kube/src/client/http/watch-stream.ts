import type { Readable } from 'node:stream';
import { isRecord } from '../../json/is-record.ts';
import type { WatchEvent, WatchStream } from '../transport.ts';
import { createLineSplitter } from './line-splitter.ts';

export interface WatchStreamOptions {
  body: Readable;
  maxLineBytes: number;
  /** The errors to throw, by what happened. */
  failures: {
    tooLong: () => Error;
    malformed: () => Error;
    cut: () => Error;
    broken: (cause: unknown) => Error;
  };
}

/** The events of a watch's body: one batch for each chunk that completes at least one line. */
export function createWatchStream(options: WatchStreamOptions): WatchStream {
  const { body, failures } = options;
  // Errors are met in the loop below; before it is entered and after its end nobody listens, and Node would end the process.
  body.on('error', () => {});
  const batches = read(options);
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => batches.next(),
      async return() {
        // Also when the loop was never entered, in which case the generator's own clean-up does not run.
        body.destroy();
        await batches.return(undefined).catch(() => {});
        return { done: true, value: undefined };
      },
      async throw(error: unknown) {
        body.destroy();
        throw error instanceof Error ? error : failures.broken(error);
      },
    }),
  };
}

async function* read({
  body,
  maxLineBytes,
  failures,
}: WatchStreamOptions): AsyncGenerator<readonly WatchEvent[], undefined> {
  const lines = createLineSplitter(maxLineBytes);
  try {
    for await (const chunk of chunksOf(body, failures.broken)) {
      const batch: WatchEvent[] = [];
      for (const line of lines.push(chunk)) {
        const event = parse(line);
        if (event === undefined) {
          // What arrived in order before the bad line is still good.
          if (batch.length > 0) yield batch;
          throw failures.malformed();
        }
        batch.push(event);
      }
      if (batch.length > 0) yield batch;
      if (lines.isOverflown) throw failures.tooLong();
    }
    if (lines.pendingBytes > 0) throw failures.cut();
    return undefined;
  } finally {
    body.destroy();
  }
}

async function* chunksOf(body: Readable, broken: (cause: unknown) => Error): AsyncGenerator<Buffer, undefined> {
  try {
    for await (const chunk of body) {
      if (Buffer.isBuffer(chunk)) yield chunk;
    }
  } catch (cause) {
    throw broken(cause);
  }
  return undefined;
}

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
