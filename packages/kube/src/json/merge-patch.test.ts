import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { equal } from './equal.ts';
import { applyMergePatch, createMergePatch } from './merge-patch.ts';

function partOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === key)?.[1]
    : undefined;
}

describe('a merge patch', () => {
  it('applies as in the examples of RFC 7396', () => {
    for (const [target, patch, result] of [
      [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
      [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
      [{ a: 'b' }, { a: null }, {}],
      [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
      [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
      [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
      [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
      [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
      [
        ['a', 'b'],
        ['c', 'd'],
        ['c', 'd'],
      ],
      [{ a: 'b' }, ['c'], ['c']],
      [{ a: 'foo' }, null, null],
      [{ a: 'foo' }, 'bar', 'bar'],
      [{ e: null }, { a: 1 }, { e: null, a: 1 }],
      [[1, 2], { a: 'b', c: null }, { a: 'b' }],
      [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    ] as const) {
      assert.deepEqual(applyMergePatch(target, patch), result, JSON.stringify(patch));
    }
  });

  it('gives the same references where nothing changes', () => {
    const target = { a: { b: 1 }, list: [{ x: 1 }], c: { d: 2 } };
    assert.equal(applyMergePatch(target, { a: { b: 1 }, list: [{ x: 1 }], gone: null }), target);
    const changed = applyMergePatch(target, { c: { d: 3 } });
    assert.equal(partOf(changed, 'a'), target.a);
    assert.equal(partOf(changed, 'list'), target.list);
    assert.deepEqual(target.c, { d: 2 });
  });

  it('does not mistake a member called __proto__ for anything else', () => {
    const patch: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const result = applyMergePatch({}, patch);
    assert.equal(JSON.stringify(result), '{"__proto__":{"polluted":true}}');
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    assert.equal(JSON.stringify(createMergePatch({}, patch)), '{"__proto__":{"polluted":true}}');
  });

  it('is made as small as it can be', () => {
    const from = { keep: 1, change: 1, drop: 1, inner: { keep: 1, drop: 1 }, list: [1, 2], same: { a: [1] } };
    const to = { keep: 1, change: 2, inner: { keep: 1 }, list: [1], same: { a: [1] }, added: { x: 1 } };
    assert.deepEqual(createMergePatch(from, to), {
      drop: null,
      change: 2,
      inner: { drop: null },
      list: [1],
      added: { x: 1 },
    });
    assert.deepEqual(createMergePatch(from, structuredClone(from)), {});
    assert.deepEqual(createMergePatch({ a: undefined }, { b: undefined, c: null }), {});
  });

  it('makes exactly what it was made for', () => {
    const key = fc.constantFrom('a', 'b', 'c', '__proto__');
    const { document } = fc.letrec<{ document: unknown; value: unknown }>((tie) => ({
      // No member is null: a merge patch cannot say that. Within lists anything goes.
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(0, 1, '', 'x', true),
        fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }),
        tie('document'),
      ),
      document: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    }));
    fc.assert(
      fc.property(document, document, (from, to) => {
        const before = JSON.stringify([from, to]);
        const patch = createMergePatch(from, to);
        const result = applyMergePatch(from, patch);
        assert.ok(
          equal(result, to),
          `${JSON.stringify(from)} with ${JSON.stringify(patch)} is ${JSON.stringify(result)}`,
        );
        assert.equal(JSON.stringify([from, to]), before, 'nothing was changed in place');
        if (equal(from, to)) assert.equal(result, from);
        assert.equal(applyMergePatch(result, patch), result, 'twice is once');
      }),
      { numRuns: 500 },
    );
  });
});
