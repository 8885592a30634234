import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, equal, Namespace } from '@capstan/kube';
import { apply, createOnly, keep, mint, share } from './child.ts';
import { patch, remove } from './others.ts';
import { plan, released } from './plan.ts';
import { drop } from './status.ts';

const metadata = { name: 'a', namespace: 'default' };
const minter = { name: 'm', valid: () => true, make: () => Promise.reject(new Error('not called')) };

describe('a plan', () => {
  test('a plan without anything wants nothing, and prunes', () => {
    const { groups, prune, outcome, held } = plan();
    assert.deepEqual(
      { groups, prune, outcome, held },
      { groups: [], prune: true, outcome: 'desired', held: undefined },
    );
  });

  test('puts children given directly in a group before the others', () => {
    const created = plan({ children: [apply(ConfigMap, { metadata })], groups: [{ name: 'later' }, {}] });
    assert.deepEqual(
      created.groups.map(({ name, children, open, quietMs, preflight }) => [
        name,
        children.length,
        open,
        quietMs,
        preflight,
      ]),
      [
        ['group 1', 1, true, 0, false],
        ['later', 0, true, 0, false],
        ['group 2', 0, true, 0, false],
      ],
    );
  });

  test('compares by value with another run’s, drop() included', () => {
    const make = (value: unknown) => plan({ children: [apply(ConfigMap, { metadata })], status: { value } });
    assert.ok(equal(make(drop()), make(drop())));
    assert.ok(!equal(make(drop()), make({})));
    assert.ok(!equal(make(drop()), make(undefined)));
  });

  test('a plan that names a child twice is refused, in whatever way it wants it', () => {
    const child = apply(ConfigMap, { metadata });
    for (const other of [apply(ConfigMap, { metadata }), keep(ConfigMap, metadata), share(ConfigMap, { metadata })]) {
      assert.throws(() => plan({ groups: [{ children: [child] }, { children: [other] }] }), /ConfigMap default\/a/);
    }
  });

  test('a plan that is released holds nothing and prunes everything', () => {
    const { outcome, held, prune, groups } = released();
    assert.deepEqual([outcome, held, prune, groups], ['released', false, true, []]);
  });
});

describe('a child', () => {
  test('gets apiVersion and kind from its Kind, and leaves a status out', () => {
    const live = { apiVersion: undefined, metadata, data: { x: '1' }, status: { phase: 'Odd' } };
    for (const child of [
      apply(ConfigMap, live as unknown as ConfigMap),
      share(ConfigMap, live as unknown as ConfigMap),
      createOnly(ConfigMap, live as unknown as ConfigMap),
    ]) {
      assert.deepEqual(child.object, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: '1' } });
      assert.deepEqual(child.ref, { namespace: 'default', name: 'a' });
    }
  });

  test('needs a name, and a namespace exactly if its kind has them', () => {
    assert.throws(() => apply(ConfigMap, { metadata: { namespace: 'default' } }), /without a name/);
    assert.throws(() => apply(ConfigMap, { metadata: { name: 'a' } }), /without a namespace/);
    assert.throws(() => apply(Namespace, { metadata }), /default\/a .*with a namespace/);
    assert.throws(() => mint(ConfigMap, { name: 'a' }, minter, {}), /without a namespace/);
    assert.throws(() => keep(ConfigMap, { name: 'a' }), /without a namespace/);
    assert.deepEqual(apply(Namespace, { metadata: { name: 'a' } }).ref, { name: 'a' });
  });

  test('a child that is only created is ours, unless the plan says otherwise', () => {
    assert.equal(createOnly(ConfigMap, { metadata }).owned, true);
    assert.equal(createOnly(ConfigMap, { metadata }, { owned: false }).owned, false);
  });

  test('can yield fields, and no items of lists', () => {
    assert.deepEqual(apply(ConfigMap, { metadata }, { yields: ['data.x'] }).yields, ['data.x']);
    assert.throws(() => apply(ConfigMap, { metadata }, { yields: ['spec.containers[0].image'] }), /items of lists/);
  });
});

test('a removal needs the uid of an object that was seen', () => {
  assert.throws(() => remove(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata }), /uid/);
  const seen = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, uid: 'u1' } };
  assert.deepEqual(remove(ConfigMap, seen), { kind: ConfigMap, ref: metadata, uid: 'u1' });
});

test('a patch gives back what was there, unless it says otherwise', () => {
  assert.equal(patch(ConfigMap, metadata, []).restore, true);
  assert.equal(patch(ConfigMap, metadata, [], { restore: false }).restore, false);
});
