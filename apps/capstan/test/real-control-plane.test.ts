// Capstan where it lives in production: a real control plane, its own controllers, a ServiceAccount's token, the commands that
// the documentation names, and the kubectl that was built beside it. Only the nodes are simulated.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { KafkaProxy } from '@capstan/kroxylicious';
import { type Client, Deployment, Event, isNotFound, type Kind, Lease, ReplicaSet, Secret } from '@capstan/kube';
import { findBinaries, type RealCluster, startRealCluster } from '@capstan/testing';
import { stringify } from 'yaml';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const root = join(import.meta.dirname, '../../..');
const main = join(root, 'apps/capstan/src/main.ts');
const LIMIT_MS = 90_000;
const SYSTEM = 'capstan-system';
const ref = { namespace: 'default', name: 'my-proxy' };
const operators = ['--operators', 'kroxylicious'];

test('the documented way onto a real cluster: CRDs, role, run; one rollout a change; plan and why', {
  skip,
}, async (t) => {
  const real = await startRealCluster({ controllers: true, nodes: 2 });
  t.after(() => real.close());
  const { client } = real;
  const kubectl = (args: string[], input = '') => done(real.program('kubectl'), args, real.kubeconfigFile, input);
  const capstan = (...args: string[]) => done(process.execPath, [...NODE, main, ...args], real.kubeconfigFile);

  await kubectl(['create', 'namespace', SYSTEM]);
  await kubectl(['apply', '--server-side', '-f', '-'], await capstan('crds', ...operators));
  await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  await kubectl(['apply', '-f', '-'], await capstan('rbac', '--namespace', SYSTEM, ...operators));
  const token = (await kubectl(['create', 'token', 'capstan-kroxylicious', '-n', SYSTEM])).trim();
  const kubeconfig = await kubeconfigWith(real, token);

  const flags = [...operators, '--kubeconfig', kubeconfig, '--log-format', 'json', '-o', 'json'];
  const program = spawn(process.execPath, [...NODE, main, 'run', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => program.kill('SIGKILL'));
  let log = '';
  program.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  program.stdout.resume();

  await kubectl(['apply', '-f', join(root, 'operators/kroxylicious/demo')]);
  await until(
    () => isReady(client),
    () => log,
  );
  const count = async () => (await client.list(ReplicaSet, { namespace: 'default' })).items.length;
  assert.equal(await count(), 1);
  assert.ok(await client.find(Lease, { namespace: SYSTEM, name: 'capstan-kroxylicious' }), 'it leads by a Lease');

  const change = join(kubeconfig, '..', 'change.yaml');
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'vault-token', namespace: 'default' } };
  await writeFile(change, stringify({ ...secret, stringData: { token: 'renewed' } }));
  const planned = await capstan('plan', '-f', change, '--operator-namespace', SYSTEM, ...operators);
  assert.match(planned, /change Deployment default\/my-proxy \(rolls pods\)/);
  assert.equal(await count(), 1, 'a plan changes nothing');

  await kubectl(['apply', '-f', change]);
  await until(
    async () => (await count()) === 2 && (await isSettled(client)),
    () => log,
  );
  const reported = await capstan('why', 'deployment/my-proxy');
  assert.match(reported, /Secret default\/vault-token|vault-token/);
  assert.match(reported, /KafkaProtocolFilter/);
  const events = (await client.list(Event, { namespace: 'default' })).items;
  assert.ok(
    events.some(({ regarding }) => regarding?.kind === 'KafkaProxy'),
    'and an Event tells of it',
  );
  assert.ok(!JSON.stringify(events).includes('renewed') && !log.includes('renewed'), 'without the secret');

  await kubectl(['scale', 'kafkaproxy/my-proxy', '--replicas=3']).catch(() =>
    kubectl(['patch', 'kafkaproxy/my-proxy', '--type=merge', '-p', '{"spec":{"replicas":3}}']),
  );
  await until(
    async () => (await client.get(Deployment, ref)).status?.availableReplicas === 3,
    () => log,
  );
  assert.equal(await count(), 2, 'scaling rolls nothing');

  await ended(program);
  const before = await revisions(client);
  const again = spawn(process.execPath, [...NODE, main, 'run', ...flags], { stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => again.kill('SIGKILL'));
  await reportsReady(again);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  assert.deepEqual(await revisions(client), before, 'a restart on a settled cluster writes nothing');
  await ended(again);
  assert.doesNotMatch(log, /forbidden/i);
});

const NODE = ['--disable-warning=ExperimentalWarning'];

/** Returns the output of a program; throws with the output if it fails. */
async function done(program: string, args: readonly string[], kubeconfig: string, input = ''): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, KUBECONFIG: kubeconfig } });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, `${args.join(' ')}: ${err}`);
  return out;
}

async function kubeconfigWith({ url, ca, kubeconfigFile }: RealCluster, token: string): Promise<string> {
  const path = join(kubeconfigFile, '..', 'operator.kubeconfig');
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'real',
    clusters: [
      { name: 'real', cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'operator', user: { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'operator', namespace: SYSTEM } }],
  });
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

async function isReady(client: Client): Promise<boolean> {
  const found = await client.find(KafkaProxy, ref);
  return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

async function isSettled(client: Client): Promise<boolean> {
  const { metadata, status } = await client.get(Deployment, ref);
  const isRolled = status?.observedGeneration === metadata.generation && status?.updatedReplicas === status?.replicas;
  return isRolled && (await isReady(client));
}

/** The revisions of all objects that the operator could have changed. */
async function revisions(client: Client): Promise<string[]> {
  const kinds: Kind[] = [KafkaProxy, Deployment, Secret];
  const lists = await Promise.all(kinds.map((kind) => client.list(kind)));
  return lists.flatMap(({ items }) =>
    items.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`),
  );
}

async function reportsReady(child: ChildProcess): Promise<void> {
  const { stdout } = child;
  assert.ok(stdout);
  for await (const chunk of stdout) if (String(chunk).includes('"ready"')) break;
}

async function ended(child: ChildProcess): Promise<void> {
  const over = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = (await over) as [number | null];
  assert.equal(code, 0, 'it ends in order');
}

async function until(holds: () => Promise<boolean>, log: () => string): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  while (!(await holds().catch((error: unknown) => isNotFound(error) && false))) {
    assert.ok(
      Date.now() < end,
      `it did not come to pass: ${holds.toString()}; the operator said: ${log().slice(-2000)}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
