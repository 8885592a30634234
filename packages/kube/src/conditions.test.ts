import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from './builtin/index.ts';
import { findCondition, isConditionTrue, removeCondition, setCondition } from './conditions.ts';

const T0 = Date.UTC(2026, 0, 1);
const T1 = T0 + 60_000;
const START = '2026-01-01T00:00:00Z';
const LATER = '2026-01-01T00:01:00Z';

const ready = { type: 'Ready', status: 'True', reason: 'Up', message: 'all is well', observedGeneration: 1 };
const list: Condition[] = [
  { type: 'Accepted', status: 'True', reason: 'Ok', message: '', lastTransitionTime: START },
  { ...ready, lastTransitionTime: START },
  { type: 'Synced', status: 'False', reason: 'No', message: '', lastTransitionTime: START },
];

describe('setting a condition', () => {
  it('a new condition is added at the end, with the time', () => {
    assert.deepEqual(setCondition(undefined, { type: 'Ready', status: 'Unknown', reason: 'New' }, T0), [
      { type: 'Ready', status: 'Unknown', reason: 'New', message: '', lastTransitionTime: START },
    ]);
    assert.deepEqual(
      setCondition(list.slice(0, 1), ready, T0).map((one) => one.type),
      ['Accepted', 'Ready'],
    );
  });

  it('setting an unchanged condition returns the same list', () => {
    assert.equal(setCondition(list, ready, T1), list);
    assert.equal(setCondition(list, { ...ready, lastTransitionTime: LATER }, T1), list);
    assert.equal(
      setCondition(list, { type: 'Accepted', status: 'True', reason: 'Ok', observedGeneration: undefined }, T1),
      list,
    );
  });

  it('the transition time changes only with the status', () => {
    const changed = setCondition(list, { ...ready, status: 'False' }, T1);
    assert.equal(findCondition(changed, 'Ready')?.lastTransitionTime, LATER);
    for (const change of [{ reason: 'Other' }, { message: 'other' }, { observedGeneration: 2 }]) {
      const next = setCondition(list, { ...ready, ...change }, T1);
      assert.deepEqual(findCondition(next, 'Ready'), { ...ready, ...change, lastTransitionTime: START });
    }
  });

  it('setting a condition keeps the order, the other conditions and the old list', () => {
    const before = structuredClone(list);
    const next = setCondition(list, { ...ready, status: 'False' }, T1);
    assert.deepEqual(
      next.map((one) => one.type),
      ['Accepted', 'Ready', 'Synced'],
    );
    assert.equal(next[0], list[0]);
    assert.deepEqual(list, before);
  });
});

describe('reading conditions', () => {
  it('isConditionTrue accepts True and no other status', () => {
    assert.equal(isConditionTrue(list, 'Ready'), true);
    assert.equal(isConditionTrue(list, 'Synced'), false);
    assert.equal(isConditionTrue(list, 'Missing'), false);
    assert.equal(isConditionTrue(undefined, 'Ready'), false);
  });

  it('a condition that was true for an older generation does not count', () => {
    assert.equal(isConditionTrue(list, 'Ready', 1), true);
    assert.equal(isConditionTrue(list, 'Ready', 2), false);
    assert.equal(isConditionTrue(list, 'Accepted', 2), true, 'without observedGeneration it is not known');
  });

  it('a condition is removed by its type, and a list without it is returned unchanged', () => {
    assert.deepEqual(
      removeCondition(list, 'Ready').map((one) => one.type),
      ['Accepted', 'Synced'],
    );
    assert.equal(removeCondition(list, 'Missing'), list);
  });
});
