import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EndpointSlice, Endpoints, Service } from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { addressesOf, discovered, metric, namespace, remoteService, remoteSlice, staged } from './stage.ts';

const web = { namespace: 'team', name: 'web' };
const mirror = { namespace: 'team', name: 'east-web' };

describe('discovery from a cluster', () => {
  it('follows additions, changes and deletions', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      start();
      await settle();
      await remoteService(remote.client, 'team/web', ['10.0.0.1'], { labels: { app: 'web', tier: 'front' } });
      await settle(50);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.1']);
      const patch = {
        metadata: { labels: { tier: null, app: 'web2' } },
        spec: { ports: [{ name: 'http', port: 8080 }] },
      };
      await remote.client.patch(Service, web, 'merge', patch);
      await remoteSlice(remote.client, 'team/web', 'web-2', ['10.0.0.3', '10.0.0.2']);
      await settle(50);
      const here = await local.client.get(Service, mirror);
      assert.deepEqual(
        here.spec?.ports?.map(({ port }) => port),
        [8080],
      );
      assert.equal(here.metadata.labels?.['app'], 'web2');
      assert.equal(here.metadata.labels?.['tier'], undefined);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
      await remote.client.delete(EndpointSlice, { namespace: 'team', name: 'web-1' });
      await settle(50);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.2', '10.0.0.3']);
      await remote.client.delete(Service, web);
      await settle(50);
      assert.deepEqual(await discovered(local.client), []);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), []);
    }));

  it('writes nothing when it starts on a settled cluster, nor at a resync', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      for (let index = 0; index < 10; index++) {
        await remoteService(remote.client, `team/s${index}`, [`10.0.0.${index + 1}`], { labels: { app: `a${index}` } });
      }
      const first = start({ settings: { writeEndpoints: true } });
      await settle();
      await first.stop();
      const second = start({ settings: { writeEndpoints: true } });
      await clock.advance(7_200_000);
      assert.equal(second.discoverer.isReady, true);
      assert.deepEqual(second.sent.writes, []);
    }));

  it('corrects what a user changes or deletes here, and leaves alone what they add', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1'], { labels: { app: 'web' } });
      const running = start();
      await settle();
      const patch = { metadata: { labels: { app: 'mine', extra: 'yes' } }, spec: { ports: [{ port: 1 }] } };
      await local.client.patch(Service, mirror, 'merge', patch);
      await settle(50);
      const here = await local.client.get(Service, mirror);
      assert.equal(here.metadata.labels?.['app'], 'web');
      assert.equal(here.metadata.labels?.['extra'], 'yes');
      assert.equal(here.spec?.ports?.[0]?.port, 80);
      running.sent.clear();
      await local.client.patch(Service, mirror, 'merge', { metadata: { annotations: { note: 'looked at' } } });
      await settle(50);
      assert.deepEqual(running.sent.writes, []);
      await local.client.delete(Service, mirror);
      await settle(50);
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
    }));

  it('passes over kube-system, what is excluded, what is not included, and mirrors', () =>
    staged(async ({ remote, local, start, settle }) => {
      const all = ['kube-system', 'team-a', 'team-b', 'other'];
      for (const name of all) {
        await namespace(local.client, name).catch(() => {});
        await namespace(remote.client, name).catch(() => {});
        await remoteService(remote.client, `${name}/web`, ['10.0.0.1']);
      }
      await remoteService(remote.client, 'team-a/loop', ['10.0.0.1'], {
        labels: { 'gimbal.heptio.com/backend': 'west' },
      });
      start();
      await settle();
      assert.deepEqual(await discovered(local.client), ['other/east-web', 'team-a/east-web', 'team-b/east-web']);
      const namespaces = { include: ['team-*'], exclude: ['*-b'] };
      start({ backend: 'west', namespaces });
      await settle();
      assert.deepEqual(await discovered(local.client, 'west'), ['team-a/west-web']);
    }));

  it('discovery of two clusters by each other ends', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(local.client, 'team/api', ['10.0.1.1']);
      const there = start({ backend: 'east' });
      // The other direction: from the local cluster into the remote one.
      const back = start({ backend: 'home', remote: local, localTransport: () => remote.transport() });
      await settle();
      assert.deepEqual(await discovered(local.client, 'east'), ['team/east-web']);
      assert.deepEqual(await discovered(remote.client, 'home'), ['team/home-api']);
      there.sent.clear();
      back.sent.clear();
      await clock.advance(3_600_000);
      assert.deepEqual([...there.sent.writes, ...back.sent.writes], []);
    }));

  it('never writes to the remote cluster', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const running = start();
      await settle();
      await remote.client.delete(Service, web);
      await settle(2_000_000);
      assert.deepEqual(running.asked.writes, []);
    }));

  it('removes a service that becomes an ExternalName, and reports it', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const running = start();
      await settle();
      await remote.client.patch(Service, web, 'merge', {
        spec: { type: 'ExternalName', externalName: 'db.example.com', clusterIP: null, clusterIPs: null, ports: null },
      });
      await settle();
      assert.deepEqual(await discovered(local.client), []);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'ExternalNameUnsupported' }), 1);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_invalid_services_total', { namespace: 'team' }), 1);
    }));

  it('creates missing namespaces when configured to', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      start({ settings: { createNamespaces: true } });
      await settle();
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
    }));

  it('reads Endpoints where the remote cluster gives no slices', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web');
      await remote.client.create(Endpoints, {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { namespace: 'team', name: 'web' },
        subsets: [{ addresses: [{ ip: '10.0.0.7' }], ports: [{ name: 'http', port: 8080 }] }],
      });
      const notServed = { status: 404, headers: {}, body: { kind: 'Status', code: 404, reason: 'NotFound' } };
      const isSlices = ({ path }: { path: string }) => path.includes('endpointslices');
      const running = start({
        settings: { writeEndpoints: true },
        remoteTransport: (inner) => ({
          ...inner,
          request: (request) => (isSlices(request) ? Promise.resolve(notServed) : inner.request(request)),
          watch: (request) => (isSlices(request) ? Promise.resolve(notServed) : inner.watch(request)),
        }),
      });
      await settle();
      assert.equal(running.discoverer.isReady, true);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.7']);
      const endpoints = await local.client.get(Endpoints, mirror);
      assert.equal(endpoints.subsets?.[0]?.addresses?.[0]?.ip, '10.0.0.7');
      assert.equal(endpoints.metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'], 'true');
    }));

  it('counts services and addresses as Gimbal does', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
      const { metrics } = start();
      await settle();
      const of = { namespace: 'team', servicename: 'web', backendname: 'east', backendtype: 'kubernetes' };
      assert.equal(metric(metrics, 'gimbal_discoverer_upstream_endpoints_total', of), 3);
      assert.equal(metric(metrics, 'gimbal_discoverer_replicated_endpoints_total', of), 3);
      assert.equal(metric(metrics, 'gimbal_discoverer_invalid_endpoints_total', of), 0);
      assert.equal(metric(metrics, 'gimbal_discoverer_upstream_services_total', { namespace: 'team' }), 1);
      assert.equal(metric(metrics, 'gimbal_discoverer_info', { version: 'test' }), 1);
      assert.ok((metric(metrics, 'gimbal_service_event_timestamp', { name: 'east-web' }) ?? 0) > 1e9);
      assert.equal(metric(metrics, 'gimbal_service_error_total', { name: 'east-web' }), undefined);
    }));
});

it('two backends do not touch each other', () =>
  staged(async ({ remote, local, start, settle, clock }) => {
    const random = createRandom(2);
    const other = await createTestCluster({ clock, random });
    await namespace(local.client, 'team');
    for (const cluster of [remote, other]) {
      await namespace(cluster.client, 'team');
      await remoteService(cluster.client, 'team/web', ['10.0.0.1']);
    }
    start({ backend: 'east' });
    const west = start({ backend: 'west', remote: other });
    await settle();
    assert.deepEqual(await discovered(local.client, 'west'), ['team/west-web']);
    west.sent.clear();
    await remote.client.delete(Service, web);
    await settle();
    assert.deepEqual(await discovered(local.client, 'east'), []);
    assert.deepEqual(await discovered(local.client, 'west'), ['team/west-web']);
    assert.deepEqual(west.sent.writes, []);
    await west.stop();
    await other.close();
  }));

it('a service with many slices is brought here slice by slice, and one changed endpoint is one write', () =>
  staged(async ({ remote, local, start, settle }) => {
    await namespace(local.client, 'team');
    await namespace(remote.client, 'team');
    await remoteService(remote.client, 'team/web');
    for (let part = 0; part < 20; part++) {
      const addresses = Array.from({ length: 1000 }, (_, index) => `10.${part}.${index >> 8}.${index & 255}`);
      await remoteSlice(remote.client, 'team/web', `web-${part}`, addresses);
    }
    const running = start();
    await settle();
    assert.equal((await addressesOf(local.client, 'team/east-web')).length, 20_000);
    running.sent.clear();
    const endpoints = [{ addresses: ['10.99.0.1'], conditions: { ready: true } }];
    await remote.client.patch(EndpointSlice, { namespace: 'team', name: 'web-7' }, 'merge', { endpoints });
    await settle(50);
    assert.equal(running.sent.writes.length, 1);
    assert.equal((await addressesOf(local.client, 'team/east-web')).length, 19_001);
  }));
