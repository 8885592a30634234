import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Deployment, Service, ServiceAccount } from '@capstan/kube';
import { chosenServer, createStage, type Stage } from '@capstan/testing';
import type { Gateway, GatewayClass } from '../../src/gateway/index.ts';
import { containerPort } from '../../src/gateway/provisioning/container-ports.ts';
import { createSesame, SesameConfiguration, SesameDeployment } from '../../src/index.ts';
import { at, brief, gateway, gatewayClass, installKinds, kinds, NAMESPACE } from './fixtures.ts';

const PARAMETERS = {
  group: SesameDeployment.group,
  kind: SesameDeployment.kind,
  name: 'parameters',
  namespace: NAMESPACE,
};

interface Given {
  readonly parameters?: SesameDeployment['spec'];
  readonly of?: Partial<GatewayClass['spec']>;
  readonly gateways: readonly Gateway[];
}

async function staged({ parameters, of = {}, gateways }: Given, check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    // Where the clock of a stage starts.
    operators: [createSesame({ now: () => (chosenServer() === 'real' ? Date.now() : Date.UTC(2026, 0, 1)) })],
    given: async (client) => {
      await installKinds(client);
      if (parameters)
        await client.create(SesameDeployment, {
          apiVersion: SesameDeployment.apiVersion,
          kind: 'SesameDeployment',
          metadata: at('parameters'),
          spec: parameters,
        });
      await client.create(kinds.GatewayClass, gatewayClass(of));
      for (const each of gateways) await client.create(kinds.Gateway, each);
    },
  });
  try {
    await stage.settle();
    await check(stage);
  } finally {
    await stage.end();
  }
}

suite('an instance for each Gateway', () => {
  test('serves that Gateway, on its ports, with its labels and annotations', async () => {
    const edge = gateway('edge', {
      listeners: [
        { name: 'http', port: 80, protocol: 'HTTP' },
        { name: 'more', port: 80, protocol: 'HTTP', hostname: 'a.test' },
        { name: 'https', port: 443, protocol: 'HTTPS' },
        { name: 'udp', port: 53, protocol: 'UDP' },
      ],
      infrastructure: { labels: { team: 'web' }, annotations: { note: 'ours' } },
      addresses: [{ type: 'IPAddress', value: '203.0.113.7' }],
    });
    await staged({ gateways: [edge, gateway('other')] }, async ({ client }) => {
      const configuration = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.deepEqual(configuration.spec?.gateway?.gatewayRef, at('edge'));
      const envoy = await client.get(Service, at('envoy-edge'));
      assert.deepEqual(
        envoy.spec?.ports?.map(({ name, port, targetPort }) => [name, port, targetPort]),
        [
          ['http-80', 80, 8080],
          ['https-443', 443, 8443],
        ],
      );
      assert.equal(envoy.spec?.loadBalancerIP, '203.0.113.7');
      const { metadata } = await client.get(ServiceAccount, at('envoy-edge'));
      assert.equal(metadata.labels?.['gateway.networking.k8s.io/gateway-name'], 'edge');
      assert.equal(metadata.labels?.['team'], 'web');
      assert.equal(metadata.annotations?.['note'], 'ours');
      const { spec } = await client.get(Deployment, at('sesame-edge'));
      assert.equal(spec?.template.metadata?.labels?.['team'], 'web');
      assert.equal(spec?.template.metadata?.annotations?.['note'], 'ours');
      await client.get(Service, at('envoy-other'));
    });
  });

  test('looks like the parameters of the class, which are not deployed themselves', async () => {
    const parameters = { replicas: 3, configuration: { enableExternalNameService: true } };
    await staged({ parameters, of: { parametersRef: PARAMETERS }, gateways: [gateway('edge')] }, async ({ client }) => {
      assert.equal((await client.get(Deployment, at('sesame-edge'))).spec?.replicas, 3);
      const configuration = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.equal(configuration.spec?.enableExternalNameService, true);
      const { items } = await client.list(Deployment, { namespace: NAMESPACE });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ['sesame-edge'],
      );
      const { status } = await client.get(SesameDeployment, at('parameters'));
      assert.ok(brief(status?.conditions).includes('Available=False/ParametersOnly'));
    });
  });

  test('parameters that are missing or of another kind are reported on what names them, and nothing is deployed', async () => {
    const own = gateway('own', {
      infrastructure: { parametersRef: { group: 'example.com', kind: 'Thing', name: 'x' } },
    });
    await staged({ of: { parametersRef: PARAMETERS }, gateways: [own, gateway('edge')] }, async ({ client }) => {
      const { status } = await client.get(kinds.GatewayClass, { name: 'sesame' });
      assert.ok(brief(status?.conditions).includes('Accepted=False/InvalidParameters'));
      for (const name of ['own', 'edge']) {
        const { status: found } = await client.get(kinds.Gateway, at(name));
        assert.ok(brief(found?.conditions).includes('Accepted=False/InvalidParameters'), name);
      }
      assert.deepEqual((await client.list(Deployment, { namespace: NAMESPACE })).items, []);
    });
  });

  test('ends with its Gateway, and when the class is not ours', async () => {
    const other = gateway('other', { gatewayClassName: 'unknown' });
    await staged({ gateways: [gateway('edge'), other] }, async (stage) => {
      const deployments = async () =>
        (await stage.client.list(SesameDeployment, { namespace: NAMESPACE })).items.map(
          ({ metadata }) => metadata.name,
        );
      assert.deepEqual(await deployments(), ['edge']);
      await stage.client.patch(kinds.Gateway, at('edge'), 'merge', { spec: { gatewayClassName: 'unknown' } });
      await stage.settle();
      const [left] = (await stage.client.list(SesameDeployment, { namespace: NAMESPACE })).items;
      assert.ok(left === undefined || left.metadata.deletionTimestamp !== undefined);
    });
  });

  test('a Gateway without a port that can be served has no Service, and its instance says why it is not served', async () => {
    const udp = gateway('udp', { listeners: [{ name: 'dns', port: 53, protocol: 'UDP' }] });
    await staged({ gateways: [udp] }, async ({ client }) => {
      await client.get(Deployment, at('sesame-udp'));
      const { items } = await client.list(Service, { namespace: NAMESPACE });
      const names = items.map(({ metadata }) => metadata.name ?? '');
      // A real server has one of its own.
      assert.deepEqual(
        names.filter((name) => name !== 'kubernetes'),
        ['sesame-udp'],
      );
    });
  });

  test('a long name of a Gateway is shortened for the objects of its instance', async () => {
    const name = 'a-gateway-with-a-name-that-is-longer-than-a-service-can-have';
    await staged({ gateways: [gateway(name)] }, async ({ client }) => {
      const [deployment] = (await client.list(SesameDeployment, { namespace: NAMESPACE })).items;
      assert.ok((deployment?.metadata.name ?? '').length <= 49);
      assert.equal(deployment?.spec?.configuration?.gateway?.gatewayRef?.name, name);
    });
  });
});

suite('ports of Envoy for ports of listeners', () => {
  for (const [port, expected] of [
    [80, 8080],
    [443, 8443],
    [8080, 16_080],
    [57_535, 65_535],
    [57_536, 1_024],
    [65_535, 8_000],
  ] as const)
    test(`${port} is ${expected}`, () => assert.equal(containerPort(port), expected));
});
