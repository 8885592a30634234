// The seed's table: which reconciler looks at what. A reconciler may read its own kind, what the table lets it watch, and the
// nodes of the tree that it aggregates; the nodes themselves may read no more than the reconciler that they belong to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KubeObject, systemClock } from '@capstan/kube';
import { evaluate } from '@capstan/reconcile';
import { createKroxylicious } from '../src/index.ts';
import {
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
const objects: KubeObject[] = [
  proxy(),
  service({
    bootstrapServers: 'kafka:9092',
    tls: {
      certificateRef: { name: 'client', kind: 'Secret', group: '' },
      trustAnchorRef: { name: 'ca', key: 'ca.pem', kind: 'ConfigMap', group: '' },
    },
  }),
  tcpIngress(),
  tlsIngress(),
  filter({ a: '${secret:kms:password}' }),
  opaque('kms', { password: 'correct horse' }),
  configMap('ca', { 'ca.pem': issued.ca }),
  tlsSecret('client', issued),
  tlsSecret('server', issued),
  cluster('one', { filterRefs: [{ name: 'encryption' }] }),
  cluster('two', {
    ingresses: [
      { ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server', kind: 'Secret', group: '' } } },
    ],
  }),
].map((object) => ({
  ...object,
  metadata: { ...object.metadata, uid: `uid of ${object.metadata.name}`, generation: 1 },
}));

/** What each reconciler read, without the names of objects. */
function readsByReconciler(): Map<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { reconciler, plan, reads } of evaluate({
    operator: createKroxylicious(),
    objects,
    clock: systemClock,
    unknown: ['Kafka.kafka.strimzi.io'],
  })) {
    assert.equal(plan.state, 'value', `${reconciler.name}: ${JSON.stringify(plan)}`);
    const known = found.get(reconciler.name) ?? new Set();
    for (const read of reads) known.add(read.replace(/ default\/.*/, '').replace(/ \{.*/, ''));
    found.set(reconciler.name, known);
  }
  return found;
}

describe('what each reconciler reads', () => {
  const reads = readsByReconciler();
  const SECRETS = ['Secret', 'ConfigMap'];

  test('every reconciler was run', () => assert.equal(reads.size, 5));

  test('is something, so that the rest of this can fail', () => {
    for (const [name, read] of reads) assert.ok(read.size > 0, name);
  });

  test('for KafkaProxy: clusters, and no Secret, filter or service', () => {
    const read = [...(reads.get('kafka-proxy') ?? [])];
    assert.deepEqual(
      read.filter((one) => /Secret|ConfigMap|KafkaService|KafkaProtocolFilter|Kafka\./.test(one)),
      [],
    );
    assert.ok(
      read.some((one) => one.startsWith('VirtualKafkaCluster')),
      read.join('\n'),
    );
  });

  test('for the leaves: neither clusters nor each other', () => {
    const leaves = {
      'kafka-protocol-filter': 'KafkaProtocolFilter',
      'kafka-service': 'KafkaService',
      'kafka-proxy-ingress': 'KafkaProxyIngress',
    };
    for (const [name, own] of Object.entries(leaves)) {
      const others = [
        'VirtualKafkaCluster',
        'KafkaProtocolFilter',
        'KafkaService',
        'KafkaProxyIngress',
        'Deployment',
        'ReplicaSet',
      ].filter((kind) => kind !== own);
      const wrong = [...(reads.get(name) ?? [])].filter((one) => others.some((other) => one.startsWith(other)));
      assert.deepEqual(wrong, [], name);
    }
  });

  test('for VirtualKafkaCluster: what its nodes say, and no Secret directly', () => {
    const read = [...(reads.get('virtual-kafka-cluster') ?? [])];
    assert.deepEqual(
      read.filter((one) => SECRETS.includes(one)),
      [],
    );
  });

  test('is declared: no reconciler may read more than it names, and KafkaProxy names no Secret, filter or service', () => {
    const declared = Object.fromEntries(
      createKroxylicious().reconcilers.map(({ name, reads: own }) => [name, own.map(({ kind }) => kind.kind)]),
    );
    assert.deepEqual(declared, {
      'kafka-protocol-filter': ['Secret', 'ConfigMap'],
      'kafka-service': ['Secret', 'ConfigMap', 'Kafka'],
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
        'Deployment',
        'ReplicaSet',
      ],
      'kafka-proxy': ['VirtualKafkaCluster', 'Deployment', 'ReplicaSet'],
    });
  });
});
