import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCondition, type KindOf, Node, Pod, ServiceAccount } from '@capstan/kube';
import { createStage, objectOf, type Stage } from '@capstan/testing';
import reservations, { Reservation } from './finalizer.ts';

type Reservation = KindOf<typeof Reservation>;
const LABEL = 'example.capstan.dev/reserved-for';
const ref = { name: 'batch' };
const batch = objectOf<Reservation>(Reservation, { metadata: ref, spec: { node: 'n1', app: 'batch' } });
const pod = objectOf<Pod>(Pod, {
  metadata: { namespace: 'default', name: 'worker', labels: { app: 'batch' } },
  spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'busybox' }] },
});

async function staged(nodes: readonly Node[], check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [reservations],
    given: async (client) => {
      // Pods need it, and a server without controllers does not create it.
      const account = { namespace: 'default', name: 'default' };
      if ((await client.find(ServiceAccount, account)) === undefined)
        await client.create(ServiceAccount, objectOf<ServiceAccount>(ServiceAccount, { metadata: account }));
      for (const node of nodes) await client.create(Node, node);
      await client.create(Reservation, batch);
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.client.delete(Node, { name: 'n1' });
    await stage.end();
  }
}

const node = (labels: Record<string, string> = {}) => objectOf<Node>(Node, { metadata: { name: 'n1', labels } });
const labelOf = async ({ client }: Stage) => (await client.get(Node, { name: 'n1' })).metadata.labels?.[LABEL];
const reasonOf = async ({ client }: Stage) =>
  findCondition((await client.find(Reservation, ref))?.status?.conditions, 'Reserved')?.reason;

describe('the example of a finalizer', () => {
  test('holds the object until the last pod has left, then takes the label off and lets it go', () =>
    staged([node()], async (stage) => {
      const { client } = stage;
      assert.equal(await labelOf(stage), 'batch');
      assert.deepEqual((await client.get(Reservation, ref)).metadata.finalizers, ['capstan.dev/reservation']);
      await client.create(Pod, pod);
      await client.delete(Reservation, ref);
      await stage.settle();
      assert.equal(await reasonOf(stage), 'InUse');
      assert.equal(await labelOf(stage), 'batch');
      await client.delete(Pod, { namespace: 'default', name: 'worker' }, { gracePeriodSeconds: 0 });
      await stage.settle();
      assert.equal(await client.find(Reservation, ref), undefined);
      assert.equal(await labelOf(stage), undefined);
    }));

  test('is held across a restart', () =>
    staged([node()], async (stage) => {
      await stage.client.create(Pod, pod);
      await stage.client.delete(Reservation, ref);
      await stage.restart();
      assert.equal(await reasonOf(stage), 'InUse');
      assert.equal(await labelOf(stage), 'batch');
    }));

  test('leaves a node alone that is reserved for another app', () =>
    staged([node({ [LABEL]: 'other' })], async (stage) => {
      assert.equal(await reasonOf(stage), 'Taken');
      await stage.client.delete(Reservation, ref);
      await stage.settle();
      assert.equal(await labelOf(stage), 'other');
    }));

  test('reports a node that is not there, and takes it when it comes', () =>
    staged([], async (stage) => {
      assert.equal(await reasonOf(stage), 'NoNode');
      await stage.client.create(Node, node());
      await stage.settle();
      assert.equal(await labelOf(stage), 'batch');
    }));
});
