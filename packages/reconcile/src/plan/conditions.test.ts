import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Condition, conditionsOf, conditionType, mergeConditions, noCondition } from './conditions.ts';

const ready = conditionType<'Fine' | 'Broken'>('Ready');
const before: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Fine',
  message: '',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const theirs: Condition = { ...before, type: 'Theirs', reason: 'Odd' };
const now = () => '2026-01-02T00:00:00Z';
const never = () => assert.fail('no time is needed');

describe('conditions', () => {
  test('are unchanged, and ask for no time, when nothing but a time would differ', () => {
    const current = [before, theirs];
    assert.deepEqual(mergeConditions(current, [ready.isTrue('Fine')], 1, never), {
      conditions: current,
      changed: false,
    });
    assert.equal(mergeConditions(current, [ready.isTrue('Fine')], undefined, never).changed, false);
  });

  test('keep their transition time while their status stays', () => {
    const { conditions, changed } = mergeConditions([before], [ready.isTrue('Fine', 'more to say')], 2, never);
    assert.equal(changed, true);
    assert.deepEqual(conditions, [{ ...before, message: 'more to say', observedGeneration: 2 }]);
  });

  test('get a new transition time with a new status, and when they appear', () => {
    assert.equal(mergeConditions([before], [ready.isFalse('Broken')], 1, now).conditions[0]?.lastTransitionTime, now());
    assert.deepEqual(mergeConditions([], [ready.isTrue('Fine')], 1, now).conditions, [
      { ...before, lastTransitionTime: now() },
    ]);
  });

  test('conditions of other owners stay, all in their places', () => {
    const { conditions } = mergeConditions([before, theirs], [ready.isFalse('Broken')], 1, now);
    assert.deepEqual(
      conditions.map(({ type, status }) => [type, status]),
      [
        ['Ready', 'False'],
        ['Theirs', 'True'],
      ],
    );
  });

  test('change with their reason or their message alone', () => {
    const broken = { ...before, reason: 'Broken' };
    assert.deepEqual(mergeConditions([broken], [ready.isTrue('Fine')], 1, never).conditions, [before]);
    const noisy = { ...before, message: 'more to say' };
    assert.deepEqual(mergeConditions([noisy], [ready.isTrue('Fine')], 1, never).conditions, [before]);
  });

  test('go when a plan says that there is none', () => {
    assert.deepEqual(mergeConditions([before, theirs], [noCondition('Ready')], 1, never).conditions, [theirs]);
    assert.equal(mergeConditions([theirs], [noCondition('Ready')], 1, never).changed, false);
  });

  test('given twice count by the last, and settle', () => {
    const twice = [ready.isFalse('Broken'), ready.isTrue('Fine')];
    assert.equal(mergeConditions([before], twice, 1, never).changed, false);
    const { conditions } = mergeConditions([], twice, 1, now);
    assert.deepEqual(
      conditions.map(({ status }) => status),
      ['True'],
    );
  });

  test('follow the generation, so that nothing takes an old word for a new one', () => {
    const { conditions } = mergeConditions([before], [ready.isTrue('Fine')], 2, never);
    assert.equal(conditions[0]?.observedGeneration, 2);
  });

  test('a status without conditions, or with something else in their place, has none', () => {
    assert.deepEqual(conditionsOf(undefined), []);
    assert.deepEqual(conditionsOf({ conditions: 'odd' }), []);
  });
});
