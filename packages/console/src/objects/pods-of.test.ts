import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deployment, type Kind, type KubeObject, keyOfObject, kindId, Pod, ReplicaSet } from '@capstan/kube';
import type { Runtime } from '@capstan/reconcile';
import { podsOf } from './pods-of.ts';

const PROXY = { world: '', kind: 'KafkaProxy.kroxylicious.io', key: 'default/p' };
const WRITTEN = { world: '', kind: 'Deployment.apps', key: 'default/p' };

function object(
  kind: Kind,
  name: string,
  owner?: readonly [kind: string, apiVersion: string, name: string],
  status = {},
) {
  const ownerReferences = owner && [{ kind: owner[0], apiVersion: owner[1], name: owner[2], uid: owner[2] }];
  const metadata = { namespace: 'default', name, ...(ownerReferences && { ownerReferences }) };
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, status } as KubeObject;
}

function runtimeOf(objects: readonly KubeObject[], kinds: readonly Kind[] = [Pod, ReplicaSet, Deployment]) {
  const ofKind = (kind: Kind) => objects.filter((one) => one.kind === kind.kind);
  const world = {
    kinds,
    peek: ofKind,
    readTable: (kind: Kind) => ({ peek: (key: string) => ofKind(kind).find((one) => keyOfObject(one) === key) }),
  };
  return { worlds: new Map([['', world]]) } as unknown as Runtime;
}

const READY = { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] };
const CRASHED = {
  containerStatuses: [{ name: 'c', ready: false, state: { waiting: { reason: 'ImagePullBackOff', message: 'x' } } }],
};

describe('the pods of an object', () => {
  it('are found through the owners of workloads that its plans write, those with problems first', () => {
    const runtime = runtimeOf([
      object(Deployment, 'p'),
      object(ReplicaSet, 'p-1', ['Deployment', 'apps/v1', 'p']),
      object(ReplicaSet, 'other', ['Deployment', 'apps/v1', 'other']),
      object(Pod, 'p-1-a', ['ReplicaSet', 'apps/v1', 'p-1'], READY),
      object(Pod, 'p-1-b', ['ReplicaSet', 'apps/v1', 'p-1'], CRASHED),
      object(Pod, 'p-1-c', ['ReplicaSet', 'apps/v1', 'p-1'], { phase: 'Pending' }),
      object(Pod, 'other-a', ['ReplicaSet', 'apps/v1', 'other'], READY),
      object(Pod, 'alone', undefined, READY),
    ]);
    const found = podsOf(runtime, PROXY, [WRITTEN]);
    assert.deepEqual(
      found.map(({ key, state, owner }) => [key, state, owner]),
      [
        ['default/p-1-b', 'broken', 'ReplicaSet p-1'],
        ['default/p-1-c', 'progress', 'ReplicaSet p-1'],
        ['default/p-1-a', 'ready', 'ReplicaSet p-1'],
      ],
    );
    assert.match(found[0]?.message ?? '', /ImagePullBackOff: x/);
    const deployment = podsOf(runtime, { ...WRITTEN }, []);
    assert.equal(deployment.length, 3);
    assert.deepEqual(podsOf(runtime, PROXY, []), []);
  });

  it('are none where pods are not cached, and owners in a circle end', () => {
    const circle = [
      object(ReplicaSet, 'a', ['ReplicaSet', 'apps/v1', 'b']),
      object(ReplicaSet, 'b', ['ReplicaSet', 'apps/v1', 'a']),
      object(Pod, 'x', ['ReplicaSet', 'apps/v1', 'a'], READY),
    ];
    assert.deepEqual(podsOf(runtimeOf(circle), WRITTEN, []), []);
    assert.deepEqual(podsOf(runtimeOf(circle, [Deployment]), WRITTEN, []), []);
    assert.equal(kindId(Pod), 'Pod');
  });
});
