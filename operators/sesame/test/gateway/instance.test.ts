// The Gateway that one Sesame serves: by name, or the oldest of its controller.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { derivation, operator } from '@capstan/reconcile';
import { createStage, type Stage } from '@capstan/testing';
import { instanceGateways } from '../../src/gateway/graph/instance-gateways.ts';
import { ingressComponents } from '../../src/routes/ingress-components.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { connectXds, type XdsServer } from '../../src/xds/index.ts';
import { CONTROLLER } from './controller.ts';
import { at, brief, gateway, gatewayClass, installKinds, kinds } from './fixtures.ts';

type Configured = Parameters<typeof instanceGateways>[0]['gateway'];

async function staged(
  configured: Configured,
  check: (stage: Stage, server: XdsServer) => Promise<void>,
): Promise<void> {
  const settings = derivation<RoutingSettings>({ name: 'test-settings', compute: () => testSettings() });
  const gateways = instanceGateways({ settings, gateway: configured, addresses: () => [{ ip: '203.0.113.7' }] });
  assert.ok(gateways);
  let listening: (server: XdsServer) => void = () => undefined;
  const server = new Promise<XdsServer>((resolve) => {
    listening = resolve;
  });
  const {
    kinds: own,
    reconcilers,
    sinks,
  } = ingressComponents({
    settings,
    gateways,
    listen: { address: '127.0.0.1', port: 0 },
    onListening: (each) => listening(each),
  });
  const stage = await createStage({
    operators: [operator({ name: 'sesame', kinds: own, reconcilers, sinks })],
    given: async (client) => {
      await installKinds(client);
      await client.create(kinds.GatewayClass, gatewayClass());
      await client.create(kinds.Gateway, gateway('z-first'));
    },
  });
  try {
    await stage.pass(2_000);
    await stage.client.create(kinds.Gateway, gateway('a-second', { addresses: [{ value: '203.0.113.9' }] }));
    await stage.settle();
    await check(stage, await server);
  } finally {
    await stage.end();
  }
}

const programmed = async ({ client }: Stage, name: string) =>
  brief((await client.get(kinds.Gateway, at(name))).status?.conditions).filter((each) => each.startsWith('Programmed'));
const classConditions = async ({ client }: Stage) =>
  brief((await client.get(kinds.GatewayClass, { name: 'sesame' })).status?.conditions);

suite('the Gateway of one Sesame', () => {
  test('a controller serves the oldest of its Gateways and accepts its classes', () =>
    staged({ controllerName: CONTROLLER }, async (stage, { port }) => {
      assert.deepEqual(await programmed(stage, 'z-first'), ['Programmed=True/Programmed']);
      assert.deepEqual(await programmed(stage, 'a-second'), []);
      assert.ok((await classConditions(stage)).includes('Accepted=True/Accepted'));
      const { status } = await stage.client.get(kinds.Gateway, at('z-first'));
      assert.deepEqual(status?.addresses, [{ type: 'IPAddress', value: '203.0.113.7' }]);
      const client = connectXds({ host: '127.0.0.1', port, nodeId: 'test' });
      const listeners = client.open({ type: 'lds', isDelta: false });
      listeners.request({});
      const { resources } = await listeners.next();
      assert.match(JSON.stringify(resources.get('http-80')), /"port_value":8080/);
      await client.close();
    }));

  test('a Gateway that is named is served alone, and an address that it does not get is reported', () =>
    staged({ gatewayRef: at('a-second') }, async (stage) => {
      assert.deepEqual(await programmed(stage, 'a-second'), ['Programmed=False/AddressNotUsable']);
      assert.deepEqual(await programmed(stage, 'z-first'), []);
      assert.deepEqual(await classConditions(stage), []);
    }));

  test('an instance without a Gateway and without a class serves nothing', () => {
    const settings = derivation<RoutingSettings>({ name: 'test-settings', compute: () => testSettings() });
    assert.equal(instanceGateways({ settings, gateway: {}, addresses: () => [] }), undefined);
  });
});
