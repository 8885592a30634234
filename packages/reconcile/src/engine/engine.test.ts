import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterOf, clock, setUp } from './engine.test-support.ts';
import { createEngine } from './engine.ts';
import type { Derivation, Tracker } from './engine-types.ts';
import { fields } from './graph/projection.ts';

describe('a derivation', () => {
  it('runs only when what it read through its projection changed', () => {
    const { engine, items } = setUp();
    const ports = fields('spec.ports');
    const d = engine.derive({ name: 'd', sink: true, compute: (key, read) => read.get(items, key, ports) ?? null });
    engine.hold(d, 'a');
    items.put('a', { spec: { ports: [1] }, status: 1 });
    engine.flushSync();
    items.put('a', { spec: { ports: [1], weight: 3 }, status: 2 });
    assert.equal(engine.flushSync().runs, 0);
    items.put('a', { spec: { ports: [2] } });
    items.put('a', { spec: { ports: [1] } });
    assert.equal(engine.flushSync().runs, 0, 'there and back in one batch');
    items.put('a', { spec: { ports: [2] } });
    assert.deepEqual(afterOf(engine.flushSync().changes), [['a', { 'spec.ports': [2] }]]);
  });

  it('is given its value of the wave before, in a fork that of the main graph', () => {
    const { engine, items } = setUp();
    const highest = engine.derive<number>({
      name: 'highest',
      sink: true,
      compute: (key, read, previous) =>
        Math.max(read.get(items, key)?.status ?? 0, (previous as number | undefined) ?? 0),
    });
    engine.hold(highest, 'a');
    const valueAfter = (status: number) => {
      items.put('a', { status });
      engine.flushSync();
      return engine.valueOf(highest, 'a');
    };
    assert.deepEqual(valueAfter(3), { state: 'value', value: 3 });
    assert.deepEqual(valueAfter(2), { state: 'value', value: 3 });
    const fork = engine.fork();
    fork.put(items, 'a', { status: 1 });
    fork.evaluate();
    assert.deepEqual(fork.valueOf(highest, 'a'), { state: 'value', value: 3 });
    assert.deepEqual(valueAfter(4), { state: 'value', value: 4 });
  });

  it('stops the wave where its result is equal to the one before', () => {
    const { engine, items } = setUp();
    const sign = engine.derive({ name: 'sign', compute: (key, read) => Math.sign(read.get(items, key)?.status ?? 0) });
    const top = engine.derive({ name: 'top', sink: true, compute: (key, read) => read.derived(sign, key) });
    engine.hold(top, 'a');
    items.put('a', { status: 1 });
    engine.flushSync();
    items.put('a', { status: 7 });
    const { runs, cutoffs, changes } = engine.flushSync();
    assert.deepEqual({ runs, cutoffs, changes: changes.length }, { runs: 1, cutoffs: 1, changes: 0 });
  });

  it('never sees half of a change', () => {
    const { engine, items } = setUp();
    const status = (key: string, read: Tracker) => read.get(items, key)?.status ?? 0;
    const one = engine.derive({ name: 'one', compute: (_key, read) => status('x', read) });
    const two = engine.derive({ name: 'two', compute: (_key, read) => read.derived(one, '') });
    const three = engine.derive({ name: 'three', compute: (_key, read) => read.derived(two, '') });
    const seen: string[] = [];
    const both = engine.derive({
      name: 'both',
      compute(_key, read) {
        // The second read depends on the change itself, so that it is new while the wave runs.
        const now = status('x', read);
        if (now > 0) seen.push(`${now}=${read.derived(three, '')}`);
        return now;
      },
    });
    engine.hold(both, '');
    engine.hold(three, '');
    items.put('x', { status: 0 });
    engine.flushSync();
    items.put('x', { status: 1 });
    const wave = engine.flushSync();
    assert.deepEqual(seen, ['1=1']);
    assert.ok(wave.restarts > 0);
  });

  it('keeps an error as its value, and throws it at every reader', () => {
    const { engine, items } = setUp();
    let runs = 0;
    const bad = engine.derive({
      name: 'bad',
      compute(key, read) {
        runs++;
        throw new Error(`no ${read.get(items, key)?.ref}`);
      },
    });
    const top = engine.derive({ name: 'top', sink: true, compute: (key, read): unknown => read.derived(bad, key) });
    const asks = engine.derive({ name: 'asks', sink: true, compute: (key, read) => read.settled(bad, key).state });
    engine.hold(top, 'a');
    engine.hold(asks, 'a');
    items.put('a', { ref: 'x' });
    engine.flushSync();
    items.put('a', { ref: 'x', status: 1 });
    assert.deepEqual([engine.flushSync().changes, runs], [[], 2], 'the same message is no change');
    const settled = engine.valueOf(top, 'a');
    assert.equal(settled?.state === 'error' && settled.error.message, 'no x');
    assert.deepEqual(engine.valueOf(asks, 'a'), { state: 'value', value: 'error' });
    engine.invalidate(bad, 'a');
    engine.flushSync();
    assert.equal(runs, 3);
  });

  it('suspends on what is unknown, even if it swallows the signal, and goes on when it is known', () => {
    const { engine } = setUp();
    const facts = engine.table<number>({ name: 'Fact' });
    const d = engine.derive({
      name: 'd',
      sink: true,
      compute(_key, read) {
        try {
          return read.get(facts, 'f') ?? 'absent';
        } catch {
          return 'swallowed';
        }
      },
    });
    engine.hold(d, '');
    assert.deepEqual(engine.flushSync().changes[0]?.after, { state: 'suspended', waitingFor: ['Fact/f'] });
    facts.delete('f');
    assert.deepEqual(afterOf(engine.flushSync().changes), [['', 'absent']]);
    facts.put('f', 1);
    assert.deepEqual(afterOf(engine.flushSync().changes), [['', 1]]);
    facts.forget('f');
    assert.deepEqual(afterOf(engine.flushSync().changes), [['', 'suspended']]);
  });

  it('a derivation that suspends or throws does not take down the sinks that it read before', () => {
    const { engine, items } = setUp();
    const facts = engine.table<number>({ name: 'Fact' });
    const part = engine.derive({ name: 'part', sink: true, compute: (key) => key });
    const top = engine.derive({
      name: 'top',
      compute(_key, read) {
        read.get(facts, 'f');
        return read.keys(items).map((key) => read.derived(part, key));
      },
    });
    engine.hold(top, '');
    items.put('a', {});
    facts.put('f', 1);
    assert.deepEqual(afterOf(engine.flushSync().changes), [['a', 'a']]);
    facts.forget('f');
    items.delete('a');
    assert.deepEqual(engine.flushSync().changes, []);
    facts.put('f', 2);
    assert.deepEqual(afterOf(engine.flushSync().changes), [['a', undefined]]);
    assert.equal(engine.stats().nodes, 1);
  });

  it('must not read after its run or in a projection', () => {
    const { engine, items } = setUp();
    let kept: Tracker | undefined;
    const d = engine.derive({
      name: 'd',
      compute(key, read) {
        kept = read;
        return read.get(items, key, () => read.get(items, 'b'));
      },
    });
    engine.hold(d, 'a');
    items.put('a', {});
    engine.flushSync();
    const settled = engine.valueOf(d, 'a');
    assert.match(settled?.state === 'error' ? settled.error.message : '', /in a projection/);
    assert.throws(() => kept?.get(items, 'a'), { code: 'ReadOutsideRun' });
  });
});

describe('a cycle', () => {
  it('is the same error for every member, a value where declared, and goes when the data no longer has it', () => {
    const { engine, items } = setUp();
    const d: Derivation<string> = engine.derive<string>({
      name: 'd',
      sink: true,
      compute(key, read) {
        const ref = read.get(items, key)?.ref;
        return ref === undefined ? key : `${key},${read.derived(d, ref)}`;
      },
    });
    const mild: Derivation<string> = engine.derive<string>({
      name: 'mild',
      onCycle: (members) => `cycle of ${members.length}`,
      compute: (key, read) => read.derived(mild, read.get(items, key)?.ref ?? 'z'),
    });
    engine.hold(d, 'b');
    engine.hold(mild, 'a');
    for (const [key, ref] of ['ab', 'bc', 'ca', 'zz']) items.put(key as string, { ref: ref });
    engine.flushSync();
    for (const key of 'abc') {
      const settled = engine.valueOf(d, key);
      assert.match(
        settled?.state === 'error' ? settled.error.message : '',
        /cycle: d\(a\) -> d\(b\) -> d\(c\) -> d\(a\);/,
      );
    }
    assert.deepEqual(engine.valueOf(mild, 'b'), { state: 'value', value: 'cycle of 3' });
    items.put('c', {});
    engine.flushSync();
    assert.deepEqual(engine.valueOf(d, 'b'), { state: 'value', value: 'b,c' });
    assert.equal(engine.valueOf(d, 'a'), undefined);
  });
});

describe('a table', () => {
  it('reports the first and last reader of a key and a list, after the wave', () => {
    const reported: string[] = [];
    const engine = createEngine({ clock });
    const facts = engine.table<number>({
      name: 'Fact',
      demand: {
        key(key) {
          reported.push(`key ${key}`);
          facts.put(key, 1);
        },
        idle: (key) => reported.push(`idle ${key}`),
        list: ({ namespace }) => reported.push(`list ${namespace}`),
        listIdle: ({ namespace }) => reported.push(`list idle ${namespace}`),
      },
    });
    const d = engine.derive({
      name: 'd',
      compute: (key, read) => [read.get(facts, key), read.keys(facts, { namespace: 'n' })],
    });
    const root = engine.hold(d, 'n/a');
    engine.flushSync();
    assert.deepEqual(reported, ['key n/a']);
    facts.synced();
    engine.flushSync();
    assert.deepEqual(reported.splice(0), ['key n/a', 'list n']);
    root.stop();
    engine.flushSync();
    assert.deepEqual(reported, ['idle n/a', 'list idle n']);
    assert.equal(engine.stats().queries, 0);
  });

  it('keeps members of a root that become unknown, and lets them go when they are known to be absent', () => {
    const { engine, items } = setUp();
    const d = engine.derive({ name: 'd', sink: true, compute: (key, read) => read.get(items, key) ?? null });
    engine.each(items, {}, d);
    items.put('a', {});
    engine.flushSync();
    items.drop('unknown');
    assert.deepEqual(afterOf(engine.flushSync().changes), [['a', 'suspended']]);
    items.drop('absent');
    assert.deepEqual(afterOf(engine.flushSync().changes), [['a', undefined]]);
    assert.deepEqual(
      { ...engine.stats(), wave: 0, runs: 0, predicateEvaluations: 0, queries: 0, tables: 0 },
      {
        wave: 0,
        tables: 0,
        cells: 0,
        values: 0,
        queries: 0,
        whereQueries: 0,
        nodes: 0,
        edges: 0,
        predicateEvaluations: 0,
        runs: 0,
      },
    );
  });

  it('warns once when too many lists use a predicate', () => {
    const warnings: string[] = [];
    const { engine, items } = setUp({ onWarning: (message) => warnings.push(message) });
    const d = engine.derive({
      name: 'd',
      compute: (key, read) => read.keys(items, { where: (item) => item.ref === key }),
    });
    for (let i = 0; i < 120; i++) engine.hold(d, String(i));
    engine.flushSync();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /Item.*declare an index/);
  });
});

describe('why', () => {
  it('names the object, its changed fields from the root, digests and the way to the sink', () => {
    const { engine, items } = setUp();
    const spec = fields('spec');
    const middle = engine.derive({ name: 'middle', compute: (key, read) => read.get(items, key, spec) ?? null });
    const top = engine.derive({ name: 'top', sink: true, compute: (key, read) => read.derived(middle, key) });
    engine.each(items, {}, top);
    engine.flushSync();
    items.put('a', { spec: { ports: [1, 2] } });
    const [created] = engine.flushSync().changes;
    assert.deepEqual(
      created?.causes.map(({ source, before, via }) => [source.key, before, via]),
      [['a', 'absent', ['top(a)']]],
    );
    items.put('a', { spec: { ports: [1, 3], weight: 1 }, status: 3 });
    items.put('b', {});
    const [changed] = engine.flushSync().changes;
    assert.equal(changed?.causes.length, 1);
    const [cause] = changed?.causes ?? [];
    assert.deepEqual(cause?.source, { table: 'Item', key: 'a' });
    assert.deepEqual(cause?.paths, ['spec.ports[1]', 'spec.weight']);
    assert.deepEqual(cause?.via, ['middle(a)', 'top(a)']);
    assert.match(`${cause?.before} ${cause?.after}`, /^[0-9a-f]{12} [0-9a-f]{12}$/);
    items.delete('a');
    const [deleted] = engine.flushSync().changes;
    assert.deepEqual(
      deleted?.causes.map(({ source, after }) => [source.key, after]),
      [['a', 'absent']],
    );
  });

  it('gives up what was before a wave when that is no longer needed, and goes on naming causes', () => {
    const { engine, items } = setUp();
    const top = engine.derive({ name: 'top', sink: true, compute: (key, read) => read.get(items, key) ?? null });
    engine.each(items, {}, top);
    items.put('a', { spec: { weight: 1 } });
    const [created] = engine.flushSync().changes;
    engine.forgetWave();
    assert.deepEqual(created?.causes, []);
    items.put('a', { spec: { weight: 2 } });
    const { number, changes } = engine.flushSync();
    assert.equal(number, 2);
    assert.deepEqual(
      changes[0]?.causes.map(({ paths }) => paths),
      [['spec.weight']],
    );
  });

  it('gives no digest of a sensitive table unless one is brought', () => {
    for (const sensitiveDigest of [undefined, () => 'hmac']) {
      const engine = createEngine({ clock, ...(sensitiveDigest === undefined ? {} : { sensitiveDigest }) });
      const secrets = engine.table<{ data: Record<string, string> }>({ name: 'Secret', sensitive: true });
      secrets.synced();
      const d = engine.derive({
        name: 'd',
        sink: true,
        compute: (key, read) => read.get(secrets, key)?.data.k ?? null,
      });
      engine.hold(d, 's');
      secrets.put('s', { data: { k: 'hidden one' } });
      engine.flushSync();
      secrets.put('s', { data: { k: 'hidden two' } });
      const causes = JSON.stringify(engine.flushSync().changes[0]?.causes);
      assert.match(causes, /data\.k/);
      assert.doesNotMatch(causes, /hidden/);
      assert.match(causes, sensitiveDigest === undefined ? /"before":""/ : /"before":"hmac"/);
    }
  });
});
