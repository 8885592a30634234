import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { apply, plan, reading, reconciler, source } from '@capstan/reconcile';
import { evaluationOf, planOf } from './plan-of.ts';

const copy = reconciler<ConfigMap>({
  name: 'copy',
  resource: ConfigMap,
  reads: [Secret],
  writes: [ConfigMap],
  reconcile({ object: { metadata, data = {} }, read }) {
    const { namespace = '', name = '' } = metadata;
    if (data['throw']) throw new Error('a bug');
    const isThere = read.get(Secret, { namespace, name: 'key' }, () => true) ?? false;
    if (read.reached('2027-01-01T00:00:00Z')) return plan({});
    return plan({
      children: [
        apply(ConfigMap, { metadata: { name: `${name}-copy`, namespace }, data: { isThere: String(isThere) } }),
      ],
    });
  },
});

const owner = (data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'default', uid: 'u' },
  data,
});
const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: 'default' } };
const dataOf = (created: ReturnType<typeof planOf>) => {
  const [child] = created.groups[0]?.children ?? [];
  return child?.how === 'apply' ? (child.object as ConfigMap).data : undefined;
};

test('a plan is made from exactly the objects that are given', () => {
  assert.deepEqual(dataOf(planOf(copy, [owner(), secret])), { isThere: 'true' });
  assert.deepEqual(dataOf(planOf(copy, [owner()])), { isThere: 'false' });
  assert.deepEqual(planOf(copy, [owner()], { now: Date.UTC(2028, 0, 1) }).groups, []);
});

test('an unknown, thrown or missing input is reported', () => {
  assert.throws(() => planOf(copy, [owner()], { unknown: ['Secret'] }), /waits for .*Secret\/default\/key/);
  assert.throws(() => planOf(copy, [owner({ throw: 'yes' })]), /a bug/);
  assert.throws(() => planOf(copy, [secret]), /there is no ConfigMap/);
});

test('every read is shown, so that a test can say what a reconciler may look at', () => {
  const { reads, writes } = evaluationOf(copy, [owner(), secret]);
  assert.ok(reads.includes('Secret/default/key'), reads.join(', '));
  assert.equal(writes.state === 'value' && writes.value.groups.length, 1);
});

test('sources and other clusters are known as they are given', () => {
  const stock = source<number>({ name: 'stock', open: () => Promise.resolve() });
  const sum = reconciler<ConfigMap>({
    name: 'sum',
    resource: ConfigMap,
    reads: [reading(ConfigMap, 'everywhere', { in: 'broker' })],
    reconcile({ read }) {
      const there = read.in('broker')?.list(ConfigMap).length;
      return plan({ status: { rows: read.source(stock).rows().length, there } });
    },
  });
  const known = { sources: [{ source: stock, rows: { a: 1, b: 2 } }] };
  const worlds = { broker: { role: 'broker', objects: [owner()] } };
  assert.deepEqual(planOf(sum, [owner()], { ...known, worlds }).status, { rows: 2, there: 1 });
  assert.throws(() => planOf(sum, [owner()], { worlds }), /waits for .*stock/);
});

test('a reconciler that is not a pure function to a plan of declared kinds is refused', () => {
  const misuses: readonly [RegExp, () => unknown][] = [
    [/returned a promise instead of a plan/, async () => plan()],
    [/returned nothing instead of a plan/, () => undefined],
    [
      /plans a Secret, which it does not declare/,
      () => plan({ children: [apply(Secret, { metadata: secret.metadata })] }),
    ],
    [/is not pure: .*status\.at/, () => plan({ status: { at: Date.now() } })],
    [/is not pure: .*status\.at/, () => plan({ status: { at: Math.random() } })],
  ];
  for (const [message, misuse] of misuses) {
    const misuser = reconciler<ConfigMap>({
      name: 'misuser',
      resource: ConfigMap,
      writes: [ConfigMap],
      reconcile: misuse as () => ReturnType<typeof plan>,
    });
    assert.throws(() => planOf(misuser, [owner()]), message);
  }
});
