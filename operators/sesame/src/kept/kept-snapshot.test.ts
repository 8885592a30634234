import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Clock, Logger } from '@capstan/kube';
import { RESOURCE_TYPES } from '../envoy/index.ts';
import { sharedParts } from './kept.test-support.ts';
import { createResourceStore, type ResourceStore } from '../xds/index.ts';
import { cluster, endpoints, listener, put, remove, routes } from '../xds/xds.test-support.ts';
import { createKeptSnapshot } from './kept-snapshot.ts';

const NOW = Date.parse('2026-11-19T04:00:00Z');

/** Timers run when the test fires them. */
function handClock() {
  const timers = new Set<() => void>();
  const clock: Clock = {
    now: () => NOW,
    after(_ms, call) {
      timers.add(call);
      return { cancel: () => timers.delete(call) };
    },
    yield: () => new Promise((resolve) => setImmediate(resolve)),
  };
  return {
    clock,
    fire() {
      const due = [...timers];
      timers.clear();
      for (const call of due) call();
    },
  };
}

async function createFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sesame-kept-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Process {
  readonly store: ResourceStore;
  readonly log: string[];
  /** Fires the timers, and waits for the writes. */
  write(): Promise<void>;
  end(): Promise<void>;
  move(key: string): Promise<void>;
}

/** Does the same with the file as a Sesame from its start on. */
async function startProcess(path: string, key = 'one'): Promise<Process> {
  const log: string[] = [];
  const line = (message: string, fields?: object) => void log.push(`${message} ${JSON.stringify(fields ?? {})}`);
  const logger: Logger = { debug: line, info: line, warn: line, error: line, with: () => logger };
  const { clock, fire } = handClock();
  const kept = createKeptSnapshot({ path, key, clock, logger });
  const store = createResourceStore();
  await kept.restore(store);
  kept.follow(store);
  return {
    store,
    log,
    async write() {
      fire();
      await kept.settled();
    },
    end: () => kept.close(),
    move: (next) => kept.move(next),
  };
}

/** All resources, each with its version and its bytes for every way in which clients can ask. */
function contentOf(store: ResourceStore): Map<string, string> {
  const found = new Map<string, string>();
  for (const type of RESOURCE_TYPES)
    for (const resource of store.ofType(type).values())
      found.set(
        resource.key,
        JSON.stringify([
          resource.version('whole'),
          resource.version('split'),
          resource.requires,
          resource.origins,
          ...(['grpc', 'delta', 'ads'] as const).map((delivery) =>
            Buffer.concat(resource.buffers(delivery, 'whole')).toString('hex'),
          ),
          resource.bytes('ads', 'split').toString(),
          Buffer.from(resource.at({ address: '127.64.0.9' }).bytes('ads', 'whole')).toString('hex'),
        ]),
      );
  return found;
}

function fill(store: ResourceStore): void {
  put(
    store,
    cluster('shop'),
    endpoints('shop-endpoints', 8080),
    routes('https/shop.example.com', 'shop'),
    listener('admin', 9001, 'https/shop.example.com'),
    ...sharedParts(['a.example.com', 'b.example.com', 'c.example.com']),
  );
}

async function keptBy(path: string): Promise<Process> {
  const first = await startProcess(path);
  fill(first.store);
  await first.write();
  return first;
}

test('the next process serves the resources of the file, the same in every form', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  await first.end();
  const second = await startProcess(path);
  assert.equal(second.store.mark, 'sesame: kept snapshot of 2026-11-19T04:00:00Z');
  assert.ok(second.store.isComplete);
  assert.deepEqual(contentOf(second.store), contentOf(first.store));
});

test('only the owner can read the file', async (context) => {
  const folder = await createFolder(context);
  await keptBy(join(folder, 'snapshot'));
  assert.deepEqual(await readdir(folder), ['snapshot']);
  assert.equal((await stat(join(folder, 'snapshot'))).mode & 0o777, 0o600);
});

test('differences are appended, and the newest of each resource is restored', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  const { size } = await stat(path);
  put(first.store, cluster('shop', 7), endpoints('cart-endpoints', 8081), ...sharedParts(['a.example.com'], 2));
  remove(first.store, 'rds', 'https/shop.example.com');
  remove(first.store, 'vhds', 'ingress_http/b.example.com');
  await first.write();
  const after = await stat(path);
  assert.ok(after.size > size && after.size < 2 * size, 'the differences alone were written');
  await first.end();
  const second = await startProcess(path);
  const { store } = second;
  assert.equal(store.find('cds', 'shop')?.version('whole'), first.store.find('cds', 'shop')?.version('whole'));
  assert.equal(store.find('rds', 'https/shop.example.com'), undefined);
  assert.deepEqual(
    [...store.ofType('vhds').keys()].toSorted(),
    ['ingress_http/a.example.com', 'ingress_http/c.example.com'],
  );
});

test('a process that ends in order writes the last differences', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  put(first.store, endpoints('cart-endpoints', 8081));
  await first.end();
  assert.ok((await startProcess(path)).store.find('eds', 'cart-endpoints'));
});

test('the first snapshot of the routes takes the place of the kept one, and differences follow in the file', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  await (await keptBy(path)).end();
  const second = await startProcess(path);
  const notified: string[] = [];
  second.store.subscribe((changes) => notified.push(...changes.map(({ key }) => key)));
  put(
    second.store,
    cluster('shop'),
    endpoints('shop-endpoints', 8089),
    listener('admin', 9001, 'https/shop.example.com'),
    ...sharedParts(['a.example.com', 'b.example.com', 'c.example.com']),
  );
  assert.deepEqual(notified.toSorted(), ['eds/shop-endpoints', 'rds/https/shop.example.com']);
  assert.equal(second.store.mark, undefined);
  await second.write();
  await second.end();
  const third = await startProcess(path);
  assert.deepEqual(contentOf(third.store), contentOf(second.store));
});

test('a snapshot of another configuration is not served, and is replaced', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  await (await keptBy(path)).end();
  const other = await startProcess(path, 'two');
  assert.equal(other.store.isComplete, false);
  put(other.store, cluster('other'));
  await other.write();
  await other.end();
  assert.equal((await startProcess(path)).store.isComplete, false);
  assert.ok((await startProcess(path, 'two')).store.find('cds', 'other'));
});

test('an edit of the configuration removes the file until it is written under the new one', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  await first.move('two');
  await assert.rejects(stat(path), { code: 'ENOENT' });
  await first.write();
  await first.end();
  assert.equal((await startProcess(path)).store.isComplete, false);
  assert.ok((await startProcess(path, 'two')).store.isComplete);
});

test('an edit of the configuration while a snapshot is written leads to another one', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await startProcess(path);
  fill(first.store);
  const [written, moved] = [first.write(), first.move('two')];
  await Promise.all([written, moved]);
  await first.write();
  await first.end();
  assert.ok((await startProcess(path, 'two')).store.isComplete);
});

test('a damaged file is never served, wherever the damage is, and it is removed', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  put(first.store, endpoints('cart-endpoints', 8081));
  await first.end();
  const bytes = await readFile(path);
  for (let at = 0; at < bytes.length; at += 37) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x41;
    await writeFile(path, damaged, { mode: 0o600 });
    const { store, log } = await startProcess(path);
    // A changed length makes the rest of the file look like a frame that is not whole: then all before it is served, or nothing.
    if (store.isComplete) assert.equal(store.find('eds', 'cart-endpoints'), undefined, `byte ${at}`);
    else assert.match(log.join(), /the kept snapshot is not used .*damaged/, `byte ${at}`);
    if (!store.isComplete) await assert.rejects(stat(path), { code: 'ENOENT' });
  }
});

test('a file that a killed process left incomplete is served up to its last whole difference, or not at all', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  const whole = (await stat(path)).size;
  const before = contentOf(first.store);
  put(first.store, endpoints('cart-endpoints', 8081));
  await first.end();
  const bytes = await readFile(path);
  for (let length = 0; length < bytes.length; length += 41) {
    await writeFile(path, bytes.subarray(0, length), { mode: 0o600 });
    const { store, end } = await startProcess(path);
    assert.equal(store.isComplete, length >= whole, `${length} bytes`);
    if (store.isComplete) assert.deepEqual(contentOf(store), before);
    await end();
  }
});

test('differences follow the last whole frame of a file that was left incomplete', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  await first.end();
  await writeFile(path, Buffer.concat([await readFile(path), Buffer.from([0, 0, 1, 0, 7])]), { mode: 0o600 });
  const second = await startProcess(path);
  fill(second.store);
  put(second.store, endpoints('cart-endpoints', 8081));
  await second.write();
  await second.end();
  assert.ok((await startProcess(path)).store.find('eds', 'cart-endpoints'));
});

test('a file of a snapshot that was being written is not read', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  await writeFile(`${path}.next`, 'the beginning of a snapshot', { mode: 0o644 });
  const first = await keptBy(path);
  await first.end();
  assert.ok((await startProcess(path)).store.isComplete);
  await assert.rejects(stat(`${path}.next`), { code: 'ENOENT' });
});

test('a file that others may read, and a link, are not used', async (context) => {
  const folder = await createFolder(context);
  const path = join(folder, 'snapshot');
  await (await keptBy(path)).end();
  const link = join(folder, 'link');
  await symlink(path, link);
  assert.equal((await startProcess(link)).store.isComplete, false);
  await chmod(path, 0o640);
  const { store, log } = await startProcess(path);
  assert.equal(store.isComplete, false);
  assert.match(log.join(), /is not private \(mode 640\)/);
});

test('a folder that cannot be written is reported once, without any content', async (context) => {
  const path = join(await createFolder(context), 'missing', 'snapshot');
  const first = await startProcess(path);
  fill(first.store);
  await first.write();
  await first.write();
  await first.end();
  assert.equal(first.log.filter((line) => line.includes('cannot be kept')).length, 1);
});

test('a large share of differences leads to a whole snapshot', async (context) => {
  const path = join(await createFolder(context), 'snapshot');
  const first = await keptBy(path);
  const bulk = (version: number) =>
    Array.from({ length: 4_000 }, (_, at) => endpoints(`bulk-${at}-${'x'.repeat(400)}`, 8000 + version));
  for (let version = 0; version < 6; version++) {
    put(first.store, ...bulk(version));
    await first.write();
  }
  const { size } = await stat(path);
  await first.end();
  const second = await startProcess(path);
  assert.deepEqual(contentOf(second.store), contentOf(first.store));
  assert.ok(size < 20_000_000, `${size} bytes`);
});
