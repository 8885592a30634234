// The faults against the real client and the real informer: whatever happens, once the network is healthy the copy is the
// server's content again. It is the shape of every simulation: act, suffer, heal, compare.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ApiResponse,
  ConfigMap,
  createClient,
  createInformer,
  keyOfObject,
  silentLogger,
  type Transport,
  type WatchEvent,
  type WatchStream,
} from '@capstan/kube';
import { createRandom } from '../random.ts';
import { runs } from '../runs.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { formatFaults } from './fault-log.ts';
import { randomSchedule } from './fault-schedule.ts';
import { faultyTransport } from './faulty-transport.ts';
import { mortalClock } from './mortal-clock.ts';
import { serverStatus } from './server-status.ts';

const SEEDS = runs(40, 300);

test(`an informer ends with the content of the server under ${SEEDS} schedules of faults`, async () => {
  let injected = 0;
  for (let seed = 1; seed <= SEEDS; seed++) injected += await simulate(seed);
  assert.ok(injected > SEEDS, `faults were injected: ${injected}`);
});

async function simulate(seed: number): Promise<number> {
  const clock = createVirtualClock();
  const start = clock.now();
  const random = createRandom(seed);
  const edits = random.fork('edits');
  const server = configMapServer();
  // Only the informer's own clock is killed at the end, so that nothing of it is left.
  const life = mortalClock(clock);
  const transport = faultyTransport(server, {
    random,
    clock: life,
    schedule: randomSchedule(random.fork('schedule')),
  });
  const client = createClient({ transport, clock: life, random: random.fork('retries') });
  const informer = createInformer({
    client,
    kind: ConfigMap,
    clock: life,
    random: random.fork('informer'),
    logger: silentLogger,
  });
  const stop = new AbortController();
  const stopped = informer.run(stop.signal);
  for (let turn = 0; turn < 40; turn++) {
    server.edit(`c${edits.integer(0, 4)}`, edits.chance(0.2) ? undefined : String(turn));
    await clock.advance(edits.pick([0, 10, 1000, 30_000]));
  }
  transport.heal();
  // Longer than the longest silence that an informer lets pass and the longest back-off together.
  await clock.advance(1_200_000);
  const copy = informer.list().map((object) => [keyOfObject(object), object.data?.['value']]);
  assert.deepEqual(
    copy,
    server.content(),
    `seed ${seed}: the copy differs from the server\n${formatFaults(transport.faults, start)}`,
  );
  stop.abort();
  await clock.settle();
  await stopped;
  life.kill();
  assert.equal(clock.pendingTimers, 0);
  assert.equal(server.openWatches(), 0, `seed ${seed}: a watch was left open`);
  return transport.faults.length;
}

interface ConfigMapServer extends Transport {
  /** Sets the value of an object, or deletes it. */
  edit(name: string, value: string | undefined): void;
  content(): [key: string, value: string][];
  openWatches(): number;
}

/** One kind, lists and watches with full history, no streamed lists. */
function configMapServer(): ConfigMapServer {
  const objects = new Map<string, { value: string; resourceVersion: string }>();
  const history: { revision: number; event: WatchEvent }[] = [];
  const wakes = new Set<() => void>();
  let revision = 1;
  const render = (name: string, value: string, resourceVersion: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name, uid: name, resourceVersion },
    data: { value },
  });

  async function* follow(from: number, signal: AbortSignal | undefined): WatchStream {
    let position = history.findIndex((entry) => entry.revision > from);
    if (position < 0) position = history.length;
    let wake = () => {};
    const onChange = () => wake();
    wakes.add(onChange);
    signal?.addEventListener('abort', onChange);
    try {
      for (;;) {
        if (signal?.aborted) return;
        const batch = history.slice(position).map(({ event }) => event);
        position = history.length;
        if (batch.length > 0) yield batch;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      wakes.delete(onChange);
      signal?.removeEventListener('abort', onChange);
    }
  }

  return {
    address: 'memory',
    async request(): Promise<ApiResponse> {
      const items = [...objects].map(([name, { value, resourceVersion }]) => render(name, value, resourceVersion));
      const body = { apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: String(revision) }, items };
      return { status: 200, headers: {}, body };
    },
    async watch(request) {
      if (request.query?.['sendInitialEvents'] !== undefined) {
        return serverStatus(422, 'Invalid', 'sendInitialEvents is forbidden');
      }
      return follow(Number(request.query?.['resourceVersion'] ?? revision), request.signal);
    },
    async close() {},
    edit(name, value) {
      const old = objects.get(name);
      if (value === undefined && old === undefined) return;
      const resourceVersion = String(++revision);
      const type = value === undefined ? 'DELETED' : old === undefined ? 'ADDED' : 'MODIFIED';
      history.push({ revision, event: { type, object: render(name, value ?? old?.value ?? '', resourceVersion) } });
      if (value === undefined) objects.delete(name);
      else objects.set(name, { value, resourceVersion });
      for (const wake of wakes) wake();
    },
    content: () => [...objects.keys()].toSorted().map((name) => [`default/${name}`, objects.get(name)?.value ?? '']),
    openWatches: () => wakes.size,
  };
}
