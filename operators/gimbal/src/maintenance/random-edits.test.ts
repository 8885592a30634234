import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import * as fc from 'fast-check';
import {
  type Edit,
  edited,
  KINDS,
  meant,
  type Rule,
  type Rules,
  routeOf,
  rulesIn,
  type Shape,
  service,
} from './edits.test-support.ts';
import { play } from './shift.test-support.ts';

type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

describe('whatever is edited between a drain and its end', () => {
  const weight = fc.option(fc.constantFrom(0, 1, 5, 30, 100), { nil: undefined });
  const entry = fc.record({
    name: fc.constantFrom('x-a', 'x-b', 'y-a', 'y-b', 'local-l'),
    port: fc.constantFrom(80, 443),
    weight,
  });
  const rule = fc.record({
    name: fc.option(fc.constantFrom('one', 'two'), { nil: undefined }),
    match: fc.constantFrom('/', '/a', undefined),
    services: fc.array(entry, { minLength: 1, maxLength: 4 }),
  });
  const kindsOfEdits = [
    'port',
    'match',
    'name',
    'weight',
    'drop weight',
    'delete service',
    'add service',
    'delete rule',
    'add rule',
    'move rule',
    'move service',
    'rename service',
    'rename within backend',
  ] as const;
  const edit = fc.record({ what: fc.constantFrom(...kindsOfEdits), rule: fc.nat(9), entry: fc.nat(9), to: fc.nat(9) });
  const cases = fc.record({
    shape: fc.constantFrom<Shape>('proxy', 'gateway'),
    rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
    edits: fc.array(edit, { maxLength: 4 }),
  });

  const clean = (shape: Shape, rules: Drawn<typeof rule>[]): Rules =>
    rules.map(({ name, match, services }) => ({
      ...(shape === 'gateway' && name !== undefined ? { name } : {}),
      match,
      services: services.map((one) => service(one.name, one.weight, one.port)),
    }));

  /** An edit as a user makes it. New values differ from all others: equal ones could not be distinguished. */
  function editOf({ what, ...chosen }: Drawn<typeof edit>, shape: Shape, nth: number): Edit {
    const fresh = 1000 + nth;
    return (rules) => {
      const ruleAt = chosen.rule % Math.max(1, rules.length);
      const one = rules[ruleAt];
      if (what === 'add rule') {
        const added = { match: `/${fresh}`, services: [service('x-a', fresh), service('y-a', fresh)] };
        rules.splice(chosen.to % (rules.length + 1), 0, added);
      }
      if (one === undefined) return;
      const entryAt = chosen.entry % Math.max(1, one.services.length);
      const target = one.services[entryAt];
      const others = one.services.filter((_each, index) => index !== entryAt);
      // An exchange of equals cannot be seen while they are drained.
      const hasTwins =
        isRepeated(rules.map(headOf)) || isRepeated(one.services.map((each) => `${each.name}:${each.port}`));
      if (hasTwins && what.startsWith('move')) return;
      if (what === 'match') one.match = `/${fresh}`;
      if (what === 'name' && shape === 'gateway') one.name = `rule-${fresh}`;
      if (what === 'delete rule') rules.splice(ruleAt, 1);
      if (what === 'move rule') rules.splice(chosen.to % rules.length, 0, ...rules.splice(ruleAt, 1));
      if (what === 'add service') one.services.splice(chosen.to % (one.services.length + 1), 0, service('x-c', fresh));
      if (what === 'move service')
        one.services = [...others.slice(1), ...(target ? [target] : []), ...others.slice(0, 1)];
      if (target === undefined) return;
      if (what === 'port') target.port = fresh;
      if (what === 'weight') target.weight = fresh;
      if (what === 'delete service' && one.services.length > 1) one.services = others;
      if (what === 'rename service') target.name = `y-${fresh}`;
      if (what === 'rename within backend') target.name = `${target.name.split('-')[0]}-${fresh}`;
      if (what === 'drop weight') delete target.weight;
    };
  }

  const headOf = ({ name, match, services }: Rule) =>
    JSON.stringify([name, match, services.map((each) => [each.name, each.port])]);
  const isRepeated = (texts: readonly string[]) => new Set(texts).size < texts.length;

  /** Several edits at once may look like fewer others, where things are equal to begin with. */
  const withoutTwins = (rules: Rules): Rules => {
    const unique = <T>(list: readonly T[], textOf: (one: T) => string) => [
      ...new Map(list.map((one) => [textOf(one), one])).values(),
    ];
    const plain = rules.map((one) => ({ ...one, services: unique(one.services, (each) => each.name) }));
    return unique(
      unique(plain, ({ match }) => String(match)),
      ({ name, match }) => name ?? String(match),
    );
  };

  /** Equal entries have no visible order once they are drained. */
  const comparable = (rules: Rules) => {
    const text = ({ name, match, services }: Rule) =>
      JSON.stringify([name, match, services.map((one) => JSON.stringify([one.name, one.port, one.weight])).toSorted()]);
    return rules.map(text).toSorted();
  };

  for (const isSeen of [true, false])
    test(isSeen ? 'each edit seen by the operator' : 'all of it while the operator is away', () => {
      let reported = 0;
      const runs = isSeen ? 4000 : 2000;
      fc.assert(
        fc.property(cases, ({ shape, rules, edits }) => {
          const all = clean(shape, rules);
          const before = isSeen ? all : withoutTwins(all);
          const created = edits.slice(0, isSeen ? 4 : 3).map((one, nth) => editOf(one, shape, nth));
          const after = edited(shape, before, created, isSeen);
          const expected = meant(before, created);
          if (after.ambiguous.length === 0) {
            assert.deepEqual(comparable(after.rules), comparable(expected));
            assert.equal(after.state, undefined);
            return;
          }
          reported += 1;
          const weights = (list: Rules) => list.flatMap(({ services }) => services.map((one) => one.weight));
          const wanted = weights(expected);
          const wrong = weights(after.rules).filter((value, at) => value !== wanted[at]);
          assert.ok(wrong.length <= after.ambiguous.length, `${wrong.length} weights are not as meant`);
        }),
        { numRuns: runs },
      );
      assert.ok(reported < runs / 10, `${reported} of ${runs} were reported as ambiguous`);
    });

  test('several backends that leave and return in any order', () => {
    const leaving = fc.record({
      keep: fc.constantFrom(0, 0, 0.5),
      onNoCapacity: fc.constantFrom('Zero' as const, 'Keep' as const, 'Reject' as const),
      promoteZero: fc.boolean(),
    });
    const step = fc.oneof(
      fc.dictionary(fc.constantFrom('x', 'y'), leaving, { maxKeys: 2 }).map((left) => ({ left })),
      edit.map((one) => ({ one })),
    );
    let reported = 0;
    const runs = 1500;
    fc.assert(
      fc.property(cases, fc.array(step, { maxLength: 8 }), ({ shape, rules }, steps) => {
        const { kind } = KINDS[shape];
        const before = withoutTwins(clean(shape, rules));
        const expected = structuredClone(before);
        let played: { route: KubeObject; state?: string | undefined } = { route: routeOf(shape, before) };
        let leavings = {};
        let ambiguous = 0;
        for (const [nth, each] of [...steps, { left: {} }].entries()) {
          if ('left' in each) leavings = each.left;
          else {
            const made = editOf(each.one, shape, nth);
            const there = rulesIn(shape, played.route);
            made(there);
            made(expected);
            played = { ...played, route: routeOf(shape, there) };
          }
          const next = play(kind, played, leavings);
          ambiguous += next.shift.ambiguous.length;
          played = next;
        }
        if (ambiguous > 0) {
          reported += 1;
          return;
        }
        assert.deepEqual(comparable(rulesIn(shape, played.route)), comparable(expected));
        assert.equal(played.state, undefined);
      }),
      { numRuns: runs },
    );
    assert.ok(reported < runs / 10, `${reported} of ${runs} were reported as ambiguous`);
  });
});
