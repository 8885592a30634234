import type { UnknownObject, WatchEvent, WatchStream } from '@capstan/kube';
import { weightOf } from '../store/weight.ts';

/** The writing end of a watch. */
export interface EventStream {
  readonly stream: WatchStream;
  /** False once the stream has ended. */
  push(event: WatchEvent): boolean;
  /** What is waiting is still delivered. */
  end(): void;
}

export interface EventStreamOptions {
  /** Delivered first, however many they are. */
  initial: readonly WatchEvent[];
  /** How many events may wait for a slow reader; one more and the stream ends, so that he comes back where he was. */
  limit: number;
  /** About how many bytes those events may take. */
  limitBytes: number;
  /** Awaited before each delivery when it answers with a promise. */
  durable: () => Promise<void> | undefined;
  /** Called once, when the stream ends for whatever reason. */
  onEnd: () => void;
}

/** A stream that collects events while its reader is busy and hands them over together. */
export function createEventStream({ initial, limit, limitBytes, durable, onEnd }: EventStreamOptions): EventStream {
  let waiting: WatchEvent[] = [...initial];
  let allowed = waiting.length + limit;
  let weight = 0;
  let ended = false;
  let wake: (() => void) | undefined;

  const end = () => {
    if (ended) return;
    ended = true;
    onEnd();
    wake?.();
  };

  async function* read() {
    try {
      for (;;) {
        if (waiting.length === 0) {
          if (ended) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = undefined;
          continue;
        }
        // Taken before the wait: what arrives meanwhile is not covered by this flush.
        const batch = waiting;
        waiting = [];
        allowed = limit;
        weight = 0;
        const flushed = durable();
        if (flushed) await flushed;
        yield batch;
      }
    } finally {
      end();
    }
  }

  const iterator = read();
  return {
    stream: {
      [Symbol.asyncIterator]: () => ({
        next: () => iterator.next(),
        // A generator that waits for its next event does not hear return() until that event comes: end it first.
        return: () => {
          waiting = [];
          end();
          return iterator.return(undefined);
        },
      }),
    },
    push(event) {
      if (ended) return false;
      waiting.push(event);
      weight += weightOf(event.object as UnknownObject);
      if (waiting.length > allowed || weight > limitBytes) end();
      else wake?.();
      return !ended;
    },
    end,
  };
}
