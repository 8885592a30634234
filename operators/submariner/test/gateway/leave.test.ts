// Leaving a set of clusters, in all ways: by the command, by deleting the resource, by the administrator of the broker. Besides,
// a cluster that takes the id of another, and a token that was revoked.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Kind, Lease, Namespace, Role, RoleBinding, Secret, ServiceAccount } from '@capstan/kube';
import {
  BROKER_NAMESPACE,
  CablePolicies,
  Cluster,
  Endpoint,
  Gateway,
  MEMBER_NAMESPACE,
  Submariner,
} from '../../src/kinds/index.ts';
import { until } from '../until.ts';
import { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess } from './set.ts';

const there = { namespace: BROKER_NAMESPACE };
const here = { namespace: MEMBER_NAMESPACE };
const SUBMARINER = { ...here, name: 'submariner' };
/** A gateway that an operator started knows its pod. */
const POD = { env: { POD_NAME: 'submariner-gateway-test' } };

describe('a cluster of a set', () => {
  let set: ClusterSet;
  const gateways = new Map<string, GatewayProcess>();
  const logs = () => [...gateways].map(([name, each]) => `${name}: ${each.log().slice(-1500)}`);
  const remotes = async (member: string) =>
    (await connectionsOf(set, member))
      .map(({ endpoint }) => endpoint.cluster_id)
      .toSorted()
      .join();
  const start = async (member: string) => {
    await gateways.get(member)?.kill('SIGTERM');
    gateways.set(member, await set.gateway(member, undefined, POD));
  };
  const joins = (member: string, ...flags: string[]) =>
    set.subctl(
      'join',
      join(set.folder, 'broker-info.subm'),
      '--context',
      member,
      '--clusterid',
      member,
      '--natt',
      'false',
      ...flags,
    );
  /** Returns the objects of a cluster that the broker still has. */
  const traces = async (id: string) => {
    const broker = set.client('broker');
    const found: string[] = [];
    const kinds: readonly Kind[] = [Cluster, Endpoint, ServiceAccount, RoleBinding, Role, Lease];
    for (const kind of kinds)
      for (const { metadata } of (await broker.list(kind, there)).items)
        if (new RegExp(`(^|-)${id}(-|$)`).test(metadata.name ?? '')) found.push(`${kind.kind} ${metadata.name}`);
    return found;
  };
  const held = async (member: string) => {
    const { items } = await set.client(member).list(CablePolicies, here);
    return items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0).map(({ metadata }) => metadata.name);
  };

  before(async () => {
    set = await createClusterSet({ east: [], west: [], north: [] });
    for (const member of ['east', 'west', 'north']) await start(member);
    for (const member of ['east', 'west'])
      await until(`${member} is connected`, 60_000, async () => (await remotes(member)).split(',').length === 2, logs);
    await set.client('west').create(CablePolicies, {
      apiVersion: CablePolicies.apiVersion,
      kind: 'CablePolicies',
      metadata: { ...here, name: 'of-west' },
      spec: [{ leftClusterSelector: { a: 'b' }, cableDriver: { name: 'ipsec' } }],
    });
    await until('the policy is on east', 30_000, async () =>
      Boolean(await set.client('east').find(CablePolicies, { ...here, name: 'of-west' })),
    );
  });
  after(() => set?.close());

  test('leaves by subctl: nothing of it is on the broker, and the others drop its cables', async () => {
    const left = await set.subctl('uninstall', '--context', 'west');
    assert.equal(left.code, 0, left.stderr);
    await until('east drops the cable', 10_000, async () => (await remotes('east')) === 'north', logs);
    await until(
      'the broker has no trace',
      10_000,
      async () => (await traces('west')).length === 0,
      () => traces('west'),
    );
    assert.ok(await set.client('broker').find(CablePolicies, { ...there, name: 'of-west' }), 'its policy stays');
    await until(
      'no finalizer is left',
      10_000,
      async () => (await held('west')).length === 0,
      () => held('west'),
    );
    // A leftover that is deleted later deletes nothing on the broker.
    await set.client('west').delete(CablePolicies, { ...here, name: 'of-west' });
    assert.equal(await set.client('west').find(CablePolicies, { ...here, name: 'of-west' }), undefined);
    assert.ok(await set.client('broker').find(CablePolicies, { ...there, name: 'of-west' }));
    await gateways.get('west')?.kill('SIGTERM');
  });

  test('joins again with the same id at once', async () => {
    const joined = await joins('west');
    assert.equal(joined.code, 0, joined.stderr);
    await start('west');
    await until('east has the cable', 60_000, async () => (await remotes('east')) === 'north,west', logs);
  });

  test('a cluster that takes the id of another is refused on its resource, and the other stays as it is', async () => {
    const before = await set.client('broker').get(Cluster, { ...there, name: 'west' });
    const refused = await set.subctl(
      'join',
      join(set.folder, 'broker-info.subm'),
      '--context',
      'north',
      '--clusterid',
      'west',
    );
    assert.match(refused.stderr, /a cluster of this id has joined the broker/);
    // By hand: the resource of north names the id of west, with the token of west.
    const { data } = await set.client('west').get(Secret, { ...here, name: 'submariner-broker-secret' });
    await set.client('north').patch(Secret, { ...here, name: 'submariner-broker-secret' }, 'merge', { data });
    await set.client('north').patch(Submariner, SUBMARINER, 'merge', { spec: { clusterID: 'west' } });
    await gateways.get('north')?.kill('SIGTERM');
    gateways.set('north', await set.gateway('north', undefined, { env: { ...POD.env, SUBMARINER_CLUSTERID: 'west' } }));
    const condition = async () =>
      (await set.client('north').get(Submariner, SUBMARINER)).status?.conditions?.find(({ type }) => type === 'Joined');
    await until(
      'it is reported',
      60_000,
      async () => (await condition())?.reason === 'DuplicateClusterID',
      async () => [await condition(), ...logs()],
    );
    assert.match((await condition())?.message ?? '', /another cluster has joined the broker with this id/);
    const now = await set.client('broker').get(Cluster, { ...there, name: 'west' });
    assert.deepEqual([now.metadata.uid, now.spec], [before.metadata.uid, before.spec]);
    const endpoints = (await set.client('broker').list(Endpoint, there)).items.filter(
      ({ spec }) => spec.cluster_id === 'west',
    );
    assert.deepEqual(
      endpoints.map(({ spec }) => spec.hostname),
      ['gateway-west'],
    );
    // It had its own id before, and has left under that one.
    await until(
      'nothing of its own id is left',
      30_000,
      async () => !(await traces('north')).includes('Cluster north'),
    );
    await gateways.get('north')?.kill('SIGTERM');
  });

  test('a cluster of a set that vanished is removed by the administrator of the broker', async () => {
    const joined = await joins('north');
    assert.equal(joined.code, 0, joined.stderr);
    await start('north');
    await until('east has the cable', 60_000, async () => (await remotes('east')) === 'north,west', logs);
    await gateways.get('north')?.kill('SIGKILL');
    const removed = await set.subctl('remove-member', 'north', '--context', 'broker');
    assert.equal(removed.code, 0, removed.stderr);
    await until(
      'the broker has no trace',
      10_000,
      async () => (await traces('north')).length === 0,
      () => traces('north'),
    );
    await until('east drops the cable', 10_000, async () => (await remotes('east')) === 'west', logs);
    const again = await set.subctl('remove-member', 'north', '--context', 'broker');
    assert.match(again.stderr, /cluster "north" is not known; use one of east, west/);
  });

  test('a cluster of a set whose token was revoked reports it on its resource, and keeps its cables', async () => {
    await set.client('broker').delete(ServiceAccount, { ...there, name: 'cluster-west' });
    const condition = async () =>
      (await set.client('west').get(Submariner, SUBMARINER)).status?.conditions?.find(({ type }) => type === 'Joined');
    await until(
      'it is reported',
      90_000,
      async () => /refuses the token|does not grant/.test((await condition())?.message ?? ''),
      async () => [await condition(), ...logs()],
    );
    assert.equal((await condition())?.reason, 'BrokerUnavailable');
    assert.equal(await remotes('west'), 'east');
    const joined = await joins('west');
    assert.equal(joined.code, 0, joined.stderr);
    await start('west');
    await until('it is well again', 60_000, async () => (await condition())?.status === 'True', condition);
  });

  test('leaves when its resource is deleted, and its namespace can be deleted', async () => {
    const west = set.client('west');
    await west.delete(Submariner, SUBMARINER);
    await until(
      'the resource is gone',
      60_000,
      async () => (await west.find(Submariner, SUBMARINER)) === undefined,
      async () => [await west.find(Submariner, SUBMARINER), ...logs()],
    );
    assert.deepEqual(await traces('west'), []);
    assert.deepEqual(await held('west'), []);
    const copies = (await west.list(Cluster, here)).items.filter(({ metadata }) => metadata.name !== 'west');
    assert.deepEqual(copies, []);
    await until('east drops the cable', 10_000, async () => (await remotes('east')) === '', logs);
    await gateways.get('west')?.kill('SIGTERM');
    await west.delete(Namespace, { name: MEMBER_NAMESPACE });
    await until(
      'the namespace is gone',
      30_000,
      async () => (await west.find(Namespace, { name: MEMBER_NAMESPACE })) === undefined,
      async () => (await west.list(Gateway, here)).items.map(({ metadata }) => metadata.name),
    );
  });
});
