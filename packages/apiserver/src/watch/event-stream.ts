import type { UnknownObject, WatchEvent, WatchStream } from '@capstan/kube';
import { weightOf } from '../store/weight.ts';

/** The writing end of a watch. */
export interface EventStream {
  readonly stream: ServedWatch;
  /** False once the stream has ended. */
  push(event: WatchEvent): boolean;
  /** Ends the stream; waiting events are still delivered. */
  end(): void;
  /** Breaks the stream; waiting events are not delivered. */
  abort(error: Error): void;
}

/** A watch whose reader may also be called: for hundreds of readers of one event, promises take longer than the work itself. */
export interface ServedWatch extends WatchStream {
  /** One call of one of the reader's methods follows; only then may he ask again. */
  take(reader: EventReader): void;
}

export interface EventReader {
  events(batch: readonly WatchEvent[]): void;
  ended(): void;
  failed(error: unknown): void;
}

/** Delivers to every stream that has something to deliver, as soon as that is durable. */
export type Schedule = (stream: Delivery) => void;

export interface Delivery {
  /** Sets waiting events aside: later ones may not be durable yet. */
  cut(): void;
  deliver(): void;
  fail(error: unknown): void;
}

/** One wait for all streams, so that the first of many readers gets its events before work is done for the others. */
export function createSchedule(durable: () => Promise<void> | undefined): Schedule {
  let due: Delivery[] = [];
  const start = () => {
    const now = due;
    due = [];
    for (const stream of now) stream.cut();
    const deliver = () => {
      for (const stream of now) stream.deliver();
    };
    const flushed = durable();
    if (!flushed) deliver();
    else
      flushed.then(deliver, (error: unknown) => {
        for (const stream of now) stream.fail(error);
      });
  };
  return (stream) => {
    if (due.push(stream) === 1) queueMicrotask(start);
  };
}

export interface EventStreamOptions {
  /** Delivered first, however many they are. */
  initial: readonly WatchEvent[];
  /** How many events may wait for a slow reader; one more and the stream ends, so that he comes back where he was. */
  limit: number;
  /** About how many bytes those events may take. */
  limitBytes: number;
  schedule: Schedule;
  /** Called once, when the stream ends for whatever reason. */
  onEnd: () => void;
}

/** A stream that collects events while its reader is busy and hands them over together. */
export function createEventStream({ initial, limit, limitBytes, schedule, onEnd }: EventStreamOptions): EventStream {
  let waiting: WatchEvent[] = [...initial];
  let batch: WatchEvent[] = [];
  let allowed = waiting.length + limit;
  let weight = 0;
  let ended = false;
  let isScheduled = false;
  /** Set while he waits. */
  let reader: EventReader | undefined;

  const call = (method: (one: EventReader) => void) => {
    const one = reader;
    reader = undefined;
    if (one) method(one);
  };

  /** Gives the reader its events as soon as they are durable, or the end. */
  const settle = () => {
    if (!reader || isScheduled) return;
    if (waiting.length > 0) {
      isScheduled = true;
      schedule(delivery);
    } else if (ended) call((one) => one.ended());
  };

  const end = () => {
    if (ended) return;
    ended = true;
    onEnd();
    settle();
  };

  const delivery: Delivery = {
    cut() {
      batch = waiting;
      waiting = [];
      allowed = limit;
      weight = 0;
    },
    deliver() {
      isScheduled = false;
      const delivered = batch;
      batch = [];
      // Nothing is left where the reader has gone meanwhile.
      if (delivered.length > 0) call((one) => one.events(delivered));
      else settle();
    },
    fail(error) {
      isScheduled = false;
      waiting = [];
      batch = [];
      call((one) => one.failed(error));
      end();
    },
  };

  const take = (next: EventReader) => {
    reader = next;
    settle();
  };

  return {
    stream: {
      take,
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((resolve, reject) => {
            take({
              events: (value) => resolve({ done: false, value }),
              ended: () => resolve({ done: true, value: undefined }),
              failed: reject,
            });
          }),
        async return() {
          waiting = [];
          batch = [];
          end();
          return { done: true, value: undefined };
        },
      }),
    },
    push(event) {
      if (ended) return false;
      waiting.push(event);
      weight += weightOf(event.object as UnknownObject);
      if (waiting.length > allowed || weight > limitBytes) end();
      else settle();
      return !ended;
    },
    end,
    abort: (error) => delivery.fail(error),
  };
}
