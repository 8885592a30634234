import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMicroTime, Lease } from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import {
  formatRecord,
  INSTANCE_ANNOTATION,
  INSTANCE_LABEL,
  INSTANCE_MANAGER,
  LEASE_SECONDS,
} from '../../src/configuration/instance-record.ts';
import { goneInstances } from '../../src/reconcilers/gone-instances.ts';

const record = { configuration: 'sesame', state: 'Running', source: 'defaults', nacks: [] } as const;

const lease = (name: string, at: number): Lease => ({
  apiVersion: Lease.apiVersion,
  kind: Lease.kind,
  metadata: {
    namespace: 'default',
    name,
    labels: { [INSTANCE_LABEL]: 'true' },
    annotations: { [INSTANCE_ANNOTATION]: formatRecord(record) },
  },
  spec: { leaseDurationSeconds: LEASE_SECONDS, renewTime: formatMicroTime(at) },
});

test('the Lease of a replica that crashed is removed some time after it expired; others stay', async () => {
  const stage = await createStage({
    operators: [operator({ name: 'sesame-serve', kinds: [], reconcilers: [goneInstances] })],
    ruled: '0034: another replica of the operator created it',
  });
  const { client, clock } = stage;
  const left = async () =>
    (await client.list(Lease, { namespace: 'default' })).items.map(({ metadata }) => metadata.name);
  try {
    const { annotations: _, ...plain } = lease('leader-elect', clock.now()).metadata;
    await client.create(Lease, { ...lease('leader-elect', clock.now()), metadata: plain });
    const options = { fieldManager: INSTANCE_MANAGER };
    await client.create(Lease, lease('sesame-crashed', clock.now()), options);
    await client.create(Lease, lease('sesame-alive', clock.now()), options);
    await stage.settle();
    await clock.advance(60_000);
    await client.patch(Lease, { namespace: 'default', name: 'sesame-alive' }, 'merge', {
      spec: { renewTime: formatMicroTime(clock.now()) },
    });
    await stage.settle();
    assert.deepEqual(await left(), ['leader-elect', 'sesame-alive', 'sesame-crashed'], 'it may come back');
    await clock.advance(31_000);
    await stage.settle();
    assert.deepEqual(await left(), ['leader-elect', 'sesame-alive']);
  } finally {
    await stage.end();
  }
});
