import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap } from '@capstan/kube';
import { operator } from '../../operator.ts';
import { drop, plan } from '../../plan/index.ts';
import { reconciler } from '../../reconciler.ts';
import { onRuntime, ref, Thing, thing, things } from '../runtime.test-support.ts';

/** Shows on its object the obstacle to the other reconciler's writes. */
const watcher = reconciler<Thing>({
  name: 'watcher',
  resource: Thing,
  primary: false,
  reconcile({ object: { metadata }, read }) {
    const problem = read.writeProblem('things', `${metadata.namespace}/${metadata.name}`);
    return plan({ status: { seen: problem === undefined ? drop() : `${problem.reason}: ${problem.message}` } });
  },
});
const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [things, watcher] })];

test('a child that belongs to another owner is a write problem until it is gone', async () => {
  await onRuntime({ operators }, async ({ client, clock }) => {
    const seen = async () => (await client.get(Thing, ref('a'))).status?.seen;
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('a'), data: { mine: 'x' } });
    await client.create(Thing, thing('a'));
    await clock.advance(5_000);
    assert.match((await seen()) ?? '', /^Conflict: ConfigMap default\/a exists already/);
    await client.delete(ConfigMap, ref('a'));
    await clock.advance(120_000);
    assert.equal(await seen(), undefined);
    assert.equal((await client.get(ConfigMap, ref('a'))).data?.['value'], 'a');
  });
});
