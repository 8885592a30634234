import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CauseState, rootCauses } from './root-causes.ts';

/** `a>b` means that a depends on b. A capital letter is broken, `?` in front marks an absent object, `~` one in progress. */
function causes(states: string, ...edges: string[]) {
  const stateOf = new Map<string, CauseState>(
    states.split(' ').map((text) => {
      const id = text.replace(/^[?~.]/, '');
      return [
        id,
        text.startsWith('?')
          ? 'absent'
          : text.startsWith('~')
            ? 'progress'
            : text.startsWith('.')
              ? undefined
              : 'broken',
      ];
    }),
  );
  return rootCauses({
    problems: [...stateOf].filter(([, state]) => state !== undefined && state !== 'absent').map(([id]) => id),
    stateOf: (id) => stateOf.get(id),
    dependsOn: (id) => edges.filter((edge) => edge.startsWith(`${id}>`)).map((edge) => edge.slice(id.length + 1)),
  });
}

const TABLE: readonly [name: string, states: string, edges: readonly string[], roots: readonly string[]][] = [
  ['a problem of its own is a root', 'a', [], ['a: ']],
  ['a problem that depends on another is affected', 'a b', ['a>b'], ['b: a']],
  [
    'an absent object is the root of a deletion in a rollout',
    'filter cluster ~proxy ?secret',
    ['cluster>proxy', 'proxy>filter', 'filter>secret'],
    ['secret: filter,proxy,cluster'],
  ],
  ['an object in progress is never a root', 'victim ~rollout', ['victim>rollout'], ['victim: ']],
  ['objects in progress alone have no root', '~a ~b', ['a>b'], []],
  ['a cause is found through an object in progress', 'a ~b c', ['a>b', 'b>c'], ['c: b,a']],
  ['a cause is found through steps', 'a .step .other c', ['a>step', 'step>other', 'other>c'], ['c: a']],
  ['two roots may share a victim', 'a b c', ['c>a', 'c>b'], ['a: c', 'b: c']],
  ['a circle counts as one root', 'a b c', ['a>b', 'b>a', 'c>a'], ['a: b,c']],
  ['a circle that depends on a problem is affected', 'a b c', ['a>b', 'b>a', 'b>c'], ['c: b,a']],
  ['a circle of objects in progress is no root', '~a ~b', ['a>b', 'b>a'], []],
  ['an object that depends on itself is a root', 'a', ['a>a'], ['a: ']],
  ['the root that affects most is first', 'a b c d', ['c>b', 'd>b'], ['b: c,d', 'a: ']],
];

describe('root causes', () => {
  for (const [name, states, edges, expected] of TABLE) {
    it(name, () => {
      const { roots } = causes(states, ...edges);
      assert.deepEqual(
        roots.map(({ id, affects }) => `${id}: ${affects.join()}`),
        expected,
      );
    });
  }

  it('name the nearest causes of a problem, through steps and objects in progress', () => {
    const { causesOf } = causes('a .s ~p b c', 'a>s', 's>p', 'p>b', 'b>c');
    assert.deepEqual(causesOf('a'), ['b']);
    assert.deepEqual(causesOf('c'), []);
  });

  it('are found in a chain of 50,000 objects', () => {
    const length = 50_000;
    const { roots } = rootCauses({
      problems: Array.from({ length }, (_, at) => String(at)),
      stateOf: () => 'broken',
      dependsOn: (id) => (Number(id) + 1 < length ? [String(Number(id) + 1)] : []),
    });
    assert.deepEqual(
      roots.map(({ id, affects }) => [id, affects.length]),
      [[String(length - 1), length - 1]],
    );
  });

  it('root causes of 10,000 problems without dependencies are 10,000', () => {
    const { roots } = rootCauses({
      problems: Array.from({ length: 10_000 }, (_, at) => String(at)),
      stateOf: () => 'broken',
      dependsOn: () => [],
    });
    assert.equal(roots.length, 10_000);
  });
});
