// The seed's table of reads. A reconciler reads its own kind, the kinds that the table lets it watch, and the nodes of the tree that it
// aggregates. A node reads no more than the reconciler that it belongs to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KubeObject, systemClock } from '@capstan/kube';
import { evaluate } from '@capstan/reconcile';
import { createKroxylicious } from '../src/index.ts';
import {
  balancerIngress,
  certificate,
  cluster,
  configMap,
  filter,
  opaque,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const issued = await certificate();
const certificateRef = { name: 'server', kind: 'Secret', group: '' };
const strimziRef = { name: 'kafka', listenerName: 'tls', kind: 'Kafka', group: 'kafka.strimzi.io' };

/** Objects with every kind of reference. */
const objects: KubeObject[] = [
  proxy(),
  proxy({ isolation: 'VirtualCluster' }, 'isolating'),
  service({
    bootstrapServers: 'kafka:9092',
    tls: {
      certificateRef: { name: 'client', kind: 'Secret', group: '' },
      trustAnchorRef: { name: 'ca', key: 'ca.pem', kind: 'ConfigMap', group: '' },
    },
  }),
  service({ strimziKafkaRef: strimziRef }, 'strimzi'),
  {
    apiVersion: 'kafka.strimzi.io/v1',
    kind: 'Kafka',
    metadata: { namespace: 'default', name: 'kafka' },
    spec: { kafka: { listeners: [{ name: 'tls' }] } },
    status: { listeners: [{ name: 'tls', bootstrapServers: 'strimzi:9093' }] },
  } as KubeObject,
  tcpIngress(),
  tlsIngress(),
  balancerIngress(),
  tcpIngress('theirs', 'isolating'),
  filter({ a: '${secret:kms:password}', b: '${configmap:rules:rules}' }),
  opaque('kms', { password: 'correct horse' }),
  configMap('rules', { rules: 'all' }),
  configMap('ca', { 'ca.pem': issued.ca }),
  tlsSecret('client', issued),
  tlsSecret('server', issued),
  cluster('one', { filterRefs: [{ name: 'encryption' }] }),
  cluster('two', {
    ingresses: [
      { ingressRef: { name: 'tls' }, tls: { certificateRef } },
      { ingressRef: { name: 'outside' }, tls: { certificateRef } },
    ],
  }),
  cluster('three', {
    proxyRef: { name: 'isolating' },
    targetKafkaServiceRef: { name: 'strimzi' },
    ingresses: [{ ingressRef: { name: 'theirs' } }],
  }),
].map((object) => ({
  ...object,
  metadata: { ...object.metadata, uid: `uid of ${object.metadata.name}`, generation: 1 },
}));

interface Reads {
  /** The kinds of objects that it reads. */
  readonly kinds: Set<string>;
  /** The nodes of the tree that it reads. */
  readonly nodes: Set<string>;
}

/** Returns the reads of each reconciler and each node of the tree, without the names of objects. */
function allReads(): Map<string, Reads> {
  const found = new Map<string, Reads>();
  const note = (by: string, reads: readonly string[]) => {
    const known = found.get(by) ?? { kinds: new Set(), nodes: new Set() };
    found.set(by, known);
    for (const read of reads) {
      const node = nodeOf(read);
      if (node !== undefined) known.nodes.add(node);
      else known.kinds.add(read.replace(/[/[ .].*/, ''));
    }
  };
  for (const { reconciler, key, plan, reads, derived } of evaluate({
    operator: createKroxylicious(),
    objects,
    clock: systemClock,
    access: {
      'Route.route.openshift.io': 'not-served',
      'SecurityContextConstraints.security.openshift.io': 'not-served',
    },
  })) {
    assert.equal(plan.state, 'value', `${reconciler.name} ${key}: ${JSON.stringify(plan)}`);
    note(reconciler.name, reads);
    for (const one of derived) note(nodeOf(one.node) ?? '', one.reads);
  }
  return found;
}

function nodeOf(source: string): string | undefined {
  return /^(.*?)\(.*\)$/.exec(source)?.[1];
}

/** Reads that are no resources: the key of digests of Secrets, the clock, and the APIs that the server serves. */
const SURROUNDINGS = ['digest', 'time', 'access'];

const ALLOWED: Record<string, { kinds: string[]; nodes: string[] }> = {
  // A leaf reads the objects that it references.
  'kafka-protocol-filter': { kinds: ['KafkaProtocolFilter'], nodes: ['KafkaProtocolFilter'] },
  KafkaProtocolFilter: { kinds: ['KafkaProtocolFilter', 'Secret', 'ConfigMap'], nodes: [] },
  'kafka-service': { kinds: ['KafkaService'], nodes: ['KafkaService'] },
  KafkaService: { kinds: ['KafkaService', 'Secret', 'ConfigMap', 'Kafka', 'KafkaV1beta2'], nodes: [] },
  'kafka-proxy-ingress': { kinds: ['KafkaProxyIngress'], nodes: ['KafkaProxyIngress'] },
  KafkaProxyIngress: { kinds: ['KafkaProxyIngress', 'KafkaProxy'], nodes: [] },
  // A VirtualKafkaCluster is leaf and aggregator: it reads the nodes of filters, services and ingresses, and its own certificates.
  'virtual-kafka-cluster': {
    // It reads the versions of Secrets, for a lost digest key, and the existence of its snapshots.
    kinds: ['VirtualKafkaCluster', 'KafkaProxy', 'Deployment', 'ReplicaSet', 'Service', 'Secret'],
    nodes: ['VirtualKafkaCluster', 'KafkaProxyIngress', 'platform', 'broken clusters of KafkaProxy'],
  },
  VirtualKafkaCluster: {
    kinds: ['VirtualKafkaCluster', 'KafkaProxy', 'Secret', 'ConfigMap'],
    nodes: ['KafkaService', 'KafkaProtocolFilter', 'KafkaProxyIngress', 'network of VirtualKafkaCluster'],
  },
  'network of VirtualKafkaCluster': { kinds: ['VirtualKafkaCluster'], nodes: ['network of KafkaProxy'] },
  'demand of VirtualKafkaCluster': { kinds: ['VirtualKafkaCluster'], nodes: ['KafkaService', 'KafkaProxyIngress'] },
  // The aggregator reads the nodes of clusters, and the annotations of ingresses for the shared load balancer.
  'kafka-proxy': {
    kinds: ['KafkaProxy', 'VirtualKafkaCluster', 'Deployment', 'ReplicaSet', 'Pod'],
    nodes: [
      'VirtualKafkaCluster',
      'KafkaProxyIngress',
      'network of KafkaProxy',
      'platform',
      'broken clusters of KafkaProxy',
    ],
  },
  'network of KafkaProxy': { kinds: ['KafkaProxy', 'VirtualKafkaCluster'], nodes: ['demand of VirtualKafkaCluster'] },
  'broken clusters of KafkaProxy': { kinds: ['VirtualKafkaCluster'], nodes: ['VirtualKafkaCluster'] },
  platform: { kinds: [], nodes: [] },
};

describe('the reads', () => {
  const reads = allReads();

  test('the reads of every reconciler and every node are known, so that the tests below can fail', () => {
    assert.deepEqual([...reads.keys()].toSorted(), Object.keys(ALLOWED).toSorted());
    for (const [name, { kinds, nodes }] of reads) assert.ok(kinds.size + nodes.size > 0, name);
    assert.ok(reads.get('KafkaService')?.kinds.has('Secret'));
    assert.ok(reads.get('KafkaService')?.kinds.has('Kafka'));
    assert.ok(reads.get('VirtualKafkaCluster')?.kinds.has('Secret'));
  });

  for (const [name, allowed] of Object.entries(ALLOWED)) {
    test(`the reads of ${name} are in the seed’s table`, () => {
      const { kinds, nodes } = reads.get(name) ?? { kinds: new Set<string>(), nodes: new Set<string>() };
      const beyond = (found: Set<string>, allow: string[]) => [...found].filter((one) => !allow.includes(one));
      assert.deepEqual(beyond(kinds, [...allowed.kinds, ...SURROUNDINGS]), []);
      assert.deepEqual(beyond(nodes, allowed.nodes), []);
    });
  }

  test('the reads of the aggregator contain no Secret, ConfigMap, filter or service, directly or by its own nodes', () => {
    for (const name of ['kafka-proxy', 'network of KafkaProxy', 'broken clusters of KafkaProxy']) {
      const { kinds = new Set(), nodes = new Set() } = reads.get(name) ?? {};
      for (const forbidden of ['Secret', 'ConfigMap', 'KafkaProtocolFilter', 'KafkaService', 'Kafka', 'KafkaV1beta2'])
        assert.ok(!kinds.has(forbidden) && !nodes.has(forbidden), `${name} reads ${forbidden}`);
    }
  });

  test('the reads of every reconciler are declared', () => {
    const declared = Object.fromEntries(
      createKroxylicious().reconcilers.map(({ name, reads: own }) => [name, own.map(({ kind }) => kind.kind)]),
    );
    assert.deepEqual(declared, {
      'kafka-protocol-filter': ['Secret', 'ConfigMap'],
      'kafka-service': ['Secret', 'ConfigMap', 'Kafka', 'KafkaV1beta2'],
      'kafka-proxy-ingress': ['KafkaProxy'],
      'virtual-kafka-cluster': [
        'KafkaProxy',
        'KafkaService',
        'KafkaProtocolFilter',
        'KafkaProxyIngress',
        'Secret',
        'ConfigMap',
        'Service',
        'Route',
        'SecurityContextConstraints',
        'Deployment',
        'ReplicaSet',
      ],
      'kafka-proxy': ['VirtualKafkaCluster', 'Deployment', 'ReplicaSet', 'Pod', 'SecurityContextConstraints'],
      'kroxylicious-sidecar-config': ['Deployment', 'MutatingWebhookConfiguration'],
      'sidecar-webhook': [
        'CustomResourceDefinition',
        'KroxyliciousSidecarConfig',
        'Secret',
        'Deployment',
        'MutatingWebhookConfiguration',
      ],
    });
  });
});
