// Users edit routes while a backend is in maintenance. Afterwards the route must equal the original route with the same edits. Where that
// cannot be known, nothing is restored and the route is reported.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  at,
  type Edit,
  edited,
  KINDS,
  meant,
  type Rule,
  type Rules,
  routeOf,
  type Shape,
  service,
  X,
} from './edits.test-support.ts';
import { play } from './shift.test-support.ts';

interface Row {
  what: string;
  shape?: Shape;
  before: Rules;
  edit: Edit;
}

const ROWS: Row[] = [
  {
    what: 'the port of the other service',
    before: [{ match: '/', services: [service('x-a'), service('y-a')] }],
    edit: (rules) => (at(rules, 0, 1).port = 81),
  },
  {
    what: 'the port of the drained service',
    before: [{ match: '/', services: [service('x-a', 40), service('y-a', 60)] }],
    edit: (rules) => (at(rules, 0, 0).port = 81),
  },
  {
    what: 'one of two rules deleted, and the match of the other',
    before: [
      { match: '/a', services: [service('x-a', 1), service('y-a', 9)] },
      { match: '/b', services: [service('x-a', 70), service('y-a', 30)] },
    ],
    edit(rules) {
      rules.shift();
      for (const rule of rules) rule.match = '/c';
    },
  },
  {
    what: 'the first of two rules without matches deleted',
    shape: 'gateway',
    before: [
      { match: undefined, services: [service('x-a', 1), service('y-a', 9)] },
      { match: undefined, services: [service('x-a', 70), service('y-a', 30)] },
    ],
    edit: (rules) => rules.shift(),
  },
  {
    what: 'match and port of a named rule',
    shape: 'gateway',
    before: [{ name: 'one', match: '/a', services: [service('x-a', 7), service('y-a', 3)] }],
    edit(rules) {
      for (const rule of rules) rule.match = '/c';
      at(rules, 0, 0).port = 81;
    },
  },
  {
    what: 'the match, and the weight of the other',
    before: [{ match: '/a', services: [service('x-a'), service('y-a')] }],
    edit(rules) {
      for (const rule of rules) rule.match = '/c';
      at(rules, 0, 1).weight = 5;
    },
  },
  {
    what: 'match and port',
    before: [{ match: '/a', services: [service('x-a', 40), service('y-a', 60)] }],
    edit(rules) {
      for (const rule of rules) rule.match = '/c';
      at(rules, 0, 0).port = 81;
    },
  },
  {
    what: 'a rule inserted before, and one moved',
    before: [
      { match: '/a', services: [service('x-a', 1), service('y-a', 9)] },
      { match: '/b', services: [service('x-a', 70), service('y-a', 9)] },
    ],
    edit(rules) {
      rules.reverse();
      rules.unshift({ match: '/new', services: [service('z-c', 3)] });
    },
  },
  {
    what: 'one of two services of different ports deleted',
    before: [{ match: '/', services: [service('x-a', 10, 80), service('x-a', 20, 443), service('y-a', 5)] }],
    edit: (rules) => rules[0]?.services.shift(),
  },
  {
    what: 'the name of a rule',
    shape: 'gateway',
    before: [
      { name: 'one', match: '/', services: [service('x-a', 7), service('y-a', 3)] },
      { name: 'two', match: '/', services: [service('x-a', 4), service('y-a', 3)] },
    ],
    edit(rules) {
      for (const rule of rules.slice(0, 1)) rule.name = 'three';
    },
  },
  {
    what: 'the name of a service that took over',
    before: [{ match: '/', services: [service('x-a'), service('y-a')] }],
    edit: (rules) => (at(rules, 0, 1).name = 'y-b'),
  },
];

describe('weights return as they were meant, after an edit of', () => {
  for (const { what, shape = 'proxy', before, edit } of ROWS)
    test(what, () => {
      const after = edited(shape, before, [edit]);
      assert.deepEqual(after.rules, meant(before, [edit]));
      assert.deepEqual([after.state, after.ambiguous], [undefined, []]);
    });
});

describe('a drained service that was renamed within its backend resumes with its weight', () => {
  for (const shape of ['proxy', 'gateway'] as const)
    for (const isSeen of [true, false])
      test(`a drained service that was renamed within its backend resumes with its weight in a route of the kind ${shape}, ${isSeen ? 'seen by the operator' : 'while the operator is away'}`, () => {
        const before = [
          { match: '/', services: [service('x-a', 40), service('y-a', 60)] },
          { match: '/b', services: [service('local-l', 5), service('x-b'), service('y-a', 9, 443)] },
        ];
        const renames: Edit[] = [
          (rules) => (at(rules, 0, 0).name = 'x-c'),
          (rules) => (at(rules, 0, 0).name = 'x-d'),
          (rules) => (at(rules, 0, 1).name = 'y-c'),
        ];
        const after = edited(shape, before, renames, isSeen);
        assert.deepEqual(after.rules, meant(before, renames));
        assert.deepEqual([after.state, after.ambiguous], [undefined, []]);
      });
});

describe('what cannot be known is reported and not restored', () => {
  const before = [{ match: '/', services: [service('x-a', 40), service('y-a', 60)] }];
  const rename = (name: string) => (rules: Rules) => (at(rules, 0, 0).name = name);
  const uncertain: Record<string, Edit> = {
    'to a service of another backend': rename('y-b'),
    'together with its port': (rules) => Object.assign(at(rules, 0, 0), { name: 'x-b', port: 8080 }),
    'and moved to another place': (rules) => {
      rename('x-b')(rules);
      rules[0]?.services.reverse();
    },
    'in a rule that matches something else now': (rules) => {
      rename('x-b')(rules);
      Object.assign(rules[0] as Rule, { match: '/other' });
    },
  };
  for (const [how, edit] of Object.entries(uncertain))
    test(`a drained service that was renamed ${how}`, () => {
      const after = edited('proxy', before, [edit], false);
      assert.ok(!after.rules[0]?.services.some(({ weight }) => weight === 40));
      assert.equal(after.ambiguous.length, 1);
      assert.match(after.ambiguous[0] ?? '', /the weight before maintenance was 40, now it is 0$/);
      assert.notEqual(after.state, undefined, 'what was remembered stays on the route');
    });

  test('two drained services that were renamed at once', () => {
    const two = [{ match: '/', services: [service('x-a', 40), service('x-b', 30), service('y-a', 60)] }];
    const both: Edit = (rules) => {
      at(rules, 0, 0).name = 'x-c';
      at(rules, 0, 1).name = 'x-d';
    };
    const after = edited('proxy', two, [both], false);
    assert.deepEqual(
      after.rules[0]?.services.map(({ weight }) => weight),
      [0, 0, 60],
    );
    assert.equal(after.ambiguous.length, 2);
  });

  test('a drained service that was renamed, while a copy of its rule has the old name', () => {
    const copy: Edit = (rules) => {
      rules.push({ ...structuredClone(rules[0] as Rule), match: '/copy' });
      rename('x-b')(rules);
    };
    const after = edited('proxy', before, [copy], false);
    assert.deepEqual(
      after.rules.map(({ services }) => services.map(({ weight }) => weight)),
      [
        [0, 60],
        [0, 60],
      ],
    );
    assert.equal(after.ambiguous.length, 2);
  });

  test('one of two equal services that was deleted', () => {
    const before = [{ match: '/', services: [service('x-a', 10), service('x-a', 20), service('y-a', 5)] }];
    const after = edited('proxy', before, [(rules) => rules[0]?.services.shift()]);
    assert.deepEqual(after.ambiguous, [
      'routes[0] default/x-a:80: the weight before maintenance was 10 or 20, now it is 0',
    ]);
    assert.equal(at(after.rules, 0, 0).weight, 0);
  });

  test('one of two equal rules that was deleted: what both agree on returns', () => {
    const before = [
      { match: undefined, services: [service('x-a', 1), service('y-a', 9)] },
      { match: undefined, services: [service('x-a', 70), service('y-a', 9)] },
    ];
    const after = edited('gateway', before, [(rules) => rules.shift()]);
    assert.deepEqual(after.ambiguous, [
      'rules[0] default/x-a:80: the weight before maintenance was 1 or 70, now it is 0',
    ]);
  });

  test('a rule that was copied with the weights of maintenance', () => {
    const before = [{ match: '/', services: [service('x-a', 40), service('y-a', 60)] }];
    const copy: Edit = (rules) => rules.push({ ...structuredClone(rules[0] as Rule), match: '/copy' });
    const after = edited('proxy', before, [copy]);
    assert.deepEqual(
      after.rules.map(({ services }) => services.map(({ weight }) => weight)),
      [
        [40, 60],
        [0, 60],
      ],
    );
    assert.deepEqual(after.ambiguous, ['routes[1] default/x-a:80: the weight before maintenance was 40, now it is 0']);
  });

  test('a weight that the user sets ends the report', () => {
    const { kind } = KINDS.proxy;
    const before = [{ match: '/', services: [service('x-a', 40), service('y-a', 60)] }];
    const drained = play(kind, { route: routeOf('proxy', before) }, X);
    const renamed = (weight: number) =>
      routeOf('proxy', [{ match: '/', services: [service('y-b', weight), service('y-a', 60)] }]);
    const seen = play(kind, { ...drained, route: renamed(0) }, X);
    const resumed = play(kind, seen, {});
    assert.equal(play(kind, resumed, {}).shift.ambiguous.length, 1, 'it stays while nothing is done');
    const set = play(kind, { ...resumed, route: renamed(40) }, {});
    assert.deepEqual([set.shift.ambiguous, set.state], [[], undefined]);
  });
});
