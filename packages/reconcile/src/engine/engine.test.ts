import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '@capstan/kube';
import { createEngine } from './engine.ts';
import type { Change, Derivation, EngineOptions, Tracker } from './engine-types.ts';
import { fields } from './graph/projection.ts';

interface Item {
  spec?: { ports?: number[]; weight?: number };
  status?: number;
  ref?: string;
}

const clock: Clock = { now: () => 0, after: () => ({ cancel() {} }), yield: () => Promise.resolve() };

function setUp(options: Partial<EngineOptions> = {}) {
  const engine = createEngine({ clock, ...options });
  const items = engine.table<Item>({ name: 'Item' });
  items.synced();
  return { engine, items };
}

function afterOf(changes: readonly Change[]): unknown[] {
  return changes.map(({ key, after }) => [key, after?.state === 'value' ? after.value : after?.state]);
}

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

describe('a wave', () => {
  it('says once that something is pending, and pauses without letting events in', async () => {
    let pending = 0;
    let now = 0;
    let inPause: () => void = () => {};
    const pausing: Clock = {
      ...clock,
      now: () => ++now,
      yield: () => {
        inPause();
        return Promise.resolve();
      },
    };
    const { engine, items } = setUp({ clock: pausing, sliceMs: 1, onPending: () => pending++ });
    const d = engine.derive({ name: 'd', sink: true, compute: (key, read) => read.get(items, key)?.status ?? null });
    engine.each(items, {}, d);
    for (const key of 'abc') items.put(key, { status: 1 });
    assert.equal(pending, 1);
    inPause = () => {
      for (const key of 'abc') items.put(key, { status: 2 });
      assert.throws(() => engine.flushSync(), { code: 'WaveRunning' });
      assert.throws(() => engine.fork().evaluate(), { code: 'WaveRunning' });
    };
    const [first, second] = await Promise.all([engine.flush(), engine.flush()]);
    assert.deepEqual(afterOf(first.changes), [
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
    assert.deepEqual(afterOf(second.changes), [
      ['a', 2],
      ['b', 2],
      ['c', 2],
    ]);
  });

  it('gives up a node that never settles, by name', () => {
    const { engine, items } = setUp({ maxRuns: 5 });
    let n = 0;
    const d: Derivation<number> = engine.derive<number>({
      name: 'd',
      onCycle: () => ++n,
      compute: (key, read) =>
        (key === 'a' ? read.derived(d, 'b') : read.derived(d, 'a')) + (read.get(items, 'x') ? 1 : 0),
    });
    engine.hold(d, 'a');
    engine.flushSync();
    const messages = ['a', 'b']
      .map((key) => engine.valueOf(d, key))
      .map((settled) => (settled?.state === 'error' ? settled.error.message : ''));
    assert.ok(
      messages.some((message) => /^d\([ab]\) ran 5 times in one wave/.test(message)),
      messages.join(),
    );
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

describe('a fork', () => {
  it('says what would change and what it cannot know, changes nothing, and ends with the next wave', () => {
    const { engine, items } = setUp();
    const facts = engine.table<number>({ name: 'Fact', demand: { key: () => assert.fail('a preview made a demand') } });
    const d = engine.derive({
      name: 'd',
      sink: true,
      compute(key, read) {
        const ref = read.get(items, key)?.ref;
        return ref === undefined ? 'plain' : (read.get(facts, ref) ?? null);
      },
    });
    engine.each(items, {}, d);
    items.put('a', {});
    items.put('b', {});
    engine.flushSync();
    const fork = engine.fork();
    fork.put(items, 'a', { ref: 'f' });
    fork.put(items, 'c', {});
    fork.delete(items, 'b');
    assert.deepEqual(afterOf(fork.evaluate()), [
      ['a', 'suspended'],
      ['b', undefined],
      ['c', 'plain'],
    ]);
    assert.deepEqual(fork.unknowns, ['Fact/f']);
    fork.put(facts, 'f', 7);
    assert.deepEqual(afterOf(fork.evaluate()), [
      ['a', 7],
      ['b', undefined],
      ['c', 'plain'],
    ]);
    assert.deepEqual(engine.valueOf(d, 'a'), { state: 'value', value: 'plain' });
    assert.deepEqual(fork.valueOf(d, 'a'), { state: 'value', value: 7 });
    assert.equal(engine.flushSync().changes.length, 0);
    assert.throws(() => fork.evaluate(), { code: 'ForkStale' });
  });

  it('evaluates chains of 5,000 nodes, new ones as well as known ones, and closes a cycle of as many', () => {
    const { engine, items } = setUp();
    const length = 5000;
    const sums: Derivation<number> = engine.derive({
      name: 'sums',
      sink: true,
      compute(key, read): number {
        const { ref, status = 0 } = read.get(items, key) ?? {};
        return status + (ref === undefined ? 0 : read.derived(sums, ref));
      },
      onCycle: () => -1,
    });
    engine.hold(sums, '0');
    items.put('0', { status: 1 });
    engine.flushSync();
    const link = (at: number) => ({ status: 1, ...(at < length - 1 && { ref: String(at + 1) }) });
    const fork = engine.fork();
    for (let at = 0; at < length; at++) fork.put(items, String(at), link(at));
    assert.deepEqual(fork.valueOf(sums, '0'), { state: 'value', value: length });
    fork.put(items, String(length - 1), { ref: '0' });
    assert.deepEqual(fork.valueOf(sums, '0'), { state: 'value', value: -1 });
    for (let at = 0; at < length; at++) items.put(String(at), link(at));
    engine.flushSync();
    const known = engine.fork();
    known.put(items, String(length - 1), { status: 2 });
    assert.deepEqual(known.valueOf(sums, '0'), { state: 'value', value: length + 1 });
  });
});

describe('between two slices of a wave', () => {
  it('the values of the wave before are shown, for changed, new and unchanged nodes alike', async () => {
    const seen: unknown[] = [];
    let shown: (() => unknown) | undefined;
    let now = 0;
    const slicing: Clock = {
      ...clock,
      now: () => now++,
      async yield() {
        seen.push(shown?.());
      },
    };
    const { engine, items } = setUp({ clock: slicing, sliceMs: 0 });
    const first = engine.derive<number>({
      name: 'first',
      sink: true,
      compute: (key, read) => read.get(items, key)?.status ?? 0,
    });
    const second = engine.derive<number>({
      name: 'second',
      sink: true,
      compute: (key, read) => read.derived(first, key) * 10,
    });
    engine.hold(second, 'a');
    items.put('a', { status: 1 });
    await engine.flush();
    const valueOf = (derivation: typeof first, key: string) => {
      const settled = engine.valueOf(derivation, key);
      return settled?.state === 'value' ? settled.value : settled?.state;
    };
    shown = () => [valueOf(first, 'a'), valueOf(second, 'a'), valueOf(second, 'b')];
    items.put('a', { status: 2 });
    items.put('b', { status: 3 });
    engine.hold(second, 'b');
    seen.length = 0;
    await engine.flush();
    assert.ok(seen.length > 3, 'it was paused several times');
    for (const values of seen) assert.deepEqual(values, [1, 10, undefined]);
    assert.deepEqual(shown(), [2, 20, 30]);
  });

  it('a preview waits until the wave is over, and the next wave waits for it', async () => {
    const asked: Promise<unknown>[] = [];
    let now = 0;
    const slicing: Clock = {
      ...clock,
      now: () => now++,
      async yield() {
        assert.throws(() => engine.fork().evaluateKey(doubled, 'a'), /while a wave is running/);
        if (asked.length === 0) asked.push(engine.between(() => engine.fork().evaluateKey(doubled, 'a')));
      },
    };
    const { engine, items } = setUp({ clock: slicing, sliceMs: 0 });
    const doubled = engine.derive<number>({
      name: 'doubled',
      sink: true,
      compute: (key, read) => (read.get(items, key)?.status ?? 0) * 2,
    });
    engine.hold(doubled, 'a');
    items.put('a', { status: 1 });
    const first = engine.flush();
    const second = first.then(() => {
      items.put('a', { status: 2 });
      return engine.flush();
    });
    await second;
    assert.deepEqual(await Promise.all(asked), [{ state: 'value', value: 2 }]);
  });
});

describe('new objects', () => {
  /** Each run takes a millisecond; `onYield` is called when a wave makes room for other work. */
  function slow(onYield: () => void) {
    let now = 0;
    const waiting: Clock = {
      now: () => now,
      after: () => ({ cancel() {} }),
      async yield() {
        onYield();
      },
    };
    const { engine, items } = setUp({ clock: waiting });
    const copies = engine.derive({
      name: 'copies',
      sink: true,
      compute(key, read) {
        now += 1;
        return read.get(items, key)?.status ?? null;
      },
    });
    engine.each(items, {}, copies);
    return { engine, items, copies };
  }

  it('do not hold up an edit of one that was there, and are all evaluated once', async () => {
    let isEdited = false;
    const { engine, items } = slow(() => {
      if (!isEdited) items.put('old', { status: 2 });
      isEdited = true;
    });
    items.put('old', { status: 1 });
    await engine.flush();
    isEdited = false;
    for (let index = 0; index < 500; index++) items.put(`new${index}`, { status: 0 });
    const first = await engine.flush();
    assert.ok(first.changes.length < 100, `${first.changes.length} were evaluated before the edit`);
    const second = await engine.flush();
    assert.deepEqual(afterOf(second.changes).at(-1), ['old', 2]);
    const all = [...first.changes, ...second.changes];
    while (engine.newcomers > 0) all.push(...(await engine.flush()).changes);
    assert.equal(all.length, 501);
    assert.equal(new Set(all.map(({ key }) => key)).size, 501);
  });

  it('are evaluated by a preview that asks for one before its turn', async () => {
    const { engine, items, copies } = slow(() => items.put('old', { status: 2 }));
    items.put('old', { status: 1 });
    await engine.flush();
    for (let index = 0; index < 200; index++) items.put(`new${index}`, { status: 7 });
    await engine.flush();
    assert.equal(engine.valueOf(copies, 'new199'), undefined);
    assert.deepEqual(engine.fork().evaluateKey(copies, 'new199'), { state: 'value', value: 7 });
    assert.equal(engine.valueOf(copies, 'new199'), undefined);
  });

  it('have their cause whenever their turn comes', async () => {
    const { engine, items } = slow(() => items.put('old', { status: 2 }));
    items.put('old', { status: 1 });
    await engine.flush();
    for (let index = 0; index < 200; index++) items.put(`new${index}`, { status: 0 });
    await engine.flush();
    const { changes } = await engine.flush();
    const late = changes.find(({ key }) => key.startsWith('new'));
    assert.deepEqual(
      late?.causes.map(({ source, before }) => [source.key, before]),
      [[late?.key, 'absent']],
    );
  });

  it('new objects that are gone before their turn are never evaluated', async () => {
    let isWaiting = false;
    const { engine, items } = slow(() => isWaiting && items.put('old', { status: 2 }));
    items.put('old', { status: 1 });
    await engine.flush();
    isWaiting = true;
    for (let index = 0; index < 200; index++) items.put(`new${index}`, { status: 0 });
    const keys = (await engine.flush()).changes.map(({ key }) => key);
    assert.ok(!keys.includes('new199'));
    items.delete('new199');
    isWaiting = false;
    while (engine.newcomers > 0) keys.push(...(await engine.flush()).changes.map(({ key }) => key));
    assert.equal(new Set(keys).size, 200);
    assert.ok(!keys.includes('new199'));
  });
});
