import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  fdatasync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { CONFIG_MAPS, configMap, seeded, testServer } from '../server.test-support.ts';
import { createStore } from '../store/store.ts';
import { isResponse } from '../transport.ts';
import { lastRevisionFile, openLastRevision } from './last-revision.ts';
import { sqliteStorage } from './sqlite-storage.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'capstan-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const object = (name: string, text: string): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid: name },
  data: { text },
});

const FILES = ['', '-wal', '.revision'];

const copyOf = (from: string, to: string) => {
  for (const end of FILES) {
    rmSync(`${to}${end}`, { force: true });
    if (existsSync(`${from}${end}`)) copyFileSync(`${from}${end}`, `${to}${end}`);
  }
};

const bytesOf = (path: string) =>
  FILES.map((end) => (existsSync(`${path}${end}`) ? readFileSync(`${path}${end}`) : ''));

const stateOf = (path: string) => {
  const storage = sqliteStorage({ path });
  const store = createStore({ storage, historyLimit: 1000 });
  return { storage, revision: store.revision, objects: store.list('x', '').map(({ object: one }) => one) };
};

/** A file and its log as kill -9 leaves them: some of it in the database, the rest in the log. */
async function killed(t: TestContext) {
  const root = folder(t);
  const path = join(root, 'killed.db');
  const storage = sqliteStorage({ path: join(root, 'state.db') });
  const store = createStore({ storage, historyLimit: 1000 });
  for (let count = 0; count < 120; count += 1) {
    store.put('x', `key-${count % 50}`, object(`key-${count % 50}`, `${count} ${'.'.repeat(300)}`));
    await storage.flush();
  }
  copyOf(join(root, 'state.db'), path);
  const expected = { revision: store.revision, objects: store.list('x', '').map(({ object: one }) => one) };
  await storage.close();
  return { root, path, expected };
}

test('a log that is damaged anywhere never loses an acknowledged write without a word', async (t) => {
  const { root, path, expected } = await killed(t);
  const damaged = join(root, 'damaged.db');
  const random = seeded(11);
  const { size } = statSync(`${path}-wal`);
  assert.ok(size > 100_000, 'the log has most of the writes');
  const outcomes = { refused: 0, whole: 0 };
  for (let round = 0; round < 60; round += 1) {
    copyOf(path, damaged);
    const at = Math.floor(random() * size);
    if (round % 3 === 0) truncateSync(`${damaged}-wal`, at);
    else {
      const bytes = readFileSync(`${damaged}-wal`);
      const length = round % 3 === 1 ? 1 : 4096;
      for (let offset = at; offset < Math.min(at + length, size); offset += 1)
        bytes[offset] = (bytes[offset] ?? 0) ^ 0x55;
      writeFileSync(`${damaged}-wal`, bytes);
    }
    const before = bytesOf(damaged);
    try {
      const { storage, revision, objects } = stateOf(damaged);
      assert.deepEqual({ revision, objects }, expected, `damage at ${at}`);
      await storage.close();
      outcomes.whole += 1;
    } catch (error) {
      assert.match(String(error), /is damaged: .*nothing in it has been changed; restore a copy/, `damage at ${at}`);
      assert.deepEqual(bytesOf(damaged), before, 'the files are left as they are');
      outcomes.refused += 1;
    }
  }
  assert.ok(outcomes.refused > 40, JSON.stringify(outcomes));
});

test('a log that was removed is noticed, and the remedy works', async (t) => {
  const { path, expected } = await killed(t);
  rmSync(`${path}-wal`);
  assert.throws(() => stateOf(path), {
    message: new RegExp(`revision ${expected.revision} was acknowledged, .*; restore a copy of the folder, or remove `),
  });
  assert.throws(() => stateOf(path), /was acknowledged/, 'it is refused again');
  rmSync(lastRevisionFile(path));
  const { storage, revision } = stateOf(path);
  assert.ok(revision < expected.revision);
  await storage.close();
});

test('a folder of an older version, or a damaged witness, is no reason to refuse', async (t) => {
  const { path, expected } = await killed(t);
  for (const text of ['', 'nonsense', `${expected.revision + 5} ${expected.revision + 5} 1`]) {
    writeFileSync(lastRevisionFile(path), text);
    const { storage, revision } = stateOf(path);
    assert.equal(revision, expected.revision);
    await storage.close();
  }
});

test('a row whose predecessor is missing is damage', async (t) => {
  const { path } = await killed(t);
  const database = new DatabaseSync(path);
  database.exec('DELETE FROM revisions WHERE revision = 30');
  database.close();
  assert.throws(() => stateOf(path), { message: /is damaged: revision 30, which revision 80 replaces, is missing/ });
});

test('reads continue on a full disk, and a write that was refused never takes effect', async (t) => {
  const path = join(folder(t), 'state.db');
  const server = testServer({ storage: sqliteStorage({ path, maxPages: 40 }) });
  const large = { x: 'y'.repeat(40_000) };
  const shown: (string | undefined)[] = [];
  const stream = await server.transport.watch({ method: 'GET', path: CONFIG_MAPS, query: { watch: 'true' } });
  assert.ok(!isResponse(stream));
  const reading = (async () => {
    for await (const batch of stream)
      shown.push(...batch.map(({ object: one }) => (one as UnknownObject).metadata.name));
  })();
  let kept = 0;
  let refused: Awaited<ReturnType<typeof server.send>> | undefined;
  for (; kept < 100 && !refused; ) {
    const write = server.send('POST', CONFIG_MAPS, configMap(`large-${kept}`, large));
    // This read is in the same turn, and sees the write that is then reverted.
    const read = server.send('GET', CONFIG_MAPS);
    const [answer, list] = await Promise.all([write, read]);
    assert.equal(list.status, 200, 'a read beside a refused write is answered');
    if (answer.status === 201) kept += 1;
    else refused = answer;
    const items = (list.body as { items: unknown[] }).items.length;
    assert.ok(items <= kept, `${items} of ${kept}`);
  }
  assert.equal(refused?.status, 503);
  assert.match(JSON.stringify(refused?.body), /the change is not on disk: .*full.*; free space on the disk/);
  await assert.rejects(
    reading,
    /could not be made durable/,
    'watches are broken, so that clients continue from what they have',
  );
  assert.equal(shown.at(-1), `large-${kept - 1}`, 'no watcher was shown it');
  assert.equal((await server.send('GET', `${CONFIG_MAPS}/large-${kept}`)).status, 404);
  assert.equal(
    (await server.send('PUT', `${CONFIG_MAPS}/large-0`, configMap('large-0', { ...large, z: 'z'.repeat(40_000) })))
      .status,
    503,
  );
  const unchanged = await server.ok('GET', `${CONFIG_MAPS}/large-0`);
  assert.deepEqual(unchanged['data'], large);
  assert.equal((await server.send('DELETE', `${CONFIG_MAPS}/large-1`)).status, 200, 'what needs little room succeeds');
  const again = await server.watch(CONFIG_MAPS, { resourceVersion: unchanged.metadata.resourceVersion ?? '' });
  assert.ok((await again.take()).length > 0, 'watches go on where they were');
  await again.close();
  await server.server.close();
  const restarted = testServer({ storage: sqliteStorage({ path }) });
  assert.equal((await restarted.send('GET', `${CONFIG_MAPS}/large-${kept}`)).status, 404);
  assert.deepEqual((await restarted.ok('GET', `${CONFIG_MAPS}/large-0`))['data'], large);
  assert.equal((await restarted.send('GET', `${CONFIG_MAPS}/large-1`)).status, 404);
  assert.equal((await restarted.send('POST', CONFIG_MAPS, configMap('later'))).status, 201);
  await restarted.server.close();
});

test('a write that is on the disk is acknowledged although the witness of its revision cannot be written', {
  skip: existsSync('/dev/full') ? false : 'there is no /dev/full, which every write to fails; it runs on Linux',
}, async (t) => {
  const path = join(folder(t), 'state.db');
  symlinkSync('/dev/full', lastRevisionFile(path));
  const server = testServer({ storage: sqliteStorage({ path }) });
  assert.equal((await server.send('POST', CONFIG_MAPS, configMap('kept', { a: 'b' }))).status, 201);
  assert.equal((await server.send('PUT', `${CONFIG_MAPS}/kept`, configMap('kept', { a: 'c' }))).status, 200);
  await server.server.close();
  const restarted = testServer({ storage: sqliteStorage({ path }) });
  assert.deepEqual((await restarted.ok('GET', `${CONFIG_MAPS}/kept`))['data'], { a: 'c' });
  await restarted.server.close();
});

test('a refused write that reached the log all the same is not read after a crash', async (t) => {
  const path = join(folder(t), 'state.db');
  const storage = sqliteStorage({ path });
  const store = createStore({ storage, historyLimit: 10 });
  store.put('x', 'kept', object('kept', 'a'));
  await storage.flush();
  const { revision } = store;
  store.put('x', 'refused', object('refused', 'b'));
  await storage.close();
  // As it would be if the disk had failed after the log was written.
  const witness = openLastRevision(path);
  witness.refuse(revision, revision + 1);
  witness.close();
  const again = stateOf(path);
  assert.deepEqual(
    again.objects.map(({ metadata }) => metadata.name),
    ['kept'],
  );
  assert.equal(again.revision, revision + 1, 'its revision is not used again');
  await again.storage.close();
});

test('writes whose sync fails never take effect, nor do those that waited behind them', async (t) => {
  const path = join(folder(t), 'state.db');
  const syncs: ((error: Error | null) => void)[] = [];
  let isSlow = false;
  const storage = sqliteStorage({
    path,
    sync: (file, done) => void (isSlow ? syncs.push(done) : fdatasync(file, done)),
  });
  const store = createStore({ storage, historyLimit: 100 });
  store.put('x', 'kept', object('kept', 'a'));
  await storage.flush();
  isSlow = true;
  const put = (name: string, text: string) => {
    store.put('x', name, object(name, text));
    return assert.rejects(Promise.resolve(storage.flush()), /the change is not on disk: .*EIO/);
  };
  const first = put('kept', 'b');
  while (syncs.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const waiting = put('behind', 'c');
  const { revision } = store;
  isSlow = false;
  syncs.shift()?.(new Error('EIO: i/o error, fdatasync'));
  await Promise.all([first, waiting]);
  const expected = [{ name: 'kept', data: { text: 'a' } }];
  const shown = (objects: readonly UnknownObject[]) =>
    objects.map(({ metadata, ...rest }) => ({ name: metadata.name, data: rest['data'] }));
  assert.deepEqual(shown(store.list('x', '').map((one) => one.object)), expected);

  store.put('x', 'later', object('later', 'd'));
  await storage.flush();
  assert.ok(store.revision > revision, 'no revision is used again');
  await storage.close();
  const again = stateOf(path);
  assert.deepEqual(shown(again.objects), [...expected, { name: 'later', data: { text: 'd' } }]);
  await again.storage.close();
});
