// The objects of a proxy: the configuration file, the Deployment's mounts and ports, the Services.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, type Deployment, type KubeObject, PodDisruptionBudget, Service } from '@capstan/kube';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import { KafkaProxy, KafkaService, VirtualKafkaCluster, validateConfiguration } from '../src/index.ts';
import {
  balancerIngress,
  certificate,
  checksum,
  cluster,
  condition,
  configMap,
  configurationOf,
  filter,
  get,
  minimal,
  NAMESPACE,
  object,
  opaque,
  patch,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const issued = await certificate();

/** Returns the configuration that runs, which the validator must accept. */
async function configured(client: Client, name?: string): Promise<ProxyConfiguration> {
  const text = await configurationOf(client, name);
  const configuration = parse(text) as ProxyConfiguration;
  assert.deepEqual(validateConfiguration(configuration), []);
  assert.ok(text.startsWith('---\n') && !text.endsWith('\n'));
  return configuration;
}

const serviceOf = (client: Client, name: string) => client.get(Service, { namespace: NAMESPACE, name });
const portsOf = (found: Service) => found.spec?.ports?.map(({ port, targetPort }) => `${port}->${String(targetPort)}`);
const mountsOf = ({ spec }: Deployment) =>
  spec?.template.spec?.containers[0]?.volumeMounts?.map(({ name, mountPath }) => `${name} ${mountPath}`);
const volumesOf = ({ spec }: Deployment) => spec?.template.spec?.volumes?.map(({ name }) => name);
const containerPorts = ({ spec }: Deployment) =>
  spec?.template.spec?.containers[0]?.ports?.map(({ containerPort, name }) => `${containerPort} ${name}`);
const root = '/opt/kroxylicious';

test('the smallest proxy serves one cluster by ports', () =>
  staged({ objects: minimal() }, async ({ client }) => {
    assert.deepEqual(await configured(client), {
      management: { endpoints: { prometheus: {} } },
      virtualClusters: [
        {
          name: 'one',
          targetCluster: {
            bootstrapServers: 'kafka.example:9092',
            bootstrapServerSelection: { strategy: 'round-robin' },
          },
          gateways: [
            {
              name: 'tcp',
              portIdentifiesNode: {
                bootstrapAddress: 'localhost:9292',
                advertisedBrokerAddressPattern: 'one-tcp-bootstrap.default.svc.cluster.local',
                nodeIdRanges: [{ name: 'default', start: 0, end: 2 }],
              },
            },
          ],
        },
      ],
    });
    const deployment = await get.deployment(client);
    assert.deepEqual(containerPorts(deployment), [
      '9190 management',
      '9292 9292-bootstrap',
      '9293 9293-node',
      '9294 9294-node',
      '9295 9295-node',
    ]);
    const found = await serviceOf(client, 'one-tcp-bootstrap');
    assert.deepEqual(portsOf(found), ['9292->9292', '9293->9293', '9294->9294', '9295->9295']);
    assert.deepEqual(found.spec?.selector, deployment.spec?.selector?.matchLabels);
    assert.deepEqual(JSON.parse(found.metadata.annotations?.['kroxylicious.io/bootstrap-servers'] ?? ''), {
      version: '0.13.0',
      bootstrapServers: [
        {
          clusterName: 'one',
          ingressName: 'tcp',
          bootstrapServers: 'one-tcp-bootstrap.default.svc.cluster.local:9292',
        },
      ],
    });
    assert.deepEqual((await get.cluster(client, 'one')).status?.ingresses, [
      { name: 'tcp', bootstrapServer: 'one-tcp-bootstrap.default.svc.cluster.local:9292', protocol: 'TCP' },
    ]);
    assert.equal(
      (await client.get(PodDisruptionBudget, { namespace: NAMESPACE, name: 'my-proxy' })).spec?.maxUnavailable,
      1,
    );
  }));

test('Secrets and ConfigMaps with dots in their names or with long names are mounted as others are', () => {
  const long = 'l'.repeat(200);
  const named = 'n'.repeat(120);
  const objects: KubeObject[] = [
    ...minimal().slice(0, 3),
    tlsSecret('tls-cert-for-kafka.example.com', issued),
    configMap(long, { 'ca.pem': issued.ca }),
    opaque('kms.example', { password: 'x1234' }),
    opaque(named, { token: 'x1234' }),
    filter({ password: '${secret:kms.example:password}', token: `\${secret:${named}:token}` }),
    object(KafkaService, 'other', {
      spec: {
        bootstrapServers: 'kafka.example:9093',
        tls: {
          certificateRef: { name: 'tls-cert-for-kafka.example.com' },
          trustAnchorRef: { name: long, key: 'ca.pem' },
        },
      },
    }),
    cluster('one', { targetKafkaServiceRef: { name: 'other' }, filterRefs: [{ name: 'encryption' }] }),
  ];
  return staged({ objects }, async ({ client }) => {
    const deployment = await get.deployment(client);
    const volumes = deployment.spec?.template.spec?.volumes ?? [];
    assert.deepEqual(
      volumes.slice(1).map(({ configMap: from, secret }) => from?.name ?? secret?.secretName),
      [long, 'kms.example', named, 'tls-cert-for-kafka.example.com'],
    );
    for (const { name } of volumes) assert.match(name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    const names = (deployment.spec?.template.spec?.containers[0]?.volumeMounts ?? []).map(({ name }) => name);
    assert.deepEqual(new Set(names), new Set(volumes.map(({ name }) => name)));
    const { virtualClusters, filterDefinitions } = await configured(client);
    assert.deepEqual(filterDefinitions?.[0]?.config, {
      password: `${root}/secure/secret/kms.example/password`,
      token: `${root}/secure/secret/${named}/token`,
    });
    assert.equal(
      virtualClusters[0]?.targetCluster.tls?.key?.certificateFile,
      `${root}/target-cluster/client-certs/tls-cert-for-kafka.example.com/tls.crt`,
    );
  });
});

test('filters have the names of their resources, the order of the cluster, and paths for placeholders', () => {
  const objects: KubeObject[] = [
    ...minimal().slice(0, 3),
    filter({ password: '${secret:kms:password}', list: [{ file: '${configmap:rules:rules.txt}' }] }, 'second', 'B'),
    filter({ again: '${secret:kms:other}' }, 'first', 'A'),
    opaque('kms', { password: 'x1234', other: 'y1234' }),
    configMap('rules', { 'rules.txt': 'r' }),
    cluster('one', { filterRefs: [{ name: 'second' }, { name: 'first' }, { name: 'second' }] }),
  ];
  return staged({ objects }, async ({ client }) => {
    const { filterDefinitions, virtualClusters } = await configured(client);
    assert.deepEqual(filterDefinitions, [
      {
        name: 'second.KafkaProtocolFilter.kroxylicious.io',
        type: 'B',
        config: {
          password: `${root}/secure/secret/kms/password`,
          list: [{ file: `${root}/secure/configmap/rules/rules.txt` }],
        },
      },
      {
        name: 'first.KafkaProtocolFilter.kroxylicious.io',
        type: 'A',
        config: { again: `${root}/secure/secret/kms/other` },
      },
    ]);
    const names = ['second', 'first', 'second'].map((name) => `${name}.KafkaProtocolFilter.kroxylicious.io`);
    assert.deepEqual(virtualClusters[0]?.filters, names);
    const deployment = await get.deployment(client);
    assert.deepEqual(volumesOf(deployment), ['config-volume', 'configmaps-rules', 'secrets-kms']);
    assert.deepEqual(mountsOf(deployment)?.slice(1), [
      `configmaps-rules ${root}/secure/configmap/rules`,
      `secrets-kms ${root}/secure/secret/kms`,
    ]);
    const secret = deployment.spec?.template.spec?.volumes?.find(({ name }) => name === 'secrets-kms');
    assert.equal(secret?.secret?.defaultMode, 0o640);
  });
});

describe('TLS towards Kafka', () => {
  const withTls = (tls: object, ...more: KubeObject[]) => [
    proxy(),
    service({ bootstrapServers: 'a:1, b:2', tls }),
    tcpIngress(),
    cluster('one'),
    ...more,
  ];

  test('uses a certificate, a trust anchor in a ConfigMap, and allowed versions', () =>
    staged(
      {
        objects: withTls(
          {
            certificateRef: { name: 'client' },
            trustAnchorRef: { name: 'ca', key: 'ca.pem' },
            protocols: { allow: ['TLSv1.3'] },
            cipherSuites: { deny: ['B', 'A'] },
          },
          tlsSecret('client', issued),
          configMap('ca', { 'ca.pem': issued.ca }),
        ),
      },
      async ({ client }) => {
        assert.deepEqual((await configured(client)).virtualClusters[0]?.targetCluster, {
          bootstrapServers: 'a:1,b:2',
          bootstrapServerSelection: { strategy: 'round-robin' },
          tls: {
            key: {
              privateKeyFile: `${root}/target-cluster/client-certs/client/tls.key`,
              certificateFile: `${root}/target-cluster/client-certs/client/tls.crt`,
            },
            trust: { storeFile: `${root}/target-cluster/trusted-certs/ca/ca.pem`, storeType: 'PEM' },
            cipherSuites: { denied: ['A', 'B'] },
            protocols: { allowed: ['TLSv1.3'] },
          },
        });
        assert.deepEqual(volumesOf(await get.deployment(client)), ['config-volume', 'configmaps-ca', 'secrets-client']);
        const { status } = await get.service(client);
        assert.equal(status?.bootstrapServers, 'a:1,b:2');
        assert.equal(status.tls?.trustAnchorRef?.storeType, 'PEM');
      },
    ));

  test('uses a trust anchor in a Secret with a given type', () =>
    staged(
      {
        objects: withTls(
          { trustAnchorRef: { kind: 'Secret', name: 'ca', key: 'bundle', storeType: 'PEM' } },
          opaque('ca', { bundle: issued.ca }),
        ),
      },
      async ({ client }) => {
        const tls = (await configured(client)).virtualClusters[0]?.targetCluster.tls;
        assert.deepEqual(tls, {
          trust: { storeFile: `${root}/target-cluster/trusted-certs/ca/bundle`, storeType: 'PEM' },
        });
      },
    ));

  test('mounts a Secret that a filter uses too as one volume', () =>
    staged(
      {
        objects: [
          proxy(),
          service({
            bootstrapServers: 'a:1',
            tls: { trustAnchorRef: { kind: 'Secret', name: 'shared', key: 'ca.pem' } },
          }),
          tcpIngress(),
          filter({ file: '${secret:shared:password}' }),
          opaque('shared', { 'ca.pem': issued.ca, password: 'x1234' }),
          cluster('one', { filterRefs: [{ name: 'encryption' }] }),
        ],
      },
      async ({ client }) => {
        const deployment = await get.deployment(client);
        assert.deepEqual(volumesOf(deployment), ['config-volume', 'secrets-shared']);
        assert.deepEqual(mountsOf(deployment)?.slice(1), [
          `secrets-shared ${root}/secure/secret/shared`,
          `secrets-shared ${root}/target-cluster/trusted-certs/shared`,
        ]);
        const volume = deployment.spec?.template.spec?.volumes?.find(({ name }) => name === 'secrets-shared');
        assert.equal(volume?.secret?.defaultMode, 0o640);
      },
    ));

  test('TLS towards Kafka without settings trusts the authorities of the platform', () =>
    staged({ objects: withTls({}) }, async ({ client }) => {
      assert.deepEqual((await configured(client)).virtualClusters[0]?.targetCluster.tls, {});
    }));
});

describe('TLS towards clients', () => {
  const withTls = (tls: object, ...more: KubeObject[]) => [
    proxy(),
    service({
      bootstrapServers: 'a:1',
      nodeIdRanges: [
        { name: 'brokers', start: 0, end: 1 },
        { start: 10, end: 10 },
      ],
    }),
    tlsIngress(),
    tlsSecret('server', issued),
    cluster('one', {
      ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' }, ...tls } }],
    }),
    ...more,
  ];

  test('brokers are distinguished by host name, each with a Service', () =>
    staged({ objects: withTls({}) }, async ({ client }) => {
      assert.deepEqual((await configured(client)).virtualClusters[0]?.gateways, [
        {
          name: 'tls',
          sniHostIdentifiesNode: {
            bootstrapAddress: 'one-tls-bootstrap.default.svc.cluster.local:9291',
            advertisedBrokerAddressPattern: 'one-tls-$(nodeId).default.svc.cluster.local:9292',
          },
          tls: {
            key: {
              privateKeyFile: `${root}/virtual-cluster/server-certs/server/tls.key`,
              certificateFile: `${root}/virtual-cluster/server-certs/server/tls.crt`,
            },
          },
        },
      ]);
      for (const name of ['one-tls-bootstrap', 'one-tls-0', 'one-tls-1', 'one-tls-10'])
        assert.deepEqual(portsOf(await serviceOf(client, name)), ['9292->9291']);
      assert.deepEqual(containerPorts(await get.deployment(client)), ['9190 management', '9291 shared-sni-port']);
      assert.equal(
        (await get.cluster(client, 'one')).status?.ingresses?.[0]?.bootstrapServer,
        'one-tls-bootstrap.default.svc.cluster.local:9292',
      );
    }));

  for (const [given, clientAuth] of [
    [undefined, 'REQUIRED'],
    ['REQUIRED', 'REQUIRED'],
    ['REQUESTED', 'REQUESTED'],
    ['NONE', 'NONE'],
  ] as const) {
    test(`requires clients’ certificates as ${clientAuth} for ${given ?? 'no setting'}`, () =>
      staged(
        {
          objects: withTls(
            {
              trustAnchorRef: { name: 'clients', key: 'ca.pem' },
              ...(given === undefined ? {} : { tlsClientAuthentication: given }),
            },
            configMap('clients', { 'ca.pem': issued.ca }),
          ),
        },
        async ({ client }) => {
          assert.deepEqual((await configured(client)).virtualClusters[0]?.gateways[0]?.tls?.trust, {
            storeFile: `${root}/virtual-cluster/trusted-certs/clients/ca.pem`,
            storeType: 'PEM',
            trustOptions: { clientAuth },
          });
        },
      ));
  }

  test('applies allowed and denied versions and cipher suites, and clients’ trust from a Secret', () =>
    staged(
      {
        objects: withTls(
          {
            protocols: { allow: ['TLSv1.3', 'TLSv1.2'], deny: ['TLSv1.1'] },
            cipherSuites: { allow: ['TLS_AES_128_GCM_SHA256'], deny: ['B', 'A', 'B'] },
            trustAnchorRef: { kind: 'Secret', name: 'clients', key: 'bundle', storeType: 'PEM' },
          },
          opaque('clients', { bundle: issued.ca }),
        ),
      },
      async ({ client }) => {
        const { protocols, cipherSuites, trust } =
          (await configured(client)).virtualClusters[0]?.gateways[0]?.tls ?? {};
        assert.deepEqual(protocols, { allowed: ['TLSv1.3', 'TLSv1.2'], denied: ['TLSv1.1'] });
        assert.deepEqual(cipherSuites, { allowed: ['TLS_AES_128_GCM_SHA256'], denied: ['A', 'B'] });
        assert.equal(trust?.storeFile, `${root}/virtual-cluster/trusted-certs/clients/bundle`);
        assert.deepEqual(volumesOf(await get.deployment(client)), [
          'config-volume',
          'secrets-clients',
          'secrets-server',
        ]);
      },
    ));

  test('serves two certificates for two ingresses', () =>
    staged(
      {
        objects: [
          ...withTls({}).slice(0, 4),
          tlsIngress('inner'),
          tlsSecret('other', issued),
          cluster('one', {
            ingresses: [
              { ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } },
              { ingressRef: { name: 'inner' }, tls: { certificateRef: { name: 'other' } } },
            ],
          }),
        ],
      },
      async ({ client }) => {
        const files = (await configured(client)).virtualClusters[0]?.gateways.map(
          ({ tls }) => tls?.key?.certificateFile,
        );
        assert.deepEqual(files, [
          `${root}/virtual-cluster/server-certs/server/tls.crt`,
          `${root}/virtual-cluster/server-certs/other/tls.crt`,
        ]);
      },
    ));
});

test('a load balancer is one Service for all clusters that use it, beside ports for another cluster', () => {
  const outside = { ingressRef: { name: 'outside' }, tls: { certificateRef: { name: 'server' } } };
  const objects = [
    proxy(),
    service(),
    tcpIngress(),
    balancerIngress(),
    tlsSecret('server', issued),
    cluster('two', { ingresses: [outside] }),
    cluster('one', { ingresses: [outside, { ingressRef: { name: 'tcp' } }] }),
  ];
  return staged({ objects }, async ({ client, settle }) => {
    const { virtualClusters } = await configured(client);
    assert.deepEqual(
      virtualClusters.map(({ name }) => name),
      ['one', 'two'],
    );
    assert.deepEqual(virtualClusters[1]?.gateways[0]?.sniHostIdentifiesNode, {
      bootstrapAddress: '$(virtualClusterName).kafka.example:9291',
      advertisedBrokerAddressPattern: 'broker-$(nodeId).$(virtualClusterName).kafka.example:9083',
    });
    const balancer = await serviceOf(client, 'my-proxy-sni');
    assert.equal(balancer.spec?.type, 'LoadBalancer');
    assert.deepEqual(portsOf(balancer), ['9083->9291']);
    const reported = JSON.parse(balancer.metadata.annotations?.['kroxylicious.io/bootstrap-servers'] ?? '') as {
      bootstrapServers: { bootstrapServers: string }[];
    };
    assert.deepEqual(
      reported.bootstrapServers.map((one) => one.bootstrapServers),
      ['one.kafka.example:9083', 'two.kafka.example:9083'],
    );
    await client.patch(
      Service,
      { namespace: NAMESPACE, name: 'my-proxy-sni' },
      'merge',
      { status: { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } } },
      { subresource: 'status' },
    );
    await settle();
    assert.deepEqual((await get.cluster(client, 'two')).status?.ingresses, [
      {
        name: 'outside',
        bootstrapServer: 'two.kafka.example:9083',
        protocol: 'TLS',
        loadBalancerIngressPoints: [{ hostname: 'lb.example' }],
      },
    ]);
  });
});

test('a load balancer lists only clusters that are served', () => {
  const outside = { ingressRef: { name: 'outside' } };
  const objects = [
    proxy(),
    service(),
    balancerIngress(),
    tlsSecret('server', issued),
    cluster('good', { ingresses: [{ ...outside, tls: { certificateRef: { name: 'server' } } }] }),
    cluster('bare', { ingresses: [outside] }),
  ];
  return staged({ objects }, async ({ client }) => {
    const { virtualClusters } = await configured(client);
    assert.deepEqual(
      virtualClusters.map(({ name }) => name),
      ['good'],
    );
    const reported = (await serviceOf(client, 'my-proxy-sni')).metadata.annotations?.[
      'kroxylicious.io/bootstrap-servers'
    ];
    assert.match(reported ?? '', /good\.kafka\.example/);
    assert.doesNotMatch(reported ?? '', /bare/);
  });
});

test('several clusters share a TCP ingress, and keep their ports when one is removed', () =>
  staged(
    { objects: [proxy(), service(), tcpIngress(), cluster('a'), cluster('b'), cluster('c')] },
    async ({ client, settle, collected }) => {
      const bootstrap = async () =>
        Object.fromEntries(
          (await configured(client)).virtualClusters.map(({ name, gateways }) => [
            name,
            gateways[0]?.portIdentifiesNode?.bootstrapAddress,
          ]),
        );
      assert.deepEqual(await bootstrap(), { a: 'localhost:9292', b: 'localhost:9296', c: 'localhost:9300' });
      await client.delete(VirtualKafkaCluster, { namespace: NAMESPACE, name: 'a' });
      await settle();
      assert.deepEqual(await bootstrap(), { b: 'localhost:9296', c: 'localhost:9300' });
      await client.create(VirtualKafkaCluster, cluster('0') as VirtualKafkaCluster);
      await collected();
      assert.deepEqual(await bootstrap(), { '0': 'localhost:9304', b: 'localhost:9296', c: 'localhost:9300' });
      assert.equal(await client.find(Service, { namespace: NAMESPACE, name: 'a-tcp-bootstrap' }), undefined);
    },
  ));

test('the user’s settings for pods, resources, network and metrics are applied', () =>
  staged(
    {
      objects: [
        proxy({
          replicas: 2,
          infrastructure: {
            proxyContainer: { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } } },
            pod: {
              labels: { team: 'kafka', 'app.kubernetes.io/name': 'ignored' },
              annotations: { 'vault/inject': 'true' },
              serviceAccountName: 'proxies',
              terminationGracePeriodSeconds: 60,
            },
          },
          network: {
            proxy: { workerThreadCount: 4, shutdownTimeout: '1m30s' },
            management: { shutdownQuietPeriod: '0s' },
          },
          micrometer: [{ type: 'StandardBindersHook', config: { binderNames: ['UptimeMetrics'] } }],
          rollout: { minReadySeconds: 5 },
        }),
        ...minimal().slice(1),
      ],
    },
    async ({ client }) => {
      const configuration = await configured(client);
      assert.deepEqual(configuration.network, {
        proxy: { workerThreadCount: 4, shutdownTimeout: '1m30s' },
        management: { shutdownQuietPeriod: '0s' },
      });
      assert.deepEqual(configuration.micrometer, [
        { type: 'StandardBindersHook', config: { binderNames: ['UptimeMetrics'] } },
      ]);
      const { spec } = await get.deployment(client);
      assert.equal(spec?.replicas, 2);
      assert.equal(spec.minReadySeconds, 5);
      assert.deepEqual(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } });
      const { metadata, spec: pod } = spec.template;
      assert.equal(metadata?.labels?.['team'], 'kafka');
      assert.equal(metadata.labels['app.kubernetes.io/name'], 'kroxylicious');
      assert.equal(metadata.annotations?.['vault/inject'], 'true');
      assert.equal(pod?.serviceAccountName, 'proxies');
      assert.equal(pod.terminationGracePeriodSeconds, 60);
      assert.deepEqual(pod.containers[0]?.resources, {
        limits: { cpu: '1', memory: '1Gi' },
        requests: { cpu: '500m' },
      });
      assert.equal(pod.containers[0].readinessProbe?.httpGet?.port, 'management');
    },
  ));

test('a cluster that moves to another proxy is served there and no longer by the first', () =>
  staged(
    {
      objects: [
        proxy(),
        proxy({}, 'other'),
        service(),
        tcpIngress(),
        tcpIngress('theirs', 'other'),
        cluster('one'),
        cluster('two'),
        cluster('three', { proxyRef: { name: 'other' }, ingresses: [{ ingressRef: { name: 'theirs' } }] }),
      ],
    },
    async ({ client, settle }) => {
      const names = async (of: string) => (await configured(client, of)).virtualClusters.map(({ name }) => name);
      assert.deepEqual([await names('my-proxy'), await names('other')], [['one', 'two'], ['three']]);
      await patch(client, VirtualKafkaCluster, 'two', {
        spec: { proxyRef: { name: 'other' }, ingresses: [{ ingressRef: { name: 'theirs' } }] },
      });
      await settle();
      assert.deepEqual([await names('my-proxy'), await names('other')], [['one'], ['three', 'two']]);
      const { selector } = (await serviceOf(client, 'two-theirs-bootstrap')).spec ?? {};
      assert.equal(selector?.['app.kubernetes.io/instance'], 'other');
    },
  ));

test('a proxy without clusters has no Deployment, and loses it with the last cluster', () =>
  staged({ objects: minimal() }, async ({ client, settle }) => {
    assert.ok(checksum(await get.deployment(client)));
    await client.delete(VirtualKafkaCluster, { namespace: NAMESPACE, name: 'one' });
    await settle();
    const { status } = await get.proxy(client);
    assert.equal(condition({ status: status ?? {} }, 'Ready')?.reason, 'NoVirtualClusters');
    await assert.rejects(get.deployment(client), /not found/);
  }));

test('a proxy without spec works, and its user is warned to add one', () =>
  staged({ objects: [object(KafkaProxy, 'my-proxy'), ...minimal().slice(1)] }, async ({ client, settle }) => {
    assert.equal((await get.deployment(client)).spec?.replicas, 1);
    assert.equal(condition(await get.proxy(client), 'DeprecationWarning')?.status, 'True');
    await patch(client, KafkaProxy, 'my-proxy', { spec: {} });
    await settle();
    assert.equal(condition(await get.proxy(client), 'DeprecationWarning'), undefined);
  }));
