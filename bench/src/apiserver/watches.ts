// Many watchers of one kind while it changes at a steady pace. Writer and watchers are this process, the server is another
// one: a latency is from the request's first byte leaving here to the event's last byte being here.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { latencyOf, roundsOf } from '../measure/timing.ts';
import { sizeOf } from './brief.ts';
import { type Connection, openConnection, requestBytes } from './connection.ts';
import { syncLatencies } from './disk.ts';
import { createNeighbourWatch, type Moment } from './neighbours.ts';
import { COLLECTION, configMap, createNamespace } from './objects.ts';
import { findPeer, PEER, peerNote } from './peer.ts';
import { processorMilliseconds } from './process-costs.ts';
import { type ServerUnderTest, startServer } from './server.ts';
import { inTempFolder } from './temp-folder.ts';
import { openWatchers, type Watcher, WIRES, type Wire } from './watcher.ts';

const SIZES = {
  full: { watchers: 200, objects: 20, warmUp: 100, changes: 500, rounds: 3, perSecond: 50, synced: 150 },
  tiny: { watchers: 5, objects: 3, warmUp: 2, changes: 10, rounds: 1, perSecond: 100, synced: 5 },
};
const BRIEF = { warmUp: 50, changes: 300, rounds: 1 };
type Size = (typeof SIZES)['full'];

/** After the last change: how long the last watcher may take. */
const LAST_LIMIT_MS = 30_000;

export const watches: Part = {
  name: 'watches',
  summary: '200 watchers of one kind at 50 changes a second',
  async measure(scale) {
    return inTempFolder(async (folder) => {
      const size = sizeOf(SIZES, scale, BRIEF);
      const measure = async (start: () => Promise<ServerUnderTest>, wire: Wire) => {
        const server = await start();
        try {
          return await measureOn(server, join(folder, 'floor'), size, wire);
        } finally {
          await server.stop();
        }
      };
      const startPeer = findPeer();
      const found: Result[] = [];
      for (const wire of WIRES) {
        const data = join(folder, `data-${found.length}`);
        const own = await measure(() => startServer({ program: 'server', folder, data }), wire);
        found.push(...figures(own, startPeer && (await measure(startPeer, wire)), size, wire));
      }
      return found;
    });
  },
};

interface Round {
  /** Deliveries, in milliseconds: by the clock on the wall, and without the time of neighbours. */
  wall: number[];
  own: number[];
  changesPerSecond: number;
  /** Milliseconds a change. */
  processor: number | undefined;
  /** The times of the disk alone, just before. */
  synced: readonly number[];
}

interface Measured {
  rounds: readonly Round[];
  /** Watchers that saw every change in order. */
  complete: number;
}

async function measureOn({ pids, address }: ServerUnderTest, floor: string, size: Size, wire: Wire): Promise<Measured> {
  const random = createRandom(13);
  const writer = await openConnection(address);
  await writer.exchange(createNamespace('bench'));
  for (let index = 0; index < size.objects; index++) {
    await writer.exchange(requestBytes('POST', COLLECTION, configMap(`object-${index}`, random)));
  }
  const now = createNeighbourWatch(pids[0] ?? 0);
  const sent: Moment[] = [];
  let round: Round | undefined;
  const onChange = (sequence: number) => {
    const from = sent[sequence];
    if (from === undefined || round === undefined) return;
    const { at, lost } = now();
    round.wall.push(at - from.at);
    round.own.push(at - from.at - (lost - from.lost));
  };
  const watchers: Watcher[] = [];
  const change = async (first: number, count: number) => {
    await writeChanges(writer, { ...size, first, count }, (sequence) => {
      sent[sequence] = now();
    });
    const limit = performance.now() + LAST_LIMIT_MS;
    while (watchers.some(({ last }) => last() < first + count - 1) && performance.now() < limit) await sleep(5);
  };
  try {
    watchers.push(...(await openWatchers(address, COLLECTION, size.watchers, wire, onChange)));
    await change(1, size.warmUp);
    const record = Buffer.from(JSON.stringify(configMap('record', random)));
    const rounds = await roundsOf(size.rounds, async (index) => {
      const synced = await syncLatencies(floor, record, size.synced, size.perSecond);
      const before = processorMilliseconds(pids);
      const begun = performance.now();
      round = { wall: [], own: [], changesPerSecond: 0, processor: undefined, synced };
      await change(1 + size.warmUp + index * size.changes, size.changes);
      const after = processorMilliseconds(pids);
      round.changesPerSecond = (size.changes / (performance.now() - begun)) * 1000;
      if (before !== undefined && after !== undefined) round.processor = (after - before) / size.changes;
      return round;
    });
    const total = size.warmUp + size.rounds * size.changes;
    const complete = watchers.filter((watcher) => watcher.inOrder() && watcher.last() === total).length;
    return { rounds, complete };
  } finally {
    for (const watcher of watchers) watcher.close();
    writer.close();
  }
}

function figures(
  { rounds, complete }: Measured,
  peer: Measured | undefined,
  { watchers, perSecond, changes }: Size,
  wire: Wire,
): Result[] {
  const what = `watches over ${wire.name}: ${watchers} watchers, ${perSecond} changes a second`;
  const wall = rounds.map((round) => latencyOf(round.wall));
  const own = rounds.map((round) => latencyOf(round.own));
  const disk = rounds.map((round) => latencyOf(round.synced));
  const shown = (values: readonly number[]) => values.map((value) => value.toFixed(1)).join(', ');
  const disk99 = disk.map(({ p99 }) => p99.toFixed(1)).join(', ');
  const beside = (value: (round: Round) => number | undefined) => {
    const values = peer?.rounds.map(value).filter((one) => one !== undefined) ?? [];
    return values.length === 0 ? {} : { peer: { name: PEER, rounds: values } };
  };
  const processor = rounds.flatMap((round) => round.processor ?? []);
  return [
    result({
      name: `${what}: watchers that saw every change in order`,
      unit: 'watchers',
      rounds: [complete],
      exactly: watchers,
    }),
    result({
      name: `${what}, delivery p50`,
      unit: 'ms',
      rounds: own.map(({ p50 }) => p50),
      ...beside((round) => latencyOf(round.own).p50),
      ratioAtMost: 1,
      note: `the write and its sync included, ${changes} changes a round; by the clock on the wall ${shown(wall.map(({ p50 }) => p50))} ms`,
    }),
    result({
      name: `${what}, delivery p99`,
      unit: 'ms',
      rounds: own.map(({ p99 }) => p99),
      below: 50,
      ...beside((round) => latencyOf(round.own).p99),
      note: `by the clock on the wall, with what others on the machine took, ${shown(wall.map(({ p99 }) => p99))} ms; append and fdatasync alone ${disk99} ms${peerNote()}`,
    }),
    result({
      name: `${what}: changes a second in fact`,
      unit: '1/s',
      rounds: rounds.map((round) => round.changesPerSecond),
    }),
    ...(processor.length === 0
      ? []
      : [
          result({
            name: `${what}, processor time of the server`,
            unit: 'ms a change',
            rounds: processor,
            ...beside((round) => round.processor),
          }),
        ]),
  ];
}

interface Changes {
  /** The number of the first one. */
  first: number;
  count: number;
  objects: number;
  perSecond: number;
}

/** One change after the other, each at its time, or at once when the one before it was late. */
async function writeChanges(
  writer: Connection,
  { first, count, objects, perSecond }: Changes,
  onSend: (sequence: number) => void,
): Promise<void> {
  const begun = performance.now();
  for (let index = 0; index < count; index++) {
    const sequence = first + index;
    const patch = { data: { seq: String(sequence).padStart(6, '0') } };
    const path = `${COLLECTION}/object-${sequence % objects}`;
    const bytes = requestBytes('PATCH', path, patch, 'application/merge-patch+json');
    const wait = begun + (index * 1000) / perSecond - performance.now();
    if (wait > 0) await sleep(wait);
    onSend(sequence);
    await writer.exchange(bytes);
  }
}
