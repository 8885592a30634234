// The statuses of Gateways and their routes on an API server, and the messages that the xDS server sends because of them.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { type Client, type KubeObject, Service } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { testSettings } from '../../src/routing/default-settings.ts';
import { connectXds, type XdsServer } from '../../src/xds/index.ts';
import { sharedGateways } from '../conformance/shared-gateways.ts';
import {
  at,
  brief,
  gateway,
  gatewayClass,
  httpRoute,
  installKinds,
  kinds,
  ListenerSet,
  service,
  UDPRoute,
  unsupported,
  versionOf,
} from './fixtures.ts';

async function staged(
  context: TestContext,
  given: (client: Client) => Promise<void>,
): Promise<{ stage: Stage; server: Promise<XdsServer> }> {
  const { operator, server } = sharedGateways(testSettings(), { placement: { address: '127.0.0.1' } });
  const stage = await createStage({ operators: [operator], given });
  context.after(() => stage.end());
  return { stage, server };
}

suite('Gateways on an API server', () => {
  test('Sesame starts and serves without the Gateway API, and finds it when it is installed', async (context) => {
    const { stage, server } = await staged(context, async () => undefined);
    assert.ok((await server).port > 0);
    await installKinds(stage.client);
    await stage.client.create(kinds.GatewayClass, gatewayClass());
    await stage.settle();
    const accepted = async () =>
      brief((await stage.client.get(kinds.GatewayClass, { name: 'sesame' })).status?.conditions);
    for (let tries = 0; tries < 20 && (await accepted()).length === 0; tries += 1) await stage.pass(10_000);
    assert.deepEqual(await accepted(), ['Accepted=True/Accepted', 'SupportedVersion=True/SupportedVersion']);
  });

  test('a Gateway and its routes are accepted, counted and programmed, and nothing is written twice', async (context) => {
    const { stage } = await staged(context, async (client) => {
      await installKinds(client);
      await client.create(Service, service('shop'));
      await client.create(kinds.GatewayClass, gatewayClass());
      await client.create(kinds.Gateway, gateway('edge'));
      await client.create(kinds.HTTPRoute, httpRoute('shop', 'edge'));
      await client.create(kinds.HTTPRoute, httpRoute('gone', 'edge', { parentRefs: [{ name: 'edge', port: 81 }] }));
    });
    await stage.settle();
    const { status } = await stage.client.get(kinds.Gateway, at('edge'));
    assert.deepEqual(brief(status?.conditions), [
      'Accepted=True/Accepted',
      'Programmed=True/Programmed',
      'ResolvedRefs=True/ResolvedRefs',
    ]);
    const [http] = status?.listeners ?? [];
    assert.equal((http as { attachedRoutes?: number } | undefined)?.attachedRoutes, 1);
    assert.deepEqual(brief(http?.conditions), [
      'Accepted=True/Accepted',
      'Conflicted=False/NoConflicts',
      'Programmed=True/Programmed',
      'ResolvedRefs=True/ResolvedRefs',
    ]);
    const parents = async (name: string) => (await stage.client.get(kinds.HTTPRoute, at(name))).status?.parents ?? [];
    const [own] = await parents('shop');
    assert.deepEqual(brief(own?.conditions), ['Accepted=True/Accepted', 'ResolvedRefs=True/ResolvedRefs']);
    assert.match(own?.conditions?.[0]?.lastTransitionTime ?? '', /^\d{4}-\d\d-\d\dT/);
    assert.equal(own?.conditions?.[0]?.observedGeneration, 1);
    const [gone] = await parents('gone');
    assert.ok(brief(gone?.conditions).includes('Accepted=False/NoMatchingParent'));

    const before = await versionOf(stage.client, kinds.HTTPRoute, 'shop');
    await stage.client.patch(kinds.HTTPRoute, at('gone'), 'merge', { metadata: { labels: { a: 'b' } } });
    await stage.settle();
    assert.equal(await versionOf(stage.client, kinds.HTTPRoute, 'shop'), before);
  });

  test('a transition moves the time of its condition and of no other; entries of other controllers stay', async (context) => {
    const { stage } = await staged(context, async (client) => {
      await installKinds(client);
      await client.create(kinds.GatewayClass, gatewayClass());
      await client.create(kinds.Gateway, gateway('edge'));
      await client.create(kinds.HTTPRoute, httpRoute('shop', 'edge'));
    });
    await stage.settle();
    const foreign = { parentRef: { name: 'other' }, controllerName: 'example.com/other', conditions: [] };
    const { status: before } = await stage.client.get(kinds.HTTPRoute, at('shop'));
    const [own] = before?.parents ?? [];
    const patch = { status: { parents: [foreign, own] } };
    await stage.client.patch(kinds.HTTPRoute, at('shop'), 'merge', patch, { subresource: 'status' });
    assert.ok(brief(own?.conditions).includes('ResolvedRefs=False/BackendNotFound'));
    await stage.pass(60_000);
    await stage.client.create(Service, service('shop'));
    await stage.settle();
    const { status: after } = await stage.client.get(kinds.HTTPRoute, at('shop'));
    assert.equal(after?.parents?.length, 2);
    assert.deepEqual(after?.parents?.[0], foreign);
    const timeOf = (conditions: typeof own, type: string) =>
      conditions?.conditions?.find((each) => each.type === type)?.lastTransitionTime;
    const [, now] = after?.parents ?? [];
    assert.equal(timeOf(now, 'Accepted'), timeOf(own, 'Accepted'));
    assert.notEqual(timeOf(now, 'ResolvedRefs'), timeOf(own, 'ResolvedRefs'));
  });

  test('a UDPRoute and a ListenerSet of our Gateway say that they are not supported', async (context) => {
    const { stage } = await staged(context, async (client) => {
      await installKinds(client);
      await client.create(kinds.GatewayClass, gatewayClass());
      await client.create(kinds.Gateway, gateway('edge'));
      await client.create(UDPRoute, {
        ...unsupported('UDPRoute'),
        spec: { parentRefs: [{ name: 'edge' }] },
      } as KubeObject);
      await client.create(ListenerSet, {
        ...unsupported('ListenerSet'),
        spec: { parentRef: { name: 'edge' } },
      } as KubeObject);
    });
    await stage.settle();
    type Reported = { status?: { conditions?: never[]; parents?: { conditions?: never[] }[] } };
    const route = (await stage.client.get(UDPRoute, at('dns'))) as Reported;
    assert.deepEqual(brief(route.status?.parents?.[0]?.conditions), ['Accepted=False/NotAllowedByListeners']);
    const set = (await stage.client.get(ListenerSet, at('dns'))) as Reported;
    assert.deepEqual(brief(set.status?.conditions), ['Accepted=False/NotAllowed', 'Programmed=False/NotAllowed']);
  });

  test('an edit of a route sends its route configuration, and neither a listener nor other routes', async (context) => {
    const { stage, server } = await staged(context, async (client) => {
      await installKinds(client);
      await client.create(Service, service('shop'));
      await client.create(kinds.GatewayClass, gatewayClass());
      const listeners = [80, 81].map((port) => ({ name: `http-${port}`, port, protocol: 'HTTP' }));
      await client.create(kinds.Gateway, gateway('edge', { listeners }));
      for (const port of [80, 81])
        await client.create(
          kinds.HTTPRoute,
          httpRoute(`shop-${port}`, 'edge', { parentRefs: [{ name: 'edge', port }] }),
        );
    });
    const client = connectXds({ host: '127.0.0.1', port: (await server).port, nodeId: 'test' });
    context.after(() => client.close());
    const listeners = client.open({ type: 'lds', isDelta: false });
    listeners.request({});
    const first = await listeners.next();
    assert.ok(first.resources.has('http-80') && first.resources.has('http-81'));
    listeners.ack(first, []);
    const names = ['http-80', 'http-81'];
    const [changed, other] = names.map((name) => {
      const stream = client.open({ type: 'rds', isDelta: false });
      stream.request({ resource_names: [name] });
      return stream;
    });
    for (const [index, stream] of [changed, other].entries())
      if (stream) stream.ack(await stream.next(), [names[index] ?? '']);
    await stage.client.patch(kinds.HTTPRoute, at('shop-80'), 'merge', {
      spec: {
        rules: [{ matches: [{ path: { type: 'Exact', value: '/new' } }], backendRefs: [{ name: 'shop', port: 80 }] }],
      },
    });
    await stage.settle();
    assert.match(JSON.stringify([...((await changed?.next())?.resources.values() ?? [])]), /"path":"\/new"/);
    assert.equal(other?.pending, 0);
    assert.equal(listeners.pending, 0);
  });
});
