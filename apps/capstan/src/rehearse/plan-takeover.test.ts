import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import gimbal, { DiscoveryBackend } from '@capstan/gimbal';
import kroxylicious, { KafkaProxy, KafkaProxyIngress, KafkaService, VirtualKafkaCluster } from '@capstan/kroxylicious';
import {
  ConfigMap,
  Deployment,
  Endpoints,
  type Kind,
  type KubeObject,
  Namespace,
  Service,
  systemClock,
} from '@capstan/kube';
import { createRandom, createTestCluster, recordingTransport, type TestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import type { TakeoverReport } from './plan-takeover.ts';

const NAMESPACE = 'edge';
const LABELS = {
  'app.kubernetes.io/managed-by': 'kroxylicious-operator',
  'app.kubernetes.io/name': 'kroxylicious',
  'app.kubernetes.io/component': 'proxy',
  'app.kubernetes.io/instance': 'main',
};

/** A proxy as its original operator leaves it: a Deployment, a Service and two ConfigMaps, with references and without a controller. */
describe('capstan plan takeover', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [kroxylicious] });
    await create(Namespace, 'edge', {});
    await create(Namespace, 'kroxylicious-operator', {});
    const proxy = await create(KafkaProxy, 'main', { spec: {} });
    await create(KafkaService, 'upstream', { spec: { bootstrapServers: 'kafka:9092' } });
    const ingress = await create(KafkaProxyIngress, 'inside', {
      spec: { proxyRef: { name: 'main' }, clusterIP: { protocol: 'TCP' } },
    });
    const virtual = await create(VirtualKafkaCluster, 'orders', {
      spec: {
        proxyRef: { name: 'main' },
        targetKafkaServiceRef: { name: 'upstream' },
        ingresses: [{ ingressRef: { name: 'inside' } }],
      },
    });
    const ownerReferences = [proxy, virtual, ingress].map(({ apiVersion, kind, metadata: { name, uid } }) => ({
      apiVersion,
      kind,
      name,
      uid,
    }));
    const metadata = { labels: LABELS, ownerReferences };
    const template = {
      metadata: { labels: LABELS },
      spec: { containers: [{ name: 'proxy', image: 'quay.io/kroxylicious/proxy:1' }] },
    };
    await create(Deployment, 'main', { spec: { selector: { matchLabels: LABELS }, template } }, metadata);
    await create(Service, 'orders-inside-bootstrap', { spec: { ports: [{ name: 'a', port: 9292 }] } }, metadata);
    for (const name of ['main-proxy-config', 'main-config-state'])
      await create(ConfigMap, name, { data: {} }, metadata);
    const labels = { app: 'kroxylicious' };
    await create(
      Deployment,
      'kroxylicious-operator',
      {
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: 'operator', image: 'quay.io/kroxylicious/operator:0.24.0' }] },
          },
        },
      },
      { namespace: 'kroxylicious-operator' },
    );
  });
  after(() => cluster.close());

  function create(kind: Kind, name: string, parts: object, metadata: object = {}): Promise<KubeObject> {
    const place = kind.scope === 'Cluster' ? { name } : { namespace: NAMESPACE, name };
    const { apiVersion } = kind;
    return cluster.client.create(kind, {
      apiVersion,
      kind: kind.kind,
      metadata: { ...place, ...metadata },
      ...parts,
    });
  }

  async function planned(...argv: string[]) {
    const transport = recordingTransport(cluster.transport());
    const ran = await runTest(['plan', 'takeover', ...argv], { transport: () => transport });
    assert.deepEqual(transport.writes, []);
    return ran;
  }

  test('names the objects that are adopted, changed, left alone and without a counterpart, and the order', async () => {
    const { code, out, err } = await planned('kroxylicious');
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.match(
      out,
      /^kroxylicious in the place of kroxylicious \(Deployment kroxylicious-operator\/kroxylicious-operator\)\n/,
    );
    assert.match(out, /Adopted and changed:\n(?: [^\n]*\n)* {2}~ Deployment edge\/main \(rolls pods\)\n/);
    assert.match(out, /Left alone:\n(?: [^\n]*\n)* {2}= 1 VirtualKafkaCluster {2}edge\/orders\n/);
    assert.match(
      out,
      /Without a counterpart[^\n]*:\n {2}- ConfigMap edge\/main-config-state\n {2}- ConfigMap edge\/main-proxy-config\n/,
    );
    assert.match(
      out,
      /In this order:\n {2}1\. stop it: kubectl -n kroxylicious-operator scale deployment\/kroxylicious-operator --replicas=0\n {2}2\. capstan install --operators kroxylicious\n/,
    );
  });

  test('is one document for programs', async () => {
    const { out } = await planned('kroxylicious', '-o', 'json');
    const { changed, unchanged, programs } = JSON.parse(out) as TakeoverReport;
    assert.deepEqual(programs, ['Deployment kroxylicious-operator/kroxylicious-operator']);
    const names = [...new Set([...unchanged, ...changed.map(({ object }) => object)])].toSorted();
    assert.deepEqual(names, ['Deployment edge/main', 'Service edge/orders-inside-bootstrap']);
  });

  test('an unknown original is refused with the names of those that are known', async () => {
    const { code, err } = await planned('kraken');
    assert.equal(code, 2);
    assert.match(err, /name one of contour, submariner, kroxylicious, gimbal, crossplane/);
  });
});

test('objects that a discoverer takes over are kept, and those of a backend without a DiscoveryBackend are not', async () => {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [gimbal] });
  try {
    await cluster.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
    for (const [name, label, backend] of [
      ['east-web', 'gimbal.projectcontour.io/backend', 'east'],
      ['east-api', 'gimbal.heptio.com/backend', 'east'],
      ['west-web', 'gimbal.projectcontour.io/backend', 'west'],
    ] as const)
      for (const kind of [Service, Endpoints])
        await cluster.client.create<KubeObject>(kind, {
          apiVersion: 'v1',
          kind: kind.kind,
          metadata: { namespace: 'team', name, labels: { [label]: backend } },
          ...(kind === Service && { spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80 }] } }),
        });
    const backend = {
      apiVersion: DiscoveryBackend.apiVersion,
      kind: DiscoveryBackend.kind,
      metadata: { namespace: 'team', name: 'east' },
      spec: { type: 'kubernetes', secret: 'remote' },
    };
    const { code, out, err } = await runTest(
      ['plan', 'takeover', 'gimbal', '-f', 'b.json', '-o', 'json', '--offline'],
      {
        transport: cluster.transport,
        files: { '/home/user/b.json': JSON.stringify(backend) },
      },
    );
    assert.equal(code, 0, err);
    const { takenLater, withoutCounterpart } = JSON.parse(out) as TakeoverReport;
    const objects = ['Endpoints', 'Service'].flatMap((kind) => [`${kind} team/east-api`, `${kind} team/east-web`]);
    assert.deepEqual(takenLater, objects);
    assert.deepEqual(withoutCounterpart, ['Endpoints team/west-web', 'Service team/west-web']);
  } finally {
    await cluster.close();
  }
});
