// Policies, clusters and endpoints between a broker and its members, through servers.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, isNotFound } from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import {
  BROKER_NAMESPACE,
  Broker,
  CablePolicies,
  Cluster,
  Endpoint,
  MEMBER_NAMESPACE,
  ORIGIN_LABEL,
} from '../../src/kinds/index.ts';
import { policyInForce } from '../../src/sync/in-force.ts';
import { createSyncPlace, type SyncPlace } from './place.ts';

const here = (name: string) => ({ namespace: MEMBER_NAMESPACE, name });
const there = (name: string) => ({ namespace: BROKER_NAMESPACE, name });
const policy = (ref: object, driver: string, annotations: Record<string, string> = {}): CablePolicies => ({
  apiVersion: CablePolicies.apiVersion,
  kind: 'CablePolicies',
  metadata: { ...ref, annotations },
  spec: [{ cableDriver: { name: driver } }],
});
const cluster = (id: string, labels: Record<string, string>, network = '10.0.0.0/16'): Cluster => ({
  apiVersion: Cluster.apiVersion,
  kind: 'Cluster',
  metadata: { ...here(id), labels },
  spec: { cluster_id: id, service_cidr: [], cluster_cidr: [network], global_cidr: [] },
});
const endpoint = (id: string, subnet: string): Endpoint => ({
  apiVersion: Endpoint.apiVersion,
  kind: 'Endpoint',
  metadata: here(id),
  spec: {
    cluster_id: id,
    cable_name: `submariner-cable-${id}`,
    hostname: id,
    subnets: [subnet],
    private_ip: '192.0.2.1',
    public_ip: '',
    nat_enabled: false,
    backend: 'vxlan',
  },
});
const driverOf = (object: CablePolicies | undefined) =>
  object === undefined ? undefined : (object.spec as { cableDriver: { name: string } }[])[0]?.cableDriver.name;

async function quiet(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function played(check: (place: SyncPlace) => Promise<void>): Promise<void> {
  const place = await createSyncPlace();
  try {
    await check(place);
  } finally {
    await place.close();
  }
}

describe('a policy', () => {
  test('a policy of the broker is on every member, also on one that joins later', () =>
    played(async (place) => {
      const east = await place.join('east');
      await place.broker.client.create(CablePolicies, policy(there('p'), 'ipsec'));
      await place.settle();
      assert.equal(driverOf(await east.client.find(CablePolicies, here('p'))), 'ipsec');
      const west = await place.join('west');
      await place.settle();
      assert.equal(driverOf(await west.client.find(CablePolicies, here('p'))), 'ipsec');
    }));

  test('a policy of a member is on the broker and on the others, with its origin', () =>
    played(async (place) => {
      const [east, west] = [await place.join('east'), await place.join('west')];
      await place.settle();
      await east.client.create(CablePolicies, policy(here('p'), 'wireguard'));
      await place.settle();
      const original = await place.broker.client.get(CablePolicies, there('p'));
      assert.equal(original.metadata.labels?.[ORIGIN_LABEL], 'east');
      assert.equal(driverOf(await west.client.find(CablePolicies, here('p'))), 'wireguard');
      await west.client.patch(CablePolicies, here('p'), 'merge', { spec: [{ cableDriver: { name: 'vxlan' } }] });
      await place.settle();
      assert.equal(driverOf(await east.client.find(CablePolicies, here('p'))), 'vxlan');
      await west.client.delete(CablePolicies, here('p'));
      await place.settle();
      for (const { client } of [east, west]) assert.equal(await client.find(CablePolicies, here('p')), undefined);
      assert.equal(await place.broker.client.find(CablePolicies, there('p')), undefined);
    }));

  test('carries the options of the ConfigMap where it was created, and of no other of that name', () =>
    played(async (place) => {
      const [east, west] = [await place.join('east'), await place.join('west')];
      const options = (ref: object, vxlanID: string) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...ref },
        data: { vxlanID },
      });
      const naming = (ref: object, name: string) => ({
        ...policy(ref, 'vxlan'),
        spec: [{ cableDriver: { name: 'vxlan', options: { configMapRef: { name } } } }],
      });
      const optionsOf = async (client: typeof east.client, ref: { namespace: string; name: string }) =>
        (await client.get(CablePolicies, ref)).spec;
      const inline = (vxlanID: string) => [{ cableDriver: { name: 'vxlan', options: { data: { vxlanID } } } }];
      for (const { client } of [east, west]) await client.create(ConfigMap, options(here('c'), '9'));
      await place.broker.client.create(CablePolicies, naming(there('of-broker'), 'c'));
      await east.client.create(CablePolicies, naming(here('of-east'), 'c'));
      await east.client.create(CablePolicies, naming(here('missing'), 'd'));
      await west.client.create(ConfigMap, options(here('d'), '8'));
      await place.settle();
      assert.deepEqual(await optionsOf(west.client, here('of-broker')), naming({}, 'c').spec, 'it is not there yet');
      assert.deepEqual(await optionsOf(west.client, here('of-east')), inline('9'));
      assert.deepEqual(await optionsOf(west.client, here('missing')), naming({}, 'd').spec, 'that of west is another');
      await place.broker.client.create(ConfigMap, options(there('c'), '7'));
      await place.settle();
      for (const { client } of [east, west]) assert.deepEqual(await optionsOf(client, here('of-broker')), inline('7'));
      await place.broker.client.patch(ConfigMap, there('c'), 'merge', { data: { vxlanID: '6' } });
      await east.client.patch(ConfigMap, here('c'), 'merge', { data: { vxlanID: '5' } });
      await place.settle();
      assert.deepEqual(await optionsOf(west.client, here('of-broker')), inline('6'));
      assert.deepEqual(await optionsOf(west.client, here('of-east')), inline('5'));
      assert.deepEqual(
        await optionsOf(place.broker.client, there('of-broker')),
        naming({}, 'c').spec,
        'as the user wrote it',
      );
    }));

  test('a policy that was deleted on the broker while a member was away does not come back with it', () =>
    played(async (place) => {
      const east = await place.join('east');
      await place.broker.client.create(CablePolicies, policy(there('p'), 'ipsec'));
      await place.settle();
      await east.leave();
      await place.broker.client.delete(CablePolicies, there('p'));
      await place.settle();
      assert.ok(await east.client.find(CablePolicies, here('p')), 'it stays while the broker is away');
      await east.client.create(CablePolicies, policy(here('new'), 'vxlan'));
      east.comeBack();
      await place.settle();
      assert.equal(await east.client.find(CablePolicies, here('p')), undefined);
      assert.equal(await place.broker.client.find(CablePolicies, there('p')), undefined);
      assert.ok(await place.broker.client.find(CablePolicies, there('new')));
    }));

  test('a policy that is in force keeps its name, and one of a member that comes later takes over when it goes', () =>
    played(async (place) => {
      const [east, west] = [await place.join('east'), await place.join('west')];
      await place.settle();
      const at = (time: string) => ({ 'submariner.io/policy-created-at': time });
      await east.leave();
      await west.client.create(CablePolicies, policy(here('p'), 'vxlan', at('2026-01-02T00:00:00.000Z')));
      await east.client.create(CablePolicies, policy(here('p'), 'ipsec', at('2026-01-01T00:00:00.000Z')));
      await place.settle();
      east.comeBack();
      await place.settle();
      assert.equal(driverOf(await place.broker.client.find(CablePolicies, there('p'))), 'vxlan');
      const other = await east.client.get(CablePolicies, here('p'));
      const condition = other.status?.conditions?.find(({ type }) => type === 'Synced');
      assert.deepEqual([condition?.status, condition?.reason], ['False', 'NameConflict']);
      assert.match(condition?.message ?? '', /from cluster "west", is in force.*rename this one/);
      assert.equal(driverOf(other), 'ipsec', 'the spec is as the user wrote it');
      assert.equal(driverOf(await east.client.get(CablePolicies, here('p.west'))), 'vxlan');
      await place.broker.client.delete(CablePolicies, there('p'));
      await place.settle();
      for (const { client } of [east, west])
        assert.equal(driverOf(await client.find(CablePolicies, here('p'))), 'ipsec', 'it takes over');
      assert.equal(driverOf(await place.broker.client.find(CablePolicies, there('p'))), 'ipsec');
      assert.equal(await east.client.find(CablePolicies, here('p.west')), undefined);
    }));

  test('a policy that is edited on its member and deleted on the broker at that moment does not come back, for 120 seeds', () =>
    played(async (place) => {
      const east = await place.join('east');
      await place.settle();
      const comesBack: number[] = [];
      let earlyDeletions = 0;
      for (let seed = 1; seed <= 120; seed++) {
        const random = createRandom(seed);
        const name = `p${seed}`;
        const spec = [{ cableDriver: { name: 'vxlan' } }];
        const edit = () => quiet(east.client.patch(CablePolicies, here(name), 'merge', { spec }));
        const remove = () => quiet(place.broker.client.delete(CablePolicies, there(name)));
        // Both happen before the write of this number that follows the creation on the broker, or between two later ones.
        const [editAt, removeAt] = [random.integer(1, 5), random.integer(1, 5)];
        let writes = 0;
        let isRemoved = false;
        place.onWrite = async () => {
          const found = await place.broker.client.find(CablePolicies, there(name));
          if (found === undefined && writes === 0) return;
          writes++;
          if (writes === editAt) await edit();
          if (writes !== removeAt) return;
          if ((found?.metadata.finalizers ?? []).length > 0) earlyDeletions++;
          isRemoved = true;
          await remove();
        };
        await east.client.create(CablePolicies, policy(here(name), 'ipsec'));
        await place.clock.advance(200);
        if (!isRemoved) await remove();
        await place.clock.advance(200);
        if ((await east.client.find(CablePolicies, here(name))) !== undefined) comesBack.push(seed);
      }
      await place.settle();
      const left = await place.broker.client.list(CablePolicies, { namespace: BROKER_NAMESPACE });
      assert.deepEqual([comesBack, left.items.length], [[], 0]);
      assert.ok(earlyDeletions > 10, `${earlyDeletions} deletions came before the member had recorded its base`);
    }));

  test('a policy that becomes invalid by its spec or its ConfigMap stays in force, also for a member that joins later', () =>
    played(async (place) => {
      const [east, west] = [await place.join('east'), await place.join('west')];
      const config = (dpdDelay: string) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: here('c'),
        data: { dpdDelay },
      });
      await east.client.create(ConfigMap, config('20'));
      await east.client.create(CablePolicies, {
        ...policy(here('by-config'), 'ipsec'),
        spec: [{ cableDriver: { name: 'ipsec', options: { configMapRef: { name: 'c' } } } }],
      });
      await place.broker.client.create(CablePolicies, policy(there('by-spec'), 'wireguard'));
      await place.settle();
      await east.client.patch(ConfigMap, here('c'), 'merge', { data: { dpdDelay: '20x' } });
      await place.broker.client.patch(CablePolicies, there('by-spec'), 'merge', {
        spec: [{ cableDriver: { name: 'wiregard' } }],
      });
      await place.settle();
      const late = await place.join('late');
      await place.settle();
      for (const { id, client } of [east, west, late]) {
        const rulesOf = async (name: string) =>
          policyInForce(await client.get(CablePolicies, here(name)), { isMember: true }).rules.map(
            ({ driver, options }) => [driver, options.data],
          );
        assert.deepEqual(await rulesOf('by-config'), [['ipsec', { dpdDelay: '20' }]], id);
        assert.deepEqual(await rulesOf('by-spec'), [['wireguard', {}]], id);
      }
    }));
});

describe('a restored broker', () => {
  test('gets back the policies that were created after the backup, and later deletions hold for all members', () =>
    played(async (place) => {
      const { client } = place.broker;
      let stopOperator = place.startBrokerOperator();
      const object = { apiVersion: Broker.apiVersion, kind: 'Broker', metadata: there('submariner-broker') };
      await client.create(Broker, { ...object, spec: {} } as Broker);
      const [east, west, away] = [await place.join('east'), await place.join('west'), await place.join('away')];
      await client.create(CablePolicies, policy(there('before'), 'vxlan'));
      await place.settle();
      const { policyRecord } = (await client.get(Broker, there('submariner-broker'))).status ?? {};
      assert.ok(policyRecord);
      await client.create(CablePolicies, policy(there('of-broker'), 'ipsec'));
      await east.client.create(CablePolicies, policy(here('of-east'), 'wireguard'));
      await place.settle();
      for (const member of [east, west, away]) await member.leave();
      await stopOperator();
      for (const name of ['of-broker', 'of-east']) await client.delete(CablePolicies, there(name));
      await client.patch(
        Broker,
        there('submariner-broker'),
        'merge',
        { status: { policyRecord } },
        { subresource: 'status' },
      );
      stopOperator = place.startBrokerOperator();
      for (const member of [west, east]) member.comeBack();
      await place.settle();
      for (const name of ['before', 'of-broker', 'of-east']) {
        const found = await client.get(CablePolicies, there(name));
        assert.deepEqual(found.metadata.finalizers ?? [], [], name);
        for (const member of [east, west]) assert.ok(await member.client.find(CablePolicies, here(name)), name);
      }
      for (const member of [east, west]) {
        const { status } = await member.client.get(CablePolicies, here('of-east'));
        const condition = status?.conditions?.find(({ type }) => type === 'Synced');
        assert.deepEqual([condition?.status, condition?.reason], ['True', 'BrokerRestored'], member.id);
      }
      await client.delete(CablePolicies, there('of-broker'));
      await west.client.delete(CablePolicies, here('of-east'));
      await place.settle();
      away.comeBack();
      await place.settle();
      for (const member of [east, west, away])
        for (const name of ['of-broker', 'of-east'])
          assert.equal(await member.client.find(CablePolicies, here(name)), undefined, `${member.id}: ${name}`);
      const left = await client.list(CablePolicies, { namespace: BROKER_NAMESPACE });
      assert.deepEqual(left.items.map(({ metadata }) => metadata.name ?? '').toSorted(), ['before', 'default']);
      await stopOperator();
    }));
});

describe('a cluster', () => {
  test('is known to all, and labels that users set on either side are kept', () =>
    played(async (place) => {
      const [east, west] = [await place.join('east'), await place.join('west')];
      await east.client.create(Cluster, cluster('east', { env: 'production' }));
      await place.settle();
      assert.equal((await west.client.get(Cluster, here('east'))).metadata.labels?.['env'], 'production');
      await place.broker.client.patch(Cluster, there('east'), 'merge', { metadata: { labels: { region: 'eu' } } });
      await place.settle();
      const labels = (await east.client.get(Cluster, here('east'))).metadata.labels;
      assert.deepEqual([labels?.['env'], labels?.['region']], ['production', 'eu']);
      assert.equal((await west.client.get(Cluster, here('east'))).metadata.labels?.['region'], 'eu');
      await east.client.delete(Cluster, here('east'));
      await place.settle();
      assert.equal(await west.client.find(Cluster, here('east')), undefined);
      assert.equal(await place.broker.client.find(Cluster, there('east')), undefined);
    }));
});

describe('a cluster with networks of another', () => {
  test('is not published, whatever its id, and neither is an edit that claims them', () =>
    played(async (place) => {
      const [east, aft] = [await place.join('east'), await place.join('aft')];
      const found = async () => {
        await place.settle();
        const { status } = await aft.client.get(Cluster, here('aft'));
        const condition = status?.conditions?.find(({ type }) => type === 'Published');
        const published = await place.broker.client.find(Cluster, there('aft'));
        return { reason: condition?.reason, message: condition?.message, networks: published?.spec.cluster_cidr };
      };
      const use = (network: string) =>
        aft.client.patch(Cluster, here('aft'), 'merge', { spec: { cluster_cidr: [network] } });
      await east.client.create(Cluster, cluster('east', {}));
      await place.settle();
      await aft.client.create(Cluster, cluster('aft', {}, '10.0.128.0/17'));
      await aft.client.create(Endpoint, endpoint('aft', '10.0.128.0/17'));
      const refused = await found();
      assert.deepEqual([refused.reason, refused.networks], ['OverlappingSubnets', undefined]);
      assert.match(
        refused.message ?? '',
        /^cluster "aft": its subnet 10\.0\.128\.0\/17 overlaps 10\.0\.0\.0\/16 of cluster "east"/,
      );
      assert.equal(await place.broker.client.find(Endpoint, there('aft')), undefined);
      assert.equal(await east.client.find(Cluster, here('aft')), undefined);
      await use('10.9.0.0/16');
      const accepted = await found();
      assert.deepEqual([accepted.reason, accepted.networks], ['Published', ['10.9.0.0/16']]);
      // The gateway follows the edit a moment later: until then its Endpoint has the refused network.
      assert.equal(await place.broker.client.find(Endpoint, there('aft')), undefined);
      await aft.client.patch(Endpoint, here('aft'), 'merge', { spec: { subnets: ['10.9.0.0/16'] } });
      await place.settle();
      assert.deepEqual((await place.broker.client.find(Endpoint, there('aft')))?.spec.subnets, ['10.9.0.0/16']);
      await use('10.0.1.0/24');
      const edited = await found();
      assert.deepEqual([edited.reason, edited.networks], ['OverlappingSubnets', ['10.9.0.0/16']]);
      await east.client.delete(Cluster, here('east'));
      const free = await found();
      assert.deepEqual([free.reason, free.networks], ['Published', ['10.0.1.0/24']]);
    }));
});

describe('the settings of a broker', () => {
  test('are on every member, follow the broker, and stay while it is away', () =>
    played(async (place) => {
      const east = await place.join('east');
      const object = { apiVersion: Broker.apiVersion, kind: 'Broker', metadata: there('submariner-broker') };
      await place.broker.client.create(Broker, { ...object, spec: { minimumSecurity: 'encrypted' } } as Broker);
      await place.settle();
      const copy = () => east.client.find(Broker, here('submariner-broker'));
      assert.equal((await copy())?.spec.minimumSecurity, 'encrypted');
      await place.broker.client.patch(Broker, there('submariner-broker'), 'merge', { spec: { onConflict: 'refuse' } });
      await place.settle();
      assert.equal((await copy())?.spec.onConflict, 'refuse');
      await east.leave();
      await place.settle();
      assert.equal((await copy())?.spec.onConflict, 'refuse');
      east.comeBack();
      await place.broker.client.delete(Broker, there('submariner-broker'));
      await place.settle();
      assert.equal(await copy(), undefined);
    }));
});
