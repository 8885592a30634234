// Operators that are installed in an embedded cluster run there as processes, from the same manifests that a real one gets.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { Lock } from '@capstan/crossplane';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  connect,
  createClient,
  Deployment,
  type KubeObject,
  Lease,
  ServiceAccount,
} from '@capstan/kube';
import { parseAllDocuments } from 'yaml';
import { ADMISSION_NAME } from '../admission/names.ts';
import { testIo } from '../cli/test-io.test-support.ts';
import { runCommandLine } from '../cli.ts';

const NAMESPACE = 'capstan-system';
const OPERATOR = ['--operators', 'kroxylicious'];

describe('capstan install', { timeout: 300_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), 'capstan-install-'));
  const main = new URL('../main.ts', import.meta.url).pathname;
  const args = ['up', '--operators', ',', '--listen', '127.0.0.1:0', '--data', data, '-o', 'json'];
  const flags = ['--disable-warning=ExperimentalWarning', main, ...args];
  const up = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'ignore'] });
  let client: Client;
  before(async () => {
    for await (const line of createInterface({ input: up.stdout })) if (line.includes('"ready"')) break;
    client = createClient({ transport: await connect({ env: { KUBECONFIG: join(data, 'kubeconfig') } }) });
  });
  after(async () => {
    await client?.close();
    up.kill('SIGTERM');
    if (up.exitCode === null) await once(up, 'exit');
    rmSync(data, { recursive: true, force: true });
  });
  async function capstan(...argv: string[]) {
    const { io, out, err } = testIo({});
    const files = { ...io.files, read: (path: string) => readFile(path, 'utf8') };
    const real = { ...io, files, env: { KUBECONFIG: join(data, 'kubeconfig') }, connect };
    const code = await runCommandLine(argv, real);
    return { code, out: out(), err: err() };
  }

  test('installs an operator that becomes ready and leads', async () => {
    const { code, out, err } = await capstan('install', ...OPERATOR, '--timeout', '90s');
    assert.equal(code, 0, err);
    assert.match(out, /Capstan is installed/);
    assert.match(err, /kroxylicious is ready/);
    const { status } = await client.get(Deployment, { namespace: NAMESPACE, name: 'capstan-kroxylicious' });
    assert.equal(status?.readyReplicas, 2);
    // Replicas are ready before one of them leads.
    const lease = { namespace: NAMESPACE, name: 'capstan-kroxylicious' };
    for (let holder = ''; holder === ''; ) holder = (await client.find(Lease, lease))?.spec?.holderIdentity ?? '';
  });

  test('does not install a second time elsewhere', async () => {
    const { code, err } = await capstan('install', ...OPERATOR, '-n', 'other');
    assert.equal(code, 1);
    assert.match(err, /already installed in this cluster, in the namespace capstan-system; use -n capstan-system/);
  });

  test('installing again writes nothing new', async () => {
    const ref = { namespace: NAMESPACE, name: 'capstan-kroxylicious' };
    const before = await client.get(Deployment, ref);
    const { code, err } = await capstan('install', ...OPERATOR, '--timeout', '30s');
    assert.equal(code, 0, err);
    assert.equal((await client.get(Deployment, ref)).metadata.generation, before.metadata.generation);
  });

  test('the webhook of --admission refuses objects that operators could only report, until it is gone', async () => {
    const { code, err } = await capstan('install', ...OPERATOR, '--admission', '--timeout', '90s');
    assert.equal(code, 0, err);
    assert.match(err, /admission is ready/);
    const service = (name: string) => ({
      apiVersion: 'kroxylicious.io/v1alpha1',
      kind: 'KafkaService',
      metadata: { namespace: 'default', name },
      spec: { bootstrapServers: 'kafka:99999' },
    });
    const kind = { ...kafkaProxy, kind: 'KafkaService', plural: 'kafkaservices' } as const;
    const refused = () => client.create(kind, service('wrong'), { dryRun: true }).then(() => '', String);
    // Its authority is registered a moment after it serves.
    for (let answer = ''; !/KafkaService default\/wrong is not valid: spec\.bootstrapServers/.test(answer); )
      answer = await refused();
    // Its own account suffices, and a broken webhook is no obstacle.
    await client.patch(Deployment, { namespace: NAMESPACE, name: 'capstan-admission' }, 'merge', {
      spec: { replicas: 0 },
    });
    for (let answer = 'refused'; answer !== ''; ) answer = await refused();
    await client.create(kind, service('unchecked'));
    await client.delete(kind, { namespace: 'default', name: 'unchecked' });
  });

  test('an upgrade that does not become ready is taken back', async () => {
    const ref = { namespace: NAMESPACE, name: 'capstan-kroxylicious' };
    const { code, err } = await capstan(
      'upgrade',
      '--yes',
      ...OPERATOR,
      '--image',
      'capstan:broken',
      '--timeout',
      '1ms',
    );
    assert.equal(code, 1);
    assert.match(err, /the operator kroxylicious did not become ready: .*; its Deployment is as it was before/);
    const { spec } = await client.get(Deployment, ref);
    assert.doesNotMatch(JSON.stringify(spec), /capstan:broken/);
  });

  test('does not remove operators whose objects are there, unless it is said what becomes of them', async () => {
    const proxy = { apiVersion: 'kroxylicious.io/v1alpha1', kind: 'KafkaProxy' };
    const body = { ...proxy, metadata: { namespace: 'default', name: 'kept' }, spec: {} } as KubeObject;
    await client.create(kafkaProxy, body);
    const refused = await capstan('uninstall', ...OPERATOR);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /1 KafkaProxy\.kroxylicious\.io; delete them with --delete-objects/);
    const contradiction = await capstan('uninstall', ...OPERATOR, '--keep-objects', '--delete-objects');
    assert.equal(contradiction.code, 2);
    const { code, err } = await capstan('uninstall', ...OPERATOR, '--delete-objects', '--timeout', '60s');
    assert.equal(code, 0, err);
    assert.equal(await client.find(Deployment, { namespace: NAMESPACE, name: 'capstan-kroxylicious' }), undefined);
    assert.equal(await client.find(ClusterRole, { name: 'capstan-kroxylicious' }), undefined);
  });

  test('--one-program runs operators in one Deployment, each under its own Lease, and the forms replace each other', async () => {
    const both = ['--operators', 'kroxylicious,gimbal'];
    /** Without the webhook, which is there until everything is uninstalled. */
    const deployments = async () =>
      (await client.list(Deployment, { namespace: NAMESPACE })).items
        .map(({ metadata: { name = '' } }) => name)
        .filter((name) => name !== ADMISSION_NAME)
        .toSorted((a, b) => a.localeCompare(b));
    const holderOf = async (name: string) =>
      (await client.find(Lease, { namespace: NAMESPACE, name }))?.spec?.holderIdentity ?? '';
    /** Resolves when another instance than the one before writes. */
    const leads = async (name: string, before = '') => {
      for (let holder = before; holder === before || holder === ''; ) holder = await holderOf(name);
    };
    const apart = await capstan('install', ...OPERATOR, '--timeout', '90s');
    assert.equal(apart.code, 0, apart.err);
    await leads('capstan-kroxylicious');
    const apartHolder = await holderOf('capstan-kroxylicious');
    const { code, err } = await capstan('install', ...both, '--one-program', '--timeout', '90s');
    assert.equal(code, 0, err);
    assert.match(err, /operators is ready/);
    assert.deepEqual(await deployments(), ['capstan-operators']);
    assert.equal(await client.find(ServiceAccount, { namespace: NAMESPACE, name: 'capstan-kroxylicious' }), undefined);
    // The leader before ends in order, and gives its Lease back.
    await Promise.all([leads('capstan-kroxylicious', apartHolder), leads('capstan-gimbal')]);
    for (const command of ['install', 'uninstall']) {
      const half = await capstan(command, '--operators', 'gimbal');
      assert.equal(half.code, 1);
      assert.match(
        half.err,
        /capstan-system\/capstan-operators: runs kroxylicious too, which --operators does not name; add it/,
      );
    }
    const upgraded = await capstan('upgrade', '--yes', '--timeout', '90s');
    assert.equal(upgraded.code, 0, upgraded.err);
    assert.deepEqual(await deployments(), ['capstan-operators']);
    const again = await capstan('install', ...both, '--timeout', '90s');
    assert.equal(again.code, 0, again.err);
    assert.deepEqual(await deployments(), ['capstan-gimbal', 'capstan-kroxylicious']);
    assert.equal(await client.find(ClusterRoleBinding, { name: 'capstan-operators-gimbal' }), undefined);
    const one = await capstan('install', ...both, '--one-program', '--timeout', '90s');
    assert.equal(one.code, 0, one.err);
    const removed = await capstan('uninstall', ...both, '--timeout', '60s');
    assert.equal(removed.code, 0, removed.err);
    assert.deepEqual(await deployments(), []);
    assert.equal(await client.find(ServiceAccount, { namespace: NAMESPACE, name: 'capstan-operators' }), undefined);
  });

  test('removes Crossplane with what it had made for itself, and lists it before', async () => {
    const only = ['--operators', 'crossplane'];
    const object = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    const bounds = async () =>
      (await client.list(ClusterRoleBinding)).items
        .map(({ metadata }) => metadata.name ?? '')
        .filter((name) => name.startsWith('capstan-crossplane:'));
    const { code, err } = await capstan(
      'install',
      ...only,
      '--crossplane.registry=registry.example.com',
      '--timeout',
      '90s',
    );
    assert.equal(code, 0, err);
    const { spec } = await client.get(Deployment, { namespace: NAMESPACE, name: 'capstan-crossplane' });
    assert.ok(spec?.template.spec?.containers[0]?.args?.includes('--crossplane.registry=registry.example.com'));
    // Its leader makes them, and would make them again.
    for (let found: unknown; found === undefined; ) found = await client.find(Lock, { name: 'lock' });
    const bound = ['install', ...only, '--crossplane-max-role', 'packages', '--timeout', '90s'];
    const missing = await capstan(...bound);
    assert.equal(missing.code, 1);
    assert.match(
      missing.err,
      /the ClusterRole packages, which is to bound the rights of packages, is not there; create it/,
    );
    await client.create(ClusterRole, { ...object, kind: 'ClusterRole', metadata: { name: 'packages' }, rules: [] });
    const bounded = await capstan(...bound);
    assert.equal(bounded.code, 0, bounded.err);
    const upgraded = await capstan('upgrade', ...only, '--yes', '--timeout', '90s');
    assert.equal(upgraded.code, 0, upgraded.err);
    assert.deepEqual(await bounds(), ['capstan-crossplane:packages']);
    const dry = await capstan('uninstall', ...only, '--dry-run');
    assert.equal(dry.code, 0, dry.err);
    assert.match(dry.out, /^ClusterRoleBinding\.rbac\.authorization\.k8s\.io capstan-crossplane:packages$/m);
    assert.match(dry.out, /^Lock\.pkg\.crossplane\.io lock$/m);
    assert.ok(await client.find(Lock, { name: 'lock' }));
    const removed = await capstan('uninstall', ...only, '--timeout', '60s');
    assert.equal(removed.code, 0, removed.err);
    assert.deepEqual(await bounds(), []);
    const { items } = await client.list(CustomResourceDefinition);
    assert.deepEqual(
      items.filter((one) => one.spec.group === 'pkg.crossplane.io').map(({ metadata }) => metadata.name),
      [],
    );
  });

  test('prints manifests whose pods meet the restricted profile', async () => {
    const { out } = await capstan('install', '-o', 'yaml', '--image', 'registry.example.com/capstan:1');
    const objects = parseAllDocuments(out).map((document) => document.toJS() as KubeObject);
    const deployments = objects.filter(({ kind }) => kind === 'Deployment') as Deployment[];
    assert.equal(deployments.length, 5);
    for (const { spec, metadata } of deployments) {
      const pod = spec?.template.spec;
      assert.equal(pod?.securityContext?.runAsNonRoot, true, metadata.name ?? '');
      for (const { securityContext, image } of pod?.containers ?? []) {
        assert.deepEqual(securityContext?.capabilities?.drop, ['ALL']);
        assert.equal(securityContext?.allowPrivilegeEscalation, false);
        assert.equal(securityContext?.readOnlyRootFilesystem, true);
        assert.equal(image, 'registry.example.com/capstan:1');
      }
    }
  });
});

const kafkaProxy = {
  apiVersion: 'kroxylicious.io/v1alpha1',
  group: 'kroxylicious.io',
  version: 'v1alpha1',
  kind: 'KafkaProxy',
  plural: 'kafkaproxies',
  scope: 'Namespaced',
} as const;
