import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap } from '@capstan/kube';
import { apply, type Condition, conditionType, drop, noCondition, plan } from '../plan/index.ts';
import { inputOf, OWNED, ownershipOf, type Scene, theirs } from './diff.test-support.ts';
import { diff } from './diff.ts';

const ready = conditionType<'Fine' | 'Broken'>('Ready');
const NOW = '2026-01-01T00:00:00Z';
const condition = (given: Partial<Condition>): Condition => ({
  type: 'Ready',
  status: 'True',
  reason: 'Fine',
  message: '',
  observedGeneration: 3,
  lastTransitionTime: NOW,
  ...given,
});
const writes = (scene: Scene) => diff(inputOf(scene));
const statusOf = (scene: Scene) => writes(scene).status;
const detail = { observedGeneration: 3 };

describe('a status', () => {
  test('is written when it differs, and not when it is so', () => {
    const scene = { plan: plan({ status: { x: 1 }, conditions: [ready.isTrue('Fine')] }) };
    assert.deepEqual(statusOf(scene), {
      input: { x: 1, observedGeneration: 3 },
      conditions: [ready.isTrue('Fine')],
      generation: 3,
      isUrgent: true,
    });
    assert.equal(statusOf({ ...scene, status: { ...detail, x: 1, conditions: [condition({})] } }), undefined);
    assert.equal(
      statusOf({ ...scene, status: { ...detail, x: 1, kept: true, conditions: [condition({})] } }),
      undefined,
    );
  });

  test('a status that is not there and is not wanted is not written', () => {
    for (const status of [undefined, {}, { gone: drop() }, { x: undefined }, { x: null }]) {
      const created = plan({ ...(status ? { status } : {}), conditions: [noCondition('Ready')] });
      assert.equal(statusOf({ plan: created, isPrimary: false }), undefined);
    }
  });

  test('a status of a kind that has none is not written', () => {
    assert.equal(statusOf({ plan: plan({ status: { x: 1 } }), hasStatus: false }), undefined);
  });

  test('has observedGeneration from the primary reconciler alone', () => {
    assert.deepEqual(statusOf({})?.input, { observedGeneration: 3 });
    assert.equal(statusOf({ isPrimary: false }), undefined);
    const { owner, ...more } = OWNED;
    const alias = { ...more, owner: { ...owner, kind: { ...owner.kind, hasObservedGeneration: false } } };
    assert.equal(statusOf({ ownership: alias }), undefined);
    assert.equal(statusOf({ status: { observedGeneration: 2 } })?.isUrgent, true);
  });

  test('remembers what the plan asks for, as a whole', () => {
    const scene = { plan: plan({ memory: { b: 1 } }), status: { ...detail, memory: { a: 1 } } };
    assert.deepEqual(statusOf(scene)?.input, { observedGeneration: 3, memory: { b: 1 } });
    assert.equal(statusOf({ plan: plan(), status: { ...detail, memory: { a: 1 } } }), undefined);
  });
});

describe('progress', () => {
  const moving = (percent: number, more = {}) => plan({ progress: { percent }, ...more });

  test('alone is not urgent', () => {
    assert.equal(statusOf({ plan: moving(5), status: { ...detail, percent: 4 } })?.isUrgent, false);
    assert.equal(statusOf({ plan: moving(5), status: { ...detail, percent: 5 } }), undefined);
    assert.equal(statusOf({ plan: moving(5), status: detail })?.isUrgent, false);
    const count = conditionType<'Counting' | 'Done'>('Count');
    const counting = { ...count.isFalse('Counting', '3 left'), observedGeneration: 3, lastTransitionTime: '' };
    const urgencyOf = (condition: ReturnType<typeof count.isTrue>) =>
      statusOf({ plan: plan({ conditions: [condition] }), status: { observedGeneration: 3, conditions: [counting] } })
        ?.isUrgent;
    assert.equal(urgencyOf(count.isFalse('Counting', '3 left')), undefined);
    assert.equal(urgencyOf(count.isFalse('Counting', '2 left')), false, 'a message that moves is progress');
    assert.equal(urgencyOf(count.isFalse('Done', '3 left')), true);
    assert.equal(urgencyOf(count.isTrue('Counting', '3 left')), true);
  });

  test('goes along with what is urgent', () => {
    const status = statusOf({ plan: moving(5, { status: { x: 1 } }), status: { ...detail, percent: 4 } });
    assert.deepEqual([status?.isUrgent, status?.input], [true, { observedGeneration: 3, x: 1, percent: 5 }]);
    const changed = { plan: moving(5, { conditions: [ready.isFalse('Broken')] }), status: detail };
    assert.equal(statusOf(changed)?.isUrgent, true);
  });
});

test('the memory goes out at once, not with the progress that waits for its turn', () => {
  const remembering = (values: string) => plan({ memory: { values }, progress: { percent: 5 } });
  const current = { ...detail, memory: { values: 'x' }, percent: 5 };
  assert.equal(statusOf({ plan: remembering('x'), status: current }), undefined);
  const status = statusOf({ plan: remembering('xy'), status: current });
  assert.deepEqual([status?.isUrgent, status?.input['memory']], [true, { values: 'xy' }]);
});

describe('what the runtime has to say', () => {
  const failure = { reason: 'WriteRefused', message: 'no' } as const;
  const error = condition({ type: 'ReconcileError', reason: 'WriteRefused', message: 'no (test.web)' });
  const conflicted = {
    plan: plan({ children: [apply(ConfigMap, { metadata: { name: 'a', namespace: 'default' } })] }),
    objects: [theirs({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } })],
  };

  test('is a condition while it holds, and none afterwards', () => {
    assert.deepEqual(statusOf({ failure, status: detail })?.conditions, [
      { type: 'ReconcileError', status: 'True', reason: 'WriteRefused', message: 'no (test.web)' },
    ]);
    assert.equal(statusOf({ failure, status: { ...detail, conditions: [error] } }), undefined);
    assert.deepEqual(statusOf({ status: { ...detail, conditions: [error] } })?.conditions, [
      noCondition('ReconcileError'),
    ]);
    assert.equal(statusOf({ status: detail }), undefined);
  });

  test('a conflict is a condition of the runtime too', () => {
    const [found] = statusOf({ ...conflicted, status: detail })?.conditions ?? [];
    assert.deepEqual([found?.type, found?.reason], ['ReconcileError', 'Conflict']);
  });

  test('is left to the reconciler that said it: two of one kind do not take turns', () => {
    const theirs = { ...error, message: 'no (test.other)' };
    assert.equal(statusOf({ status: { ...detail, conditions: [theirs] } }), undefined);
    const both = { ...error, message: 'no (test.other)\nno (test.web)' };
    assert.equal(statusOf({ failure, status: { ...detail, conditions: [both] } }), undefined);
    const foreign = { ...error, message: 'written by another program' };
    assert.equal(statusOf({ failure, status: { ...detail, conditions: [foreign] } }), undefined);
  });

  test('messages of several reconcilers are one condition with a line of each, and the reason of the first', () => {
    const reportedBy = (message: string, reason = 'Threw') => ({
      ...detail,
      conditions: [{ ...error, reason, message }],
    });
    const [added] = statusOf({ failure, status: reportedBy('a bug (test.other)') })?.conditions ?? [];
    assert.deepEqual([added?.reason, added?.message], ['Threw', 'a bug (test.other)\nno (test.web)']);
    const [first] = statusOf({ failure, status: reportedBy('a bug (test.zone)') })?.conditions ?? [];
    assert.deepEqual([first?.reason, first?.message], ['WriteRefused', 'no (test.web)\na bug (test.zone)']);
    const [left] = statusOf({ status: reportedBy('a bug (test.other)\nno (test.web)') })?.conditions ?? [];
    assert.deepEqual([left?.reason, left?.message], ['Threw', 'a bug (test.other)']);
    const [only] = statusOf({ failure, status: reportedBy('no (test.web)') })?.conditions ?? [];
    assert.deepEqual([only?.reason, only?.message], ['WriteRefused', 'no (test.web)']);
  });

  test('has no line breaks of its own: each line is of one reconciler', () => {
    const [broken] = statusOf({ failure: { ...failure, message: 'one\n  two' }, status: detail })?.conditions ?? [];
    assert.equal(broken?.message, 'one two (test.web)');
  });

  test('a message on a kind that is not ours is an event, and its status is left alone', () => {
    const scene = { ...conflicted, isForeign: true, isPrimary: false };
    const { status, alerts } = writes(scene);
    assert.equal(status, undefined);
    assert.deepEqual(
      alerts.map(({ type, reason }) => [type, reason]),
      [['Warning', 'Conflict']],
    );
    assert.deepEqual(writes({ ...scene, isForeign: false }).alerts, []);
    assert.equal(writes({ ...conflicted, hasStatus: false }).alerts.length, 1);
  });

  test('a message on a paused foreign object is an event', () => {
    const ownership = ownershipOf('owner', { annotations: { 'capstan.dev/paused': 'true' } });
    assert.deepEqual(
      writes({ ownership, hasStatus: false }).alerts.map(({ reason }) => reason),
      ['Paused'],
    );
  });
});
