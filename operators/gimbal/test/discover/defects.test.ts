// Gimbal's own discoverers have fifteen known defects. Each is a test here: D1, D2, D4, D5, D7, D9 and D14 need clusters and
// follow; D6 and D11 are in openstack.test.ts, D3, D8, D10, D12, D13 and D15 beside the mapping.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EndpointSlice, Namespace, Service } from '@capstan/kube';
import { addressesOf, discovered, metric, namespace, remoteService, staged } from './stage.ts';

describe('what Gimbal’s own discoverers get wrong', () => {
  it('D1: what was deleted there while the discoverer was down goes at its next start', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(remote.client, 'team/old', ['10.0.0.2']);
      const first = start();
      await settle();
      await first.stop();
      await remote.client.delete(Service, { namespace: 'team', name: 'old' });
      await remote.client.delete(EndpointSlice, { namespace: 'team', name: 'old-1' });
      await remote.client.delete(EndpointSlice, { namespace: 'team', name: 'web-1' });
      start();
      await settle();
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
      assert.deepEqual(await addressesOf(local.client, 'team/east-old'), []);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), []);
    }));

  it('D2: a deletion that the watch never reported is found when it lists again', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(remote.client, 'team/old', ['10.0.0.2']);
      const link = { isDown: false, cut: new AbortController() };
      const running = start({
        remoteTransport: (inner) => ({
          ...inner,
          request: (request) => (link.isDown ? Promise.reject(new Error('down')) : inner.request(request)),
          watch(request) {
            if (link.isDown) return Promise.reject(new Error('down'));
            const signal = AbortSignal.any([link.cut.signal, ...(request.signal ? [request.signal] : [])]);
            return inner.watch({ ...request, signal });
          },
        }),
      });
      await settle();
      link.isDown = true;
      link.cut.abort();
      await settle();
      assert.equal(running.discoverer.isLive, false);
      await remote.client.delete(Service, { namespace: 'team', name: 'old' });
      link.isDown = false;
      link.cut = new AbortController();
      await clock.advance(120_000);
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
    }));

  it('D4: what a person or another backend owns is left alone, and reported', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      const mine = {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: 'team', name: 'east-web', labels: { app: 'mine' } },
        spec: { ports: [{ port: 1234 }] },
      };
      const others = {
        ...mine,
        metadata: { namespace: 'team', name: 'east-b-web', labels: { 'gimbal.heptio.com/backend': 'east-b' } },
      };
      const before = [await local.client.create(Service, mine), await local.client.create(Service, others)];
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(remote.client, 'team/b-web', ['10.0.0.2']);
      const running = start();
      await settle();
      for (const object of before) {
        assert.deepEqual(
          await local.client.get(Service, { namespace: 'team', name: object.metadata.name ?? '' }),
          object,
        );
      }
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), []);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'NameCollision' }), 2);
      assert.equal(running.discoverer.isReady, true);
      // When the name is free, the service follows.
      await local.client.delete(Service, { namespace: 'team', name: 'east-web' });
      await settle(1_000);
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
    }));

  it('D4: what Gimbal’s own discoverer made and the remote side no longer has is removed', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      for (const family of ['gimbal.projectcontour.io', 'gimbal.heptio.com'])
        for (const name of ['old', 'web'])
          await local.client.create(Service, {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: {
              namespace: 'team',
              name: `east-${name}${family === 'gimbal.heptio.com' ? '-2' : ''}`,
              labels: { [`${family}/backend`]: 'east', [`${family}/service`]: name },
            },
            spec: { clusterIP: 'None', ports: [{ name: 'http', port: 81 }] },
          });
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(remote.client, 'team/web-2', ['10.0.0.2']);
      start();
      await settle();
      const { items } = await local.client.list(Service, { namespace: 'team' });
      assert.deepEqual(items.map(({ metadata }) => metadata.name ?? '').toSorted(), ['east-web', 'east-web-2']);
      assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.1']);
    }));

  it('a mirror that lost its labels is known by its other marks, and repaired', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const running = start();
      await settle();
      const ref = { namespace: 'team', name: 'east-web' };
      const labels = { 'gimbal.heptio.com/backend': null };
      await local.client.patch(Service, ref, 'merge', { metadata: { labels } });
      await settle();
      assert.equal((await local.client.get(Service, ref)).metadata.labels?.['gimbal.heptio.com/backend'], 'east');
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'NameCollision' }), undefined);
    }));

  it('D4: what Gimbal’s own discoverer made is taken over', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await local.client.create(Service, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: 'team', name: 'east-web', labels: { 'gimbal.projectcontour.io/backend': 'east' } },
        spec: { clusterIP: 'None', ports: [{ name: 'http', port: 81 }] },
      });
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      start();
      await settle();
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
      const taken = await local.client.get(Service, { namespace: 'team', name: 'east-web' });
      assert.deepEqual(
        taken.spec?.ports?.map(({ port }) => port),
        [80],
      );
    }));

  it('D5: a service whose namespace is missing here comes as soon as it is made, however late', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const running = start();
      await settle();
      assert.equal(running.discoverer.isReady, true);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'NamespaceMissing' }), 1);
      assert.deepEqual(running.sent.writes, []);
      await clock.advance(3_600_000);
      await namespace(local.client, 'team');
      await settle(100);
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'NamespaceMissing' }), undefined);
    }));

  it('D5: a write that fails is tried until it succeeds, at most five minutes apart', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      let isBroken = true;
      let attempts = 0;
      const status = { status: 500, headers: {}, body: { kind: 'Status', code: 500, message: 'etcd is away' } };
      const running = start({
        localTransport: (inner) => ({
          ...inner,
          request(request) {
            if (request.method === 'GET' || !isBroken) return inner.request(request);
            attempts++;
            return Promise.resolve(status);
          },
        }),
      });
      await clock.advance(3_600_000);
      assert.ok(attempts > 15, `${attempts} attempts`);
      const errors = metric(running.metrics, 'gimbal_service_error_total', { errortype: 'add', name: 'east-web' }) ?? 0;
      assert.ok(errors >= attempts / 5, `${errors} errors counted`);
      isBroken = false;
      await clock.advance(330_000);
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
      await settle();
    }));

  it('D7: the longest name of a backend finds its own objects again', () =>
    staged(async ({ remote, local, start, settle }) => {
      const backend = 'b'.repeat(63);
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const first = start({ backend });
      await settle();
      assert.equal((await discovered(local.client, backend)).length, 1);
      await first.stop();
      await remote.client.delete(Service, { namespace: 'team', name: 'web' });
      start({ backend });
      await settle();
      assert.deepEqual(await discovered(local.client, backend), []);
    }));

  it('D9: a write costs one request, and nothing is listed for a gauge', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      const running = start();
      await settle();
      running.sent.clear();
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await settle();
      assert.equal(running.sent.requests.length, 2, running.sent.requests.join('\n'));
      assert.equal(metric(running.metrics, 'gimbal_discoverer_replicated_services_total', { namespace: 'team' }), 1);
    }));

  it('D14: an answer that is empty all of a sudden takes nothing away until it has been said three times', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      for (let index = 0; index < 20; index++)
        await remoteService(remote.client, `team/s${index}`, [`10.0.1.${index}`]);
      await remoteService(remote.client, 'team/kept', ['10.0.0.1']);
      const first = start();
      await settle();
      await first.stop();
      for (let index = 0; index < 20; index++) {
        await remote.client.delete(Service, { namespace: 'team', name: `s${index}` });
        await remote.client.delete(EndpointSlice, { namespace: 'team', name: `s${index}-1` });
      }
      const running = start();
      await settle();
      assert.equal((await discovered(local.client)).length, 21);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'MassDeletionHeld' }), 1);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_deletions_held'), 40);
      // Objects that come and change meanwhile are mirrored.
      await remoteService(remote.client, 'team/new', ['10.0.0.9']);
      await settle();
      assert.equal((await discovered(local.client)).length, 22);
      await clock.advance(61_000);
      assert.deepEqual(await discovered(local.client), ['team/east-kept', 'team/east-new']);
      assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'MassDeletionHeld' }), undefined);
    }));

  it('D14: slices that are all gone at once are held as well', () =>
    staged(async ({ remote, local, start, settle }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
      for (const name of names) await remoteService(remote.client, `team/${name}`, ['10.0.0.1', '10.0.0.2']);
      const first = start();
      await settle();
      await first.stop();
      for (const name of names) await remote.client.delete(EndpointSlice, { namespace: 'team', name: `${name}-1` });
      // Twelve of twenty-four objects: half is not more than half. One more slice is.
      await remote.client.delete(Service, { namespace: 'team', name: 's0' });
      start();
      await settle();
      assert.deepEqual(await addressesOf(local.client, 'team/east-s3'), ['10.0.0.1', '10.0.0.2']);
    }));
});

it('a namespace that is being deleted counts as missing', () =>
  staged(async ({ remote, local, start, settle }) => {
    const object = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'team' },
      spec: { finalizers: ['kubernetes'] },
    };
    await local.client.create(Namespace, object);
    await local.client.delete(Namespace, { name: 'team' });
    await namespace(remote.client, 'team');
    await remoteService(remote.client, 'team/web', ['10.0.0.1']);
    const running = start();
    await settle();
    assert.equal(metric(running.metrics, 'gimbal_discoverer_problems', { type: 'NamespaceMissing' }), 1);
  }));
