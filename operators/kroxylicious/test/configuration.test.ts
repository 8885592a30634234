// The objects of a proxy: the configuration file, the Deployment's mounts and ports, the Services.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, PodDisruptionBudget, Service } from '@capstan/kube';
import { KafkaProxy, KafkaService, VirtualKafkaCluster } from '../src/index.ts';
import {
  configured,
  containerPorts,
  issued,
  mountsOf,
  portsOf,
  root,
  serviceOf,
  volumesOf,
} from './configuration.test-support.ts';
import {
  balancerIngress,
  checksum,
  cluster,
  condition,
  configMap,
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
  tlsSecret,
} from './fixtures.ts';

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
