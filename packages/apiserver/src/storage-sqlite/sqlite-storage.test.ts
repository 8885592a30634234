import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import fc from 'fast-check';
import { CONFIG_MAPS, configMap, testServer } from '../server.test-support.ts';
import { createStore } from '../store/store.ts';
import { openDatabase } from './database.ts';
import { sqliteStorage } from './sqlite-storage.ts';

const object = (data: string): UnknownObject => ({ apiVersion: 'v1', kind: 'Thing', metadata: {}, data });

const settled = () => new Promise((resolve) => setImmediate(resolve));

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'capstan-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

describe('SQLite storage', () => {
  it('gives back objects, revision and the recent past, whatever was written', async (t) => {
    const root = folder(t);
    let run = 0;
    const write = fc.record({
      resource: fc.constantFrom('x', 'y'),
      key: fc.constantFrom('a/1', 'a/2', 'b/1'),
      remove: fc.boolean(),
      flush: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), async (writes, retain) => {
        const path = join(root, `${(run += 1)}.db`);
        const storage = sqliteStorage({ path, retain });
        const store = createStore({ storage, historyLimit: 1000 });
        for (const [index, { resource, key, remove, flush }] of writes.entries()) {
          if (remove) store.remove(resource, key);
          else store.put(resource, key, object(String(index)));
          if (flush) await storage.flush();
        }
        await storage.close();
        const reopened = sqliteStorage({ path, retain });
        const again = createStore({ storage: reopened, historyLimit: 1000 });
        assert.equal(again.revision, store.revision);
        for (const resource of ['x', 'y']) assert.deepEqual(again.list(resource, ''), store.list(resource, ''));
        const { compacted } = again.history;
        assert.ok(
          store.revision - compacted >= Math.min(retain, store.revision - 1),
          'no more than the old is forgotten',
        );
        for (let revision = compacted; revision <= store.revision; revision += 1) {
          assert.deepEqual(again.listAt('x', '', revision), store.listAt('x', '', revision));
        }
        const events = (from: typeof store) =>
          Array.from({ length: from.history.length }, (_, index) => from.history.at(index)).filter(
            (event) => (event?.revision ?? 0) > compacted,
          );
        assert.deepEqual(events(again), events(store));
        await reopened.close();
      }),
      { numRuns: 25 },
    );
  });

  it('commits what one turn of the event loop wrote at once', async (t) => {
    const deferred: (() => void)[] = [];
    const path = join(folder(t), 'state.db');
    const storage = sqliteStorage({ path, defer: (call) => void deferred.push(call) });
    const store = createStore({ storage, historyLimit: 10 });
    assert.equal(storage.flush(), undefined);
    store.put('x', 'a', object('1'));
    const first = storage.flush();
    store.put('x', 'b', object('2'));
    const second = storage.flush();
    assert.equal(first, second);
    assert.equal(deferred.length, 1);
    deferred[0]?.();
    await first;
    assert.equal(storage.flush(), undefined);
    await storage.close();
  });

  it('takes writes while the disk is slow, and acknowledges each when its own sync has ended', async (t) => {
    const syncs: ((error: Error | null) => void)[] = [];
    const storage = sqliteStorage({
      path: join(folder(t), 'state.db'),
      sync: (_, done) => void syncs.push(done),
      defer: (call) => call(),
    });
    const store = createStore({ storage, historyLimit: 10 });
    const acknowledged: string[] = [];
    const put = (key: string) => {
      store.put('x', key, object(key));
      void storage.flush()?.then(() => acknowledged.push(key));
    };
    put('a');
    put('b');
    put('c');
    assert.equal(syncs.length, 1, 'one sync runs at a time');
    const [first] = syncs.splice(0);
    first?.(null);
    await settled();
    assert.deepEqual(acknowledged, ['a']);
    assert.equal(storage.kept, 2);
    assert.equal(syncs.length, 1, 'writes that arrived meanwhile are synced together');
    syncs[0]?.(null);
    await settled();
    assert.deepEqual(acknowledged, ['a', 'b', 'c']);
    assert.equal(storage.flush(), undefined);
    await storage.close();
  });

  it('shares the JSON that it has written with the answer, and keeps it no longer', async (t) => {
    const deferred: (() => void)[] = [];
    const storage = sqliteStorage({
      path: join(folder(t), 'state.db'),
      defer: (call) => void deferred.push(call),
    });
    const store = createStore({ storage, historyLimit: 10 });
    const stored = store.put('x', 'a', object('a'));
    deferred.shift()?.();
    await storage.flush();
    assert.equal(storage.jsonOf?.(stored), JSON.stringify(stored));
    deferred.shift()?.();
    assert.equal(storage.jsonOf?.(stored), undefined);
    await storage.close();
  });

  it('forgets the replaced and the removed, and never goes back to a revision', async (t) => {
    const path = join(folder(t), 'state.db');
    const storage = sqliteStorage({ path, retain: 5 });
    const store = createStore({ storage, historyLimit: 10 });
    for (let count = 0; count < 60; count += 1) {
      store.put('x', 'same', object(String(count)));
      await storage.flush();
    }
    store.remove('x', 'same');
    store.compact(store.revision);
    const { revision } = store;
    await storage.close();
    const database = new DatabaseSync(path);
    assert.equal(database.prepare('SELECT count(*) AS rows FROM revisions').get()?.['rows'], 0);
    database.close();
    const reopened = sqliteStorage({ path });
    assert.equal(reopened.load().revision, revision);
    await reopened.close();
  });

  it('lets a watch go on where it was before a restart', async (t) => {
    const path = join(folder(t), 'state.db');
    const first = testServer({ storage: sqliteStorage({ path }) });
    const made = await first.ok('POST', CONFIG_MAPS, configMap('a'));
    await first.ok('PUT', `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }));
    await first.ok('DELETE', `${CONFIG_MAPS}/a`);
    await first.server.close();
    const second = testServer({ storage: sqliteStorage({ path }) });
    const watching = await second.watch(CONFIG_MAPS, { resourceVersion: made.metadata.resourceVersion ?? '' });
    const events = await watching.take();
    assert.deepEqual(
      events.map(({ type }) => type),
      ['MODIFIED', 'DELETED'],
    );
    await watching.close();
    await second.server.close();
  });
});

describe('a file that cannot be used', () => {
  it('is reported when another process (or this one) has it open, with the pid', async (t) => {
    const path = join(folder(t), 'state.db');
    const storage = sqliteStorage({ path });
    assert.throws(() => sqliteStorage({ path }), {
      message: new RegExp(`^cannot open .*: another process \\(pid ${process.pid}\\) is using it; stop that one first`),
    });
    await storage.close();
    await sqliteStorage({ path }).close();
  });

  it('is reported and left as it is when it is no database', (t) => {
    const path = join(folder(t), 'state.db');
    const text = 'this is a diary, and a long one at that\n'.repeat(100);
    writeFileSync(path, text);
    assert.throws(() => sqliteStorage({ path }), { message: /state\.db is damaged: file is not a database; nothing/ });
    assert.equal(readFileSync(path, 'utf8'), text);
  });

  for (const [where, damage] of [
    ['in the structure', (bytes: Buffer) => bytes.fill(0xff, 4096, 8192)],
    [
      'in an object',
      (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replaceAll('find-me', 'lose-me'), 'latin1'),
    ],
    ['by a cut', (bytes: Buffer) => bytes.subarray(0, bytes.length - 5000)],
  ] as const) {
    it(`is reported and left as it is when it is damaged ${where}`, async (t) => {
      const path = join(folder(t), 'state.db');
      const storage = sqliteStorage({ path });
      const store = createStore({ storage, historyLimit: 10 });
      for (let count = 0; count < 50; count += 1) store.put('x', String(count), object(`find-me${'.'.repeat(400)}`));
      await storage.close();
      const bytes = readFileSync(path);
      writeFileSync(path, damage(bytes));
      const before = readFileSync(path);
      assert.throws(() => createStore({ storage: sqliteStorage({ path }), historyLimit: 10 }), {
        message: /state\.db is damaged: .*; nothing in it has been changed; restore a copy/,
      });
      assert.deepEqual(readFileSync(path), before);
    });
  }

  it('is refused when it belongs to another program, or to a newer version', (t) => {
    const root = folder(t);
    const foreign = new DatabaseSync(join(root, 'foreign.db'));
    foreign.exec('CREATE TABLE things (a)');
    foreign.close();
    assert.throws(() => sqliteStorage({ path: join(root, 'foreign.db') }), { message: /database of another program/ });
    openDatabase(join(root, 'newer.db'), ['CREATE TABLE a (b)', 'CREATE TABLE b (c)']).close();
    assert.throws(() => sqliteStorage({ path: join(root, 'newer.db') }), {
      message: /written by a newer version \(schema 2, this one knows 1\)/,
    });
  });

  it('is distinguished from a folder that cannot be written to', (t) => {
    const root = folder(t);
    assert.throws(() => sqliteStorage({ path: join(root, 'nowhere', 'state.db') }), { message: /^cannot write to / });
    mkdirSync(join(root, 'taken'));
    assert.throws(() => sqliteStorage({ path: join(root, 'taken') }), { message: /^cannot write to / });
  });
});

it('a file of an older schema is brought up to date and keeps what is in it', (t) => {
  const path = join(folder(t), 'old.db');
  const old = openDatabase(path, ['CREATE TABLE things (name TEXT)']);
  old.exec("INSERT INTO things VALUES ('kept')");
  old.close();
  const migrated = openDatabase(path, [
    'CREATE TABLE things (name TEXT)',
    'ALTER TABLE things ADD COLUMN size INTEGER',
  ]);
  assert.deepEqual({ ...migrated.prepare('SELECT * FROM things').get() }, { name: 'kept', size: null });
  migrated.close();
});
