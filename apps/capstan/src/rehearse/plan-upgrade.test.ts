import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  type Clock,
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  conditions,
  Deployment,
  defineKind,
  discover,
  type KindOf,
  type KubeObject,
  object,
  Secret,
  string,
  systemClock,
} from '@capstan/kube';
import { apply, conditionType, operator, plan, reconciler } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  recordingTransport,
  startIncarnation,
  type TestCluster,
} from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import { FIELD_MANAGER } from '../install/apply.ts';
import { installationOf } from '../install/install-options.ts';
import { installationObjects } from '../install/manifests.ts';
import type { UpgradeReport } from './plan-upgrade.ts';

const made = conditionType<'Made' | 'Built'>('Ready');

/** One operator in two versions: the second one is stricter, labels pods, adds an object and reports another reason. */
function version(isNext: boolean) {
  const Site = defineKind({
    group: 'example.capstan.dev',
    version: 'v1',
    kind: 'Site',
    scope: 'Namespaced',
    spec: object({ image: isNext ? string({ pattern: '^[a-z]+:\\d+$' }) : string() }),
    status: object({ conditions: conditions() }),
  });
  const site = reconciler({
    name: 'site',
    resource: Site,
    reads: isNext ? [Secret] : [],
    writes: [Deployment, ConfigMap],
    reconcile({ object: { metadata, spec } }) {
      const { name = '', namespace = '' } = metadata;
      const labels = { site: name };
      const template = {
        metadata: { labels: { ...labels, ...(isNext && { tier: 'web' }) } },
        spec: { containers: [{ name: 'main', image: spec.image }] },
      };
      return plan({
        children: [
          apply(Deployment, { metadata: { name, namespace }, spec: { selector: { matchLabels: labels }, template } }),
          ...(isNext ? [apply(ConfigMap, { metadata: { name, namespace }, data: { image: spec.image } })] : []),
        ],
        conditions: [made.isTrue(isNext ? 'Built' : 'Made')],
      });
    },
  });
  return { Site, operator: operator({ name: 'sites', kinds: [Site], reconcilers: [site] }) };
}

const [installed, next] = [version(false), version(true)];
const modules = {
  '/home/user/sites.ts': { default: installed.operator },
  '/home/user/next.ts': { default: next.operator },
};

describe('capstan plan upgrade', () => {
  let cluster: TestCluster;
  before(async () => {
    const random = createRandom(1);
    cluster = await createTestCluster({ clock: systemClock, random, rbac: true });
    const { client } = cluster;
    const given = { flags: {}, operatorFlags: {} };
    const { foundations, workloads } = installationObjects(installationOf([installed.operator], given, undefined));
    for (const one of [...foundations, ...[...workloads.values()].flat()]) {
      const kind = (await discover(client, {})).kindOf(one.apiVersion, one.kind);
      assert.ok(kind);
      await client.apply(kind, one, { fieldManager: FIELD_MANAGER, force: true });
    }
    for (const [name, image] of [
      ['good', 'shop:1'],
      ['odd', 'Shop'],
    ])
      await client.create(installed.Site, {
        apiVersion: installed.Site.apiVersion,
        kind: installed.Site.kind,
        metadata: { namespace: 'default', name },
        spec: { image },
      } as KindOf<typeof installed.Site>);
    const program = startIncarnation({
      operators: [installed.operator],
      transport: cluster.transport(),
      clock: systemClock,
      random,
    });
    for (const name of ['good', 'odd'])
      while ((await client.find(installed.Site, { namespace: 'default', name }))?.status?.conditions === undefined)
        await systemClock.yield();
    await program.stop();
    await grant('reader', [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }]);
    await grant('half', [
      { apiGroups: ['example.capstan.dev', 'apps'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
    ]);
  });
  after(() => cluster.close());

  async function grant(name: string, rules: readonly object[]) {
    const { client } = cluster;
    await client.create(ClusterRole, { ...typed(ClusterRole), metadata: { name }, rules } as KubeObject);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }];
    const body = { ...typed(ClusterRoleBinding), metadata: { name }, roleRef, subjects } as KubeObject;
    await client.create(ClusterRoleBinding, body);
  }

  async function planned(module: string, user: string, ...flags: string[]) {
    const transport = recordingTransport(cluster.transport({ name: user, groups: ['system:authenticated'] }));
    const argv = ['plan', 'upgrade', '--operator', module, '--timeout', '5s', ...flags];
    const ran = await runTest(argv, { transport: () => transport, modules });
    assert.deepEqual(transport.writes, []);
    return ran;
  }

  test('prints one line and ends with 0 when the version changes nothing', async () => {
    const { code, out, err } = await planned('sites.ts', 'reader', '--exit-code');
    assert.equal(err, '');
    assert.match(
      out,
      /^Capstan \S+ → \S+ \(sites\): nothing in this cluster would change\. Nothing has been written\.\n$/,
    );
    assert.equal(code, 0);
  });

  test('shows the rollouts, objects, rights and statuses of another version, and ends with 3', async () => {
    const { code, out } = await planned('next.ts', 'reader', '--exit-code');
    assert.equal(code, 3);
    assert.match(out, /~ change Deployment default\/good \(rolls pods\) {2}by sites\.site for Site default\/good\n/);
    assert.match(out, / {6}spec\.template\.metadata\.labels\.tier: \+ "web"\n/);
    assert.match(out, /\+ create ConfigMap default\/good {2}by sites\.site/);
    assert.match(out, /~ change ClusterRole [^\n]*\n(?: {6}[^\n]*\n)* {6}\+ may get[^\n]* secrets\n/);
    assert.match(out, /~ 2 statuses of Site by sites\.site: conditions\n/);
  });

  test('names narrowed schemas and the stored objects that they would refuse', async () => {
    const { out } = await planned('next.ts', 'reader');
    assert.match(out, /The schema of Site accepts less:\n {2}~ v1: spec\.image: pattern was added/);
    assert.match(out, /1 stored object would be refused at the next edit:\n {2}! Site default\/odd: spec\.image: /);
    assert.doesNotMatch(out, /! Site default\/good/);
  });

  test('is one document for programs', async () => {
    const { out } = await planned('next.ts', 'reader', '-o', 'json');
    const report = JSON.parse(out) as UpgradeReport;
    assert.equal(report.differs, true);
    assert.deepEqual(
      report.schemas.map(({ kind, invalid }) => [kind, invalid.length]),
      [['Site', 1]],
    );
  });

  test('names everything that may not be read, answers the rest, and ends with 1', async () => {
    const { code, out } = await planned('next.ts', 'half', '--exit-code');
    assert.equal(code, 1);
    assert.match(out, /Not read:\n(?: {2}\? [^\n]*\n)* {2}\? ClusterRole capstan-sites: you may not read it\n/);
    assert.match(out, /\? ConfigMap: you may not read objects of this kind/);
    assert.match(out, /The schema of Site accepts less/);
  });

  test('leaves writes out that the running program may just have made, and prints their number', async () => {
    const late = { namespace: 'default', name: 'late' };
    const body = { ...typed(installed.Site), metadata: late, spec: { image: 'shop:1' } } as KubeObject;
    let created: Promise<unknown> | undefined;
    const clock: Clock = {
      ...systemClock,
      after(ms, run) {
        // The time between the two previews.
        if (ms === 2000) created ??= cluster.client.create<KubeObject>(installed.Site, body);
        return systemClock.after(ms, run);
      },
    };
    const transport = recordingTransport(cluster.transport({ name: 'reader', groups: ['system:authenticated'] }));
    const argv = ['plan', 'upgrade', '--operator', 'next.ts', '--timeout', '5s'];
    const { out } = await runTest(argv, { transport: () => transport, modules, clock });
    await created;
    await cluster.client.delete(installed.Site, late);
    assert.match(out, /the cluster changed during the rehearsal: \d+ writes/);
    assert.doesNotMatch(out, /default\/late/);
    assert.match(out, /~ change Deployment default\/good/);
  });

  test('a cluster without an installation has nothing to upgrade', async () => {
    const { code, err } = await planned('sites.ts', 'reader', '-n', 'default');
    assert.equal(code, 1);
    assert.match(err, /Capstan is not installed in the namespace default/);
  });
});

function typed({ apiVersion, kind }: { apiVersion: string; kind: string }) {
  return { apiVersion, kind };
}
