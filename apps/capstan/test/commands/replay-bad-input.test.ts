// Recordings that are damaged, of another version or of other operators: a sentence with the remedy, and everything that can be answered.
import assert from 'node:assert/strict';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Secret, systemClock } from '@capstan/kube';
import { operator } from '@capstan/reconcile';
import { runTest } from '../../src/cli/test-io.test-support.ts';
import { access, OPERATOR, type RecordedSites, recordedSites, Site, siteOf } from './recorded-sites.ts';

describe('a recording', () => {
  let stage: RecordedSites;
  let bytes: Buffer;
  let encrypted = '';

  before(async () => {
    stage = await recordedSites();
    const { cluster, recorded, root, textIs } = stage;
    await cluster.client.create(Secret, access());
    const folder = join(root, 'record');
    await recorded(folder, [], async () => {
      await cluster.client.create(Site, siteOf('home', 'first'));
      await textIs('home', 'first');
      // Another part of the file begins when the first one is written.
      await partIsWritten(folder);
      await cluster.client.create(Site, siteOf('later', 'second'));
      await textIs('later', 'second');
    });
    const [name = ''] = await readdir(folder);
    bytes = await readFile(join(folder, name));
    encrypted = join(root, 'encrypted');
    await writeFile(join(root, 'key'), 'cd'.repeat(32));
    await recorded(encrypted, ['--with-secrets', '--key', join(root, 'key')], async () => {
      await cluster.client.create(Site, siteOf('other', 'first'));
      await textIs('other', 'first');
    });
  });
  after(() => stage.end());

  async function given(name: string, content: Buffer | string): Promise<string> {
    const path = join(stage.root, name);
    await writeFile(path, content);
    return path;
  }

  async function refused(path: string, expected: RegExp, ...flags: string[]): Promise<void> {
    for (const argv of [
      ['replay', path, ...OPERATOR, ...flags],
      ['capture', 'inspect', path, ...flags],
    ]) {
      const { code, out, err } = await stage.run(argv);
      assert.match(err, expected);
      assert.equal(err.trimEnd().split('\n').length, 1, err);
      assert.deepEqual([code, out], [1, '']);
    }
  }

  test('a file that is cut off is replayed up to its last whole part, with a note', async () => {
    const { run } = stage;
    const path = await given('cut.capture', bytes.subarray(0, bytes.length - 7));
    const { code, out, err } = await run(['replay', path, ...OPERATOR]);
    assert.match(err, /^cut\.capture is cut off or damaged: its last \d+ bytes are left out\n$/);
    assert.equal(code, 0, out);
    assert.match(out, /all are equal/);
    assert.match((await run(['capture', 'inspect', path])).out, /cut\.capture is cut off or damaged/);
  });

  test('a file with a damaged first part holds nothing that can be replayed', async () => {
    const damaged = Buffer.from(bytes);
    const begin = damaged.indexOf(10) + 12;
    damaged[begin] = (damaged[begin] ?? 0) ^ 1;
    await refused(
      await given('damaged.capture', damaged),
      /holds no wave; record for longer, or give another folder or file/,
    );
  });

  test('a file of a newer format names both formats', async () => {
    const text = bytes.toString('latin1').replace('"format":1', '"format":9');
    await refused(
      await given('newer.capture', Buffer.from(text, 'latin1')),
      /has the format 9, and this version reads formats up to 1; replay it with the version that wrote it, or a newer one/,
    );
  });

  test('another file, an empty one or a folder without recordings is refused with its remedy', async () => {
    const remedy =
      /is not a recording of Capstan; give a file that capstan capture wrote, or a folder of capstan run --record/;
    for (const content of [
      '',
      'kind: Pod\n',
      'CAPSTAN-RECORDING {\n',
      'CAPSTAN-RECORDING null\n',
      'CAPSTAN-RECORDING {}\n',
    ])
      await refused(await given('other.capture', content), remedy);
    await cp(join(stage.root, 'key'), join(stage.root, 'folder', 'key'), { recursive: true });
    await refused(
      join(stage.root, 'folder'),
      /there is no recording in .*; start Capstan with --record, and give that folder with --from/,
    );
  });

  test('another key, or a file that is no key, is refused with its remedy', async () => {
    await refused(encrypted, /is encrypted, because it holds the content of Secrets; give the key file with --key/);
    const other = await given('other-key', 'ab'.repeat(32));
    await refused(
      encrypted,
      /was encrypted with the key \w{8}, and --key has the key \w{8}; give the file/,
      '--key',
      other,
    );
    const short = await given('short-key', 'abc');
    await refused(encrypted, /is no key: it needs 32 bytes.*; create one with: openssl rand -hex 32/, '--key', short);
    await refused(encrypted, /cannot read .*no-key/, '--key', join(stage.root, 'no-key'));
  });

  test('a file of kinds that these operators do not have names them, and the rest is replayed', async () => {
    const path = await given('kinds.capture', bytes);
    const none = operator({ name: 'sites', kinds: [], reconcilers: [] });
    const { code, out } = await runTest(['replay', path, ...OPERATOR], {
      modules: { '/home/user/s.ts': { default: none } },
    });
    assert.match(out, /these operators do not read [^\n]*Site\.example\.capstan\.dev/);
    assert.match(out, /only recorded/);
    assert.equal(code, 3);
  });

  test('a folder with a damaged part between whole ones is replayed from the next snapshot on', async () => {
    const { run, root } = stage;
    const folder = join(root, 'gap');
    await cp(join(root, 'record'), folder, { recursive: true });
    const [name = ''] = await readdir(folder);
    const later = bytes.toString('latin1').replace('"segment":1', '"segment":2');
    await writeFile(join(folder, name), bytes.subarray(0, bytes.length - 7));
    await writeFile(join(folder, name.replace('000001', '000002')), Buffer.from(later, 'latin1'));
    const { code, err, out } = await run(['replay', folder, ...OPERATOR]);
    assert.match(err, /is cut off or damaged/);
    assert.match(err, /was before .* is left out, because the recording has a gap there/);
    assert.equal(code, 0, out);
  });
});

/** Resolves when a file of the folder has more than its header. */
async function partIsWritten(folder: string): Promise<void> {
  for (;;) {
    const names = await readdir(folder).catch(() => []);
    const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
    if (files.some((file) => file.indexOf(10) > 0 && file.indexOf(10) < file.length - 1)) return;
    await systemClock.yield();
  }
}
