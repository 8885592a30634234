import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError, type Condition, Deployment, isForbidden } from '@capstan/kube';
import { drop } from '../plan/index.ts';
import { failing, MANAGER, onCluster, type Place } from './apply.test-support.ts';
import { type OwnerWrite, writeFinalizer, writeStatus } from './owner-writes.ts';

const ref = { namespace: 'default', name: 'd' };
const NOW = () => '2026-01-01T00:00:00Z';
const FINALIZER = 'capstan.dev/web';
const { signal } = new AbortController();

async function given({ client }: Place): Promise<Deployment> {
  const labels = { app: 'd' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'm', image: 'i' }] } };
  const spec = { selector: { matchLabels: labels }, template };
  return client.create(Deployment, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...ref }, spec });
}

const writeTo = ({ target }: Pick<Place, 'target'>, object: Deployment): OwnerWrite => ({
  target,
  kind: Deployment,
  object,
  manager: MANAGER,
  signal,
});

describe('our finalizer', () => {
  test('goes on beside others’, and off again without them', () =>
    onCluster(async (place) => {
      await given(place);
      const metadata = { finalizers: ['theirs.dev/f'] };
      const before = await place.client.patch(Deployment, ref, 'merge', { metadata });
      assert.equal(await writeFinalizer(writeTo(place, before), 'add', FINALIZER), true);
      const held = await place.client.get(Deployment, ref);
      assert.deepEqual(held.metadata.finalizers, ['theirs.dev/f', FINALIZER]);
      assert.deepEqual(place.seen.get('Deployment default/d')?.metadata.finalizers, ['theirs.dev/f', FINALIZER]);
      assert.equal(await writeFinalizer(writeTo(place, held), 'remove', FINALIZER), true);
      assert.deepEqual((await place.client.get(Deployment, ref)).metadata.finalizers, ['theirs.dev/f']);
    }));

  test('is not written twice when it is there already', () =>
    onCluster(async (place) => {
      const before = await given(place);
      const held = { ...before, metadata: { ...before.metadata, finalizers: [FINALIZER] } };
      assert.equal(await writeFinalizer(writeTo(place, held), 'add', FINALIZER), false);
      assert.equal(await writeFinalizer(writeTo(place, before), 'remove', FINALIZER), false);
      assert.deepEqual(place.shown, []);
    }));

  test('is not written over what a user changed meanwhile: the cache gets the newer one, and all is planned again', () =>
    onCluster(async (place) => {
      const before = await given(place);
      await place.client.patch(Deployment, ref, 'merge', { metadata: { finalizers: ['theirs.dev/f'] } });
      assert.equal(await writeFinalizer(writeTo(place, before), 'add', FINALIZER), false);
      assert.deepEqual((await place.client.get(Deployment, ref)).metadata.finalizers, ['theirs.dev/f']);
      assert.deepEqual(place.seen.get('Deployment default/d')?.metadata.finalizers, ['theirs.dev/f']);
    }));

  test('our finalizer of an object that is gone does nothing but update the cache', () =>
    onCluster(async (place) => {
      const before = await given(place);
      await place.client.delete(Deployment, ref);
      assert.equal(await writeFinalizer(writeTo(place, before), 'add', FINALIZER), false);
      assert.deepEqual(place.shown, [`- Deployment default/d ${before.metadata.uid}`]);
    }));

  test('our finalizer that is refused is an error', () =>
    onCluster(async (place) => {
      const before = await given(place);
      const refusal = () => new ApiError({ code: 403, status: {}, method: 'PATCH', path: '/d', address: 'test' });
      const target = { ...place.target, client: failing(place.client, 'patch', refusal) };
      await assert.rejects(writeFinalizer(writeTo({ target }, before), 'add', FINALIZER), isForbidden);
    }));
});

describe('a status', () => {
  const condition = { type: 'Odd', status: 'True', reason: 'Fine', message: '' } as const;
  const status = (input: object, conditions = [condition]) => ({
    input: input as Record<string, unknown>,
    conditions,
    generation: 1,
    isUrgent: true,
  });

  test('is set, kept and dropped by its fields, conditions beside those of others', () =>
    onCluster(async (place) => {
      await given(place);
      const theirs = { type: 'Available', status: 'True', reason: 'Theirs', message: '' };
      const before = await place.client.patch(
        Deployment,
        ref,
        'merge',
        { status: { replicas: 1, readyReplicas: 1, conditions: [theirs] } },
        { subresource: 'status' },
      );
      const write = status({ replicas: 2, readyReplicas: drop() });
      assert.equal(await writeStatus(writeTo(place, before), write, NOW), true);
      const after = await place.client.get(Deployment, ref);
      assert.equal(after.status?.replicas, 2);
      assert.equal(after.status?.readyReplicas, undefined);
      assert.deepEqual(
        (after.status?.conditions as Condition[] | undefined)?.map(({ type }) => type),
        ['Available', 'Odd'],
      );
    }));

  test('goes to the status alone: the object’s generation and content stay', () =>
    onCluster(async (place) => {
      const before = await given(place);
      await writeStatus(writeTo(place, before), status({ replicas: 2 }), NOW);
      const after = await place.client.get(Deployment, ref);
      assert.equal(after.metadata.generation, before.metadata.generation);
      const entry = after.metadata.managedFields?.find(({ manager }) => manager === MANAGER);
      assert.deepEqual([entry?.operation, entry?.subresource], ['Update', 'status']);
    }));

  test('a status that is in place already is not sent', () =>
    onCluster(async (place) => {
      const before = await given(place);
      const write = status({ gone: drop(), nothing: undefined }, []);
      assert.equal(await writeStatus(writeTo(place, before), write, NOW), false);
      assert.deepEqual(place.shown, []);
    }));

  test('is not written over what a user changed meanwhile', () =>
    onCluster(async (place) => {
      const before = await given(place);
      await place.client.patch(Deployment, ref, 'merge', { status: { replicas: 7 } }, { subresource: 'status' });
      assert.equal(await writeStatus(writeTo(place, before), status({ replicas: 2 }), NOW), false);
      assert.equal((await place.client.get(Deployment, ref)).status?.replicas, 7);
      assert.equal((place.seen.get('Deployment default/d') as Deployment).status?.replicas, 7);
    }));
});
