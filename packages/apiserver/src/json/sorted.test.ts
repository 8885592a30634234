import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { sorted } from './sorted.ts';

test('objects have their keys in order, at every depth, and mean the same', () => {
  assert.equal(
    JSON.stringify(sorted({ b: [{ d: 1, c: null }], a: { z: 'x', y: {} } })),
    '{"a":{"y":{},"z":"x"},"b":[{"c":null,"d":1}]}',
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(sorted(value), value);
    }),
  );
});

test('a value in order stays the very same', () => {
  const inOrder = { a: [1, { b: 2 }], c: { d: '' } };
  assert.equal(sorted(inOrder), inOrder);
  const half = { z: inOrder, y: 1 };
  assert.equal(sorted(half).z, inOrder);
});
