// Three real control planes: the hub, with its controllers, its scheduler and one node that runs pods as local processes, and
// two remote clusters, which are nothing but servers. The operator is a process with the account that `capstan rbac` prints.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Namespace, silentLogger, systemClock } from '@capstan/kube';
import { createNode } from '@capstan/node';
import { createRandom, type RealCluster, startRealCluster } from '@capstan/testing';
import { parseAllDocuments } from 'yaml';
import prepare from '../../demo/prepare.ts';
import { FLAGS, NAMESPACE, ROOT, type StartedWorld } from './world.ts';

const SYSTEM = 'capstan-system';
const OPERATORS = ['--operators', 'gimbal'];
const CAPSTAN = [...FLAGS, join(ROOT, 'apps/capstan/src/main.ts')];

export async function startRealWorld(folder: string): Promise<StartedWorld> {
  const ends: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const opened = [{ controllers: true, scheduler: true }, {}, {}].map(startRealCluster);
    for (const one of opened) ends.push(async () => (await one.catch(() => undefined))?.close());
    const [hub, east, west] = (await Promise.all(opened)) as [RealCluster, RealCluster, RealCluster];
    ends.push(runNode(hub, folder));
    ends.push(await runOperator(hub, folder));
    const variables = await prepare({
      data: join(folder, 'demo'),
      clusters: new Map(Object.entries({ east, west })),
      signal: new AbortController().signal,
    });
    for (const [cluster, place] of [
      [east, 'east'],
      [west, 'west'],
      [hub, '.'],
    ] as const)
      await applyDemo(cluster, folder, place, variables);
    const authorityOf = ({ ca }: RealCluster) => Buffer.from(ca).toString('base64');
    return {
      world: {
        hub: hub.client,
        east: east.client,
        kubeconfig: hub.kubeconfigFile,
        eastKubeconfig: variables['EAST_KUBECONFIG'] ?? '',
        towardsWest: (text) => text.replace(east.url, west.url).replace(authorityOf(east), authorityOf(west)),
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The hub's only node. */
function runNode(hub: RealCluster, folder: string): () => Promise<void> {
  const gimbal = [process.execPath, ...FLAGS, join(ROOT, 'apps/capstan/src/programs/gimbal.mjs')];
  const { hostname, port } = new URL(hub.url);
  const node = createNode({
    client: hub.client,
    clock: systemClock,
    // Nodes of test files that run at the same time give other addresses.
    random: createRandom(process.pid),
    logger: silentLogger,
    images: [
      {
        match: 'capstan',
        entrypoint: gimbal,
        programs: { gimbal },
        kubeconfig: true,
        substitute: [{ from: '0.0.0.0', to: '$(POD_IP)' }],
      },
    ],
    dataDir: join(folder, 'node'),
    apiServer: { host: hostname, port: Number(port) },
  });
  const ending = new AbortController();
  const ended = node.run(ending.signal);
  return () => {
    ending.abort();
    return ended;
  };
}

/** Installs Gimbal as the documentation describes, and starts it with a token of its account. */
async function runOperator(hub: RealCluster, folder: string): Promise<() => Promise<void>> {
  const capstan = (...args: string[]) => printed(process.execPath, [...CAPSTAN, ...args, ...OPERATORS], hub, folder);
  const kubectl = kubectlOf(hub, folder);
  await kubectl(['create', 'namespace', SYSTEM]);
  await kubectl(['apply', '--server-side', '-f', '-'], await capstan('crds'));
  await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  await kubectl(['apply', '-f', '-'], await capstan('rbac', '--namespace', SYSTEM));
  const token = (await kubectl(['create', 'token', 'capstan-gimbal', '-n', SYSTEM])).trim();
  const kubeconfig = join(folder, 'operator.kubeconfig');
  const authority = Buffer.from(hub.ca).toString('base64');
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'hub',
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'operator', namespace: SYSTEM } }],
    clusters: [{ name: 'hub', cluster: { server: hub.url, 'certificate-authority-data': authority } }],
    users: [{ name: 'operator', user: { token } }],
  });
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  const flags = ['run', ...OPERATORS, '--kubeconfig', kubeconfig, '--log-format', 'json', '-o', 'json'];
  const operator = spawn(process.execPath, [...CAPSTAN, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  operator.stderr.setEncoding('utf8').on('data', (detail: string) => (log += detail));
  await reportsReady(operator, () => log);
  return async () => {
    const over = operator.exitCode === null ? once(operator, 'exit') : undefined;
    operator.kill('SIGTERM');
    await over;
    assert.equal(operator.exitCode, 0, `the operator ends in order: ${log.slice(-2000)}`);
    const errors = log.split('\n').filter((line) => /forbidden|"level":"error"/i.test(line));
    assert.deepEqual(errors, [], 'nothing was refused, and nothing was tried in vain');
  };
}

/** The demonstration's manifests, as `capstan up --demo` applies them. */
async function applyDemo(
  cluster: RealCluster,
  folder: string,
  place: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const demo = join(import.meta.dirname, '../../demo', place);
  const kubectl = kubectlOf(cluster, folder);
  for (const file of globSync('*.yaml', { cwd: demo }).toSorted()) {
    const documents = parseAllDocuments(readFileSync(join(demo, file), 'utf8')).map((one) => one.toJS() as unknown);
    const filled = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: documents }, (_key, value: unknown) =>
      typeof value === 'string'
        ? value.replaceAll(/\$\{(\w+)\}/g, (_all, name: string) => variables[name] ?? '')
        : value,
    );
    for (const name of ['shop', NAMESPACE]) {
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await cluster.client.apply(Namespace, namespace, { fieldManager: 'capstan-demo', force: true });
    }
    await kubectl(['apply', '--server-side', '-f', '-'], filled);
    if (filled.includes('"CustomResourceDefinition"'))
      await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  }
}

function kubectlOf(cluster: RealCluster, folder: string) {
  return (args: readonly string[], input = '') => printed(cluster.program('kubectl'), args, cluster, folder, input);
}

/** Returns the output of a program; throws with the output if it fails. */
async function printed(
  program: string,
  args: readonly string[],
  { kubeconfigFile }: RealCluster,
  home: string,
  input = '',
): Promise<string> {
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfigFile } });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, `${args.join(' ')}: ${err}`);
  return out;
}

async function reportsReady(child: ChildProcess, log: () => string): Promise<void> {
  const ended = once(child, 'exit').then(() => 'ended');
  const ready = new Promise((resolve) =>
    child.stdout?.on('data', (text) => String(text).includes('"ready"') && resolve('ready')),
  );
  assert.equal(
    await Promise.race([ready, ended]),
    'ready',
    `the operator ended before it was ready: ${log().slice(-2000)}`,
  );
}
