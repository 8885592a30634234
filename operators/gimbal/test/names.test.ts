// One name, one backend: over all namespaces and all kinds under which a backend can be written.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { Discoverer, Discovery, DiscoveryBackend } from '../src/index.ts';
import { createGimbal } from '../src/operator.ts';

type BackendKind = typeof DiscoveryBackend;
const KINDS = { DiscoveryBackend, Discoverer, Discovery } as Record<string, BackendKind>;
const kindOf = (name: string) => KINDS[name] as BackendKind;

const backend = (kind: string, namespace = 'default', fields: object = {}) =>
  ({
    apiVersion: kindOf(kind).apiVersion,
    kind,
    metadata: { namespace, name: 'east' },
    cluster: { type: 'kubernetes', secret: 'a', ...fields },
  }) as KubeObject as DiscoveryBackend;

async function verdict({ client }: Stage, kind: string, namespace = 'default') {
  const { status } = await client.get(kindOf(kind), { namespace, name: 'east' });
  const found = status?.conditions?.find(({ type }) => type === 'Accepted');
  return found === undefined ? undefined : `${found.status} ${found.reason}`;
}

async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({ operators: [createGimbal()] });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

describe('of two backends of one name the older has it', () => {
  const pairs = Object.keys(KINDS).flatMap((first) => Object.keys(KINDS).map((second) => [first, second] as const));
  for (const [first, second] of pairs)
    test(`a ${first}, then a ${second}`, () =>
      staged(async (stage) => {
        const { client } = stage;
        const namespace = first === second ? 'kube-public' : 'default';
        await client.create(kindOf(first), backend(first));
        await stage.settle();
        await stage.pass(1000);
        await client.create(kindOf(second), backend(second, namespace));
        await stage.settle();
        assert.equal(await verdict(stage, first), 'True Accepted');
        assert.equal(await verdict(stage, second, namespace), 'False DuplicateName');
        const loser = await client.get(kindOf(second), { namespace, name: 'east' });
        assert.equal(loser.status?.effective, undefined);
        assert.equal(loser.metadata.finalizers, undefined);
        assert.deepEqual(
          loser.status?.errors?.map(({ type }) => type),
          ['DuplicateName'],
        );
        assert.match(loser.status.errors[0]?.message ?? '', new RegExp(`${first} default/east`));
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
        await client.delete(kindOf(first), { namespace: 'default', name: 'east' });
        await stage.settle();
        assert.equal(await verdict(stage, second, namespace), 'True Accepted', 'the next in age follows');
        const follower = await client.get(kindOf(second), { namespace, name: 'east' });
        assert.equal(
          follower.status?.errors?.some(({ type }) => type === 'DuplicateName'),
          false,
        );
      }));
});

test('a name that is a prefix of another is reported', () =>
  staged(async (stage) => {
    const { client } = stage;
    await client.create(DiscoveryBackend, backend('DiscoveryBackend'));
    const longer = backend('DiscoveryBackend');
    await client.create(DiscoveryBackend, { ...longer, metadata: { ...longer.metadata, name: 'east-1' } });
    await stage.settle();
    assert.equal(await verdict(stage, 'DiscoveryBackend'), 'True PrefixOverlap');
  }));

test('a backend does not change its type, and says why', () =>
  staged(async (stage) => {
    const { client } = stage;
    await client.create(DiscoveryBackend, backend('DiscoveryBackend'));
    await stage.settle();
    await client.patch(DiscoveryBackend, { namespace: 'default', name: 'east' }, 'merge', {
      cluster: { type: 'openstack' },
    });
    await stage.settle();
    assert.equal(await verdict(stage, 'DiscoveryBackend'), 'False InvalidSpec');
    const { status } = await client.get(DiscoveryBackend, { namespace: 'default', name: 'east' });
    assert.equal(status?.effective?.type, 'kubernetes');
  }));
