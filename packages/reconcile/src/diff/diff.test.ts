import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, type KubeObject, Namespace } from '@capstan/kube';
import { sharingManager } from '../inventory.ts';
import { PAUSED_ANNOTATION } from '../marks.ts';
import { apply, type Child, createOnly, keep, mint, patch, plan, released, remove, share } from '../plan/index.ts';
import { childWrite } from './child-diff.ts';
import { FINALIZER, inputOf, live, OWNED, ownershipOf, type Scene, theirs, verbsOf } from './diff.test-support.ts';
import { diff, statusOnly } from './diff.ts';
import { originalAnnotation, sharedAnnotation } from './input.ts';
import { type ApplyWrite, type DeleteWrite, isSettled, type WithdrawWrite } from './writes.ts';

const at = (name: string, namespace = 'default') => ({ name, namespace });
const child = (name: string, namespace?: string) => apply(ConfigMap, { metadata: at(name, namespace) });
const applied = (created: Child, metadata: KubeObject['metadata'] = {}, scene: Scene = {}) =>
  live((childWrite(created, inputOf(scene)).write as ApplyWrite).body, metadata);
const foreign = (name: string, metadata: KubeObject['metadata'] = {}) =>
  theirs({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...at(name), ...metadata } });
const writesOf = (scene: Scene) => diff(inputOf(scene));
const LEAVING = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const deleted = ownershipOf('owner', LEAVING);

describe('groups', () => {
  const groups = (...given: Parameters<typeof plan>[0][]) => plan({ groups: given.map((group) => group ?? {}) });

  test('are left out once everything of them is so', () => {
    const created = groups({ children: [child('a')] }, { children: [child('b')] });
    assert.deepEqual(
      writesOf({ plan: created, objects: [applied(child('a'))] }).groups.map(({ writes }) => verbsOf(writes)),
      [['apply ConfigMap b']],
    );
    assert.ok(
      isSettled({
        ...writesOf({ plan: created, objects: [applied(child('a')), applied(child('b'))] }),
        status: undefined,
      }),
    );
  });

  test('keep their order and their conditions', () => {
    const created = groups(
      { name: 'first', children: [child('a')], quietMs: 5, preflight: true },
      { children: [child('b')], open: false, waitingFor: 'the moon' },
    );
    const { groups: left, notes } = writesOf({ plan: created });
    assert.deepEqual(
      left.map(({ name, quietMs, preflight, open, waitingFor }) => [name, quietMs, preflight, open, waitingFor]),
      [
        ['first', 5, true, true, undefined],
        ['group 2', 0, false, false, 'the moon'],
      ],
    );
    assert.deepEqual(notes, [{ about: 'waiting', message: 'the moon' }]);
  });

  test('groups that are closed stay in the way even when nothing of them is left to do', () => {
    const created = groups({ children: [child('a')], open: false });
    const { groups: left, prune } = writesOf({ plan: created, objects: [applied(child('a')), applied(child('old'))] });
    assert.deepEqual([left[0]?.open, left[0]?.writes, prune], [false, [], []]);
  });

  for (const [what, objects] of [
    ['a conflict', [foreign('a')]],
    ['a child that is being deleted', [applied(child('a'), LEAVING)]],
  ] as const) {
    test(`after ${what} wait, while what is beside it goes on`, () => {
      const created = groups({ children: [child('a'), child('b')] }, { children: [child('c')] });
      const { groups: left, prune } = writesOf({ plan: created, objects: [...objects, applied(child('old'))] });
      assert.deepEqual(
        left.map(({ open, writes }) => [open, verbsOf(writes)]),
        [
          [true, ['apply ConfigMap b']],
          [false, []],
          [true, ['apply ConfigMap c']],
        ],
      );
      assert.match(left[1]?.waitingFor ?? '', /ConfigMap default\/a/);
      assert.deepEqual(prune, []);
    });
  }

  test('after a paused child go on: it is as a user wants it', () => {
    const paused = applied(child('a'), { annotations: { [PAUSED_ANNOTATION]: 'true' } });
    const created = groups(
      { children: [apply(ConfigMap, { metadata: at('a'), data: { new: '' } })] },
      { children: [child('b')] },
    );
    assert.deepEqual(
      writesOf({ plan: created, objects: [paused] }).groups.map(({ writes }) => verbsOf(writes)),
      [['apply ConfigMap b']],
    );
  });
});

describe('removals', () => {
  const seen = applied(child('x'));
  const removing = plan({ removals: [remove(ConfigMap, seen)] });

  test('concern exactly the object that was seen', () => {
    const { groups } = writesOf({ plan: removing, objects: [seen] });
    const [write] = (groups[0]?.writes ?? []) as readonly DeleteWrite[];
    assert.deepEqual(
      [verbsOf(groups[0]?.writes ?? []), write?.uid, write?.because],
      [['delete ConfigMap x'], 'uid-of-x', 'removed'],
    );
    assert.deepEqual(
      writesOf({ plan: removing, objects: [applied(child('x'), { uid: 'another' })] }).groups.flatMap(
        (group) => group.writes,
      ),
      [],
    );
    assert.deepEqual(writesOf({ plan: removing }).groups, []);
  });

  test('removals of an object that was not created by the operator are a conflict', () => {
    const users = foreign('x');
    const { groups, notes } = writesOf({ plan: plan({ removals: [remove(ConfigMap, users)] }), objects: [users] });
    assert.deepEqual([groups.flatMap(({ writes }) => writes), notes[0]?.about], [[], 'conflict']);
  });

  test('wait until the object is gone', () => {
    const { groups } = writesOf({ plan: removing, objects: [{ ...seen, metadata: { ...seen.metadata, ...LEAVING } }] });
    assert.deepEqual([groups[0]?.open, groups[0]?.waitingFor], [false, 'ConfigMap default/x to be deleted']);
  });

  test('spare a paused object', () => {
    const annotations = { [PAUSED_ANNOTATION]: 'true' };
    const { groups, notes } = writesOf({ plan: removing, objects: [applied(child('x'), { annotations })] });
    assert.deepEqual([groups, notes[0]?.about], [[], 'paused']);
  });
});

describe('pruning', () => {
  test('removes what our inventory names and the plan does not, by uid, and nothing else', () => {
    const other = ownershipOf('other');
    const { prune, inventory } = writesOf({
      plan: plan({ children: [child('a'), keep(ConfigMap, at('kept'))] }),
      objects: [
        applied(child('a')),
        applied(child('old')),
        applied(child('kept')),
        applied(child('others'), {}, { ownership: other }),
        foreign('strange'),
      ],
    });
    assert.deepEqual(
      [verbsOf(prune), prune.map(({ uid, because }) => [uid, because])],
      [['delete ConfigMap old'], [['uid-of-old', 'pruned']]],
    );
    assert.equal(inventory, 3);
  });

  test('leaves a copy of a child that a user made, labels and all', () => {
    const { managedFields: _ours, ...metadata } = applied(child('old')).metadata;
    const copy = { ...applied(child('old')), metadata: { ...metadata, name: 'copy' } };
    const { prune, groups } = writesOf({ plan: plan(), objects: [copy] });
    assert.deepEqual([prune, groups], [[], []]);
  });

  test('leaves a child that another controller has taken since', () => {
    const taken = applied(child('old'), {
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'uid-x', controller: true }],
    });
    assert.deepEqual(writesOf({ plan: plan(), objects: [taken] }).prune, []);
  });

  test('waits until all groups are done, so that the new is there before the old goes', () => {
    const objects = [applied(child('old'))];
    assert.deepEqual(writesOf({ plan: plan({ children: [child('new')] }), objects }).prune, []);
    const after = [...objects, applied(child('new'))];
    assert.deepEqual(verbsOf(writesOf({ plan: plan({ children: [child('new')] }), objects: after }).prune), [
      'delete ConfigMap old',
    ]);
  });

  test('is not asked twice of what is going already', () => {
    assert.deepEqual(writesOf({ objects: [applied(child('old'), LEAVING)] }).prune, []);
  });

  test('does not happen when the plan says so: invalid input never destroys', () => {
    const object = foreign('x', {
      annotations: { [originalAnnotation(OWNED)]: '{}', [sharedAnnotation(OWNED)]: 'v1.x' },
    });
    const { prune, groups } = writesOf({ plan: plan({ prune: false }), objects: [applied(child('old')), object] });
    assert.deepEqual([prune, groups], [[], []]);
  });

  test('spares a paused child, says so, and keeps the owner until it is gone', () => {
    const objects = [applied(child('old'), { annotations: { [PAUSED_ANNOTATION]: 'true' } })];
    const { prune, notes, finalizer } = writesOf({
      plan: released(),
      ownership: deleted,
      finalizers: [FINALIZER],
      objects,
    });
    assert.deepEqual([prune, notes[0]?.about, finalizer], [[], 'paused', undefined]);
  });
});

describe('what is no longer planned in others’ objects', () => {
  const annotations = { [sharedAnnotation(OWNED)]: 'v1.x' };
  const managedFields = [
    { manager: sharingManager('capstan.test.web', OWNED.inventory), operation: 'Apply' as const, fieldsV1: {} },
  ];
  const shared = foreign('s', { annotations, managedFields });
  const patched = foreign('p', { annotations: { [originalAnnotation(OWNED)]: '{}' } });

  test('is given back after all groups, before anything is pruned', () => {
    const { groups, prune } = writesOf({
      plan: plan({ children: [child('a')] }),
      objects: [shared, patched, applied(child('old'))],
    });
    assert.deepEqual(
      groups.map(({ writes }) => verbsOf(writes)),
      [['apply ConfigMap a'], ['withdraw ConfigMap s', 'patch ConfigMap p']],
    );
    assert.deepEqual(prune, []);
  });

  test('is withdrawn from the very object, under the owner’s own manager', () => {
    const write = writesOf({ objects: [shared] }).groups[0]?.writes[0] as WithdrawWrite;
    assert.match(write.manager, /^capstan\.test\.web\.[0-9a-f]{20}$/);
    assert.deepEqual([write.uid, write.resourceVersion], ['uid-of-s', '7']);
  });

  test('is not withdrawn from a copy that a user made with the annotation', () => {
    assert.deepEqual(writesOf({ objects: [foreign('copy', { annotations })] }).groups, []);
  });

  test('stays while it is planned', () => {
    const created = plan({
      children: [share(ConfigMap, { metadata: at('s') })],
      patches: [patch(ConfigMap, at('p'), [{ path: '/metadata/name', value: 'p' }])],
    });
    const verbs = writesOf({ plan: created, objects: [shared, patched] }).groups.flatMap(({ writes }) =>
      verbsOf(writes),
    );
    assert.deepEqual(verbs, ['share ConfigMap s', 'patch ConfigMap p']);
  });

  test('stays while a user has paused the object, and the owner with it', () => {
    const paused = { [originalAnnotation(OWNED)]: '{}', [PAUSED_ANNOTATION]: 'true' };
    const objects = [foreign('p', { annotations: paused })];
    const { groups, finalizer } = writesOf({ plan: released(), ownership: deleted, finalizers: [FINALIZER], objects });
    assert.deepEqual([groups[0]?.open, groups[0]?.writes, finalizer], [false, [], undefined]);
  });
});

describe('our finalizer', () => {
  const change = (scene: Scene) => writesOf(scene).finalizer;
  const minter = { name: 'm', valid: () => true, make: () => Promise.reject(new Error('not called')) };
  const needing: [what: string, scene: Scene][] = [
    ['for a reconciler with a release', { hasRelease: true }],
    ['for a child in another namespace', { plan: plan({ children: [child('a', 'elsewhere')] }) }],
    ['for a cluster-scoped child', { plan: plan({ children: [apply(Namespace, { metadata: { name: 'n' } })] }) }],
    [
      'for a minted child in another namespace',
      { plan: plan({ children: [mint(ConfigMap, at('a', 'elsewhere'), minter, {})] }) },
    ],
    ['for a shared object', { plan: plan({ children: [share(ConfigMap, { metadata: at('a') })] }) }],
    ['for a patch that gives back', { plan: plan({ patches: [patch(ConfigMap, at('a'), [])] }) }],
    ['when the plan says so', { plan: plan({ held: true }) }],
  ];
  for (const [what, scene] of needing) {
    test(`goes on ${what}, and stays`, () => {
      assert.equal(change(scene), 'add');
      assert.equal(change({ ...scene, finalizers: ['other', FINALIZER] }), undefined);
    });
  }

  const notNeeding: [what: string, scene: Scene][] = [
    [
      'for children that Kubernetes collects',
      { plan: plan({ children: [child('a')] }), objects: [applied(child('a'))] },
    ],
    ['for a kept object', { plan: plan({ children: [keep(ConfigMap, at('a', 'elsewhere'))] }) }],
    [
      'for what is not ours once it is there',
      {
        plan: plan({ children: [createOnly(ConfigMap, { metadata: at('a', 'elsewhere') }, { owned: false })] }),
        objects: [theirs({ apiVersion: 'v1', kind: 'ConfigMap', metadata: at('a', 'elsewhere') })],
      },
    ],
    [
      'for a patch that is not restored',
      { plan: plan({ patches: [patch(ConfigMap, at('a'), [], { restore: false })] }) },
    ],
    ['when the plan says no', { plan: plan({ held: false }), hasRelease: true }],
  ];
  for (const [what, scene] of notNeeding) {
    test(`is not needed ${what}, and goes off`, () => {
      assert.equal(change(scene), undefined);
      assert.equal(change({ ...scene, finalizers: [FINALIZER] }), 'remove');
    });
  }

  test('stays until what needed it is gone', () => {
    const far = child('a', 'elsewhere');
    for (const metadata of [{}, LEAVING]) {
      assert.equal(change({ finalizers: [FINALIZER], objects: [applied(far, metadata)] }), undefined);
    }
    assert.equal(change({ finalizers: [FINALIZER] }), 'remove');
  });

  test('stays when the plan was made from input that says nothing', () => {
    assert.equal(change({ plan: plan({ prune: false }), finalizers: [FINALIZER] }), undefined);
    assert.equal(change({ plan: plan({ prune: false }) }), undefined);
  });

  test('goes off a deleted object when it is released and all is gone, not before', () => {
    const scene = { ownership: deleted, finalizers: [FINALIZER] };
    assert.equal(change({ ...scene, plan: plan() }), undefined);
    assert.equal(change({ ...scene, plan: released(), objects: [applied(child('a'))] }), undefined);
    assert.equal(change({ ...scene, plan: released(), objects: [applied(child('a'), LEAVING)] }), undefined);
    assert.equal(change({ ...scene, plan: released() }), 'remove');
  });
});

describe('an object that is being deleted', () => {
  test('and is not held by us is none of our business', () => {
    const scene = { ownership: deleted, plan: plan({ children: [child('a')] }), objects: [applied(child('old'))] };
    assert.ok(isSettled(writesOf(scene)));
  });

  test('and is held by us loses its children when it is released', () => {
    const { prune } = writesOf({
      ownership: deleted,
      plan: released(),
      finalizers: [FINALIZER],
      objects: [applied(child('a'))],
    });
    assert.deepEqual(verbsOf(prune), ['delete ConfigMap a']);
  });
});

describe('a paused object', () => {
  const ownership = ownershipOf('owner', { annotations: { [PAUSED_ANNOTATION]: 'true' } });
  const scene = {
    ownership,
    plan: plan({ children: [child('a')], status: { x: 1 } }),
    objects: [applied(child('old'))],
    hasRelease: true,
  };

  test('is left alone, children and finalizer included, and its status says so', () => {
    const { groups, prune, finalizer, status } = writesOf(scene);
    assert.deepEqual([groups, prune, finalizer, status?.input], [[], [], undefined, {}]);
    assert.deepEqual(
      status?.conditions.map(({ type, reason }) => [type, reason]),
      [['Paused', 'Paused']],
    );
  });

  test('is released from it by any other value', () => {
    const off = ownershipOf('owner', { annotations: { [PAUSED_ANNOTATION]: 'false' } });
    assert.equal(writesOf({ ...scene, ownership: off }).groups.length, 1);
  });
});

test('after a reconciler threw, nothing but the status is written', () => {
  const scene = {
    plan: plan({ children: [child('a')], status: { x: 1 } }),
    objects: [applied(child('old'))],
    hasRelease: true,
  };
  const input = inputOf({ ...scene, failure: { reason: 'Threw', message: 'a bug' } });
  const { groups, prune, finalizer, status, threw } = statusOnly(input, 'a bug');
  assert.deepEqual([groups, prune, finalizer, status?.input, threw], [[], [], undefined, {}, 'a bug']);
  assert.deepEqual(
    status?.conditions.map(({ type, reason, message }) => [type, reason, message]),
    [['ReconcileError', 'Threw', 'a bug (test.web)']],
  );
});
