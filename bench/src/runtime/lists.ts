// Lists: thousands of queries on one kind, and one object whose label moves. The measured values are the number of queries that an event is
// tested against, and the cost of a move, which must not depend on the number of queries.
import { type CompiledLabelSelector, parseLabelSelector, systemClock } from '@capstan/kube';
import { createEngine } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import type { Part, Scale } from '../bench.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { type Result, result } from '../measure/result.ts';
import { latencyOf, milliseconds, rounds, timeEach } from '../measure/timing.ts';

const SIZES = {
  full: { objects: 20_000, queries: 10_000, predicates: 1000, rounds: 3, warmUp: 200, moves: 1000 },
  tiny: { objects: 200, queries: 100, predicates: 10, rounds: 1, warmUp: 5, moves: 10 },
};

type Size = (typeof SIZES)[Scale];

export const lists: Part = {
  name: 'lists',
  summary: 'many lists of one kind, one label moves',
  measure(scale) {
    return Promise.resolve(CASES.flatMap((each) => measureCase(each, SIZES[scale], scale)));
  },
};

interface Listed {
  metadata: { namespace: string; name: string; labels: Record<string, string> };
}

interface Case {
  readonly what: string;
  /** The figures of the prototype: µs of a move (p50), queries tested per event. At most twice as much is the target. */
  readonly microseconds: number;
  readonly tested: number;
  readonly isPredicate?: boolean;
  /** The query of a number. */
  where(query: number, size: Size): Where;
  /** Returns the label that moves, with its new value. */
  move(random: (limit: number) => number, size: Size): Record<string, string>;
}

interface Where {
  namespace?: string;
  selector?: CompiledLabelSelector;
  where?(value: Listed): boolean;
}

const NAMESPACES = 350;
const ZONES = 8;
const TIERS = 3;

const moveApplication: Case['move'] = (random, { queries }) => ({ app: `app-${random(queries)}` });
const namespaceOf = (index: number) => `ns-${index % NAMESPACES}`;

const CASES: readonly Case[] = [
  {
    what: 'namespace and equality',
    microseconds: 20,
    tested: 1,
    where: (query) => ({ namespace: namespaceOf(query), selector: parseLabelSelector(`app=app-${query}`) }),
    move: moveApplication,
  },
  {
    what: 'equality',
    microseconds: 22,
    tested: 2,
    where: (query) => ({ selector: parseLabelSelector(`app=app-${query}`) }),
    move: moveApplication,
  },
  {
    what: 'In of 3 values',
    microseconds: 40,
    tested: 6,
    where(query, { queries }) {
      const values = [0, 1, 2].map((step) => `app-${(query + step) % queries}`);
      return { selector: parseLabelSelector(`app in (${values.join(',')})`) };
    },
    move: moveApplication,
  },
  {
    what: 'a common label and a rare one',
    microseconds: 8,
    tested: 2,
    // Sorted by key, the common label comes first.
    where: (query) => ({ selector: parseLabelSelector(`a-tier=tier-${query % TIERS},app=app-${query}`) }),
    move: moveApplication,
  },
  {
    what: 'a negative term and a zone, in a namespace',
    microseconds: 74,
    tested: 29,
    where: (query) => ({
      namespace: namespaceOf(query),
      selector: parseLabelSelector(
        `env!=env-${Math.floor(query / NAMESPACES)},zone=zone-${Math.floor(query / NAMESPACES) % ZONES}`,
      ),
    }),
    move: (random) => ({ zone: `zone-${random(ZONES)}` }),
  },
  {
    what: 'a predicate',
    microseconds: 61,
    tested: 1000,
    isPredicate: true,
    where: (query) => ({ where: ({ metadata }) => metadata.labels['app'] === `app-${query}` }),
    move: moveApplication,
  },
];

function measureCase(each: Case, size: Size, scale: Scale): Result[] {
  const count = each.isPredicate ? size.predicates : size.queries;
  const measured = rounds(size.rounds, (round) => measureRound(each, count, size, round));
  const name = `lists: ${count} by ${each.what}`;
  const isJudged = scale === 'full';
  return [
    result({ name: `${name}, cold`, unit: 'ms', rounds: measured.map(({ cold }) => cold) }),
    result({
      name: `${name}, a label moves, p50`,
      unit: 'µs',
      rounds: measured.map(({ p50 }) => p50),
      ...(isJudged ? { atMost: each.microseconds * 2 } : {}),
    }),
    result({
      name: `${name}, queries tested per event`,
      unit: 'queries',
      rounds: measured.map(({ tested }) => tested),
      ...(isJudged ? { atMost: each.tested * 2 } : {}),
    }),
  ];
}

const nameOf = (object: Listed) => object.metadata.name;

function measureRound(each: Case, count: number, size: Size, round: number) {
  const engine = createEngine({ clock: systemClock });
  const table = engine.table<Listed>({ name: 'Listed', labels: (object) => object.metadata.labels });
  const queries = Array.from({ length: count }, (_, query) => each.where(query, size));
  const members = engine.derive({
    name: 'members',
    sink: true,
    compute: (key, read) => read.list(table, queries[Number(key)] ?? {}, nameOf),
  });
  const wanted = engine.table<true>({ name: 'wanted' });
  for (let query = 0; query < count; query++) wanted.put(String(query), true);
  wanted.synced();
  engine.each(wanted, {}, members);
  const keys: string[] = [];
  for (let index = 0; index < size.objects; index++) {
    const object = listed(index, size);
    keys.push(`${object.metadata.namespace}/${object.metadata.name}`);
    table.put(keys[index] ?? '', object);
  }
  table.synced();
  heapAfterGc();
  const cold = milliseconds(() => engine.flushSync());
  const random = createRandom(17 + round);
  const draw = (limit: number) => random.integer(0, limit - 1);
  let testedBefore = 0;
  const samples = timeEach({
    warmUp: size.warmUp,
    count: size.moves,
    prepare(index) {
      if (index === size.warmUp) testedBefore = engine.stats().predicateEvaluations;
      const key = keys[draw(keys.length)] ?? '';
      const before = table.peek(key) as Listed;
      const labels = { ...before.metadata.labels, ...each.move(draw, size) };
      const moved = { ...before, metadata: { ...before.metadata, labels } };
      return () => {
        table.put(key, moved);
        engine.flushSync();
      };
    },
  });
  // Each query is tested twice: whether the object was in it, and whether it is.
  const tested = (engine.stats().predicateEvaluations - testedBefore) / size.moves / 2;
  return { cold, p50: latencyOf(samples).p50 * 1000, tested };
}

/** Two objects an application, spread over namespaces, zones, tiers and environments. */
function listed(index: number, { queries }: Size): Listed {
  return {
    metadata: {
      namespace: namespaceOf(index),
      name: `object-${index}`,
      labels: {
        'a-tier': `tier-${index % TIERS}`,
        app: `app-${index % queries}`,
        env: `env-${index % 40}`,
        zone: `zone-${Math.floor(index / NAMESPACES) % ZONES}`,
      },
    },
  };
}
