// The pair matrix: 1,000 clusters and 200 policies, half a million pairs, as one fold over per-cluster bit sets.
import { systemClock } from '@capstan/kube';
import { createEngine, type Engine } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import type { Part, Scale } from '../bench.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { result } from '../measure/result.ts';
import { latencyOf, milliseconds, rounds, timeEach } from '../measure/timing.ts';
import {
  type Cluster,
  type CompiledPolicy,
  cluster,
  clusterName,
  compilePolicy,
  DRIVERS,
  emptyMatrix,
  type Matrix,
  matchBits,
  type Policy,
  pairCount,
  policy,
  putCluster,
  removeCluster,
} from '../pair-matrix.ts';

const SIZES = {
  full: { clusters: 1000, policies: 200, rounds: 5, warmUp: 50, edits: 300, driverEdits: 60 },
  tiny: { clusters: 30, policies: 10, rounds: 1, warmUp: 3, edits: 5, driverEdits: 3 },
};

type Size = (typeof SIZES)[Scale];

export const pairs: Part = {
  name: 'pairs',
  summary: 'the matrix of pairs of clusters',
  measure(scale) {
    const size = SIZES[scale];
    measureRound({ ...size, edits: size.warmUp, driverEdits: 3 }, 0);
    const measured = rounds(size.rounds, (round) => measureRound(size, round + 1));
    const plain = rounds(size.rounds, () => measurePlain(size));
    const name = `pairs: ${size.clusters} clusters, ${size.policies} policies`;
    const isJudged = scale === 'full';
    return Promise.resolve([
      result({
        name: `${name}, full`,
        unit: 'ms',
        rounds: measured.map(({ full }) => full),
        ...(isJudged ? { atMost: 212 } : {}),
        peer: { name: 'bit sets and matrix without the engine, ms', rounds: plain },
      }),
      result({
        name: `${name}, memory`,
        unit: 'MB',
        rounds: measured.map(({ bytes }) => bytes / 1e6),
        ...(isJudged ? { atMost: 8 } : {}),
        note: 'graph with its values, typed arrays included, objects not',
      }),
      result({
        name: `${name}, one cluster's labels, p50`,
        unit: 'ms',
        rounds: measured.map(({ labels }) => labels),
        ...(isJudged ? { atMost: 0.9 } : {}),
        peer: { name: 'everything computed again without the engine, ms', rounds: plain },
        note: 'the drivers of its pairs looked up',
      }),
      result({
        name: `${name}, a label that no policy names, p50`,
        unit: 'ms',
        rounds: measured.map(({ unnamed }) => unnamed),
        ...(isJudged ? { atMost: 0.1 } : {}),
      }),
      result({
        name: `${name}, a policy's driver, p50`,
        unit: 'ms',
        rounds: measured.map(({ driver }) => driver),
        ...(isJudged ? { atMost: 74 } : {}),
        note: 'the drivers of all pairs looked up',
      }),
    ]);
  },
};

const labelsOf = ({ metadata }: Cluster) => metadata.labels;
const selectorsOf = ({ spec: { left, right } }: Policy) => ({ left, right });
const driverOf = ({ spec }: Policy) => spec.driver;

/** The policy of every pair, and the driver of every policy, by number. */
interface Cables {
  readonly policies: Uint8Array;
  readonly drivers: readonly number[];
}

function declare(engine: Engine, size: Size) {
  const clusters = engine.table<Cluster>({ name: 'Cluster' });
  const policies = engine.table<Policy>({ name: 'CablePolicy' });
  const compiled = engine.derive<CompiledPolicy[]>({
    name: 'compiled policies',
    compute: (_key, read) => read.list(policies, {}, selectorsOf).map(compilePolicy),
    equals: areSamePolicies,
  });
  const bits = engine.derive<number[]>({
    name: 'bits',
    compute: (key, read) => matchBits(read.get(clusters, key, labelsOf) ?? {}, read.derived(compiled, '')),
  });
  const matrix = engine.fold<Matrix, number[], Uint8Array, Cluster>({
    name: 'matrix',
    over: () => ({ table: clusters }),
    part: bits,
    empty: emptyMatrix,
    put: (state, member, part) => putCluster(state, member, part),
    remove: (state, member) => removeCluster(state, member),
    result: (state) => state.pairs.slice(0, pairCount(state.names.length)),
    equals: areSameBytes,
  });
  const drivers = engine.derive<number[]>({
    name: 'drivers',
    compute: (_key, read) => read.list(policies, {}, driverOf).map((driver) => DRIVERS.indexOf(driver)),
  });
  const cables = engine.derive<Cables>({
    name: 'cables',
    sink: true,
    compute: (_key, read) => ({ policies: read.derived(matrix, ''), drivers: read.derived(drivers, '') }),
    equals: (before, after) => before.policies === after.policies && before.drivers === after.drivers,
  });
  engine.hold(cables, '');
  for (let index = 0; index < size.clusters; index++) clusters.put(clusterName(index), cluster(index));
  for (let index = 0; index < size.policies; index++) {
    const created = policy(index, size.policies);
    policies.put(created.metadata.name, created);
  }
  clusters.synced();
  policies.synced();
  return { clusters, policies, cables };
}

function measureRound(size: Size, round: number) {
  const engine = createEngine({ clock: systemClock });
  const { clusters, policies, cables } = declare(engine, size);
  const before = memoryAfterGc();
  const full = milliseconds(() => engine.flushSync());
  const bytes = memoryAfterGc() - before;
  const random = createRandom(23 + round);
  const current = (): Cables => {
    const settled = engine.valueOf(cables, '');
    if (settled?.state !== 'value') throw new Error('the matrix came to nothing');
    return settled.value;
  };

  const relabel = (labels: (index: number) => Record<string, string>) =>
    latencyOf(
      timeEach({
        warmUp: size.warmUp,
        count: size.edits,
        prepare(edit) {
          const index = random.integer(0, size.clusters - 1);
          const found = clusters.peek(clusterName(index)) as Cluster;
          const metadata = { ...found.metadata, labels: { ...found.metadata.labels, ...labels(edit) } };
          return () => {
            clusters.put(clusterName(index), { ...found, metadata });
            if (engine.flushSync().changes.length > 0) driversOfCluster(current(), index, size.clusters);
          };
        },
      }),
    ).p50;
  const labels = relabel(() => ({ site: `site-${random.integer(0, 99)}`, region: `region-${random.integer(0, 9)}` }));
  const unnamed = relabel((edit) => ({ note: `note-${round}-${edit}` }));
  const driver = latencyOf(
    timeEach({
      warmUp: 3,
      count: size.driverEdits,
      prepare(edit) {
        const found = policies.peek(policy(edit % size.policies, size.policies).metadata.name) as Policy;
        const next = DRIVERS[(DRIVERS.indexOf(found.spec.driver) + 1) % DRIVERS.length] ?? '';
        return () => {
          policies.put(found.metadata.name, { ...found, spec: { ...found.spec, driver: next } });
          engine.flushSync();
          driversOfPairs(current());
        };
      },
    }),
  ).p50;

  const now = currentObjects(size, clusters, policies);
  if (!areSameBytes(driversOfPairs(current()), plainDrivers(now))) {
    throw new Error('the matrix is not what it would be if it were computed again');
  }
  return { full, bytes, labels, unnamed, driver };
}

interface Objects {
  clusters: readonly Cluster[];
  policies: readonly Policy[];
}

/** The peer: the same functions, called once for everything. */
function plainDrivers({ clusters, policies }: Objects): Uint8Array {
  const compiled = policies.map(({ spec }) => compilePolicy(spec));
  const matrix = emptyMatrix();
  for (const { metadata } of clusters) putCluster(matrix, metadata.name, matchBits(metadata.labels, compiled));
  const drivers = policies.map(({ spec }) => DRIVERS.indexOf(spec.driver));
  return driversOfPairs({ policies: matrix.pairs.subarray(0, pairCount(clusters.length)), drivers });
}

function measurePlain(size: Size): number {
  const clusters = Array.from({ length: size.clusters }, (_, index) => cluster(index));
  const policies = Array.from({ length: size.policies }, (_, index) => policy(index, size.policies));
  heapAfterGc();
  return milliseconds(() => plainDrivers({ clusters, policies }));
}

function currentObjects(
  size: Size,
  clusters: { peek(key: string): Cluster | undefined },
  policies: { peek(key: string): Policy | undefined },
): Objects {
  return {
    clusters: Array.from({ length: size.clusters }, (_, index) => clusters.peek(clusterName(index)) as Cluster),
    policies: Array.from(
      { length: size.policies },
      (_, index) => policies.peek(policy(index, size.policies).metadata.name) as Policy,
    ),
  };
}

/** The work of a reader of the matrix when drivers change: the driver of every pair, by number. */
function driversOfPairs({ policies, drivers }: Cables): Uint8Array {
  const byPolicy = Uint8Array.from({ length: 256 }, (_, index) => drivers[index] ?? NO_DRIVER);
  const result = new Uint8Array(policies.length);
  for (let pair = 0; pair < result.length; pair++) result[pair] = byPolicy[policies[pair] as number] as number;
  return result;
}

/** The work of such a reader when one cluster moves: the drivers of its pairs. */
function driversOfCluster({ policies, drivers }: Cables, index: number, clusters: number): Uint8Array {
  const result = new Uint8Array(clusters);
  for (let other = 0; other < clusters; other++) {
    const pair = pairCount(Math.max(index, other)) + Math.min(index, other);
    result[other] = other === index ? NO_DRIVER : (drivers[policies[pair] as number] ?? NO_DRIVER);
  }
  return result;
}

const NO_DRIVER = 255;

function areSamePolicies(before: readonly CompiledPolicy[], after: readonly CompiledPolicy[]): boolean {
  return (
    before.length === after.length &&
    before.every(
      ({ left, right }, index) =>
        left.canonical === after[index]?.left.canonical && right.canonical === after[index]?.right.canonical,
    )
  );
}

function areSameBytes(before: Uint8Array, after: Uint8Array): boolean {
  return Buffer.compare(before, after) === 0;
}

/** Typed arrays lie outside the JavaScript heap. */
function memoryAfterGc(): number {
  return heapAfterGc() + process.memoryUsage().arrayBuffers;
}
