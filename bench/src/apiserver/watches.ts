// Many watchers of one kind while it changes at a steady pace. Writer and watchers are this process, the server is another
// one: a latency is from the request's first byte leaving here to the event's last byte being here.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { waitedForCore } from '../measure/stopwatch.ts';
import { latencyOf } from '../measure/timing.ts';
import { type Connection, openConnection, requestBytes } from './connection.ts';
import { COLLECTION, configMap, createNamespace } from './objects.ts';
import { processorMilliseconds, waitedForCoreBy } from './process-costs.ts';
import { type ServerUnderTest, startServer } from './server.ts';
import { inTempFolder } from './temp-folder.ts';
import { openWatcher, type Watcher } from './watcher.ts';

const SIZES = {
  full: { watchers: 200, objects: 20, warmUp: 100, changes: 1000, perSecond: 50 },
  tiny: { watchers: 5, objects: 3, warmUp: 2, changes: 10, perSecond: 100 },
};

/** After the last change: how long the last watcher may take. */
const LAST_LIMIT_MS = 30_000;

export const watches: Part = {
  name: 'watches',
  summary: '200 watchers of one kind at 50 changes a second',
  async measure(scale) {
    return inTempFolder(async (folder) => {
      const server = await startServer({ program: 'server', folder, data: join(folder, 'data') });
      try {
        return await measureOn(server, SIZES[scale]);
      } finally {
        await server.stop();
      }
    });
  },
};

async function measureOn({ pid, address }: ServerUnderTest, size: (typeof SIZES)['full']) {
  const random = createRandom(13);
  const writer = await openConnection(address);
  await writer.exchange(createNamespace('bench'));
  for (let index = 0; index < size.objects; index++) {
    await writer.exchange(requestBytes('POST', COLLECTION, configMap(`object-${index}`, random)));
  }
  const total = size.warmUp + size.changes;
  const sent: Moment[] = [];
  const samples: { wall: number; own: number }[] = [];
  const now = momentTaker(pid);
  const onChange = (sequence: number) => {
    const from = sent[sequence];
    if (from === undefined || sequence <= size.warmUp) return;
    const { at, waited } = now();
    samples.push({ wall: at - from.at, own: Math.max(0, at - from.at - (waited - from.waited)) });
  };
  const watchers: Watcher[] = [];
  try {
    // One after the other: a watch is open once its head has come.
    for (let index = 0; index < size.watchers; index++) watchers.push(await openWatcher(address, COLLECTION, onChange));
    const before = processorMilliseconds(pid);
    const begun = performance.now();
    await writeChanges(writer, total, size, (sequence) => {
      sent[sequence] = now.fresh();
    });
    const seconds = (performance.now() - begun) / 1000;
    const limit = performance.now() + LAST_LIMIT_MS;
    while (watchers.some(({ last }) => last() < total) && performance.now() < limit) await sleep(5);
    const after = processorMilliseconds(pid);

    const what = `watches: ${size.watchers} watchers, ${size.perSecond} changes a second`;
    const wall = latencyOf(samples.map((sample) => sample.wall));
    const own = latencyOf(samples.map((sample) => sample.own));
    const all = watchers.filter((watcher) => watcher.inOrder() && watcher.last() === total).length;
    return [
      result({
        name: `${what}: watchers that saw every change in order`,
        unit: 'watchers',
        rounds: [all],
        exactly: size.watchers,
        note: `${total} changes each, ${size.warmUp} of them to warm up`,
      }),
      result({
        name: `${what}, delivery p50`,
        unit: 'ms',
        rounds: [wall.p50],
        note: `by the clock on the wall, ${samples.length} deliveries; without the waits for a core ${own.p50.toFixed(1)} ms`,
      }),
      result({
        name: `${what}, delivery p99`,
        unit: 'ms',
        rounds: [wall.p99],
        below: 50,
        note: `by the clock on the wall, the write and its sync included; without the waits for a core ${own.p99.toFixed(1)} ms`,
      }),
      result({ name: `${what}: changes a second in fact`, unit: '1/s', rounds: [total / seconds] }),
      ...(before === undefined || after === undefined
        ? []
        : [
            result({
              name: `${what}, processor time of the server`,
              unit: 'ms a change',
              rounds: [(after - before) / total],
              note: `for ${size.watchers} deliveries of 2 KB over TLS`,
            }),
          ]),
    ];
  } finally {
    for (const watcher of watchers) watcher.close();
    writer.close();
  }
}

/** One change after the other, each at its time, or at once when the one before it was late. */
async function writeChanges(
  writer: Connection,
  total: number,
  { objects, perSecond }: { objects: number; perSecond: number },
  onSend: (sequence: number) => void,
): Promise<void> {
  const begun = performance.now();
  for (let sequence = 1; sequence <= total; sequence++) {
    const patch = { data: { seq: String(sequence).padStart(6, '0') } };
    const path = `${COLLECTION}/object-${sequence % objects}`;
    const bytes = requestBytes('PATCH', path, patch, 'application/merge-patch+json');
    const wait = begun + (sequence * 1000) / perSecond - performance.now();
    if (wait > 0) await sleep(wait);
    onSend(sequence);
    await writer.exchange(bytes);
  }
}

interface Moment {
  at: number;
  /** Milliseconds that this process and the server have waited for a core so far. */
  waited: number;
}

/** The waits are read once a turn of the event loop, and not for each of the events that came in it. */
function momentTaker(pid: number): (() => Moment) & { fresh(): Moment } {
  let waited: number | undefined;
  const take = () => {
    const at = performance.now();
    if (waited === undefined) {
      waited = waitedForCore() + waitedForCoreBy(pid);
      setImmediate(() => {
        waited = undefined;
      });
    }
    return { at, waited };
  };
  return Object.assign(take, {
    fresh() {
      waited = undefined;
      return take();
    },
  });
}
