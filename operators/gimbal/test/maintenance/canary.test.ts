// Case 16: a pair of Ingresses of ingress-nginx, one of them the other's canary.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ingress, type KubeObject } from '@capstan/kube';
import { condition, type Played, played, ref, routeWrites } from './fixtures.ts';

const NGINX = 'nginx.ingress.kubernetes.io';

function ingress(name: string, service: string, canary?: Record<string, string>): KubeObject {
  const annotations = Object.entries(canary ?? {}).map(([key, value]) => [`${NGINX}/canary${key}`, value] as const);
  const path = { path: '/', pathType: 'Prefix', backend: { service: { name: service, port: { number: 80 } } } };
  return {
    apiVersion: Ingress.apiVersion,
    kind: 'Ingress',
    metadata: {
      ...ref(name),
      ...(canary === undefined
        ? {}
        : { annotations: { [`${NGINX}/canary`]: 'true', ...Object.fromEntries(annotations) } }),
    },
    spec: { rules: [{ host: 'shop.example', http: { paths: [path] } }] },
  } as KubeObject;
}

const weight = async ({ client }: Played) =>
  (await client.get(Ingress, ref('canary'))).metadata.annotations?.[`${NGINX}/canary-weight`];
const pair = (main: string, canary: string, more: Record<string, string> = {}) => ({
  objects: [ingress('main', main), ingress('canary', canary, { '-weight': '20', ...more })],
});
const drained = { status: 'True', reason: 'Drained' };

describe('case 16: a canary', () => {
  test('a canary in maintenance takes nothing, and its part again afterwards', () =>
    played(pair('y-b', 'x-a'), async (stage) => {
      const before = await stage.client.get(Ingress, ref('canary'));
      stage.transport.clear();
      await stage.setStatus('x', 'Maintenance');
      assert.equal(await weight(stage), '0');
      assert.deepEqual(routeWrites(stage, 'ingresses'), ['PATCH canary']);
      assert.deepEqual(condition(await stage.backend(), 'Drained'), drained);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(
        (await stage.client.get(Ingress, ref('canary'))).metadata.annotations,
        before.metadata.annotations,
      );
    }));

  test('takes all while the other is in maintenance', () =>
    played(pair('x-a', 'y-b'), async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.equal(await weight(stage), '100');
      assert.deepEqual(condition(await stage.backend(), 'Drained'), drained);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
      await stage.setStatus('x', 'Enabled');
      assert.equal(await weight(stage), '20');
    }));

  test('counts in its own total', () =>
    played(pair('x-a', 'y-b', { '-weight-total': '1000' }), async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.equal(await weight(stage), '1000');
    }));

  test('a canary that leaves together with the other stays as it is, and both are reported', () =>
    played(pair('x-a', 'x-b'), async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.equal(await weight(stage), '20');
      const x = await stage.backend();
      assert.equal(condition(x, 'Drained')?.status, 'False');
      assert.deepEqual(
        x.status?.maintenance?.blocked?.map(({ name, reason }) => [name, reason]),
        [
          ['canary', 'NoCapacity'],
          ['main', 'NoWeights'],
        ],
      );
    }));

  test('a canary that comes or goes during maintenance is taken into account', () =>
    played({ objects: [ingress('main', 'x-a')] }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'False', reason: 'NoWeights' });
      await stage.client.create(Ingress, ingress('canary', 'y-b', { '-weight': '5' }));
      await stage.settle();
      assert.equal(await weight(stage), '100');
      assert.deepEqual(condition(await stage.backend(), 'Drained'), drained);
    }));
});
