// Schemas, defaults and rules of the five kinds on the embedded server.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Kind } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, type TestCluster } from '@capstan/testing';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../src/index.ts';
import { object } from './fixtures.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await createTestCluster({
    clock: createVirtualClock(),
    random: createRandom(1),
    operators: [createKroxylicious()],
  });
});
after(() => cluster.close());

const tryOut = (kind: Kind, spec: unknown, name = 'x') =>
  cluster.client.create(kind, object(kind, name, { spec }), { dryRun: true });

const vkc = (more: object = {}) => ({
  proxyRef: { name: 'p' },
  targetKafkaServiceRef: { name: 's' },
  ingresses: [{ ingressRef: { name: 'i' } }],
  ...more,
});
const tls = (more: object) =>
  vkc({ ingresses: [{ ingressRef: { name: 'i' }, tls: { certificateRef: { name: 'c' }, ...more } }] });
const ingress = (more: object) => ({ proxyRef: { name: 'p' }, ...more });
const balancer = (bootstrapAddress: string, advertisedBrokerAddressPattern: string) =>
  ingress({ loadBalancer: { bootstrapAddress, advertisedBrokerAddressPattern } });
const network = (proxy: object) => ({ network: { proxy } });

describe('the server accepts', () => {
  const cases: [Kind, unknown][] = [
    [KafkaProxy, undefined],
    [KafkaProxy, {}],
    [KafkaProxy, { replicas: 0, isolation: 'VirtualCluster', rollout: { quietPeriod: '500ms' } }],
    [
      KafkaProxy,
      {
        infrastructure: {
          proxyContainer: { resources: { limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: '100m' } } },
        },
      },
    ],
    [
      KafkaProxy,
      network({
        shutdownTimeout: '1m30s',
        shutdownQuietPeriod: '0ms',
        authenticatedIdleTimeout: '10us',
        unauthenticatedIdleTimeout: '5ns',
      }),
    ],
    [VirtualKafkaCluster, vkc()],
    [
      VirtualKafkaCluster,
      vkc({
        targetKafkaServiceRef: { group: 'kroxylicious.io', kind: 'KafkaService', name: 's' },
        filterRefs: [{ name: 'a' }, { name: 'a' }],
      }),
    ],
    [
      VirtualKafkaCluster,
      tls({
        trustAnchorRef: { name: 't', key: 'k', storeType: 'JKS' },
        tlsClientAuthentication: 'REQUESTED',
        protocols: { allow: ['TLSv1.3'] },
      }),
    ],
    [KafkaProtocolFilter, { type: 'T', configTemplate: {} }],
    [KafkaProtocolFilter, { type: 'T', configTemplate: { any: ['thing', { at: 'all' }, null] } }],
    [KafkaService, { bootstrapServers: 'a.b:9092' }],
    [KafkaService, { bootstrapServers: 'a:1,b:65535, c:3' }],
    [KafkaService, { strimziKafkaRef: { name: 'k', listenerName: 'l', namespace: 'n' } }],
    [
      KafkaService,
      {
        bootstrapServers: 'a:1',
        tls: {},
        nodeIdRanges: [
          { start: 0, end: 0 },
          { name: 'r', start: 5, end: 9 },
        ],
      },
    ],
    [KafkaProxyIngress, ingress({ clusterIP: { protocol: 'TCP' } })],
    [KafkaProxyIngress, ingress({ openShiftRoute: {} })],
    [KafkaProxyIngress, balancer('$(virtualClusterName).x', 'b-$(nodeId).x')],
    [KafkaProxyIngress, ingress({ clusterIP: { protocol: 'TLS' }, infrastructure: { annotations: { 'a/b': 'c' } } })],
  ];
  for (const [kind, spec] of cases)
    test(`${kind.kind} ${JSON.stringify(spec)}`, async () => void (await tryOut(kind, spec)));
});

describe('the server refuses', () => {
  const cases: [Kind, unknown, RegExp, string?][] = [
    [KafkaProxy, { replicas: -1 }, /spec\.replicas/],
    [KafkaProxy, { isolation: 'Pod' }, /spec\.isolation/],
    [KafkaProxy, network({ workerThreadCount: 0 }), /workerThreadCount/],
    [KafkaProxy, network({ shutdownTimeout: 'PT2S' }), /shutdownTimeout/],
    [KafkaProxy, network({ shutdownTimeout: '1h' }), /shutdownTimeout/],
    [KafkaProxy, { infrastructure: { proxyContainer: { resources: { limits: { cpu: 'lots' } } } } }, /cpu/],
    [VirtualKafkaCluster, vkc({ proxyRef: undefined }), /spec\.proxyRef/],
    [VirtualKafkaCluster, vkc({ targetKafkaServiceRef: { name: '' } }), /targetKafkaServiceRef\.name/],
    [
      VirtualKafkaCluster,
      vkc({ targetKafkaServiceRef: { kind: 'Service', name: 's' } }),
      /targetKafkaServiceRef\.kind/,
    ],
    [VirtualKafkaCluster, vkc({ ingresses: [] }), /spec\.ingresses/],
    [VirtualKafkaCluster, tls({ certificateRef: undefined }), /certificateRef/],
    [VirtualKafkaCluster, tls({ trustAnchorRef: { name: 't' } }), /trustAnchorRef\.key/],
    [VirtualKafkaCluster, tls({ trustAnchorRef: { name: 't', key: 'k', storeType: 'BKS' } }), /storeType/],
    [VirtualKafkaCluster, tls({ tlsClientAuthentication: 'MAYBE' }), /tlsClientAuthentication/],
    [KafkaProtocolFilter, { type: 'T' }, /configTemplate/],
    [KafkaProtocolFilter, { type: 'T', configTemplate: 'text' }, /configTemplate/],
    [KafkaProtocolFilter, { type: 'T', configTemplate: null }, /configTemplate/],
    [KafkaProtocolFilter, { type: 'T', configTemplate: [1] }, /configTemplate/],
    [KafkaService, {}, /oneOf/],
    [KafkaService, { bootstrapServers: 'a:1', strimziKafkaRef: { name: 'k', listenerName: 'l' } }, /oneOf/],
    [KafkaService, { bootstrapServers: '' }, /bootstrapServers/],
    [KafkaService, { bootstrapServers: 'a' }, /bootstrapServers/],
    [KafkaService, { bootstrapServers: 'a:123456' }, /bootstrapServers/],
    [KafkaService, { strimziKafkaRef: { name: 'k' } }, /listenerName/],
    [KafkaService, { bootstrapServers: 'a:1', nodeIdRanges: [] }, /nodeIdRanges/],
    [
      KafkaService,
      { bootstrapServers: 'a:1', nodeIdRanges: [{ name: '', start: 0, end: 1 }] },
      /nodeIdRanges\[0\]\.name/,
    ],
    [VirtualKafkaCluster, vkc({ proxyRef: { name: 'p'.repeat(254) } }), /proxyRef\.name/],
    [
      VirtualKafkaCluster,
      vkc({ targetKafkaServiceRef: { group: 'example.com', name: 's' } }),
      /targetKafkaServiceRef\.group/,
    ],
    [VirtualKafkaCluster, vkc({ filterRefs: [{ name: '' }] }), /filterRefs\[0\]\.name/],
    [VirtualKafkaCluster, vkc({ ingresses: [{}] }), /ingresses\[0\]\.ingressRef/],
    [VirtualKafkaCluster, tls({ certificateRef: { name: '' } }), /certificateRef\.name/],
    [VirtualKafkaCluster, tls({ protocols: { allow: 'TLSv1.3' } }), /protocols\.allow/],
    [KafkaProtocolFilter, { type: '', configTemplate: {} }, /spec\.type/],
    [KafkaProtocolFilter, { configTemplate: {} }, /spec\.type/],
    [KafkaService, { bootstrapServers: 'a:1,,b:2' }, /bootstrapServers/],
    [KafkaService, { strimziKafkaRef: { listenerName: 'l' } }, /strimziKafkaRef\.name/],
    [
      KafkaService,
      { strimziKafkaRef: { name: 'k', listenerName: 'l', namespace: 'Not A Label' } },
      /strimziKafkaRef\.namespace/,
    ],
    [KafkaService, { bootstrapServers: 'a:1', nodeIdRanges: [{ start: 0 }] }, /nodeIdRanges\[0\]\.end/],
    [KafkaProxyIngress, { clusterIP: { protocol: 'TCP' } }, /spec\.proxyRef/],
    [KafkaProxyIngress, ingress({ clusterIP: {} }), /clusterIP\.protocol/],
    [KafkaProxyIngress, ingress({ clusterIP: { protocol: 'TCP' }, openShiftRoute: {} }), /oneOf/],
    [KafkaProxyIngress, ingress({ clusterIP: { protocol: 'TCP', bootstrapPort: 80 } }), /bootstrapPort/],
    [KafkaProxyIngress, ingress({ loadBalancer: { bootstrapAddress: 'a' } }), /advertisedBrokerAddressPattern/],
    [KafkaProxyIngress, ingress({}), /oneOf/],
    [KafkaProxyIngress, ingress({ clusterIP: { protocol: 'UDP' } }), /protocol/],
    [KafkaProxyIngress, balancer('a:9092', 'b-$(nodeId).x'), /bootstrapAddress must be a host name without port/],
    [KafkaProxyIngress, balancer('a', 'b'), /advertisedBrokerAddressPattern must contain \$\(nodeId\)/],
    [
      KafkaProxyIngress,
      balancer('a', 'b-$(nodeId):1'),
      /advertisedBrokerAddressPattern must be a host name without port/,
    ],
  ];
  for (const [kind, spec, message, name] of cases)
    test(`${kind.kind} ${JSON.stringify(spec)}`, () => assert.rejects(tryOut(kind, spec, name), message));
});

describe('the server applies the rule', () => {
  const cases: [Kind, unknown, string, RegExp][] = [
    [KafkaProxy, {}, 'p'.repeat(51), /at most 50 characters/],
    [KafkaProtocolFilter, { type: 'T', configTemplate: {} }, 'f'.repeat(64), /at most 63 characters/],
    [
      VirtualKafkaCluster,
      vkc({ ingresses: [{ ingressRef: { name: 'i'.repeat(20) } }] }),
      'c'.repeat(32),
      /at most 51 characters/,
    ],
    [
      KafkaService,
      { bootstrapServers: 'a:1', nodeIdRanges: [{ start: 5, end: 1 }] },
      's',
      /start must not be above end/,
    ],
    [
      KafkaProxyIngress,
      ingress({ clusterIP: { protocol: 'TCP' }, infrastructure: { annotations: { 'kroxylicious.io/x': 'y' } } }),
      'i',
      /kroxylicious\.io/,
    ],
  ];
  for (const [kind, spec, name, message] of cases) {
    test(`${kind.kind}: ${String(message)}`, () => assert.rejects(tryOut(kind, spec, name), { message }));
  }
});

test('defaults are filled in', async () => {
  const created = (await tryOut(
    VirtualKafkaCluster,
    tls({ trustAnchorRef: { name: 't', key: 'k.pem' }, protocols: {} }),
  )) as VirtualKafkaCluster;
  const [first] = created.spec.ingresses;
  assert.deepEqual(first?.tls, {
    certificateRef: { name: 'c', kind: 'Secret', group: '' },
    trustAnchorRef: { name: 't', key: 'k.pem', kind: 'ConfigMap', group: '' },
    protocols: { deny: [] },
  });
  const proxy = (await tryOut(KafkaProxy, {})) as KafkaProxy;
  assert.deepEqual(proxy.spec, { replicas: 1, isolation: 'Proxy' });
});

test("kinds have the names of upstream's manifests", () => {
  const names = createKroxylicious().kinds.map((kind) => {
    const { spec } = kind.crd() as {
      spec: {
        names: { plural: string; shortNames: string[]; categories: string[] };
        scope: string;
        versions: { name: string }[];
      };
    };
    return [
      spec.names.plural,
      ...spec.names.shortNames,
      ...spec.names.categories,
      spec.scope,
      ...spec.versions.map(({ name }) => name),
    ].join(' ');
  });
  assert.deepEqual(names, [
    'kafkaproxies kp kroxylicious Namespaced v1alpha1',
    'virtualkafkaclusters vkc kroxylicious Namespaced v1alpha1',
    'kafkaprotocolfilters kpf kroxylicious Namespaced v1alpha1',
    'kafkaservices ks kroxylicious Namespaced v1alpha1',
    'kafkaproxyingresses kpi kroxylicious Namespaced v1alpha1',
    'kroxylicioussidecarconfigs ksc kroxylicious Namespaced v1alpha1',
  ]);
});
