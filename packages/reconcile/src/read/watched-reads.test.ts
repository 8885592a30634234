import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { type DigestKey } from '../digest.ts';
import { createEngine } from '../engine/index.ts';
import { plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { createSinkRegistry } from '../sinks/index.ts';
import { createInstants, createKnownFacts, createKnownSources } from '../sources/index.ts';
import { createStaticWorld, createWorldSet, requirementsOf } from '../worlds/index.ts';
import { derivation } from './derivation.ts';
import { type ReadSources, type Run } from './read-sources.ts';
import type { Reader } from './reader.ts';
import { at, base64, READS, secret } from './world-reader.test-support.ts';
import { digestOf, WorldReader } from './world-reader.ts';

/** Reads that a test may watch, over one Secret. */
function watched(check: (read: Reader, run: Run) => unknown) {
  const engine = createEngine({ clock: createVirtualClock() });
  const requirements = requirementsOf([
    reconciler({ name: 'x', resource: ConfigMap, reads: READS, reconcile: () => plan() }),
  ]);
  const worldOf = (name: string) => createStaticWorld({ name, engine, requirements, objects: [secret('hunter2')] });
  const world = worldOf('');
  const worlds = createWorldSet(engine, []);
  worlds.add(world, 'local');
  const digestKey = engine.table<DigestKey>({ name: 'digest key' });
  digestKey.put('test', { id: 'k', bytes: new Uint8Array(32) });
  const sources: ReadSources = {
    engine,
    worlds,
    facts: createKnownFacts(engine, []),
    outside: createKnownSources(engine, []),
    sinks: createSinkRegistry(engine),
    problems: new Map(),
    identities: engine.table<string>({ name: 'identities of clusters' }),
    delivered: new Set(),
    instants: createInstants(engine, createVirtualClock()),
    digestKey,
    bound: new Map(),
    digests: new WeakMap(),
    definitions: new Map(),
    projections: new WeakMap(),
  };
  let runs = 0;
  const reader = engine.derive<unknown>({
    name: 'reader',
    compute(_key, tracker) {
      runs++;
      const run: Run = {
        tracker,
        sources,
        sensitive: undefined,
        declared: undefined,
        name: 'reader',
        key: '',
        operator: 'test',
      };
      return check(new WorldReader(run, world), run) ?? null;
    },
  });
  engine.hold(reader, '');
  engine.flushSync();
  return {
    world,
    addWorld(name: string) {
      worlds.add(worldOf(name), 'local');
    },
    removeWorld(name: string) {
      worlds.remove(name);
    },
    /** How often the reader runs because of a change. */
    runsAfter(change: () => void): number {
      runs = 0;
      change();
      engine.flushSync();
      return runs;
    },
    value: () => engine.valueOf(reader, ''),
  };
}

describe('a world that comes or goes', () => {
  test('wakes those who asked for it, and those who asked for all', () => {
    const one = watched((read) => read.in('late') !== undefined);
    assert.equal(
      one.runsAfter(() => one.addWorld('other')),
      0,
    );
    assert.equal(
      one.runsAfter(() => one.addWorld('late')),
      1,
    );
    assert.deepEqual(one.value(), { state: 'value', value: true });
    assert.equal(
      one.runsAfter(() => one.removeWorld('late')),
      1,
    );
    assert.deepEqual(one.value(), { state: 'value', value: false });
    const all = watched((read) => read.worlds());
    assert.equal(
      all.runsAfter(() => all.addWorld('late')),
      1,
    );
  });
});

describe('an equal result stops the wave', () => {
  /** How often the reader of a derivation over one Secret runs when the Secret changes. */
  function runsFor(
    definition: ReturnType<typeof derivation<unknown>>,
    project: ((value: never) => unknown) | undefined,
    next: Secret,
  ) {
    const { runsAfter, world } = watched((read, run) => {
      const value =
        project === undefined ? read.derived(definition, '') : read.derived(definition, '', project as never);
      return digestOf(run)(value);
    });
    return runsAfter(() => world.observeWrite(Secret, next));
  }

  const about = derivation<unknown>({
    name: 'about',
    compute({ read }) {
      const data = read.get(Secret, at('s'))?.data ?? {};
      return { keys: Object.keys(data), user: data['user'] };
    },
  });

  test('also where a secret was read that is not in the result', () => {
    assert.equal(runsFor(about, undefined, secret('hunter3')), 0);
    assert.equal(runsFor(about, undefined, { ...secret('hunter2'), data: { user: base64('root') } }), 1);
  });

  test('also through a projection of a result with secrets', () => {
    const keysOf = ({ keys }: { keys: string[] }) => keys;
    assert.equal(runsFor(about, keysOf, { ...secret('hunter2'), data: { password: '', user: base64('root') } }), 0);
  });

  test('a derivation that defines equality stops the wave by it', () => {
    const loose = derivation<unknown>({
      name: 'loose',
      compute: ({ read }) => read.get(Secret, at('s')),
      equals: (before, after) =>
        (before as Secret).kind === (after as Secret).kind && (after as Secret).kind === 'Secret',
    });
    assert.equal(runsFor(loose, undefined, secret('hunter3')), 0);
  });
});
