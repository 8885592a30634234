import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterOf, setUp } from './engine.test-support.ts';
import type { Derivation } from './engine-types.ts';

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
