// The seed's table: which reconciler reads what. A reconciler reads its own kind, what the table lets it watch, and the
// nodes of the tree that it aggregates; and each node reads no more than the reconciler that it belongs to.
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

/** Every kind of reference that there is. */
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
  /** Kinds of objects. */
  readonly kinds: Set<string>;
  /** Nodes of the tree. */
  readonly nodes: Set<string>;
}

/** What each reconciler and each node of the tree read, without the names of objects. */
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

/** The key that Secret data is hashed with, the clock, and what the server serves: no resources. */
const SURROUNDINGS = ['digest', 'time', 'access'];

const ALLOWED: Record<string, { kinds: string[]; nodes: string[] }> = {
  // Leaves: what they refer to themselves.
  'kafka-protocol-filter': { kinds: ['KafkaProtocolFilter'], nodes: ['KafkaProtocolFilter'] },
  KafkaProtocolFilter: { kinds: ['KafkaProtocolFilter', 'Secret', 'ConfigMap'], nodes: [] },
  'kafka-service': { kinds: ['KafkaService'], nodes: ['KafkaService'] },
  KafkaService: { kinds: ['KafkaService', 'Secret', 'ConfigMap', 'Kafka', 'KafkaV1beta2'], nodes: [] },
  'kafka-proxy-ingress': { kinds: ['KafkaProxyIngress'], nodes: ['KafkaProxyIngress'] },
  KafkaProxyIngress: { kinds: ['KafkaProxyIngress', 'KafkaProxy'], nodes: [] },
  // Leaf and aggregator: filters, services and ingresses by their nodes; its own certificates itself.
  'virtual-kafka-cluster': {
    // Of Secrets the version, for a lost digest key, and whether its snapshots are there.
    kinds: ['VirtualKafkaCluster', 'KafkaProxy', 'Deployment', 'ReplicaSet', 'Service', 'Secret'],
    nodes: ['VirtualKafkaCluster', 'KafkaProxyIngress', 'platform', 'broken clusters of KafkaProxy'],
  },
  VirtualKafkaCluster: {
    kinds: ['VirtualKafkaCluster', 'KafkaProxy', 'Secret', 'ConfigMap'],
    nodes: ['KafkaService', 'KafkaProtocolFilter', 'KafkaProxyIngress', 'network of VirtualKafkaCluster'],
  },
  'network of VirtualKafkaCluster': { kinds: ['VirtualKafkaCluster'], nodes: ['network of KafkaProxy'] },
  'demand of VirtualKafkaCluster': { kinds: ['VirtualKafkaCluster'], nodes: ['KafkaService', 'KafkaProxyIngress'] },
  // The aggregator: clusters by their nodes, and of ingresses the annotations of the one load balancer.
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

describe('what is read', () => {
  const reads = allReads();

  test('is known of every reconciler and every node, so that the rest of this can fail', () => {
    assert.deepEqual([...reads.keys()].toSorted(), Object.keys(ALLOWED).toSorted());
    for (const [name, { kinds, nodes }] of reads) assert.ok(kinds.size + nodes.size > 0, name);
    assert.ok(reads.get('KafkaService')?.kinds.has('Secret'));
    assert.ok(reads.get('KafkaService')?.kinds.has('Kafka'));
    assert.ok(reads.get('VirtualKafkaCluster')?.kinds.has('Secret'));
  });

  for (const [name, allowed] of Object.entries(ALLOWED)) {
    test(`by ${name} is no more than the seed’s table lets it`, () => {
      const { kinds, nodes } = reads.get(name) ?? { kinds: new Set<string>(), nodes: new Set<string>() };
      const beyond = (found: Set<string>, allow: string[]) => [...found].filter((one) => !allow.includes(one));
      assert.deepEqual(beyond(kinds, [...allowed.kinds, ...SURROUNDINGS]), []);
      assert.deepEqual(beyond(nodes, allowed.nodes), []);
    });
  }

  test('by the aggregator is no Secret, ConfigMap, filter or service, neither itself nor by its own nodes', () => {
    for (const name of ['kafka-proxy', 'network of KafkaProxy', 'broken clusters of KafkaProxy']) {
      const { kinds = new Set(), nodes = new Set() } = reads.get(name) ?? {};
      for (const forbidden of ['Secret', 'ConfigMap', 'KafkaProtocolFilter', 'KafkaService', 'Kafka', 'KafkaV1beta2'])
        assert.ok(!kinds.has(forbidden) && !nodes.has(forbidden), `${name} reads ${forbidden}`);
    }
  });

  test('is declared: no reconciler may read more than it names', () => {
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
