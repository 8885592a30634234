// A whole cluster with its demonstration, as `npm start` runs it: no value of any Secret is in an object of another kind, in the output of a
// command, in an answer of the console, in a log, or in the arguments and environment of a process. Tests on stages do the same for each
// write and log line of an operator (packages/testing/src/stage/secrets-audit.ts).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type Client,
  connect,
  createClient,
  discover,
  type KubeObject,
  keyOfObject,
  Secret,
  sleep,
  systemClock,
} from '@capstan/kube';
import { canariesOf } from '@capstan/testing';
import { testIo } from '../src/cli/test-io.test-support.ts';
import { runCommandLine } from '../src/cli.ts';
import type { ReadyFields } from '../src/up/ready-text.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;
interface Row {
  readonly kind: string;
  readonly key: string;
}

/** Planted: a Secret that a demonstration names, and one that nothing names. */
const PLANTED = 'canary-9f2d1c7b5e';

describe('with a whole cluster, the values of Secrets', { timeout: 240_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-secrets-'));
  const data = join(folder, 'data');
  const kubeconfig = join(data, 'kubeconfig');
  const args = [
    'up',
    '--demo',
    '--fetch',
    'none',
    '--listen',
    ':0',
    '--data',
    data,
    '-o',
    'json',
    '--log-level',
    'debug',
  ];
  const up = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    env: { ...process.env, CAPSTAN_REAL: join(folder, 'none') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  let ready: ReadyFields | undefined;
  const clients: { name: string; client: Client }[] = [];
  /** Text that must not appear, with the key and Secret that it is from. */
  const canaries = new Map<string, string>();

  before(async () => {
    const isReady = new Promise<void>((resolve, reject) => {
      let out = '';
      up.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        const line = out.split('\n').find((one) => one.includes('"event":"ready"'));
        if (line === undefined || ready !== undefined) return;
        ready = JSON.parse(line) as ReadyFields;
        resolve();
      });
      up.once('exit', () => reject(new Error(`capstan up ended:\n${log.slice(-2000)}`)));
    });
    up.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await isReady;
    for (const { name } of ready?.clusters ?? [])
      clients.push({
        name,
        client: createClient({ transport: await connect({ env: {}, kubeconfig, context: name }) }),
      });
    for (const { client } of clients) {
      const metadata = { namespace: 'default', name: 'planted' };
      const stringData = { password: PLANTED, token: `${PLANTED}-token` };
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, stringData });
    }
    for (const { name, client } of clients)
      for (const secret of (await client.list(Secret)).items)
        for (const [key, value] of Object.entries(secret.data ?? {}))
          for (const canary of canariesOf(key, Buffer.from(value, 'base64').toString()))
            canaries.set(canary, `${key} of Secret ${keyOfObject(secret)} in ${name}`);
    assert.ok(canaries.size > 10, `${canaries.size} values`);
  });
  after(async () => {
    await Promise.all(clients.map(({ client }) => client.close()));
    if (up.exitCode === null) {
      const ended = once(up, 'exit');
      up.kill('SIGTERM');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  function assertNone(text: string, place: string): void {
    const found = [...canaries].filter(([canary]) => text.includes(canary)).map(([, origin]) => origin);
    assert.deepEqual(found, [], place);
  }

  test('are in no object of another kind', async () => {
    let count = 0;
    for (const { name, client } of clients) {
      const { kinds } = await discover(client);
      for (const kind of kinds.filter((one) => one.kind !== 'Secret')) {
        // Some kinds can be created only.
        const { items } = await client.list(kind).catch(() => ({ items: [] as KubeObject[] }));
        count += items.length;
        for (const item of items) assertNone(JSON.stringify(item), `${kind.kind} ${keyOfObject(item)} in ${name}`);
      }
    }
    assert.ok(count > 100, `${count} objects`);
  });

  test('are in the output of no command', async () => {
    const secret = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name: 'planted' },
      stringData: { password: `${PLANTED}-changed` },
    });
    canaries.set(`${PLANTED}-changed`, 'the manifest');
    for (const argv of [
      ['status', '-o', 'yaml'],
      ['check', '-o', 'json'],
      ['tree', 'virtualkafkacluster/metrics', '-n', 'default'],
      ['why', 'virtualkafkacluster/metrics', '-n', 'default', '-o', 'json'],
      ['plan', '-f', '/secret.json'],
    ]) {
      const { io, out, err } = testIo({});
      const files = {
        ...io.files,
        read: async (path: string) => (path === '/secret.json' ? secret : readFileSync(path, 'utf8')),
        list: () => Promise.resolve(undefined),
      };
      const code = await runCommandLine(argv, {
        ...io,
        files,
        env: { KUBECONFIG: kubeconfig },
        connect,
        clock: systemClock,
      });
      assert.ok(code < 2, `${argv.join(' ')}: ${code}\n${err()}`);
      assert.notEqual(out(), '', `${argv.join(' ')}: ${err()}`);
      assertNone(out() + err(), `capstan ${argv.join(' ')}`);
    }
  });

  test('are in no answer of the console', async () => {
    const { console: address = '', consoleCodeFile = '' } = ready ?? {};
    const code = readFileSync(consoleCodeFile, 'utf8').trim();
    const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const login = await fetch(new URL('/api/login', address), { ...post, body: JSON.stringify({ code }) });
    const { token } = (await login.json()) as { token: string };
    const ask = async (path: string) => {
      const answer = await fetch(new URL(path, address), { headers: { 'capstan-token': token } });
      const text = await answer.text();
      assert.ok(answer.status < 500, `${path}: ${answer.status} ${text.slice(0, 300)}`);
      assertNone(text, `the console's ${path}`);
      return text;
    };
    // Its caches fill once the first page is open.
    const rowsOf = async () => (JSON.parse(await ask('/api/objects?limit=1000')) as { rows: readonly Row[] }).rows;
    let rows = await rowsOf();
    while (rows.length < 20) {
      await sleep(systemClock, 100);
      rows = await rowsOf();
    }
    for (const path of ['session', 'overview', 'changes', 'timeline', 'find?q=planted', 'reports'])
      await ask(`/api/${path}`);
    let found = 0;
    for (const { kind, key } of rows.slice(0, 60)) {
      if ((await ask(`/api/object/-/${kind}/${key}`)).includes('"metadata"')) found++;
      await ask(`/api/graph/-/${kind}/${key}`);
    }
    assert.ok(found > 10, `${found} of ${rows.length} objects were shown`);
  });

  test('are in no log, and in no argument or environment of a process', {
    skip: process.platform === 'linux' ? false : 'reads /proc of Linux',
  }, () => {
    assertNone(log, 'the log of capstan up');
    const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.log'));
    for (const file of files) assertNone(readFileSync(join(data, file), 'utf8'), file);
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOurs(name));
    assert.ok(processes.length > 3, `${processes.length} processes`);
    for (const id of processes)
      for (const part of ['cmdline', 'environ'])
        assertNone(proc(id, part), `/proc/${id}/${part} (${proc(id, 'cmdline')})`);
  });

  /** `capstan up` itself, and the programs of pods. */
  function isOurs(id: string): boolean {
    return id === String(up.pid) || / (\d+) /.exec(proc(id, 'stat').replace(/^.*\) \w/, ''))?.[1] === String(up.pid);
  }
});

/** Empty for a process that has ended. */
function proc(id: string, part: string): string {
  try {
    return readFileSync(`/proc/${id}/${part}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
