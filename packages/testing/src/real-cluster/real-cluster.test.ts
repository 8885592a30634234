import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ConfigMap, createClient, Deployment, isForbidden, Pod, silentLogger, systemClock } from '@capstan/kube';
import { freePorts } from '../free-ports.ts';
import { findBinaries } from './binaries.ts';
import { startProcess } from './process.ts';
import { startRealCluster } from './real-cluster.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const hasControllers = !('missing' in binaries) && binaries.path('kube-controller-manager') !== undefined;

const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { a: '1' },
});

test('a real API server answers, enforces RBAC by the names in certificates, and leaves nothing behind', {
  skip,
}, async () => {
  const cluster = await startRealCluster();
  const { pids } = cluster;
  const folder = join(cluster.kubeconfigFile, '..');
  try {
    assert.match(cluster.version, /^v1\.\d+\.\d+/);
    await cluster.client.create(ConfigMap, configMap('one'));
    const transport = await cluster.transport({ name: 'alice', groups: ['people'] });
    const alice = createClient({ transport, clock: systemClock, random: () => 0.5, logger: silentLogger });
    await assert.rejects(alice.get(ConfigMap, { namespace: 'default', name: 'one' }), (error: Error) => {
      assert.ok(isForbidden(error), error.message);
      return /User "alice" cannot get resource "configmaps"/.test(error.message);
    });
  } finally {
    await cluster.close();
  }
  assert.equal(existsSync(folder), false);
  for (const pid of Object.values(pids)) assert.equal(isAlive(pid), false);
});

test('a Deployment becomes available with controllers and simulated nodes, and its pods go when it goes', {
  skip: skip || (hasControllers ? false : 'kube-controller-manager is not there'),
}, async () => {
  const cluster = await startRealCluster({ controllers: true, nodes: 2 });
  try {
    const ref = { namespace: 'default', name: 'web' };
    await cluster.client.create(Deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: ref,
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
      },
    });
    await until(async () => (await cluster.client.get(Deployment, ref)).status?.availableReplicas === 2);
    const { items } = await cluster.client.list(Pod, { namespace: 'default' });
    assert.equal(new Set(items.map(({ status }) => status?.podIP)).size, 2);
    await cluster.client.delete(Deployment, ref, { propagationPolicy: 'Foreground' });
    await until(async () => (await cluster.client.list(Pod, { namespace: 'default' })).items.length === 0);
  } finally {
    await cluster.close();
  }
});

for (const [how, signal, isGroup] of [
  ['that is killed', 'SIGKILL', false],
  ['whose whole process group is terminated', 'SIGTERM', true],
] as const) {
  test(`a program does not outlive the process that started it, not even one ${how}`, (t) =>
    outlived(t, signal, isGroup));
}

async function outlived(t: TestContext, signal: NodeJS.Signals, isGroup: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-guard-'));
  const data = join(folder, 'data');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    import { mkdirSync } from 'node:fs';
    import { startProcess } from ${JSON.stringify(join(import.meta.dirname, 'process.ts'))};
    mkdirSync(${JSON.stringify(data)});
    const { pid } = startProcess({ program: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], folder: ${JSON.stringify(data)} });
    console.log(pid);
    setInterval(() => {}, 1000);`;
  writeFileSync(join(folder, 'parent.mts'), script);
  const parent = spawn(process.execPath, [join(folder, 'parent.mts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: isGroup,
  });
  const [printed] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(printed.toString());
  assert.ok(isAlive(pid));
  process.kill(isGroup ? -(parent.pid ?? 0) : (parent.pid ?? 0), signal);
  await until(async () => !isAlive(pid) && !existsSync(data));
}

test('a process that ends by itself is known to have, with what it said', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-guard-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const child = startProcess({ program: process.execPath, args: ['-e', 'console.error("no")'], folder });
  await child.exited;
  assert.ok(child.hasExited);
  assert.deepEqual(child.lastLines(), ['no']);
});

test('ports that are handed out together differ and can be taken', async () => {
  const ports = await freePorts(5);
  assert.equal(new Set(ports).size, 5);
  for (const port of ports) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
  }
});

test('programs are found where KUBEBUILDER_ASSETS says, and an unfinished or damaged build is not trusted', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'capstan-binaries-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'kubernetes');
  const find = (env: Record<string, string>) => findBinaries({ env: { CAPSTAN_REAL: root, ...env } });
  assert.match((find({}) as { missing: string }).missing, /setup:real -- kubernetes/);

  const names = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler'];
  writeFiles(folder, names);
  assert.ok('missing' in find({}), 'without the record of a build that came to its end');
  const record = Object.fromEntries(names.map((name) => [name, { bytes: name.length, sha256: '' }]));
  writeFileSync(join(folder, 'build.json'), JSON.stringify(record));
  assert.equal((find({}) as { folder: string }).folder, folder);
  writeFileSync(join(folder, 'etcd'), 'etc');
  assert.ok('missing' in find({}), 'with a file that was cut');

  const given = join(root, 'given');
  writeFiles(given, ['etcd', 'kube-apiserver']);
  const found = find({ KUBEBUILDER_ASSETS: given });
  assert.ok(!('missing' in found));
  assert.equal(found.path('etcd'), join(given, 'etcd'));
  assert.equal(found.path('kubectl'), undefined);
});

function writeFiles(folder: string, names: readonly string[]): void {
  mkdirSync(folder);
  for (const name of names) writeFileSync(join(folder, name), name);
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = systemClock.now() + 60_000;
  while (!(await holds())) {
    assert.ok(systemClock.now() < end, 'it did not come to be within a minute');
    await new Promise((resolve) => systemClock.after(50, () => resolve(undefined)));
  }
}
