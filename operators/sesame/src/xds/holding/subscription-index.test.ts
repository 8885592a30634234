import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { NameSet, NameTable } from './subscription-index.ts';

suite('a set of names', () => {
  test('has the names of a plain set after any additions and removals, and leaves nothing in the table', () => {
    const step = fc.record({ set: fc.nat(2), name: fc.nat(99), isAdded: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const table = new NameTable();
        const sets = [0, 1, 2].map(() => ({ own: new NameSet(table), plain: new Set<string>() }));
        for (const { set, name, isAdded } of steps) {
          const { own, plain } = sets[set] as (typeof sets)[number];
          const text = `service-${name}`;
          assert.equal(isAdded ? own.add(text) : own.delete(text), isAdded ? !plain.has(text) : plain.has(text));
          if (isAdded) plain.add(text);
          else plain.delete(text);
          assert.equal(own.size, plain.size);
        }
        for (const { own, plain } of sets) {
          assert.deepEqual([...own].toSorted(), [...plain].toSorted());
          for (let name = 0; name < 100; name += 1)
            assert.equal(own.has(`service-${name}`), plain.has(`service-${name}`));
          own.clear();
          assert.deepEqual([...own], []);
        }
        assert.equal(table.size, 0);
      }),
    );
  });

  test('allows to delete each name while it goes through them', () => {
    for (const count of [3, 70]) {
      const set = new NameSet(new NameTable());
      for (let name = 0; name < count; name += 1) set.add(`service-${name}`);
      for (const name of set) set.delete(name);
      assert.equal(set.size, 0);
    }
  });
});
