// Kubernetes' own Go client against the embedded API server: its informer follows through changes, broken connections and
// revisions that the server no longer has, its leader election has one leader at a time, and its typed clients, which speak
// protobuf, write every kind. `npm run setup:real -- peers` builds the program (client-go/main.go).
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { type Client, ConfigMap, connect, createClient, systemClock } from '@capstan/kube';
import { createRandom } from '@capstan/testing';
import { loadBuiltins } from '../../src/builtin/builtin.ts';
import { type Cluster, startCluster, writeKubeconfig } from '../../src/index.ts';
import { withoutNulls } from '../../src/json/copy.ts';
import { createProtobufDecoder } from '../../src/protobuf/decode.ts';
import { encodeObject } from '../../src/protobuf/encode.ts';

const real = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
const program = join(real, 'peers', 'client-go');
const skip = existsSync(program) ? false : 'client-go is not there: npm run setup:real -- peers, with Go installed';
const LIMIT_MS = 60_000;

interface Line {
  event: string;
  name?: string;
  word?: string;
  count?: number;
}

function startProgram(t: TestContext, ...args: string[]) {
  const lines: Line[] = [];
  let heard = () => {};
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  createInterface(child.stdout).on('line', (text) => {
    lines.push(JSON.parse(text) as Line);
    heard();
  });
  return {
    lines,
    /** Resolves once it has printed such a line; earlier lines count. */
    async says(what: (line: Line) => boolean): Promise<void> {
      const end = Date.now() + LIMIT_MS;
      while (!lines.some(what)) {
        assert.ok(Date.now() < end, `it said no such thing, but ${JSON.stringify(lines)}`);
        const timer = setTimeout(() => heard(), 200);
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
        clearTimeout(timer);
      }
    },
    async kill(): Promise<void> {
      const over = once(child, 'exit');
      child.kill('SIGKILL');
      await over;
    },
  };
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'capstan-client-go-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function started(data: string, port: number): Promise<{ cluster: Cluster; kubeconfig: string; client: Client }> {
  const cluster = await startCluster({ clock: systemClock, random: createRandom(process.pid), data, port });
  const kubeconfig = join(data, 'kubeconfig');
  await writeKubeconfig(kubeconfig, cluster.kubeconfig);
  const client = createClient({ transport: await connect({ env: {}, kubeconfig, homeDir: '/' }) });
  return { cluster, kubeconfig, client };
}

const map = (name: string, word: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name },
  data: { word },
});

test("client-go's informer follows changes, also those that were made while its server was away", {
  skip,
}, async (t) => {
  const data = await folder(t);
  let { cluster, kubeconfig, client } = await started(data, 0);
  t.after(() => cluster.close());
  await client.create(ConfigMap, map('old', 'one'));
  const informer = startProgram(t, 'informer', kubeconfig, 'default');
  await informer.says(({ event }) => event === 'synced');
  await client.create(ConfigMap, map('a', 'one'));
  await client.update(ConfigMap, map('a', 'two'));
  await client.delete(ConfigMap, { namespace: 'default', name: 'old' });
  await informer.says(({ event, name }) => event === 'delete' && name === 'old');
  const told = informer.lines.map(({ event, name = '', word = '' }) => `${event} ${name} ${word}`.trim());
  // Its store is full a moment before its handlers have been called.
  const events = told.filter((line) => line !== 'synced' && !line.includes('kube-root-ca'));
  assert.deepEqual(events, ['add old one', 'add a one', 'update a two', 'delete old one']);

  // The server goes, changes are made where the informer cannot see them, and the history that it would need is gone too.
  const { port } = cluster;
  await client.close();
  await cluster.close();
  ({ cluster, kubeconfig, client } = await started(data, port));
  for (let index = 0; index < 20; index++) await client.update(ConfigMap, map('a', `away ${index}`));
  await client.create(ConfigMap, map('b', 'one'));
  await informer.says(({ event, name, word }) => event === 'update' && name === 'a' && word === 'away 19');
  await informer.says(({ event, name }) => event === 'add' && name === 'b');
  await client.update(ConfigMap, map('b', 'two'));
  await informer.says(({ event, name, word }) => event === 'update' && name === 'b' && word === 'two');
  await client.close();
});

test("client-go's leader election has one leader, and another when that one dies", { skip }, async (t) => {
  const { cluster, kubeconfig, client } = await started(await folder(t), 0);
  t.after(() => cluster.close());
  const one = startProgram(t, 'leader', kubeconfig, 'default', 'the-lease', 'one');
  await one.says(({ event }) => event === 'leads');
  const two = startProgram(t, 'leader', kubeconfig, 'default', 'the-lease', 'two');
  await two.says(({ event, name }) => event === 'leader' && name === 'one');
  assert.ok(!two.lines.some(({ event }) => event === 'leads'));
  await one.kill();
  await two.says(({ event, name }) => event === 'leads' && name === 'two');
  await client.close();
});

test('stock clientsets create, update, patch and status-update every kind that is served', { skip }, async (t) => {
  const { cluster, kubeconfig, client } = await started(await folder(t), 0);
  t.after(() => cluster.close());
  const kinds = startProgram(t, 'kinds', kubeconfig, 'default');
  await kinds.says(({ event }) => event === 'done');
  await client.close();
  const tried = kinds.lines.filter(({ event }) => event === 'kind').map(({ name }) => name);
  assert.deepEqual(
    kinds.lines.filter(({ event }) => event === 'problem'),
    [],
  );
  const { resources } = loadBuiltins();
  const served = resources.flatMap(({ group, kind, verbs, versions }) =>
    verbs.includes('update') ? versions.map(({ name }) => `${group === '' ? '' : `${group}/`}${name} ${kind}`) : [],
  );
  assert.deepEqual(new Set(tried), new Set(served));
});

test('thousands of large applies over shared connections are all answered', { skip }, async (t) => {
  const { cluster, kubeconfig, client } = await started(await folder(t), 0);
  t.after(() => cluster.close());
  const applies = startProgram(t, 'applies', kubeconfig, 'default', '4', '500', '70000');
  await applies.says(({ event }) => event === 'done');
  await client.close();
  assert.deepEqual(
    applies.lines.filter(({ event }) => event === 'problem'),
    [],
  );
});

test('protobuf with random content in every field is read as the JSON of the same object', { skip }, () => {
  const { kinds } = JSON.parse(readFileSync(MESSAGES, 'utf8')) as { kinds: Record<string, string> };
  const made = spawnSync(
    program,
    ['samples', '10', ...Object.keys(kinds).filter((kind) => !kind.startsWith('meta.k8s.io'))],
    { encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  assert.equal(made.status, 0, made.stderr);
  const decoder = createProtobufDecoder();
  for (const line of made.stdout.trim().split('\n')) {
    const { kind, json, protobuf } = JSON.parse(line) as { kind: string; json: unknown; protobuf: string };
    const decoded: unknown = JSON.parse(JSON.stringify(decoder.decode(Buffer.from(protobuf, 'base64'))));
    assert.deepEqual(withoutEmpty(decoded), withoutEmpty(json), kind);
  }
});

test('an object in protobuf equals the one in JSON to client-go', { skip }, () => {
  const { kinds } = JSON.parse(readFileSync(MESSAGES, 'utf8')) as { kinds: Record<string, string> };
  const known = Object.keys(kinds).filter((kind) => !kind.startsWith('meta.k8s.io'));
  const made = spawnSync(program, ['samples', '5', ...known], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const lines = made.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { kind: string; json: object })
    .map(({ kind, json }) => ({ kind, json: withoutNulls(json) as object }));
  assert.equal(lines.length, 5 * known.length);
  const input = lines
    .map(({ kind, json }) => {
      const bytes = encodeObject(json);
      assert.ok(bytes, kind);
      return JSON.stringify({ kind, json, protobuf: Buffer.from(bytes).toString('base64') });
    })
    .join('\n');
  const read = spawnSync(program, ['decoded'], { input, encoding: 'utf8', maxBuffer: 2 ** 28 });
  assert.deepEqual(JSON.parse(read.stdout), { event: 'done', count: lines.length }, read.stdout.slice(0, 2000));
});

const MESSAGES = new URL('../../src/protobuf/gen/messages.json', import.meta.url);

/** Protobuf does not distinguish empty from absent values. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const isEmpty = (one: unknown) => one === null || one === '' || (Array.isArray(one) && one.length === 0);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (isEmpty(one) ? [] : [[name, withoutEmpty(one)]])),
  );
}
