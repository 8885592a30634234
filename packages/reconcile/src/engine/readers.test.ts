// Readers are the inverse of reads, in random graphs after every batch of random edits.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '@capstan/kube';
import { runs } from '@capstan/testing';
import { createEngine } from './engine.ts';
import type { Derivation, Engine, Reading, Table } from './engine-types.ts';
import { applyToEngine, applyToModel, newModel, randomEdits } from './random-graph/model.ts';
import { dice } from './random-graph/random.ts';
import { buildSchema, FACTS, KEYS, type Schema } from './random-graph/schema.ts';

const SEEDS = runs(60, 300, 'RANDOM_GRAPH_SEEDS');

describe('readersOf', () => {
  it('returns the inverse of all reads of a random graph', () => {
    let compared = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const roll = dice(seed * 104_729);
      const model = newModel();
      const engine = createEngine({ clock: stillClock, retain: roll.chance(0.5) });
      const schema = buildSchema(engine, seed);
      for (let batch = 0; batch < 12; batch++) {
        for (const edit of randomEdits(roll, model)) {
          applyToEngine(schema, edit);
          applyToModel(model, edit);
        }
        engine.flushSync();
        compared += compare(engine, schema, `seed ${seed}, batch ${batch}`);
      }
    }
    assert.ok(compared > 10_000, `only ${compared} edges were compared`);
  });

  it('returns nothing for a key that no node reads', () => {
    const engine = createEngine({ clock: stillClock });
    const table = engine.table<number>({ name: 'Item' });
    table.put('a', 1);
    engine.flushSync();
    assert.deepEqual(engine.readersOf(table, 'a'), []);
    assert.deepEqual(engine.readersOf(table, 'missing'), []);
  });
});

/** Compares both directions for every live node; returns the number of edges. */
function compare(engine: Engine, schema: Schema, where: string): number {
  const nodes = liveNodes(engine, schema);
  const expected = new Map<string, string[]>();
  const add = (source: string, reader: string) => {
    const known = expected.get(source) ?? [];
    known.push(reader);
    expected.set(source, known);
  };
  for (const [name, { derivation, key }] of nodes) {
    for (const read of engine.readsOf(derivation, key))
      for (const source of sourcesOf(read)) add(source, `${name} by ${read.kind} ${read.projection}`);
  }
  let edges = 0;
  const check = (source: string, from: Table<never> | Derivation<unknown>, key: string) => {
    const readers = engine
      .readersOf(from, key)
      .map((one) => `${nameOf(one)} by ${one.by} ${one.projection}`)
      .sort();
    assert.deepEqual(readers, (expected.get(source) ?? []).sort(), `readers of ${source}, ${where}`);
    edges += readers.length;
    expected.delete(source);
  };
  for (const key of KEYS) check(`Item/${key}`, schema.items, key);
  for (const key of FACTS) check(`Fact/${key}`, schema.facts, key);
  for (const [name, { derivation, key }] of nodes) check(name, derivation, key);
  assert.deepEqual([...expected.keys()], [], `sources that were not asked for, ${where}`);
  return edges;
}

interface Live {
  readonly derivation: Derivation<unknown>;
  readonly key: string;
}

/**
 * Returns the declared nodes that are alive, and those that they read.
 */
function liveNodes(engine: Engine, schema: Schema): Map<string, Live> {
  const found = new Map<string, Live>();
  for (const derivation of schema.derivations)
    for (const key of [...KEYS, 'p', 'q', 'r', ''])
      if (engine.readsOf(derivation, key).length > 0) found.set(nameOf({ derivation, key }), { derivation, key });
  for (const key of KEYS) for (const reader of engine.readersOf(schema.items, key)) found.set(nameOf(reader), reader);
  for (const { derivation, key } of found.values())
    for (const read of engine.readsOf(derivation, key)) if (read.kind === 'derived') found.set(nameOf(read), read);
  return found;
}

function sourcesOf(read: Reading): readonly string[] {
  if (read.kind === 'object') return [`${read.table}/${read.key}`];
  return read.kind === 'list' ? read.members.map((key) => `${read.table}/${key}`) : [nameOf(read)];
}

function nameOf({ derivation, key }: Live): string {
  return `${derivation.name}(${key})`;
}

const stillClock = { now: () => 0, yield: () => Promise.resolve() } as unknown as Clock;
