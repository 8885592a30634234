import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ApiResponse, Lease, Service } from '@capstan/kube';
import { backendObject, discovered, discoveryStatus, metric, namespace, remoteService, staged } from './stage.ts';

const refusal = (code: number, reason: string): ApiResponse => ({
  status: code,
  headers: {},
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `the server says ${reason}` },
});

describe('the status of a backend', () => {
  it('reports what was discovered, and is not written again by a restart', () =>
    staged(async ({ remote, local, start, settle }) => {
      await backendObject(local.client);
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team', 'elsewhere');
      await remoteService(remote.client, 'team/web', ['10.0.0.1', '10.0.0.2']);
      await remoteService(remote.client, 'elsewhere/web', ['10.0.0.1']);
      const first = start({ status: true });
      await settle(5_000);
      const status = await discoveryStatus(local.client);
      assert.equal(status?.synced, true);
      assert.deepEqual(status?.counts, {
        upstreamServices: 2,
        replicatedServices: 1,
        invalidServices: 0,
        upstreamEndpoints: 3,
        replicatedEndpoints: 2,
        invalidEndpoints: 0,
      });
      assert.deepEqual(
        status?.errors?.map(({ type, count, namespace: where, name }) => ({ type, count, where, name })),
        [{ type: 'NamespaceMissing', count: 1, where: 'elsewhere', name: 'east-web' }],
      );
      await first.stop();
      const second = start({ status: true });
      await settle(60_000);
      assert.deepEqual(second.sent.writes, []);
      await namespace(local.client, 'elsewhere');
      await settle(5_000);
      const after = await discoveryStatus(local.client);
      assert.equal(after?.errors, undefined);
      assert.equal(after?.counts.replicatedServices, 2);
    }));

  for (const [what, type, answer] of [
    ['credentials that have expired', 'AuthFailed', () => Promise.resolve(refusal(401, 'Unauthorized'))],
    ['rights that are missing', 'AuthFailed', () => Promise.resolve(refusal(403, 'Forbidden'))],
    ['500s for minutes', 'Unreachable', () => Promise.resolve(refusal(500, 'InternalError'))],
    ['a remote side that does not answer', 'Unreachable', () => Promise.reject(new Error('refused'))],
  ] as const) {
    it(`reports ${what}; what was discovered stays`, () =>
      staged(async ({ remote, local, start, settle, clock }) => {
        await backendObject(local.client);
        await namespace(local.client, 'team');
        await namespace(remote.client, 'team');
        await remoteService(remote.client, 'team/web', ['10.0.0.1']);
        const link = { isDown: false, cut: new AbortController() };
        const running = start({
          status: true,
          remoteTransport: (inner) => ({
            ...inner,
            request: (request) => (link.isDown ? answer() : inner.request(request)),
            watch(request) {
              if (link.isDown) return answer();
              const signal = AbortSignal.any([link.cut.signal, ...(request.signal ? [request.signal] : [])]);
              return inner.watch({ ...request, signal });
            },
          }),
        });
        await settle(5_000);
        link.isDown = true;
        link.cut.abort();
        await clock.advance(300_000);
        const status = await discoveryStatus(local.client);
        assert.equal(status?.synced, false);
        assert.deepEqual(
          status?.errors?.map((each) => each.type),
          [type],
        );
        assert.equal(metric(running.metrics, 'gimbal_discoverer_up'), 0);
        assert.deepEqual(await discovered(local.client), ['team/east-web']);
        // Even a Service that a user deletes here is not written again: the picture is not confirmed.
        running.sent.clear();
        await remote.client.delete(Service, { namespace: 'team', name: 'web' });
        await clock.advance(60_000);
        assert.deepEqual(
          running.sent.writes.filter((line) => !line.endsWith('/status')),
          [],
        );
        link.isDown = false;
        link.cut = new AbortController();
        await clock.advance(400_000);
        assert.deepEqual(await discovered(local.client), []);
        const after = await discoveryStatus(local.client);
        assert.equal(after?.synced, true);
        assert.equal(after?.errors, undefined);
      }));
  }

  it('a discoverer that starts while the remote side is away keeps the figures and says why it is not ready', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await backendObject(local.client);
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const first = start({ status: true });
      await settle(5_000);
      await first.stop();
      const answer = () => Promise.reject(new Error('refused'));
      const second = start({
        status: true,
        remoteTransport: (inner) => ({ ...inner, request: answer, watch: answer }),
      });
      await clock.advance(120_000);
      assert.equal(second.discoverer.isReady, false);
      const status = await discoveryStatus(local.client);
      assert.equal(status?.synced, false);
      assert.equal(status?.counts.replicatedServices, 1);
      assert.deepEqual(
        status?.errors?.map(({ type }) => type),
        ['Unreachable'],
      );
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
    }));
});

describe('another cluster under the same name', () => {
  it('changes nothing', () =>
    staged(async ({ remote, local, start, settle }) => {
      await backendObject(local.client);
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await namespace(remote.client, 'kube-system').catch(() => {});
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      const first = start({ status: true });
      await settle(5_000);
      const identity = (await discoveryStatus(local.client))?.identity;
      assert.ok(identity, 'the remote cluster says who it is');
      await first.stop();
      const running = start({ status: true, expectIdentity: 'another' });
      await remote.client.delete(Service, { namespace: 'team', name: 'web' });
      await settle(60_000);
      assert.equal(running.discoverer.isReady, false);
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
      assert.deepEqual(
        (await discoveryStatus(local.client))?.errors?.map(({ type }) => type),
        ['WrongCluster'],
      );
    }));
});

describe('two discoverers of one backend', () => {
  it('the one that sees less does not remove what its successor has found', () =>
    staged(async ({ local, remote, start, settle }) => {
      await namespace(local.client, 'team', 'shop', 'default-2');
      await namespace(remote.client, 'team', 'shop');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(remote.client, 'shop/cart', ['10.0.0.2']);
      const narrow = { include: ['team'], exclude: [] };
      const first = start({ lease: true, identity: 'first', namespaces: narrow, settings: { resyncMs: 60_000 } });
      await settle(40_000);
      const second = start({ lease: true, identity: 'second', namespaces: { include: [], exclude: [] } });
      await settle(150_000);
      assert.deepEqual(await discovered(local.client), ['shop/east-cart', 'team/east-web']);
      assert.deepEqual(
        first.sent.writes.filter((line) => line.startsWith('DELETE')),
        [],
      );
      await remote.client.delete(Service, { namespace: 'team', name: 'web' });
      await settle();
      assert.deepEqual(await discovered(local.client), ['shop/east-cart'], 'what its source had it removes');
      await first.stop();
      // The scope is narrower again: objects that are now out of reach go with the lease.
      const third = start({ lease: true, identity: 'third', namespaces: narrow });
      await settle(10_000);
      assert.deepEqual(await discovered(local.client), ['shop/east-cart']);
      await second.stop();
      await settle(60_000);
      assert.deepEqual(await discovered(local.client), []);
      await third.stop();
    }));

  it('both write, and only the holder of the lease removes; the other goes on when the first ends', () =>
    staged(async ({ remote, local, start, settle, clock }) => {
      await namespace(local.client, 'team');
      await namespace(remote.client, 'team');
      await remoteService(remote.client, 'team/web', ['10.0.0.1']);
      await remoteService(remote.client, 'team/api', ['10.0.0.2']);
      const first = start({ lease: true, identity: 'first' });
      await settle(10_000);
      const second = start({ lease: true, identity: 'second' });
      await settle(10_000);
      assert.equal(second.discoverer.isReady, true);
      const ofObjects = (lines: readonly string[]) => lines.filter((line) => !line.includes('/leases'));
      assert.deepEqual(ofObjects(second.sent.writes), []);
      await remote.client.delete(Service, { namespace: 'team', name: 'api' });
      await settle(1_000);
      assert.deepEqual(
        ofObjects(second.sent.writes).filter((line) => line.startsWith('DELETE')),
        [],
      );
      assert.deepEqual(await discovered(local.client), ['team/east-web']);
      await first.stop();
      await remote.client.delete(Service, { namespace: 'team', name: 'web' });
      await clock.advance(20_000);
      assert.deepEqual(await discovered(local.client), []);
      const lease = await local.client.get(Lease, { namespace: 'default', name: 'gimbal-discoverer-east' });
      assert.equal(lease.spec?.holderIdentity, 'second');
    }));
});
