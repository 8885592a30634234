// Conditions that wait for a sink: a preview delivers nothing, and the sink's report is not known.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, conditions, defineKind, type KindOf, object, string } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, conditionType, plan } from '../plan/index.ts';
import { derivation } from '../read/index.ts';
import { reconciler } from '../reconciler.ts';
import { sink } from '../sinks/index.ts';
import { preview } from './preview.ts';

const Parcel = defineKind({
  group: 'reports.capstan.dev',
  version: 'v1',
  kind: 'Parcel',
  scope: 'Namespaced',
  spec: object({ to: string() }),
  status: object({ conditions: conditions() }),
});
type Parcel = KindOf<typeof Parcel>;
const delivered = conditionType<'Arrived' | 'Waiting'>('Delivered');
const named = conditionType<'Short' | 'Long'>('Named');
const ref = (name: string) => ({ namespace: 'default', name });

const address = derivation<string | undefined>({
  name: 'address',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    return read.get(Parcel, { namespace, name }, ({ spec }) => spec.to);
  },
});
const post = sink<string | undefined, { to: string }>({
  name: 'post',
  of: address,
  keys: Parcel,
  reads: [Parcel],
  lease: 'none',
  open: ({ report }) => ({
    take({ changes }) {
      for (const { key, after } of changes) report(key, after === undefined ? undefined : { to: after });
    },
  }),
});
const parcels = operator({
  name: 'parcels',
  kinds: [Parcel],
  sinks: [post],
  reconcilers: [
    reconciler<Parcel>({
      name: 'parcel',
      resource: Parcel,
      writes: [ConfigMap],
      reconcile({ object: { metadata, spec }, read }) {
        const report = read.sink(post).report(`${metadata.namespace}/${metadata.name}`);
        const hasArrived = report?.to === spec.to;
        return plan({
          children: hasArrived ? [apply(ConfigMap, { metadata: ref(`${metadata.name}-receipt`) })] : [],
          conditions: [
            hasArrived ? delivered.isTrue('Arrived') : delivered.isFalse('Waiting', 'it is under way'),
            spec.to.length < 9 ? named.isTrue('Short') : named.isFalse('Long', 'use a shorter name'),
          ],
        });
      },
    }),
    reconciler<ConfigMap>({
      name: 'label',
      resource: ConfigMap,
      reconcile: ({ object: { metadata } }) => plan({ alerts: metadata.labels?.['bad'] ? [WARNING] : [] }),
    }),
  ],
});
const WARNING = { type: 'Warning', reason: 'Bad', note: 'this label is bad' } as const;

const parcel = (name: string, to: string): Parcel => ({
  apiVersion: Parcel.apiVersion,
  kind: Parcel.kind,
  metadata: ref(name),
  spec: { to },
});
const WAITS = 'it waits for a report of the sink post; what follows then is not known';

test('a condition that waits for a sink is not known, and no problem', async () => {
  const stage = await createStage({
    operators: [parcels],
    given: async (client) => {
      await client.create(Parcel, parcel('old', 'here'));
    },
  });
  try {
    const { runtime } = stage.program;
    const added = await preview(runtime, [{ kind: Parcel, object: parcel('new', 'there') }]);
    assert.deepEqual(added.problems, []);
    assert.deepEqual(added.unknowns, [`Parcel default/new: Delivered is False (Waiting): it is under way (${WAITS})`]);
    assert.deepEqual(added.undecided, ['Parcel default/new']);
    // Another delivery follows, and the last report does not apply to it.
    const moved = await preview(runtime, [{ kind: Parcel, object: parcel('old', 'far away from here') }]);
    assert.deepEqual(moved.problems, []);
    assert.deepEqual(moved.unknowns, [
      `Parcel default/old: Delivered is False (Waiting): it is under way (${WAITS})`,
      `Parcel default/old: Named is False (Long): use a shorter name (${WAITS})`,
    ]);
    const receipt = await stage.client.get(ConfigMap, ref('old-receipt'));
    const labelled = { ...receipt, metadata: { ...receipt.metadata, labels: { bad: 'yes' } } };
    const unrelated = await preview(runtime, [{ kind: ConfigMap, object: labelled }]);
    assert.deepEqual(
      unrelated.problems.map(({ message }) => message),
      ['this label is bad'],
    );
    assert.deepEqual(unrelated.undecided, []);
  } finally {
    await stage.end();
  }
});
