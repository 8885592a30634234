import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Clock } from '@capstan/kube';
import fc from 'fast-check';
import { createEngine } from './engine.ts';

const clock: Clock = { now: () => 0, after: () => ({ cancel() {} }), yield: () => Promise.resolve() };

/** The result fails on a 9, and on a second 8: the second by key is to blame. */
function check(values: readonly number[]): void {
  if (values.includes(9)) throw new Error('a nine');
  if (values.filter((value) => value === 8).length > 1) throw new Error('two eights');
}

/** Returns the state without the members with which their predecessors fail. */
function expected(values: ReadonlyMap<string, number>): Record<string, number> {
  const kept: [string, number][] = [];
  for (const entry of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
    try {
      check([...kept, entry].map(([, value]) => value));
      kept.push(entry);
    } catch {
      // Left out.
    }
  }
  return Object.fromEntries(kept);
}

function setUp() {
  const faults = new Map<string, string>();
  const engine = createEngine({
    clock,
    onFault({ key, errors }) {
      if (errors.size === 0) faults.delete(key);
      else faults.set(key, [...errors.values()].map(({ message }) => message).join());
    },
  });
  const numbers = engine.table<number>({ name: 'Number' });
  numbers.synced();
  const sorted = (entries: readonly (readonly [string, number])[]) =>
    Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const part = (value: number) => value;
  const all = engine.fold<Map<string, number>, number, Record<string, number>, number>({
    name: 'all',
    over: () => ({ table: numbers }),
    part,
    empty: () => new Map(),
    clone: (state) => new Map(state),
    put: (state, key, value) => void state.set(key, value),
    remove: (state, key) => void state.delete(key),
    result(state) {
      check([...state.values()]);
      return sorted([...state]);
    },
    sink: true,
  });
  engine.hold(all, '');
  engine.flushSync();
  return { engine, numbers, all, faults };
}

const step = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.option(fc.integer({ min: 5, max: 9 })));

describe('the result of a fold', () => {
  test('a fold that fails on some members leaves these out, in any order of events, and in a fork', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), step, (steps, next) => {
        const { engine, numbers, all, faults } = setUp();
        const values = new Map<string, number>();
        for (const [key, value] of steps) {
          if (value === null) {
            numbers.delete(key);
            values.delete(key);
          } else {
            numbers.put(key, value);
            values.set(key, value);
          }
          engine.flushSync();
          const kept = expected(values);
          assert.deepEqual(engine.valueOf(all, ''), { state: 'value', value: kept });
          const leftOut = [...values.keys()].filter((one) => !(one in kept));
          assert.deepEqual(
            [...faults.keys()].sort(),
            leftOut.sort(),
            'the errors show on the members that are left out',
          );
        }
        const fork = engine.fork();
        const [key, value] = next;
        if (value === null) fork.delete(numbers, key);
        else fork.put(numbers, key, value);
        const then = new Map(values);
        if (value === null) then.delete(key);
        else then.set(key, value);
        fork.evaluate();
        assert.deepEqual(fork.valueOf(all, ''), { state: 'value', value: expected(then) });
      }),
    );
  });
});

test('a result that fails without members, or on very many, is an error for all readers', () => {
  const { engine, numbers, all } = setUp();
  for (let at = 0; at < 40; at++) numbers.put(`member-${at}`, 9);
  engine.flushSync();
  assert.equal(engine.valueOf(all, '')?.state, 'error');
  for (let at = 0; at < 30; at++) numbers.put(`member-${at}`, 1);
  engine.flushSync();
  const settled = engine.valueOf(all, '');
  assert.equal(settled?.state === 'value' && Object.keys(settled.value).length, 30);
});
