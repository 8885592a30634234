import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type HistoryInput, historyOf } from './revision-history.ts';
import type { RevisionView } from './revisions.ts';

const revision = (name: string, number: number, desiredState: 'Active' | 'Inactive' = 'Inactive'): RevisionView => ({
  name,
  uid: `uid-${name}`,
  digest: undefined,
  owner: 'package',
  isBeingDeleted: false,
  spec: { desiredState, image: name, revision: number } as RevisionView['spec'],
});
const input = (given: Partial<HistoryInput>): HistoryInput => ({
  revisions: [],
  current: { name: 'new', digest: 'sha256:x' },
  policy: 'Automatic',
  isUnpacked: false,
  limit: 1,
  lastActive: undefined,
  serving: new Set(),
  ...given,
});
const shown = (given: Partial<HistoryInput>) =>
  historyOf(input(given)).wanted.map(
    ({ name, revision: number, state, isCandidate }) => `${name} ${number} ${state}${isCandidate ? ' candidate' : ''}`,
  );

describe('revisions', () => {
  test('the first is active at once, or waits for its user', () => {
    assert.deepEqual(shown({}), ['new 1 Active']);
    assert.deepEqual(shown({ policy: 'Manual' }), ['new 1 Inactive']);
  });

  test('the next takes over once it is unpacked', () => {
    const revisions = [revision('old', 1, 'Active')];
    assert.deepEqual(shown({ revisions }), ['old 1 Active', 'new 2 Inactive candidate']);
    assert.deepEqual(shown({ revisions, isUnpacked: true }), ['old 1 Inactive', 'new 2 Active']);
  });

  test('one that is asked for again becomes the newest', () => {
    const revisions = [revision('new', 1), revision('other', 2, 'Active')];
    assert.deepEqual(shown({ revisions, isUnpacked: true }), ['other 2 Inactive', 'new 3 Active']);
  });

  test('the oldest go beyond the limit, but neither the one in force nor one that still serves', () => {
    const revisions = [revision('a', 1), revision('b', 2), revision('c', 3), revision('new', 4, 'Active')];
    assert.deepEqual(shown({ revisions }), ['c 3 Inactive', 'new 4 Active']);
    assert.deepEqual(shown({ revisions, serving: new Set(['a']) }), ['a 1 Inactive', 'new 4 Active']);
    assert.equal(shown({ revisions, limit: 0 }).length, 4);
  });

  test('the later of two revisions that users activate counts', () => {
    const revisions = [revision('old', 1, 'Active'), revision('new', 2, 'Active')];
    const manual = { revisions, policy: 'Manual' as const };
    assert.deepEqual(shown({ ...manual, lastActive: 'old' }), ['old 1 Inactive', 'new 2 Active']);
    assert.deepEqual(shown({ ...manual, lastActive: 'new' }), ['old 1 Active', 'new 2 Inactive']);
  });

  test('there is never more than one active, numbers are unique, and the one in force is never lost', () => {
    const state = fc.constantFrom('Active' as const, 'Inactive' as const);
    const given = fc.record({
      states: fc.array(state, { maxLength: 6 }),
      at: fc.integer({ min: 0, max: 7 }),
      policy: fc.constantFrom('Automatic' as const, 'Manual' as const),
      isUnpacked: fc.boolean(),
      limit: fc.integer({ min: 0, max: 4 }),
      last: fc.integer({ min: 0, max: 7 }),
    });
    fc.assert(
      fc.property(given, ({ states, at, last, ...rest }) => {
        const revisions = states.map((one, index) => revision(`r${index}`, index + 1, one));
        const current = { name: `r${at}`, digest: undefined };
        const { wanted, active } = historyOf(input({ ...rest, revisions, current, lastActive: `r${last}` }));
        const actives = wanted.filter((one) => one.state === 'Active').map(({ name }) => name);
        assert.deepEqual(actives, active === undefined ? [] : [active]);
        assert.equal(new Set(wanted.map((one) => one.revision)).size, wanted.length);
        assert.ok(wanted.some(({ name }) => name === current.name));
        if (rest.policy === 'Automatic' || states.includes('Active')) assert.equal(actives.length, 1);
      }),
    );
  });
});
