// Kinds of routes that come while the operator runs, and in several versions.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, CustomResourceDefinition, type KubeObject } from '@capstan/kube';
import { condition, install, type Played, played, ref, routeKind } from './fixtures.ts';

const route = (id: string): KubeObject => {
  const { apiVersion, kind } = routeKind(id);
  const backendRefs = [
    { name: 'x-a', port: 80, weight: 3 },
    { name: 'y-b', port: 80, weight: 4 },
  ];
  return { apiVersion, kind, metadata: ref('r'), spec: { rules: [{ backendRefs }] } } as KubeObject;
};

const SCHEMA = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

/** Serves these versions of TLSRoutes, the last of which is stored. */
async function serve(client: Client, ...versions: string[]): Promise<void> {
  const { group, kind, plural, scope } = routeKind('tls-route');
  await client.create(CustomResourceDefinition, {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: 'CustomResourceDefinition',
    metadata: { name: TLS_ROUTES, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: versions.map((name, at) => ({
        name,
        served: true,
        storage: at === versions.length - 1,
        schema: SCHEMA,
      })),
    },
  });
}

const TLS_ROUTES = 'tlsroutes.gateway.networking.k8s.io';

const drained = async (stage: Played) =>
  (await stage.backend()).status?.conditions?.find(({ type }) => type === 'Drained');

describe('a kind of routes that has just been installed', () => {
  test('is looked at at once', () =>
    played({ objects: [], installed: [] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await stage.clock.advance(120_000);
      await stage.settle();
      await install(stage.client, 'http-route');
      await stage.client.create(routeKind('http-route'), route('http-route'));
      await stage.clock.advance(2000);
      await stage.settle();
      assert.deepEqual(await stage.weights('r', routeKind('http-route')), [0, 4]);
      assert.equal((await drained(stage))?.status, 'True');
    }));
});

describe('routes that are served in several versions', () => {
  for (const versions of [['v1'], ['v1alpha2'], ['v1alpha2', 'v1']])
    test(`are drained once and counted once: ${versions.join(' and ')}`, () =>
      played({ objects: [], installed: [] }, async (stage) => {
        await serve(stage.client, ...versions);
        const id = versions.includes('v1') ? 'tls-route-v1' : 'tls-route';
        await stage.client.create(routeKind(id), route(id));
        await stage.clock.advance(60_000);
        await stage.settle();
        await stage.setStatus('x', 'Maintenance');
        assert.deepEqual(await stage.weights('r', routeKind(id)), [0, 4]);
        assert.equal((await stage.backend()).status?.maintenance?.routes, 1);
        assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'True', reason: 'Drained' });
        await stage.setStatus('x', 'Enabled');
        assert.deepEqual(await stage.weights('r', routeKind(id)), [3, 4]);
      }));

  test('go on to be drained when the Gateway API is brought up to date', () =>
    played({ objects: [], installed: [] }, async (stage) => {
      await serve(stage.client, 'v1alpha2');
      await stage.client.create(routeKind('tls-route'), route('tls-route'));
      await stage.clock.advance(60_000);
      await stage.settle();
      await stage.setStatus('x', 'Maintenance');
      assert.deepEqual(await stage.weights('r', routeKind('tls-route')), [0, 4]);
      const versions = [
        { name: 'v1', served: true, storage: true, schema: SCHEMA },
        { name: 'v1alpha2', served: false, storage: false, schema: SCHEMA },
      ];
      await stage.client.patch(CustomResourceDefinition, { name: TLS_ROUTES }, 'merge', { spec: { versions } });
      await stage.clock.advance(60_000);
      await stage.settle();
      assert.equal((await stage.backend()).status?.maintenance?.routes, 1);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights('r', routeKind('tls-route-v1')), [3, 4]);
    }));
});
