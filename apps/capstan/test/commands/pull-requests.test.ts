// Runs the commands of the workflow in docs/pull-requests.md, as they are written there, against a cluster of its own.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import kroxylicious, { KafkaProxy, KafkaProxyIngress, KafkaService, VirtualKafkaCluster } from '@capstan/kroxylicious';
import { type Kind, type KubeObject, Namespace, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster, startIncarnation, type TestCluster } from '@capstan/testing';
import { parseAllDocuments } from 'yaml';
import { testIo } from '../../src/cli/test-io.test-support.ts';
import { runCommandLine } from '../../src/cli.ts';

const SERVER = (servers: string) => `
apiVersion: kroxylicious.io/v1alpha1
kind: KafkaService
metadata: { name: upstream, namespace: default }
spec: { bootstrapServers: '${servers}' }
`;
const MANIFESTS = `
apiVersion: kroxylicious.io/v1alpha1
kind: KafkaProxy
metadata: { name: edge, namespace: default }
spec: {}
---
apiVersion: kroxylicious.io/v1alpha1
kind: KafkaProxyIngress
metadata: { name: inside, namespace: default }
spec: { proxyRef: { name: edge }, clusterIP: { protocol: TCP } }
---
apiVersion: kroxylicious.io/v1alpha1
kind: VirtualKafkaCluster
metadata: { name: orders, namespace: default }
spec:
  proxyRef: { name: edge }
  targetKafkaServiceRef: { name: upstream }
  ingresses: [{ ingressRef: { name: inside } }]
---${SERVER('kafka:9092')}`;
const KINDS: readonly Kind[] = [KafkaProxy, KafkaProxyIngress, KafkaService, VirtualKafkaCluster];

let cluster: TestCluster;
let root = '';
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'capstan-pull-'));
  const random = createRandom(1);
  const operators = [kroxylicious];
  cluster = await createTestCluster({ clock: systemClock, random, operators });
  const { client } = cluster;
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } });
  for (const document of parseAllDocuments(MANIFESTS)) {
    const object = document.toJS() as KubeObject;
    const kind = KINDS.find((one) => one.kind === object.kind);
    assert.ok(kind);
    await client.create(kind, object);
  }
  const program = startIncarnation({ operators, transport: cluster.transport(), clock: systemClock, random });
  const isDone = () => program.runtime.isIdle && program.runtime.unsettled === 0;
  const proxy = { namespace: 'default', name: 'edge' };
  while ((await client.find(KafkaProxy, proxy))?.status?.conditions === undefined || !isDone())
    await systemClock.yield();
  await program.stop();
});
after(async () => {
  await cluster.close();
  await rm(root, { recursive: true, force: true });
});

/** The commands of the page that begin with `capstan`, without redirections of their output. */
async function commandsOfThePage(): Promise<string[][]> {
  const page = await readFile(new URL('../../../../docs/pull-requests.md', import.meta.url), 'utf8');
  const lines = [...page.matchAll(/^ *(?:- run: )?(?:timeout [^\n]*? (?=capstan))?(capstan [^\n]*)$/gm)];
  return lines.map(([, line = '']) =>
    line
      .replace(/ > \S+$/, '')
      .split(' ')
      .slice(1),
  );
}

async function run(argv: readonly string[], signal?: AbortSignal) {
  const { io, out, err } = testIo({ transport: cluster.transport, ...(signal && { signal }) });
  const files = {
    read: (path: string) => readFile(path, 'utf8'),
    list: (path: string) => readdir(path, { recursive: true }).then((all) => all.toSorted(), notAFolder),
    stdin: async () => '',
  };
  const code = await runCommandLine(argv, { ...io, cwd: root, files });
  return { code, out: out(), err: err() };
}

const notAFolder = (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOTDIR') return undefined;
  throw error;
};

test('the workflow of the page records a cluster, and its plan stops a pull request that rolls pods', {
  timeout: 120_000,
}, async () => {
  const commands = await commandsOfThePage();
  assert.deepEqual(
    commands.map(([name]) => name),
    ['plan', 'record', 'capture', 'plan', 'plan'],
  );
  const [, record = [], capture = [], plan = [], shorter = []] = commands;

  const stopping = new AbortController();
  const recording = run(record, stopping.signal);
  const started = async () => (await readdir(join(root, 'record')).catch(() => [])).length > 0;
  while (!(await started())) await systemClock.yield();
  // The objects are listed within a moment; a file of the recording is cut at its last whole part.
  const isWhole = async () =>
    (await run([...capture.slice(0, -1), 'probe.capture'])).code === 0 && (await shows('VirtualKafkaCluster'));
  const shows = async (kind: string) =>
    new RegExp(`${kind}\\S*: 1`).test((await run(['capture', 'inspect', 'probe.capture'])).out);
  while (!(await isWhole())) await systemClock.yield();
  stopping.abort();
  assert.equal((await recording).code, 0);
  const captured = await run(capture);
  assert.equal(captured.code, 0, captured.err);

  await mkdir(join(root, 'deploy'));
  await writeFile(join(root, 'deploy', 'upstream.yaml'), SERVER('kafka:9092'));
  const unchanged = await run(plan);
  assert.equal(unchanged.code, 0, unchanged.out + unchanged.err);
  assert.match(unchanged.out, /^<!-- capstan plan -->\n### Capstan plan: Nothing follows from it\.\n/);

  await writeFile(join(root, 'deploy', 'upstream.yaml'), SERVER('kafka:9093'));
  const rolling = await run(plan);
  assert.equal(rolling.code, 3, rolling.out + rolling.err);
  assert.match(rolling.err, /^--fail-on: Deployment default\/edge: rolls pods$/m);
  assert.match(rolling.out, /- `Deployment default\/edge` by kroxylicious\.\S+: \*\*rolls pods\*\*/);
  const allowed = await run(shorter);
  assert.equal(allowed.code, 0, allowed.err);
  assert.deepEqual(await clusterServers(), 'kafka:9092');
});

async function clusterServers(): Promise<string | undefined> {
  const found = await cluster.client.find(KafkaService, { namespace: 'default', name: 'upstream' });
  return found?.spec.bootstrapServers;
}
