import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '@capstan/kube';
import { afterOf, clock, setUp } from './engine.test-support.ts';
import type { Derivation } from './engine-types.ts';

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
