import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { conditions, Deployment, defineKind, discover, object, string, systemClock } from '@capstan/kube';
import { apply, conditionType, operator, plan, reconciler } from '@capstan/reconcile';
import { assertReport, createRandom, createTestCluster, startIncarnation } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import { installationOf } from '../install/install-options.ts';
import { installationObjects } from '../install/manifests.ts';
import { REPORT_SCHEMAS, reportSchemaDocument } from './report-schemas.ts';

const DOCUMENT = new URL('../../../../docs/cli-output.schema.json', import.meta.url);

test('docs/cli-output.schema.json is what the schemas give', () => {
  const text = JSON.stringify(reportSchemaDocument(), undefined, 2);
  if (process.env['UPDATE'] === '1') writeFileSync(DOCUMENT, `${text}\n`);
  const remedy = 'run this test with UPDATE=1 to write it, then npm run format';
  assert.deepEqual(JSON.parse(readFileSync(DOCUMENT, 'utf8')), JSON.parse(text), remedy);
});

const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ image: string() }),
  status: object({ conditions: conditions() }),
});
const ready = conditionType<'Waiting'>('Ready');
const site = reconciler({
  name: 'site',
  resource: Site,
  writes: [Deployment],
  reconcile({ object: { metadata, spec } }) {
    const { name = '', namespace = '' } = metadata;
    const labels = { site: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: spec.image }] } };
    return plan({
      children: [
        apply(Deployment, { metadata: { name, namespace }, spec: { selector: { matchLabels: labels }, template } }),
      ],
      conditions: [ready.isFalse('Waiting', 'for something')],
    });
  },
});
const sites = operator({ name: 'sites', kinds: [Site], reconcilers: [site] });

test('the output of commands with -o json has exactly the documented fields', async () => {
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock: systemClock, random, operators: [sites] });
  const home = { namespace: 'default', name: 'home' };
  const manifest = { apiVersion: Site.apiVersion, kind: Site.kind, metadata: home, spec: { image: 'a:1' } };
  await cluster.client.create(Site, manifest);
  const program = startIncarnation({ operators: [sites], transport: cluster.transport(), clock: systemClock, random });
  while ((await cluster.client.find(Site, home))?.status?.conditions === undefined) await systemClock.yield();
  await program.stop();
  const { foundations, workloads } = installationObjects(
    installationOf([sites], { flags: {}, operatorFlags: {} }, undefined),
  );
  const served = await discover(cluster.client, {});
  for (const one of [...foundations, ...[...workloads.values()].flat()]) {
    const kind = served.kindOf(one.apiVersion, one.kind);
    if (kind !== undefined) await cluster.client.apply(kind, one, { fieldManager: 'capstan-install', force: true });
  }
  const files = { '/home/user/change.yaml': JSON.stringify({ ...manifest, spec: { image: 'a:2' } }) };
  const modules = { '/home/user/s.ts': { default: sites } };
  const lines: Record<keyof typeof REPORT_SCHEMAS, string[]> = {
    status: ['status', '--operator', 's.ts'],
    plan: ['plan', '--operator', 's.ts', '-f', 'change.yaml'],
    'plan upgrade': ['plan', 'upgrade', '--operator', 's.ts'],
    'plan takeover': ['plan', 'takeover', 'kroxylicious', '--operator', 's.ts', '--operators', 'sites'],
    why: ['why', 'deployment/home'],
    tree: ['tree', 'site/home', '--operator', 's.ts'],
    check: ['check', '--operator', 's.ts'],
    version: ['version'],
  };
  for (const [name, schema] of Object.entries(REPORT_SCHEMAS)) {
    const argv = [...lines[name as keyof typeof REPORT_SCHEMAS], '-o', 'json'];
    const { code, out, err } = await runTest(argv, { transport: cluster.transport, files, modules });
    // The pods of the installation have no node.
    assert.deepEqual([code, err], [name === 'check' ? 1 : 0, '']);
    const printed = JSON.parse(out) as object;
    assertReport(schema, printed, name);
    assert.ok(Object.keys(printed).length > 1);
  }
  await cluster.close();
});
