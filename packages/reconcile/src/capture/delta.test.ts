import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { applyDelta, type Delta, deltaOf } from './delta.ts';
import { pack, unpack } from './text.ts';

const names = fc.constantFrom('a', 'b', 'c', 'd', '1', '__proto__');
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(0, 1, '', 'x', true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(names, tie('value')), { maxLength: 5 })
      // Object.fromEntries defines __proto__ as a field.
      .map((entries) => Object.fromEntries(entries)),
  ),
}));

function restored(before: unknown, after: unknown): unknown {
  const delta = deltaOf(before, after);
  // As a file gives it back.
  return delta === undefined
    ? before
    : applyDelta(before, unpack(JSON.parse(JSON.stringify(pack(delta).value))) as Delta);
}

test('a change that is applied gives the value with its names in the same order', () => {
  fc.assert(
    fc.property(value, value, (before, after) => {
      const found = restored(before, after);
      assert.deepEqual(found, after);
      assert.equal(JSON.stringify(found), JSON.stringify(after));
    }),
    { numRuns: 5000 },
  );
});

test('a new name before the others keeps its place', () => {
  const found = restored({ pages: { home: 1 } }, { pages: { about: 2, home: 1 } });
  assert.equal(JSON.stringify(found), '{"pages":{"about":2,"home":1}}');
});

test('a change costs its size where the order of the names stays', () => {
  const before = { a: 1, b: { c: 2, d: 3 } };
  assert.deepEqual(deltaOf(before, { a: 1, b: { c: 2, d: 4 }, e: 5 }), [
    1,
    { b: [1, { d: [0, 4] }, []], e: [0, 5] },
    [],
  ]);
  assert.equal(deltaOf(before, { a: 1, b: { c: 2, d: 3 } }), undefined);
});
