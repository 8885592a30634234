// Services that took over in maintenance from a backend that is then deleted: they are alone, and go on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { DiscoveryBackend, FINALIZER } from '../../src/index.ts';
import { httpRoute, played, proxy, ref, routeKind, stateOn } from './fixtures.ts';

const cases: [what: string, route: KubeObject, id: string][] = [
  ['of an HTTPRoute', httpRoute('r', { 'x-a': 1, 'y-b': 0 }), 'http-route'],
  ['of an HTTPProxy', proxy('r', { 'x-a': '_', 'y-b': 0 }), 'http-proxy'],
];
for (const [what, route, id] of cases)
  test(`a service at weight 0 beside a deleted backend ${what} keeps the share that it took over`, () =>
    played({ objects: [route], installed: [id], x: { maintenance: { promoteZero: true } } }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.deepEqual(await stage.weights('r', routeKind(id)), [0, 1]);
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { metadata: { finalizers: [FINALIZER] } });
      await stage.client.delete(DiscoveryBackend, ref('x'));
      await stage.clock.advance(90_000);
      await stage.settle();
      assert.deepEqual(await stage.weights('r', routeKind(id)), [1]);
      assert.equal(stateOn(await stage.route('r', routeKind(id))), undefined);
    }));
