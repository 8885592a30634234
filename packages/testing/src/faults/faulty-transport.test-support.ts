import assert from 'node:assert/strict';
import type { ApiRequest, Transport, WatchEvent } from '@capstan/kube';
import { isTransportError } from '@capstan/kube';
import { createRandom } from '../random.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { type FakeServer, fakeServer } from './fake-server.ts';
import { type FaultSchedule } from './fault-schedule.ts';
import { type FaultyTransport, faultyTransport } from './faulty-transport.ts';

interface Setup {
  clock: VirtualClock;
  server: FakeServer;
  transport: FaultyTransport;
}

export function setUp(schedule: FaultSchedule, seed = 1): Setup {
  const clock = createVirtualClock();
  const server = fakeServer();
  return { clock, server, transport: faultyTransport(server, { random: createRandom(seed), clock, schedule }) };
}

export function events(...versions: number[]): WatchEvent[] {
  return versions.map((version) => ({ type: 'MODIFIED', object: { version } }));
}

interface Seen {
  events: WatchEvent[];
  readonly versions: number[];
  ended: boolean;
  error: unknown;
}

export async function consume(transport: Transport, request: ApiRequest, onBatch = () => {}): Promise<Seen> {
  const stream = await transport.watch(request);
  assert.ok(Symbol.asyncIterator in stream);
  const seen: Seen = {
    events: [],
    get versions() {
      return this.events
        .filter(({ type }) => type !== 'ERROR')
        .map(({ object }) => Number(Object.values(object ?? {})[0]));
    },
    ended: false,
    error: undefined,
  };
  void (async () => {
    try {
      for await (const batch of stream) {
        assert.ok(batch.length > 0);
        seen.events.push(...batch);
        onBatch();
      }
      seen.ended = true;
    } catch (error) {
      seen.error = error;
    }
  })();
  return seen;
}

export function watchOutcome(promise: Promise<unknown>): { settled: boolean; error: unknown } {
  const outcome = { settled: false, error: undefined as unknown };
  promise.then(
    () => (outcome.settled = true),
    (error: unknown) => Object.assign(outcome, { settled: true, error }),
  );
  return outcome;
}

export function kindOf(error: unknown): string {
  return isTransportError(error) ? error.kind : `not a TransportError: ${String(error)}`;
}
