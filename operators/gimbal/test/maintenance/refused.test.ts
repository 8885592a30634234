// Routes that the server does not let us change: which they are is on the backend, and nothing else is blamed for them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, KubeObject } from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';
import { installAs, type Played, played, proxy, ref, routeKind } from './fixtures.ts';

const Strict = routeKind('sesame-http-proxy');

/** A kind of HTTPProxies that takes no weight of 0, and whose services cannot be fewer than two. */
async function installStrict(client: Client): Promise<void> {
  const weight = { type: 'integer', minimum: 1 };
  const services = {
    type: 'array',
    minItems: 2,
    items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { weight } },
  };
  const rule = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { services } };
  const spec = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { routes: { type: 'array', items: rule } },
  };
  await installAs(client, 'sesame-http-proxy', { type: 'object', properties: { spec } });
}

const strict = (): KubeObject => ({ ...proxy('strict', { 'x-a': 5, 'y-b': 5 }), apiVersion: Strict.apiVersion });

async function given(stage: Played): Promise<void> {
  await installStrict(stage.client);
  await stage.client.create(Strict, strict());
  await stage.clock.advance(60_000);
  await stage.settle();
}

const messageOf = async (stage: Played, type: string) => {
  const found = (await stage.backend()).status?.conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason} ${found?.message}`;
};

describe('a route that the server refuses to change', () => {
  test('is named on the backend in maintenance, beside routes without capacity', () =>
    played({ objects: [proxy('only', { 'x-a': 1 })] }, async (stage) => {
      await given(stage);
      await stage.setStatus('x', 'Maintenance');
      assert.match(
        await messageOf(stage, 'Drained'),
        /^False Draining 2 of 2 routes are left; on the way \(see their events\): HTTPProxy default\/strict;/,
      );
      assert.ok(stage.events().includes('WriteRefused'));
    }));

  test('is named on the backend that is being deleted, with the way out', () =>
    played({ objects: [] }, async (stage) => {
      await given(stage);
      await stage.client.delete(DiscoveryBackend, ref('x'));
      await stage.clock.advance(90_000);
      await stage.settle();
      assert.match(
        await messageOf(stage, 'DiscovererReady'),
        /^False Terminating routes lose their references .*: HTTPProxy default\/strict \(see their events\); .*force-delete/,
      );
    }));
});

test('routes that leave in steps are not named as if something were wrong', () =>
  played({ objects: [proxy('r', { 'x-a': 1, 'y-b': 1 })], x: { maintenance: { rampSeconds: 60 } } }, async (stage) => {
    await stage.setStatus('x', 'Maintenance');
    await stage.clock.advance(15_000);
    await stage.settle();
    assert.equal(await messageOf(stage, 'Drained'), 'False Draining 1 of 1 routes are left');
  }));

test('routes that wait for a user name the condition only when no other is left', () => {
  const paused = proxy('paused', { 'x-a': 1, 'y-b': 1 });
  paused.metadata.annotations = { 'capstan.dev/paused': 'true' };
  return played({ objects: [paused, proxy('only', { 'x-a': 1 })] }, async (stage) => {
    await stage.setStatus('x', 'Maintenance');
    assert.match(await messageOf(stage, 'Drained'), /^False Paused 2 of 2 routes are left; /);
    await given(stage);
    assert.match(await messageOf(stage, 'Drained'), /^False Draining 3 of 3 routes are left; /);
  });
});
