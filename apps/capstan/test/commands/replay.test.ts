import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { operator, plan, reconciler } from '@capstan/reconcile';
import { runTest } from '../../src/cli/test-io.test-support.ts';
import {
  access,
  OPERATOR,
  PASSWORD,
  type RecordedSites,
  ready,
  recordedSites,
  Site,
  siteOf,
} from './recorded-sites.ts';

let stage: RecordedSites;
before(async () => {
  stage = await recordedSites();
});
after(() => stage.end());

test('a recording of capstan run is cut to a file, shown, replayed, and asked about a moment of it', {
  timeout: 60_000,
}, async () => {
  const { cluster, recorded, root, run, textIs } = stage;
  const folder = join(root, 'record');
  const { data = {} } = await cluster.client.create(Secret, access());
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
  for (const text of [PASSWORD, ...Object.values(data)])
    assert.ok(!lines.out.includes(text), 'no secret is in the recording');
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
  const { cluster, recorded, root, run, textIs } = stage;
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
  const { root, run } = stage;
  const none = await run(['replay', join(root, 'none'), ...OPERATOR]);
  assert.match(none.err, /there is no such file or folder/);
  const noCommand = await run(['replay', 'x', '--at', '3', 'stauts']);
  assert.equal(noCommand.code, 2);
  assert.match(noCommand.err, /status/);
  const other = await run(['replay', join(root, 'record')]);
  assert.match(other.err, /sites/);
  assert.notEqual(other.code, 0);
});
