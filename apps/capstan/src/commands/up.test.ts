import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Client, ConfigMap, connect, createClient } from '@capstan/kube';
import { testIo } from '../cli/test-io.test-support.ts';
import { runCommandLine } from '../cli.ts';
import type { DemoContext } from '../up/demo.ts';
import { Site, sites } from './sites.test-support.ts';

interface Announced {
  event: string;
  kubeconfig?: string;
  clusters?: { name: string; url: string }[];
  console?: string;
  consoleCodeFile?: string;
  demo?: { objects: string[]; resources: string[] }[];
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'capstan-up-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

/** Runs `capstan up` until `check` is done, then stops it as a signal would; resolves to its output. */
async function up(
  argv: string[],
  modulePath: string,
  check: (ready: Announced) => Promise<void>,
  more: Record<string, Record<string, unknown>> = {},
) {
  const stopping = new AbortController();
  const { io, out, err } = testIo({ modules: { [modulePath]: { default: sites }, ...more }, signal: stopping.signal });
  // Real files: the demonstration is read from them.
  const files = { ...io.files, read: (path: string) => readFile(path, 'utf8'), list: listed };
  const real = { ...io, files };
  const ended = runCommandLine(['up', '-o', 'json', '--listen', ':0', ...argv], real);
  const events = () =>
    out()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Announced);
  const reported = async () => {
    for (;;) {
      const found = events().find(({ event }) => event === 'ready');
      if (found) return found;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  try {
    const first = await Promise.race([reported(), ended]);
    assert.ok(typeof first === 'object', `capstan up ended instead of getting ready: ${err()}`);
    await check(first);
  } finally {
    stopping.abort();
  }
  return { code: await ended, events: events(), err: err() };
}

async function listed(path: string) {
  return (await stat(path)).isDirectory() ? (await readdir(path)).toSorted() : undefined;
}

async function clientOf({ kubeconfig = '' }: Announced, context?: string): Promise<Client> {
  return createClient({
    transport: await connect({ env: {}, kubeconfig, homeDir: '/', ...(context !== undefined && { context }) }),
  });
}

async function found(client: Client, name: string): Promise<ConfigMap> {
  for (;;) {
    const map = await client.find(ConfigMap, { namespace: 'default', name });
    if (map) return map;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('capstan up', () => {
  test('runs operators under their own account, and keeps everything for the next time', async (t) => {
    const data = await folder(t);
    const module = join(data, 'sites.ts');
    const argv = ['--data', data, '--operator', module, '--operators', 'sites'];
    const ran = await up(argv, module, async (reported) => {
      assert.deepEqual(
        reported.clusters?.map(({ name }) => name),
        ['capstan'],
      );
      assert.equal(reported.kubeconfig, join(data, 'kubeconfig'));
      assert.equal((await stat(reported.kubeconfig)).mode & 0o777, 0o600);
      const client = await clientOf(reported);
      const object = { apiVersion: Site.apiVersion, kind: Site.kind, metadata: { namespace: 'default', name: 'home' } };
      await client.create(Site, { ...object, spec: { text: 'hello' } });
      const map = await found(client, 'home');
      assert.equal(map.data?.['text'], 'hello');
      await client.close();
    });
    assert.deepEqual([ran.code, ran.events.map(({ event }) => event)], [0, ['started', 'ready', 'stopped']]);
    assert.doesNotMatch(ran.err, /forbidden/i);
    await up(argv, module, async (reported) => {
      const client = await clientOf(reported);
      assert.equal((await found(client, 'home')).data?.['text'], 'hello');
      await client.close();
    });
  });

  test('serves the console, and writes its code to a file of the user', async (t) => {
    const data = await folder(t);
    const module = join(data, 'sites.ts');
    const argv = ['--data', data, '--operator', module, '--operators', 'sites'];
    const code = join(data, 'console-code');
    await up(argv, module, async (ready) => {
      assert.equal(ready.consoleCodeFile, code);
      assert.equal((await stat(code)).mode & 0o777, 0o600);
      const send = async (path: string, init: RequestInit) => {
        const answer = await fetch(new URL(path, ready.console), init);
        assert.equal(answer.status, 200, path);
        return (await answer.json()) as Record<string, unknown>;
      };
      const body = JSON.stringify({ code: (await readFile(code, 'utf8')).trim() });
      const { token } = await send('/api/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const session = await send('/api/session', { headers: { 'capstan-token': String(token) } });
      assert.deepEqual([session['context'], session['writes'], session['operators']], ['capstan', false, ['sites']]);
    });
    await assert.rejects(stat(code), 'a stopped cluster leaves no code');
    await up([...argv, '--console=false'], module, async (ready) => assert.equal(ready.console, undefined));
  });

  test('holds the Leases of its operators: `capstan run` on the same cluster waits and writes nothing', async (t) => {
    const data = await folder(t);
    const module = join(data, 'sites.ts');
    await up(['--data', data, '--operator', module, '--operators', 'sites'], module, async (ready) => {
      const client = await clientOf(ready);
      const stopping = new AbortController();
      const { io, out, err } = testIo({ modules: { [module]: { default: sites } }, signal: stopping.signal });
      const writes: string[] = [];
      const run = runCommandLine(['run', '--operator', module, '-o', 'json', '--kubeconfig', ready.kubeconfig ?? ''], {
        ...io,
        async connect(to) {
          const connection = await connect({ ...to, readFile: (path) => readFile(path, 'utf8'), homeDir: '/' });
          const request: typeof connection.request = (asked) => {
            if (asked.method !== 'GET') writes.push(`${asked.method} ${asked.path}`);
            return connection.request(asked);
          };
          return { ...connection, request };
        },
      });
      const both = () => out().includes('"ready"') && err().includes('waiting for the lease');
      while (!both()) {
        const code = await Promise.race([run, new Promise((resolve) => setImmediate(resolve, 'running'))]);
        assert.equal(code, 'running', err());
      }
      assert.match(err(), /which another instance holds .*holder=capstan-up/);
      const object = { apiVersion: Site.apiVersion, kind: Site.kind, metadata: { namespace: 'default', name: 'home' } };
      await client.create(Site, { ...object, spec: { text: 'hello' } });
      assert.equal((await found(client, 'home')).data?.['text'], 'hello');
      const { io: asking, out: status } = testIo({ modules: { [module]: { default: sites } } });
      const files = { ...asking.files, read: (path: string) => readFile(path, 'utf8') };
      const argv = ['status', '--operator', module, '--kubeconfig', ready.kubeconfig ?? ''];
      assert.equal(await runCommandLine(argv, { ...asking, files }), 0);
      assert.match(status(), /^sites +capstan-up$/m);
      stopping.abort();
      assert.equal(await run, 0);
      assert.deepEqual(writes, []);
      await client.close();
    });
  });

  test('has one context a logical cluster, and writes its kubeconfig where it is told', async (t) => {
    const data = await folder(t);
    const out = join(data, 'elsewhere', 'config');
    await up(['--data', data, '--clusters', 'east,west', '--kubeconfig-out', out], '/none', async (reported) => {
      assert.equal(reported.kubeconfig, out);
      const [east, west] = [await clientOf(reported), await clientOf(reported, 'west')];
      const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'here' } } as const;
      await west.create(ConfigMap, map);
      assert.equal(await east.find(ConfigMap, map.metadata), undefined);
      await Promise.all([east.close(), west.close()]);
    });
    assert.match(await readFile(out, 'utf8'), /current-context: east/);
  });

  test('--demo applies what an operator brings beside it, in namespaces that it makes', async (t) => {
    const data = await folder(t);
    const module = join(data, 'sites.ts');
    await mkdir(join(data, 'demo'));
    const manifest = { apiVersion: Site.apiVersion, kind: Site.kind, metadata: { namespace: 'shown', name: 'demo' } };
    await writeFile(join(data, 'demo', 'site.yaml'), JSON.stringify({ ...manifest, spec: { text: 'look' } }));
    await up(['--data', data, '--operator', module, '--operators', 'sites', '--demo'], module, async (reported) => {
      const client = await clientOf(reported);
      const created = await client.find(Site, { namespace: 'shown', name: 'demo' });
      assert.equal(created?.spec.text, 'look');
      await client.close();
    });
  });

  test('--demo does not bring back what the user deleted, and names what there is', async (t) => {
    const data = await folder(t);
    const module = join(data, 'sites.ts');
    await mkdir(join(data, 'demo'));
    const site = (name: string) =>
      JSON.stringify({
        apiVersion: Site.apiVersion,
        kind: Site.kind,
        metadata: { namespace: 'shown', name },
        spec: { text: 'look' },
      });
    await writeFile(join(data, 'demo', 'sites.yaml'), `${site('one')}\n---\n${site('two')}\n`);
    const argv = ['--data', join(data, 'd'), '--operator', module, '--operators', 'sites', '--demo'];
    await up(argv, module, async (ready) => {
      assert.deepEqual(ready.demo?.[0]?.objects, ['Site shown/one', 'Site shown/two']);
      assert.deepEqual(ready.demo[0].resources, ['sites']);
      const client = await clientOf(ready);
      await client.delete(Site, { namespace: 'shown', name: 'one' });
      await client.close();
    });
    await up(argv, module, async (ready) => {
      assert.deepEqual(ready.demo?.[0]?.objects, ['Site shown/two']);
      const client = await clientOf(ready);
      assert.equal(await client.find(Site, { namespace: 'shown', name: 'one' }), undefined);
      assert.ok(await client.find(Site, { namespace: 'shown', name: 'two' }));
      await client.close();
    });
  });

  test('--demo starts the clusters that a demonstration needs, and fills in what it prepared', async (t) => {
    const data = await folder(t);
    const module = join(data, 'sites.ts');
    await mkdir(join(data, 'demo', 'east'), { recursive: true });
    const map = (name: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name },
      data: { at: '${PLACE}', other: '${nobody}' },
    });
    await writeFile(join(data, 'demo', 'here.yaml'), JSON.stringify(map('here')));
    await writeFile(join(data, 'demo', 'east', 'there.yaml'), JSON.stringify(map('there')));
    await writeFile(join(data, 'demo', 'prepare.ts'), '');
    let asked: DemoContext | undefined;
    const prepare = async (context: DemoContext) => {
      asked = context;
      return { PLACE: [...context.clusters.keys()].join(' and ') };
    };
    const modules = { [join(data, 'demo', 'prepare.ts')]: { default: prepare } };
    const argv = ['--data', data, '--operator', module, '--operators', 'sites', '--demo'];
    await up(
      argv,
      module,
      async (reported) => {
        const [first, east] = [await clientOf(reported), await clientOf(reported, 'east')];
        const here = await first.find(ConfigMap, { namespace: 'default', name: 'here' });
        assert.deepEqual(here?.data, { at: 'capstan and east', other: '${nobody}' });
        const there = await east.find(ConfigMap, { namespace: 'default', name: 'there' });
        assert.equal(there?.data?.['at'], 'capstan and east');
        assert.equal(await first.find(ConfigMap, { namespace: 'default', name: 'there' }), undefined);
        await Promise.all([first.close(), east.close()]);
      },
      modules,
    );
    assert.ok(asked?.data.startsWith(join(data, 'demo')));
    assert.ok(asked?.signal.aborted, 'what it started is told to end');
  });

  test('says in one sentence that its folder is in use', async (t) => {
    const data = await folder(t);
    await up(['--data', data], '/none', async () => {
      const { io, err } = testIo();
      const code = await runCommandLine(['up', '--data', data, '--listen', ':0'], io);
      assert.equal(code, 1);
      assert.match(
        err(),
        /^error: cannot open .*capstan-up-[^/]*: another process \(pid \d+\) is using it; stop that one first.*\n$/,
      );
    });
  });

  test('leaves a kubeconfig alone that is not its own', async (t) => {
    const data = await folder(t);
    const out = join(data, 'config');
    await writeFile(out, 'apiVersion: v1\nkind: Config\nusers: [{name: me, user: {token: t}}]\n');
    const { io, err } = testIo();
    assert.equal(await runCommandLine(['up', '--data', data, '--listen', ':0', '--kubeconfig-out', out], io), 1);
    assert.match(err(), /config is not the kubeconfig of this cluster, and is not changed; choose/);
    assert.match(await readFile(out, 'utf8'), /token: t/);
  });

  test('shows where it is and what to type next, and no log line before', async (t) => {
    const data = await folder(t);
    const stopping = new AbortController();
    const { io, out, err } = testIo({ signal: stopping.signal, env: { KUBECONFIG: '' } });
    const ended = runCommandLine(['up', '--data', data, '--listen', ':0', '--operators', 'gimbal'], io);
    while (!out().includes('is kept in')) await new Promise((resolve) => setImmediate(resolve));
    assert.doesNotMatch(err(), /INFO|WARN/);
    stopping.abort();
    assert.equal(await ended, 0);
    assert.match(out(), /^Capstan is ready\.\n {2}capstan {2}https:\/\/127\.0\.0\.1:\d+\n/);
    assert.match(out(), new RegExp(`In another terminal:\n {2}export KUBECONFIG=${data}/kubeconfig\n`));
    assert.match(out(), /\n {2}capstan status\n/);
  });
});
