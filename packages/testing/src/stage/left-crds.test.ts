import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CustomResourceDefinition, createClient, defineKind, object, silentLogger, string } from '@capstan/kube';
import { createTestCluster, type TestCluster } from '../cluster.ts';
import { createRandom } from '../random.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { type LeftCrds, openCrds } from './left-crds.ts';

const kindCalled = (kind: string, field = 'text') =>
  defineKind({
    group: 'example.org',
    version: 'v1',
    kind,
    scope: 'Namespaced',
    spec: object({ [field]: string() }),
  });
const crdOf = (kind: string, field?: string) => kindCalled(kind, field).crd();
const Own = crdOf('Own');
const names = async ({ client }: TestCluster) =>
  (await client.list(CustomResourceDefinition)).items.map(({ metadata }) => metadata.name);
const uidOf = async ({ client }: TestCluster, { metadata }: CustomResourceDefinition) =>
  (await client.get(CustomResourceDefinition, { name: metadata.name ?? '' })).metadata.uid;

async function onServer(check: (cluster: TestCluster, open: () => Promise<Opened>) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock, random, operators: [] });
  const left: LeftCrds = new Map();
  try {
    await check(cluster, async () => {
      const { begin, serving } = await openCrds(cluster.client, left, [Own]);
      const transport = serving(cluster.transport());
      return { begin, client: createClient({ transport, clock, random, logger: silentLogger }) };
    });
  } finally {
    await cluster.close();
  }
}

interface Opened {
  begin(): Promise<void>;
  client: ReturnType<typeof createClient>;
}

test('kinds that the next stage wants too stay, and what is of them goes, wherever it is', () =>
  onServer(async (cluster, open) => {
    const first = await open();
    await first.client.create(CustomResourceDefinition, crdOf('Web'));
    await first.begin();
    const uids = [await uidOf(cluster, Own), await uidOf(cluster, crdOf('Web'))];
    const Web = kindCalled('Web');
    for (const namespace of ['default', 'kube-public', 'kube-system']) {
      const metadata = { namespace, name: 'w', finalizers: ['example.org/held'] };
      await cluster.client.create(Web, { apiVersion: Web.apiVersion, kind: 'Web', metadata, spec: { text: 'a' } });
    }
    const second = await open();
    const claimed = await second.client.create(CustomResourceDefinition, crdOf('Web'));
    await second.begin();
    assert.deepEqual([await uidOf(cluster, Own), claimed.metadata.uid], uids);
    assert.deepEqual((await cluster.client.list(Web)).items, []);
    // It is there by now: it can be claimed once.
    await assert.rejects(second.client.create(CustomResourceDefinition, crdOf('Web')), /already exists/);
  }));

test('a kind that no test has claimed is gone when the program starts', () =>
  onServer(async (cluster, open) => {
    const first = await open();
    await first.client.create(CustomResourceDefinition, crdOf('Web'));
    const second = await open();
    await second.begin();
    assert.deepEqual(await names(cluster), ['owns.example.org']);
  }));

test('a reader that looks before that does not see it either', () =>
  onServer(async (_cluster, open) => {
    const first = await open();
    await first.client.create(CustomResourceDefinition, crdOf('Web'));
    const second = await open();
    assert.equal(await second.client.find(CustomResourceDefinition, { name: 'webs.example.org' }), undefined);
  }));

test('one that was changed meanwhile is recreated, and so is one that should be different', () =>
  onServer(async (cluster, open) => {
    const first = await open();
    await first.client.create(CustomResourceDefinition, crdOf('Web'));
    await first.begin();
    const uids = [await uidOf(cluster, Own), await uidOf(cluster, crdOf('Web'))];
    const own = structuredClone(await first.client.get(CustomResourceDefinition, { name: 'owns.example.org' }));
    own.spec.names.shortNames = ['o'];
    await first.client.update(CustomResourceDefinition, own);
    const second = await open();
    await second.client.create(CustomResourceDefinition, crdOf('Web', 'other'));
    await second.begin();
    assert.notEqual(await uidOf(cluster, Own), uids[0]);
    assert.notEqual(await uidOf(cluster, crdOf('Web')), uids[1]);
    const { spec } = await cluster.client.get(CustomResourceDefinition, { name: 'webs.example.org' });
    const properties = spec.versions[0]?.schema?.openAPIV3Schema?.properties?.['spec']?.properties ?? {};
    assert.deepEqual(Object.keys(properties), ['other']);
  }));
