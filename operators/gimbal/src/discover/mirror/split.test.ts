import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { split } from './split.ts';

const address = (index: number) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
const itself = (text: string) => text;

describe('splitting endpoints into slices', () => {
  it('puts 100,000 into slices of at most 1000, and a changed one changes one slice', () => {
    const all = Array.from({ length: 100_000 }, (_, index) => address(index));
    const before = split(all, itself);
    assert.ok(before.every(({ members }) => members.length <= 1000));
    assert.ok(before.length <= 300, `${before.length} slices`);
    const after = split([...all.slice(0, 500), ...all.slice(501), '10.200.0.1'], itself);
    const texts = new Map(before.map(({ bits, members }) => [bits, members.toSorted().join()]));
    const changed = after.filter(({ bits, members }) => texts.get(bits) !== members.toSorted().join());
    assert.ok(changed.length <= 2, `${changed.length} slices changed: that of the old and that of the new address`);
  });

  it('loses no endpoint, duplicates none, and does not depend on the order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.ipV4(), { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (all, max) => {
        const parts = split(all, itself, max);
        assert.deepEqual(parts.flatMap(({ members }) => members).toSorted(), all.toSorted());
        assert.ok(parts.every(({ members }) => members.length <= max));
        const again = split(all.toReversed(), itself, max);
        assert.deepEqual(
          again.map(({ bits, members }) => [bits, members.toSorted()]),
          parts.map(({ bits, members }) => [bits, members.toSorted()]),
        );
      }),
    );
  });

  it('gives one part for none', () => {
    assert.deepEqual(split([], itself), [{ bits: '', members: [] }]);
  });
});
