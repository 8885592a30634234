import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readPolicy } from '../policy/read-policy.ts';
import { matchSet, nextMatch } from './match-set.ts';
import { rankRules } from './ranking.ts';

const VALUES = ['a', 'b', 'c'];
const side = fc.constantFrom(...VALUES.map((value) => ({ x: value })), {});

test('every rule that matches two clusters in either order is found once and in order, also beyond the first 32 rules', () => {
  const world = fc.record({
    rules: fc.array(fc.tuple(side, side), { minLength: 1, maxLength: 100, size: 'max' }),
    one: fc.constantFrom(...VALUES),
    other: fc.constantFrom(...VALUES),
  });
  fc.assert(
    fc.property(world, ({ rules, one, other }) => {
      const ranking = rankRules(
        rules.map(([left, right], index) => {
          const spec = { leftClusterSelector: left, rightClusterSelector: right, name: 'vxlan' };
          return readPolicy({ metadata: { name: `p${index}` }, spec });
        }),
      );
      const expected = ranking.rules.flatMap(({ rule }, index) => {
        const matches = (a: string, b: string) =>
          rule.left.compiled.matches({ x: a }) && rule.right.compiled.matches({ x: b });
        return matches(one, other) || matches(other, one) ? [index] : [];
      });
      const [left, right] = [matchSet({ x: one }, ranking), matchSet({ x: other }, ranking)];
      const found: number[] = [];
      for (let at = nextMatch(left, right); at >= 0; at = nextMatch(left, right, at + 1)) {
        found.push(at);
        assert.ok(found.length <= rules.length);
      }
      assert.deepEqual(found, expected);
    }),
  );
});
