// A backend that is deleted: its discoverer goes first, then references, then the discovered objects. Objects of other owners stay.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  EndpointSlice,
  Endpoints,
  Lease,
  Namespace,
  Pod,
  Secret,
  Service,
} from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';
import { HTTPProxy, install, proxy } from '../maintenance/fixtures.ts';
import { backendOf, FIRST, mirror, played, podOf, ref, secretOf } from './fixtures.ts';

/** The discoverer, a program of its own, creates mirrors. */
const DISCOVERED = { fieldManager: 'gimbal-discoverer' };

async function given(client: Client): Promise<void> {
  await install(client, 'http-proxy');
  for (const one of [mirror('east-web'), mirror('east-mine', false), mirror('west-web', true, 'west')])
    await client.create(Service, one, DISCOVERED);
  // A copy of a mirror that a user made: it is left alone.
  await client.create(Service, mirror('copy'), { fieldManager: 'kubectl' });
  const { labels, annotations } = mirror('east-web').metadata;
  await client.create(
    EndpointSlice,
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...ref('east-web-1'), labels: { ...labels }, annotations: { ...annotations } },
      addressType: 'IPv4',
      endpoints: [],
    },
    DISCOVERED,
  );
  await client.create(HTTPProxy, proxy('shop', { 'east-web': 60, 'west-web': 40 }));
}

const servicesOf = async (client: Client) =>
  (await client.list(Service, { namespace: 'default', labelSelector: 'gimbal.heptio.com/backend' })).items.map(
    ({ metadata }) => metadata.name,
  );
const routeOf = async (client: Client) => {
  const { spec } = (await client.get(HTTPProxy, ref('shop'))) as unknown as {
    spec: { routes: { services: { name: string; weight?: number }[] }[] };
  };
  return spec.routes[0]?.services.map(({ name, weight }) => `${name}:${weight}`);
};

describe('a backend that is deleted', () => {
  test('leaves nothing behind', () =>
    played({ given }, async (stage) => {
      const { client } = stage;
      assert.deepEqual((await stage.backend()).metadata.finalizers, ['gimbal.heptio.com/discoverer']);
      stage.transport.clear();
      await client.delete(DiscoveryBackend, ref('east'));
      await stage.collected();
      assert.equal(await client.find(DiscoveryBackend, ref('east')), undefined);
      assert.equal(await stage.deployment(), undefined);
      assert.equal(await client.find(ClusterRole, { name: 'gimbal-discoverer-east' }), undefined);
      assert.equal(await client.find(ClusterRoleBinding, { name: 'gimbal-discoverer-east' }), undefined);
      assert.equal(await client.find(Lease, ref('gimbal-discoverer-east')), undefined);
      assert.deepEqual(await stage.copies(), []);
      assert.ok(await client.find(Secret, ref('east-kubecfg')), 'the Secret is its owner’s');
      assert.deepEqual(
        await servicesOf(client),
        ['copy', 'east-mine', 'west-web'],
        'and so is what no discoverer made',
      );
      assert.equal(await client.find(EndpointSlice, ref('east-web-1')), undefined);
      assert.deepEqual(await routeOf(client), ['west-web:40']);
      const order = ['deployments/', 'httpproxies/', 'services/east-web', 'discoverybackends/east'].map((what) =>
        stage.transport.writes.findLastIndex((line) => line.includes(what)),
      );
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
        stage.transport.writes.join('\n'),
      );
    }));

  test('waits for the pods of its discoverer, a minute at most', () =>
    played({ given }, async (stage) => {
      const { client } = stage;
      const pod = podOf('east-1', {});
      pod.metadata.finalizers = ['test.dev/stay'];
      await client.create(Pod, pod);
      await stage.settle();
      await client.delete(DiscoveryBackend, ref('east'));
      await stage.settle(10_000);
      assert.equal(await stage.deployment(), undefined);
      const { status } = await stage.backend();
      assert.equal(status?.phase, 'Terminating');
      assert.deepEqual(await stage.conditions('DiscovererReady'), ['False Terminating']);
      assert.deepEqual(await routeOf(client), ['east-web:60', 'west-web:40']);
      await stage.clock.advance(90_000);
      await stage.settle();
      assert.equal(await client.find(DiscoveryBackend, ref('east')), undefined);
      assert.deepEqual(await routeOf(client), ['west-web:40']);
      await client.patch(Pod, ref('east-1'), 'merge', { metadata: { finalizers: null } });
    }));

  test('goes on where it was when the operator restarts half-way', () =>
    played({ given }, async (stage) => {
      const { client } = stage;
      await client.delete(DiscoveryBackend, ref('east'));
      await stage.restart();
      assert.equal(await client.find(DiscoveryBackend, ref('east')), undefined);
      assert.deepEqual(await servicesOf(client), ['copy', 'east-mine', 'west-web']);
    }));

  test('a backend that is deleted in maintenance takes its references along, and the bookkeeping too', () =>
    played({ given }, async (stage) => {
      const { client } = stage;
      await stage.edit({ clusterStatus: 'Maintenance' });
      assert.deepEqual(await routeOf(client), ['east-web:0', 'west-web:40']);
      await client.delete(DiscoveryBackend, ref('east'));
      await stage.settle();
      assert.deepEqual(await routeOf(client), ['west-web:40']);
      const { annotations = {} } = (await client.get(HTTPProxy, ref('shop'))).metadata;
      assert.equal(annotations['gimbal.heptio.com/maintenance'], undefined);
    }));

  test('a backend that is deleted as an orphan leaves routes and services, with their weights', () =>
    played({ given, spec: { deletionPolicy: 'Orphan', clusterStatus: 'Maintenance' } }, async (stage) => {
      const { client } = stage;
      await client.delete(DiscoveryBackend, ref('east'));
      await stage.settle();
      assert.equal(await client.find(DiscoveryBackend, ref('east')), undefined);
      assert.deepEqual(await routeOf(client), ['east-web:60', 'west-web:40']);
      assert.deepEqual(await servicesOf(client), ['copy', 'east-mine', 'east-web', 'west-web']);
      assert.equal(await stage.deployment(), undefined);
    }));

  test('a backend that is deleted by force leaves everything but its discoverer', () =>
    played({ given }, async (stage) => {
      const { client } = stage;
      await stage.annotate({ 'gimbal.heptio.com/force-delete': 'true' });
      await client.delete(DiscoveryBackend, ref('east'));
      await stage.settle();
      assert.equal(await client.find(DiscoveryBackend, ref('east')), undefined);
      assert.equal(await stage.deployment(), undefined);
      assert.deepEqual(await servicesOf(client), ['copy', 'east-mine', 'east-web', 'west-web']);
    }));

  test('removes Endpoints too, where they are written', () =>
    played(
      {
        writeEndpoints: true,
        async given(client) {
          await client.create(
            Endpoints,
            {
              ...mirror('east-web'),
              kind: 'Endpoints',
              spec: undefined,
            } as unknown as Endpoints,
            DISCOVERED,
          );
        },
      },
      async (stage) => {
        assert.ok(
          (await stage.deployment())?.spec?.template.spec?.containers[0]?.args?.includes('--write-endpoints=true'),
        );
        await stage.client.delete(DiscoveryBackend, ref('east'));
        await stage.settle();
        assert.equal(await stage.client.find(Endpoints, ref('east-web')), undefined);
      },
    ));
});

test('one that lost its name runs no discoverer, holds nothing, and cleans nothing of the winner', () =>
  played({ given }, async (stage) => {
    const { client } = stage;
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    await stage.pass(2000);
    await client.create(Secret, secretOf('east-kubecfg', FIRST, {}, 'other'));
    await client.create(DiscoveryBackend, backendOf('east', {}, 'other'));
    await stage.settle();
    const loser = { namespace: 'other', name: 'east' };
    const { status, metadata } = await client.get(DiscoveryBackend, loser);
    assert.equal(metadata.finalizers, undefined);
    assert.equal(status?.phase, 'Rejected');
    assert.deepEqual(
      status.errors?.map(({ type }) => type),
      ['DuplicateName'],
    );
    assert.match(status.errors?.[0]?.message ?? '', /DiscoveryBackend default\/east/);
    assert.equal((await client.list(Deployment, { namespace: 'other' })).items.length, 0);
    await client.delete(DiscoveryBackend, loser);
    await stage.settle();
    assert.equal(await client.find(DiscoveryBackend, loser), undefined);
    assert.deepEqual(await servicesOf(client), ['copy', 'east-mine', 'east-web', 'west-web']);
    assert.ok(await stage.deployment());
    assert.deepEqual(await routeOf(client), ['east-web:60', 'west-web:40']);
  }));
