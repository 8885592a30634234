import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  defineKind,
  type KindOf,
  Namespace,
  object,
  Secret,
  string,
  systemClock,
} from '@capstan/kube';
import { apply, conditionType, derivation, operator, plan, reconciler } from '@capstan/reconcile';
import { createRandom, createTestCluster, type TestCluster } from '@capstan/testing';
import { runTest, testIo } from '../../src/cli/test-io.test-support.ts';
import { runCommandLine } from '../../src/cli.ts';

const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ text: string(), secret: string() }),
  status: object({ conditions: conditions() }),
});
const ready = conditionType<'Written' | 'NoPassword'>('Ready');

const passwordOf = derivation<string>({
  name: 'password',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const text = read.get(Secret, { namespace, name })?.data?.['password'];
    return text === undefined ? '' : `line with ${Buffer.from(text, 'base64').toString()}`;
  },
});
const site = reconciler({
  name: 'site',
  resource: Site,
  reads: [Secret],
  writes: [ConfigMap, Secret],
  reconcile({ object: { metadata, spec }, read }) {
    const { name = '', namespace = '' } = metadata;
    const password = read.derived(passwordOf, `${namespace}/${spec.secret}`);
    const rendered = apply(Secret, { metadata: { name: `${name}-rendered`, namespace }, stringData: { password } });
    return plan({
      children: [
        apply(ConfigMap, { metadata: { name, namespace }, data: { text: spec.text } }),
        ...(password ? [rendered] : []),
      ],
      conditions: [
        password ? ready.isTrue('Written', 'it is written') : ready.isFalse('NoPassword', 'there is no Secret'),
      ],
    });
  },
});
const sites = operator({ name: 'sites', kinds: [Site], reconcilers: [site] });
const modules = { '/home/user/s.ts': { default: sites } };
const OPERATOR = ['--operator', 's.ts'];
const PASSWORD = 'a-password-to-keep-secret';

let cluster: TestCluster;
let root = '';
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'capstan-replay-'));
  cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites] });
  await cluster.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capstan-system' } });
});
after(async () => {
  await cluster.close();
  await rm(root, { recursive: true, force: true });
});

const siteOf = (name: string, text: string) =>
  ({
    apiVersion: Site.apiVersion,
    kind: Site.kind,
    metadata: { namespace: 'default', name },
    spec: { text, secret: 'access' },
  }) as KindOf<typeof Site>;

/** Runs `capstan run --record` while something is done, and ends it. */
async function recorded(folder: string, flags: readonly string[], act: () => Promise<void>): Promise<void> {
  const stopping = new AbortController();
  const { io, err } = testIo({ transport: cluster.transport, modules, signal: stopping.signal });
  const ended = runCommandLine(['run', ...OPERATOR, '--record', folder, ...flags], io);
  try {
    await act();
  } finally {
    stopping.abort();
  }
  assert.equal(await ended, 0, err());
}
const textIs = async (name: string, text: string) => {
  for (;;) {
    const found = await cluster.client.find(ConfigMap, { namespace: 'default', name });
    const status = await cluster.client.find(Site, { namespace: 'default', name });
    if (found?.data?.['text'] === text && status?.status?.conditions?.[0]?.reason === 'Written') return;
    await systemClock.yield();
  }
};
const run = (argv: readonly string[]) => runTest(argv, { modules });

test('a recording of capstan run is cut to a file, shown, replayed, and asked about a moment of it', {
  timeout: 60_000,
}, async () => {
  const folder = join(root, 'record');
  const data = { password: Buffer.from(PASSWORD).toString('base64') };
  await cluster.client.create(Secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name: 'access' },
    data,
  });
  await recorded(folder, [], async () => {
    await cluster.client.create(Site, siteOf('home', 'first'));
    await textIs('home', 'first');
    await cluster.client.patch(Site, { namespace: 'default', name: 'home' }, 'merge', { spec: { text: 'second' } });
    await textIs('home', 'second');
  });
  const file = join(root, 'incident.capture');
  const captured = await run(['capture', '--from', folder, '-o', file]);
  assert.equal(captured.code, 0, captured.err);

  const lines = await run(['capture', 'inspect', file, '--lines']);
  for (const text of [PASSWORD, data.password]) assert.ok(!lines.out.includes(text), 'no secret is in the recording');
  const shown = await run(['capture', 'inspect', file]);
  assert.match(shown.out, /secrets: every string in a sensitive table is replaced/);
  assert.match(shown.out, /Site\.example\.capstan\.dev: 1/);
  assert.match(shown.out, /results that are recorded, because the functions read secrets:\n.*password/s);

  const replayed = await run(['replay', file, ...OPERATOR]);
  assert.equal(replayed.code, 0, replayed.out + replayed.err);
  assert.match(replayed.out, /results compared: all are equal/);
  const asJson = JSON.parse((await run(['replay', file, ...OPERATOR, '-o', 'json'])).out) as {
    compared: number;
    notRun: number;
  };
  assert.ok(asJson.compared > 3 && asJson.notRun > 0);

  // The first moment at which there was a first text, and no second one.
  const steps = await run(['replay', file, ...OPERATOR, '--step']);
  const waves = [...steps.out.matchAll(/^wave (\d+) .* sites\.site default\/home /gm)].map(([, wave]) => Number(wave));
  const last = waves.at(-1) ?? 0;
  const before = await run([
    'replay',
    file,
    ...OPERATOR,
    '--at',
    String(last - 1),
    'status',
    ...OPERATOR,
    '-o',
    'json',
  ]);
  assert.equal(before.code, 0, before.err);
  assert.match(before.err, /as of wave \d+/);
  const tree = await run(['replay', file, ...OPERATOR, '--at', '999999', 'tree', 'site/home', ...OPERATOR]);
  assert.equal(tree.code, 0, tree.err);
  assert.match(tree.out, /ConfigMap.*home/);
  const why = await run(['replay', file, ...OPERATOR, '--at', '999999', 'why', 'configmap/home']);
  assert.equal(why.code, 0, why.err);
  assert.match(why.out, /spec\.text/);

  // Another version of the operator comes to something else, from the same inputs.
  const other = operator({
    name: 'sites',
    kinds: [Site],
    reconcilers: [
      reconciler({
        name: 'site',
        resource: Site,
        reads: [Secret],
        writes: [ConfigMap, Secret],
        reconcile: () => plan({ conditions: [ready.isTrue('Written', 'nothing is written')] }),
      }),
    ],
  });
  const differs = await runTest(['replay', file, ...OPERATOR], { modules: { '/home/user/s.ts': { default: other } } });
  assert.equal(differs.code, 3);
  assert.match(differs.out, /results differ:\n {2}wave \d+ .*sites\.site default\/home: changed/);
});

test('with the content of Secrets the file is encrypted, every function is run, and it needs its key', {
  timeout: 60_000,
}, async () => {
  const folder = join(root, 'encrypted');
  const key = join(root, 'key');
  await writeFile(key, 'cd'.repeat(32));
  await recorded(folder, ['--with-secrets', '--key', key], async () => {
    await cluster.client.create(Site, siteOf('other', 'first'));
    await textIs('other', 'first');
  });
  const [name = ''] = await readdir(folder);
  assert.ok(!(await readFile(join(folder, name))).includes('ConfigMap'), 'nothing is legible');
  const without = await run(['replay', folder, ...OPERATOR]);
  assert.deepEqual([without.code, /is encrypted.*--key/s.test(without.err)], [1, true]);
  const { code, out } = await run(['replay', folder, ...OPERATOR, '--key', key, '-o', 'json']);
  const report = JSON.parse(out) as { compared: number; notRun: number; differing: number };
  assert.deepEqual([code, report.notRun, report.differing], [0, 0, 0]);
});

test('a recording that is missing, of another operator or without a command for its moment is refused with what to do', async () => {
  const none = await run(['replay', join(root, 'none'), ...OPERATOR]);
  assert.match(none.err, /there is no such file or folder/);
  const noCommand = await run(['replay', 'x', '--at', '3', 'stauts']);
  assert.equal(noCommand.code, 2);
  assert.match(noCommand.err, /status/);
  const other = await run(['replay', join(root, 'record')]);
  assert.match(other.err, /sites/);
  assert.notEqual(other.code, 0);
});
