// Ingresses by Routes of OpenShift: the Routes are created first, and enter the configuration once the router has given them hosts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, CustomResourceDefinition, type Kind, type KubeObject, Service } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import {
  createKroxylicious,
  KafkaProxy,
  KafkaProxyIngress,
  OpenShiftRoute,
  SecurityContextConstraints,
  VirtualKafkaCluster,
  validateConfiguration,
} from '../src/index.ts';
import {
  certificate,
  checksum,
  cluster,
  condition,
  configurationOf,
  create,
  get,
  NAMESPACE,
  object,
  patch,
  proxy,
  service,
  tcpIngress,
  tlsSecret,
  writesTo,
} from './fixtures.ts';

const issued = await certificate();
const ref = (name: string) => ({ namespace: NAMESPACE, name });

const installRoutes = (client: Client) => install(client, OpenShiftRoute, 'Namespaced');
const installConstraints = (client: Client) => install(client, SecurityContextConstraints, 'Cluster');

async function install(client: Client, { group, kind, plural }: Kind, scope: 'Namespaced' | 'Cluster'): Promise<void> {
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const version = { name: 'v1', served: true, storage: true, schema, subresources: { status: {} } };
  await client.create(CustomResourceDefinition, {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, names, scope, versions: [version] },
  });
}

const routeIngress = (name = 'outside', annotations = {}) =>
  object(KafkaProxyIngress, name, {
    spec: { proxyRef: { name: 'my-proxy' }, openShiftRoute: {}, infrastructure: { annotations } },
  });
const byRoute = (name = 'outside') => ({ ingressRef: { name }, tls: { certificateRef: { name: 'server' } } });
const given = (ingresses: object[] = [byRoute()]): KubeObject[] => [
  proxy(),
  service(),
  tcpIngress(),
  routeIngress('outside', { 'haproxy.router.openshift.io/timeout': '60s' }),
  tlsSecret('server', issued),
  cluster('one', { ingresses }),
];

async function onOpenShift(objects: KubeObject[], check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [createKroxylicious()],
    async given(client) {
      await installRoutes(client);
      await installConstraints(client);
      await create(client, ...objects);
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

const routes = async (client: Client) => (await client.list(OpenShiftRoute, { namespace: NAMESPACE })).items;

/** Acts as the router: every Route gets its subdomain's host. */
async function admit(client: Client, domain: string): Promise<void> {
  for (const { metadata, spec } of await routes(client)) {
    const conditions = [{ type: 'Admitted', status: 'True' }];
    const status = { ingress: [{ host: `${spec?.subdomain}.${domain}`, conditions }] };
    await client.patch(OpenShiftRoute, ref(metadata.name ?? ''), 'merge', { status }, { subresource: 'status' });
  }
}

async function gatewaysOf(client: Client) {
  const configuration = parse(await configurationOf(client)) as ProxyConfiguration;
  assert.deepEqual(validateConfiguration(configuration), []);
  return configuration.virtualClusters[0]?.gateways;
}

describe('an ingress by Routes', () => {
  test('creates a Route for the bootstrap address, one for each broker, and the Service that they lead to', () =>
    onOpenShift(given(), async ({ client }) => {
      const created = await routes(client);
      assert.deepEqual(
        created.map(({ metadata, spec }) => [metadata.name, metadata.labels?.['kroxylicious.io/route-for'], spec]),
        ['one-0', 'one-1', 'one-2', 'one-bootstrap'].map((name) => [
          name,
          name === 'one-bootstrap' ? 'bootstrap' : 'node',
          {
            subdomain: name,
            port: { targetPort: 9291 },
            tls: { termination: 'passthrough' },
            to: { kind: 'Service', name: 'one-outside-service' },
          },
        ]),
      );
      for (const { metadata } of created)
        assert.equal(metadata.annotations?.['haproxy.router.openshift.io/timeout'], '60s');
      const { spec } = await client.get(Service, ref('one-outside-service'));
      assert.deepEqual(
        spec?.ports?.map(({ port, targetPort }) => [port, targetPort]),
        [[9291, 9291]],
      );
    }));

  test('enters the configuration by one rollout once the router has given hosts', () =>
    onOpenShift(given(), async (stage) => {
      const { client, settle } = stage;
      assert.equal(
        await client.find(KafkaProxy, ref('my-proxy')).then((found) => found?.status?.configHash),
        undefined,
      );
      const waiting = await get.cluster(client, 'one');
      assert.equal(condition(waiting, 'ResolvedRefs')?.reason, 'ReferencedResourceNotReconciled');
      assert.match(condition(waiting, 'ResolvedRefs')?.message ?? '', /route\/one-bootstrap .* has no host yet/);
      stage.transport.clear();
      await admit(client, 'apps.example');
      await settle();
      assert.deepEqual(await gatewaysOf(client), [
        {
          name: 'outside',
          sniHostIdentifiesNode: {
            bootstrapAddress: '$(virtualClusterName)-bootstrap.apps.example:9291',
            advertisedBrokerAddressPattern: '$(virtualClusterName)-$(nodeId).apps.example:443',
          },
          tls: {
            key: {
              privateKeyFile: '/opt/kroxylicious/virtual-cluster/server-certs/server/tls.key',
              certificateFile: '/opt/kroxylicious/virtual-cluster/server-certs/server/tls.crt',
            },
          },
        },
      ]);
      assert.deepEqual(writesTo(stage, 'deployments'), ['PATCH deployments/my-proxy']);
      const ready = await get.cluster(client, 'one');
      assert.equal(condition(ready, 'ResolvedRefs')?.status, 'True');
      assert.equal(condition(ready, 'Warning'), undefined);
      assert.deepEqual(ready.status?.ingresses, [
        { name: 'outside', bootstrapServer: 'one-bootstrap.apps.example:443', protocol: 'TLS' },
      ]);
      const [reported] = await routes(client);
      assert.match(
        reported?.metadata.annotations?.['kroxylicious.io/bootstrap-servers'] ?? '',
        /one-bootstrap\.apps\.example:443/,
      );
      const security = (await get.deployment(client)).spec?.template.spec?.securityContext;
      assert.equal(security?.fsGroup, undefined);
    }));

  test('gets another hash for another domain, and keeps it when Routes are recreated', () =>
    onOpenShift(given(), async ({ client, settle }) => {
      await admit(client, 'apps.example');
      await settle();
      const before = checksum(await get.deployment(client));
      await client.delete(OpenShiftRoute, ref('one-bootstrap'));
      await settle();
      assert.deepEqual((await routes(client)).map(({ metadata }) => metadata.name).length, 4);
      assert.equal(checksum(await get.deployment(client)), before);
      await admit(client, 'other.example');
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), before);
      assert.match(JSON.stringify(await gatewaysOf(client)), /other\.example/);
    }));

  test('does not delay the other ingresses', () =>
    onOpenShift(given([{ ingressRef: { name: 'tcp' } }, byRoute()]), async ({ client, settle }) => {
      assert.deepEqual(
        (await gatewaysOf(client))?.map(({ name }) => name),
        ['tcp'],
      );
      const waiting = await get.cluster(client, 'one');
      assert.equal(condition(waiting, 'ResolvedRefs')?.status, 'True');
      assert.equal(condition(waiting, 'Warning')?.reason, 'RoutePending');
      assert.equal(waiting.status?.ingresses?.[1]?.bootstrapServer, undefined);
      await admit(client, 'apps.example');
      await settle();
      assert.deepEqual(
        (await gatewaysOf(client))?.map(({ name }) => name),
        ['tcp', 'outside'],
      );
    }));

  test('an ingress by Routes that the router does not admit is reported with the router’s message', () =>
    onOpenShift(given([{ ingressRef: { name: 'tcp' } }, byRoute()]), async ({ client, settle }) => {
      const conditions = [{ type: 'Admitted', status: 'False', message: 'host is claimed by namespace other' }];
      const status = { ingress: [{ host: 'one-bootstrap.apps.example', conditions }] };
      await client.patch(OpenShiftRoute, ref('one-bootstrap'), 'merge', { status }, { subresource: 'status' });
      await settle();
      const reported = condition(await get.cluster(client, 'one'), 'Warning');
      assert.equal(reported?.reason, 'RouteNotAdmitted');
      assert.match(reported.message, /route\/one-bootstrap .*host is claimed by namespace other/);
    }));

  test('replaces another ingress once its hosts are known, and what runs stays until then', () =>
    onOpenShift(given([{ ingressRef: { name: 'tcp' } }]), async ({ client, settle }) => {
      const before = await get.deployment(client);
      await patch(client, VirtualKafkaCluster, 'one', { spec: { ingresses: [byRoute()] } });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.cluster(client, 'one'), 'StaleConfig')?.status, 'True');
      await admit(client, 'apps.example');
      await settle();
      assert.match(JSON.stringify(await gatewaysOf(client)), /apps\.example/);
      assert.equal(await client.find(Service, ref('one-tcp-bootstrap')), undefined);
    }));

  test('is refused a second time in one cluster, since both would create the same Routes', () =>
    onOpenShift([...given([byRoute(), byRoute('again')]), routeIngress('again')], async ({ client }) => {
      const reported = condition(await get.cluster(client, 'one'), 'Accepted');
      assert.equal(reported?.reason, 'Invalid');
      assert.match(reported.message, /spec\.ingresses\[1\]\.ingressRef: the ingresses outside and again/);
    }));

  test('is removed when its cluster no longer names it, and the cluster stays', () =>
    onOpenShift(given(), async (stage) => {
      await admit(stage.client, 'apps.example');
      await stage.settle();
      const ingresses = [{ ingressRef: { name: 'tcp' } }];
      await stage.client.patch(VirtualKafkaCluster, ref('one'), 'merge', { spec: { ingresses } });
      await stage.settle();
      await stage.settle(600_000);
      assert.deepEqual(await routes(stage.client), []);
    }));

  test('is removed with its cluster, and a restart before that writes nothing', () =>
    onOpenShift(given(), async (stage) => {
      const { client, settle } = stage;
      await admit(client, 'apps.example');
      await settle();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
      await client.delete(VirtualKafkaCluster, ref('one'));
      await stage.collected();
      assert.deepEqual(await routes(client), []);
    }));
});

test('Routes may be installed while the operator runs', async (t) => {
  const stage = await createStage({
    operators: [createKroxylicious()],
    given: (client) => create(client, ...given()),
  });
  t.after(() => stage.end());
  const { client, clock } = stage;
  const refused = condition(await get.ingress(client, 'outside'), 'Accepted');
  assert.equal(refused?.reason, 'RequestedResourceKindNotSupported');
  await installRoutes(client);
  await clock.advance(120_000);
  await stage.settle();
  assert.equal(condition(await get.ingress(client, 'outside'), 'Accepted')?.status, 'True');
  assert.equal((await routes(client)).length, 4);
});

test('a CustomResourceDefinition of Routes alone does not make a cluster OpenShift, and changes no pod', async () => {
  const stage = await createStage({
    operators: [createKroxylicious()],
    given: (client) => create(client, proxy(), service(), tcpIngress(), cluster('one')),
  });
  try {
    const before = await get.deployment(stage.client);
    assert.equal(before.spec?.template.spec?.securityContext?.fsGroup, 185);
    await installRoutes(stage.client);
    await stage.clock.advance(120_000);
    await stage.settle();
    assert.deepEqual((await get.deployment(stage.client)).spec?.template, before.spec?.template);
    await stage.restart();
    assert.deepEqual((await get.deployment(stage.client)).spec?.template, before.spec?.template);
  } finally {
    await stage.end();
  }
});

test('SecurityContextConstraints alone make a cluster OpenShift, also if they are installed later', async (t) => {
  const stage = await createStage({
    operators: [createKroxylicious()],
    given: (client) => create(client, proxy(), service(), tcpIngress(), cluster('one')),
  });
  t.after(() => stage.end());
  const groupOf = async () => (await get.deployment(stage.client)).spec?.template.spec?.securityContext?.fsGroup;
  assert.equal(await groupOf(), 185);
  await installConstraints(stage.client);
  await stage.clock.advance(120_000);
  await stage.settle();
  assert.equal(await groupOf(), undefined);
});
