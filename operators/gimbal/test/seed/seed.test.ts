// The seed document's own examples and its overview of the resource, taken as they stand.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type Client, type KubeObject, Namespace } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { parseAllDocuments } from 'yaml';
import { Discoverer, Discovery, DiscoveryBackend } from '../../src/index.ts';
import { createGimbal } from '../../src/operator.ts';

const textOf = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const [openstack, kubernetes] = parseAllDocuments(textOf('examples.yaml')).map(
  (document) => document.toJS() as KubeObject,
);
const NAMESPACE = 'gimbal-discovery';

async function withNamespace(client: Client): Promise<void> {
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
}

describe('the examples', () => {
  test('are accepted under the kinds and groups that they name, and never rewritten', async () => {
    const stage = await createStage({
      operators: [createGimbal()],
      async given(client) {
        await withNamespace(client);
        await client.create(Discoverer, openstack as Discoverer);
        await client.create(Discovery, kubernetes as Discovery);
      },
    });
    const first = await stage.client.get(Discoverer, { namespace: NAMESPACE, name: 'openstack001' });
    const second = await stage.client.get(Discovery, { namespace: NAMESPACE, name: 'kubernetes001' });
    for (const [found, written] of [
      [first, openstack],
      [second, kubernetes],
    ] as const) {
      assert.deepEqual((found as { cluster?: unknown }).cluster, (written as { cluster?: unknown }).cluster);
      assert.equal((found as { spec?: unknown }).spec, undefined);
      assert.equal(found.status?.conditions?.find(({ type }) => type === 'Accepted')?.status, 'True');
    }
    const shown = ({ status }: typeof first) => {
      const { type, secret, refreshInterval, clusterStatus, debug, backendName } = status?.effective ?? {};
      return { type, secret, refreshInterval, clusterStatus, debug, backendName };
    };
    assert.deepEqual(shown(first), {
      type: 'openstack',
      secret: 'remote-discover-openstack',
      refreshInterval: 30,
      clusterStatus: 'Enabled',
      debug: false,
      backendName: 'openstack001',
    });
    assert.deepEqual(shown(second), {
      type: 'kubernetes',
      secret: 'kubernetes001-kubecfg',
      refreshInterval: 1800,
      clusterStatus: 'Enabled',
      debug: false,
      backendName: 'kubernetes001',
    });
    stage.transport.clear();
    await stage.restart();
    assert.deepEqual(stage.transport.writes, []);
    await stage.end();
  });

  test('say the same as a DiscoveryBackend, which is what the text calls it', async () => {
    const { metadata, ...rest } = { ...openstack, kind: 'DiscoveryBackend', apiVersion: DiscoveryBackend.apiVersion };
    assert.deepEqual(DiscoveryBackend.validate({ ...rest, metadata }), []);
    assert.equal(
      (await import('../../src/backend/normalize.ts')).normalise({ ...rest, metadata } as DiscoveryBackend).faults
        .length,
      0,
    );
  });
});

test('every field of the overview is a field of the resource, with every value that it names', () => {
  const overview = JSON.parse(textOf('overview.json')) as {
    apiVersion: string;
    kind: string;
    cluster: Record<string, unknown> & { type: string[]; clusterStatus: string[] };
    status: { errors: string[] };
  };
  assert.deepEqual([DiscoveryBackend.apiVersion, DiscoveryBackend.kind], [overview.apiVersion, overview.kind]);
  for (const type of overview.cluster.type)
    for (const clusterStatus of overview.cluster.clusterStatus) {
      const cluster = { type, secret: 'credentials', refreshInterval: 30, debug: true, clusterStatus };
      assert.deepEqual(Object.keys(cluster), Object.keys(overview.cluster));
      const backend = {
        apiVersion: overview.apiVersion,
        kind: overview.kind,
        metadata: { name: 'a', namespace: 'b' },
        cluster,
      };
      assert.deepEqual(DiscoveryBackend.validate(backend), []);
    }
  const errors = DiscoveryBackend.schema.properties?.['status']?.properties?.['errors'];
  assert.deepEqual(
    errors?.items && 'required' in errors.items ? errors.items.required : undefined,
    overview.status.errors,
  );
});
