// One open watch that misbehaves. Batches come out in the order in which they came in, whatever happens: faults repeat,
// withhold, hold up or end, and never swap. Streams are independent, so a held-up one is overtaken by the others.
import type { Clock, WatchEvent, WatchStream } from '@capstan/kube';
import { connectionReset } from '../errors.ts';
import type { SeededRandom } from '../random.ts';
import { BATCH_FAULTS, type BatchFault, drawFault, type Rates } from './fault-schedule.ts';
import type { Mortality } from './mortality.ts';
import { pause } from './pause.ts';
import { expired } from './server-status.ts';

export interface FaultyStreamOptions {
  random: SeededRandom;
  clock: Clock;
  /** Asked at every batch; undefined is healthy. */
  rates: () => Rates<BatchFault> | undefined;
  delay: () => number;
  mortality: Mortality;
  traffic: Traffic;
  signal: AbortSignal | undefined;
  address: string;
  /** Method and path. */
  line: string;
  record: (fault: BatchFault, detail?: string) => void;
  /** Ends the connection to the server. */
  close: () => void;
}

export async function* faultyStream(inner: WatchStream, options: FaultyStreamOptions): WatchStream {
  const { random, clock, rates, delay, mortality, traffic, signal, address, line, record, close } = options;
  const batches = inner[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await mortality.alive(batches.next(), signal);
      if (next.done === true) return;
      const batch = next.value;
      const fault = drawFault(random, rates(), BATCH_FAULTS);
      let ending: readonly WatchEvent[] = [];
      switch (fault) {
        case undefined:
          break;
        case 'cut':
        case 'ended':
        case 'expired': {
          ending = batch.slice(0, random.integer(0, batch.length));
          record(fault, `after ${ending.length} of ${batch.length} events`);
          if (fault === 'expired') ending = [...ending, { type: 'ERROR', object: expired().body }];
          break;
        }
        case 'duplicated':
          record(fault, `${batch.length} events`);
          yield batch;
          break;
        case 'delayed': {
          const ms = delay();
          record(fault, `by ${ms} ms`);
          await mortality.alive(pause(clock, ms, signal, address), signal);
          break;
        }
        case 'overtaken': {
          const ms = delay();
          record(fault, `at most by ${ms} ms`);
          await mortality.alive(pause(clock, ms, signal, address, traffic.onDelivery), signal);
          break;
        }
        case 'silent':
          record(fault);
          close();
          await mortality.hang(signal);
      }
      if (fault === 'cut' || fault === 'ended' || fault === 'expired') {
        if (ending.length > 0) yield ending;
        if (fault === 'cut') throw connectionReset(address, line);
        return;
      }
      yield batch;
      traffic.delivered();
    }
  } finally {
    close();
    batches.return?.().catch(() => {});
  }
}

/** The shared knowledge of the streams of one transport: whether something was delivered. */
export interface Traffic {
  delivered(): void;
  /** Calls back at every delivery; returns how to stop that. */
  onDelivery(call: () => void): () => void;
}

export function createTraffic(): Traffic {
  const listeners = new Set<() => void>();
  return {
    delivered() {
      for (const call of listeners) call();
    },
    onDelivery(call) {
      listeners.add(call);
      return () => listeners.delete(call);
    },
  };
}
