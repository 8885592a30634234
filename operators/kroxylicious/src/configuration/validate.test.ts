import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { validateConfiguration } from './validate.ts';

const key = { privateKeyFile: '/k/tls.key', certificateFile: '/k/tls.crt' };
const portGateway = (more: object = {}) => ({
  name: 'tcp',
  portIdentifiesNode: { bootstrapAddress: 'localhost:9292', ...more },
});
const sniGateway = (more: object = {}) => ({
  name: 'tls',
  sniHostIdentifiesNode: {
    bootstrapAddress: 'one.example:9291',
    advertisedBrokerAddressPattern: 'one-$(nodeId).example:9292',
  },
  tls: { key },
  ...more,
});
const cluster = (more: object = {}) => ({
  name: 'one',
  targetCluster: { bootstrapServers: 'kafka:9092' },
  gateways: [portGateway()],
  ...more,
});
const configuration = (more: object = {}) => ({
  management: { endpoints: { prometheus: {} } },
  virtualClusters: [cluster()],
  ...more,
});
const withCluster = (more: object) => configuration({ virtualClusters: [cluster(more)] });
const withGateway = (gateway: object) => withCluster({ gateways: [gateway] });

describe('a valid configuration', () => {
  const cases: Record<string, unknown> = {
    'with one cluster by ports': configuration(),
    'with one cluster by host name': withGateway(sniGateway()),
    'with a host name for each cluster': withGateway(
      sniGateway({
        sniHostIdentifiesNode: {
          bootstrapAddress: '$(virtualClusterName).x:9291',
          advertisedBrokerAddressPattern: '$(virtualClusterName)-$(nodeId).x:9083',
        },
      }),
    ),
    'with filters': configuration({
      filterDefinitions: [{ name: 'f.KafkaProtocolFilter.kroxylicious.io', type: 'T', config: { any: [1] } }],
      virtualClusters: [
        cluster({ filters: ['f.KafkaProtocolFilter.kroxylicious.io', 'f.KafkaProtocolFilter.kroxylicious.io'] }),
      ],
    }),
    'with default filters': configuration({ filterDefinitions: [{ name: 'f', type: 'T' }], defaultFilters: ['f'] }),
    'with TLS to the target': withCluster({
      targetCluster: {
        bootstrapServers: 'a:1,b:2',
        bootstrapServerSelection: { strategy: 'round-robin' },
        tls: {
          trust: { storeFile: '/t/ca.pem', storeType: 'PEM' },
          protocols: { allowed: ['TLSv1.3'], denied: [] },
          cipherSuites: { denied: ['X'] },
        },
      },
    }),
    'with empty TLS': withCluster({ targetCluster: { bootstrapServers: 'a:1', tls: {} } }),
    'with client authentication': withGateway(
      sniGateway({ tls: { key, trust: { storeFile: '/t', trustOptions: { clientAuth: 'REQUESTED' } } } }),
    ),
    'with ranges': withGateway(
      portGateway({
        nodeStartPort: 9400,
        nodeIdRanges: [
          { name: 'a', start: 0, end: 2 },
          { name: 'b', start: 10, end: 12 },
        ],
      }),
    ),
    'with network and micrometer': configuration({
      network: {
        proxy: { workerThreadCount: 2, shutdownTimeout: '1m30s' },
        management: { shutdownQuietPeriod: '0ms' },
      },
      micrometer: [{ type: 'CommonTagsHook', config: { commonTags: {} } }],
    }),
  };
  for (const [name, value] of Object.entries(cases))
    test(name, () => assert.deepEqual(validateConfiguration(value), []));
});

describe('an invalid configuration', () => {
  const other = cluster({ name: 'two' });
  const cases: [name: string, value: unknown, path: string, problem: RegExp][] = [
    ['no object', 'text', '.', /object/],
    ['no clusters', configuration({ virtualClusters: [] }), 'virtualClusters', /at least 1/],
    ['an unknown field', configuration({ adminHttp: {} }), 'adminHttp', /not a field/],
    [
      'an unknown field far down',
      withGateway(sniGateway({ tls: { key: { ...key, password: 'x' } } })),
      'virtualClusters[0].gateways[0].tls.key.password',
      /not a field/,
    ],
    ['a cluster without name', withCluster({ name: undefined }), 'virtualClusters[0].name', /missing/],
    ['a name that is no label', withCluster({ name: 'a_b' }), 'virtualClusters[0].name', /DNS label/],
    [
      'two clusters of one name',
      configuration({ virtualClusters: [cluster(), cluster({ name: 'ONE', gateways: [sniGateway()] })] }),
      'virtualClusters[1]',
      /twice/,
    ],
    [
      'two clusters on one port',
      configuration({ virtualClusters: [cluster(), other] }),
      'virtualClusters[1]',
      /port 9292 is used by virtualClusters\[0\]/,
    ],
    [
      'a port that overlaps nodes of another',
      configuration({
        virtualClusters: [
          cluster(),
          cluster({ name: 'two', gateways: [portGateway({ bootstrapAddress: 'localhost:9295' })] }),
        ],
      }),
      'virtualClusters[1]',
      /port 9295/,
    ],
    [
      'the management port taken',
      withGateway(portGateway({ bootstrapAddress: 'localhost:9188' })),
      'management',
      /port 9190 is used by virtualClusters\[0\]/,
    ],
    [
      'a port both shared and of a cluster',
      configuration({
        virtualClusters: [
          cluster({ gateways: [portGateway({ bootstrapAddress: 'localhost:9291' })] }),
          cluster({ name: 'two', gateways: [sniGateway()] }),
        ],
      }),
      'virtualClusters[0]',
      /9291/,
    ],
    ['no gateways', withCluster({ gateways: [] }), 'virtualClusters[0].gateways', /at least 1/],
    [
      'two gateways of one name',
      withCluster({ gateways: [sniGateway(), sniGateway()] }),
      'virtualClusters[0].gateways[1]',
      /twice/,
    ],
    [
      'a gateway of both sorts',
      withGateway({ ...portGateway(), ...sniGateway(), name: 'x' }),
      'virtualClusters[0].gateways[0]',
      /exactly one/,
    ],
    [
      'host names without a key',
      withGateway(sniGateway({ tls: {} })),
      'virtualClusters[0].gateways[0].tls',
      /key is needed/,
    ],
    [
      'a pattern without node',
      withGateway(
        sniGateway({ sniHostIdentifiesNode: { bootstrapAddress: 'a:1', advertisedBrokerAddressPattern: 'b' } }),
      ),
      'virtualClusters[0].gateways[0].sniHostIdentifiesNode.advertisedBrokerAddressPattern',
      /nodeId/,
    ],
    [
      'a bootstrap address without port',
      withGateway(portGateway({ bootstrapAddress: 'localhost' })),
      'virtualClusters[0].gateways[0].portIdentifiesNode.bootstrapAddress',
      /needs a port/,
    ],
    [
      'a broker pattern with port',
      withGateway(portGateway({ advertisedBrokerAddressPattern: 'x:1' })),
      'virtualClusters[0].gateways[0].portIdentifiesNode.advertisedBrokerAddressPattern',
      /no port/,
    ],
    [
      'an unknown token',
      withGateway(portGateway({ advertisedBrokerAddressPattern: 'x-$(cluster)' })),
      'virtualClusters[0].gateways[0].portIdentifiesNode.advertisedBrokerAddressPattern',
      /token/,
    ],
    [
      'ranges that overlap',
      withGateway(
        portGateway({
          nodeIdRanges: [
            { name: 'a', start: 0, end: 5 },
            { name: 'b', start: 5, end: 6 },
          ],
        }),
      ),
      'virtualClusters[0].gateways[0].portIdentifiesNode.nodeIdRanges',
      /overlaps/,
    ],
    [
      'a range backwards',
      withGateway(portGateway({ nodeIdRanges: [{ name: 'a', start: 5, end: 0 }] })),
      'virtualClusters[0].gateways[0].portIdentifiesNode.nodeIdRanges[0]',
      /above/,
    ],
    [
      'ports past the last',
      withGateway(portGateway({ bootstrapAddress: 'localhost:65534' })),
      'virtualClusters[0].gateways[0].portIdentifiesNode',
      /65535 is the last/,
    ],
    [
      'a bootstrap port among its nodes',
      withGateway(portGateway({ nodeStartPort: 9290 })),
      'virtualClusters[0].gateways[0].portIdentifiesNode',
      /among the ports/,
    ],
    [
      'a target without port',
      withCluster({ targetCluster: { bootstrapServers: 'kafka' } }),
      'virtualClusters[0].targetCluster.bootstrapServers',
      /needs a port/,
    ],
    ['an unknown filter', withCluster({ filters: ['f'] }), 'virtualClusters[0].filters', /no filter definition "f"/],
    [
      'an unused filter',
      configuration({ filterDefinitions: [{ name: 'f', type: 'T' }] }),
      'filterDefinitions',
      /"f" is not used/,
    ],
    [
      'two filters of one name',
      configuration({
        filterDefinitions: [
          { name: 'f', type: 'T' },
          { name: 'f', type: 'U' },
        ],
        defaultFilters: ['f'],
      }),
      'filterDefinitions[1]',
      /twice/,
    ],
    [
      'a filter configuration that is no object',
      configuration({ filterDefinitions: [{ name: 'f', type: 'T', config: 'x' }], defaultFilters: ['f'] }),
      'filterDefinitions[0].config',
      /object/,
    ],
    [
      'a store that is unknown',
      withCluster({
        targetCluster: { bootstrapServers: 'a:1', tls: { trust: { storeFile: '/x', storeType: 'BKS' } } },
      }),
      'virtualClusters[0].targetCluster.tls.trust.storeType',
      /one of PEM/,
    ],
    [
      'an ISO duration',
      configuration({ network: { proxy: { shutdownTimeout: 'PT2S' } } }),
      'network.proxy.shutdownTimeout',
      /duration/,
    ],
    [
      'idle timeouts for management',
      configuration({ network: { management: { authenticatedIdleTimeout: '1s' } } }),
      'network.management.authenticatedIdleTimeout',
      /not a field/,
    ],
    [
      'no threads',
      configuration({ network: { proxy: { workerThreadCount: 0 } } }),
      'network.proxy.workerThreadCount',
      /from 1/,
    ],
  ];
  for (const [name, value, path, problem] of cases) {
    test(`${name}: the path and the problem are reported`, () => {
      const faults = validateConfiguration(value);
      const found = faults.find((fault) => fault.path === path);
      assert.ok(found, `expected a fault at ${path}, got ${JSON.stringify(faults)}`);
      assert.match(found.problem, problem);
    });
  }
});
