import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject, WatchEvent } from '@capstan/kube';
import { CONFIG_MAPS, configMap, DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';
import { isResponse } from '../transport.ts';

const MERGE = { contentType: 'application/merge-patch+json' };
const objectOf = (event: WatchEvent | undefined) => event?.object as UnknownObject;
const summary = (events: readonly WatchEvent[]) =>
  events.map((event) => `${event.type} ${objectOf(event).metadata.name}`);

describe('watch', () => {
  it('sends initial events to a client that takes no bookmarks, and no bookmark', async () => {
    const { ok, watch, refused } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const asked = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
    const silent = await watch(CONFIG_MAPS, asked);
    assert.deepEqual(summary(await silent.take()), ['ADDED a']);
    await ok('POST', CONFIG_MAPS, configMap('b'));
    assert.deepEqual(summary(await silent.take()), ['ADDED b']);
    const marked = await watch(CONFIG_MAPS, { ...asked, allowWatchBookmarks: 'true' });
    assert.deepEqual(
      (await marked.take()).map(({ type }) => type),
      ['ADDED', 'ADDED', 'BOOKMARK'],
    );
    const { message } = await refused('GET', CONFIG_MAPS, undefined, { query: { sendInitialEvents: 'true' } });
    assert.match(message ?? '', /sendInitialEvents is forbidden for list/);
  });

  it('begins with what is there, or after a revision', async () => {
    const { ok, watch, server } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const from = String(server.revision);
    await ok('POST', CONFIG_MAPS, configMap('b'));
    const whole = await watch(CONFIG_MAPS);
    const later = await watch(CONFIG_MAPS, { resourceVersion: from });
    assert.deepEqual(summary(await whole.take()), ['ADDED a', 'ADDED b']);
    assert.deepEqual(summary(await later.take()), ['ADDED b']);
    await ok('PATCH', `${CONFIG_MAPS}/a`, { data: { x: '1' } }, MERGE);
    await ok('DELETE', `${CONFIG_MAPS}/b`);
    const events = await later.take();
    assert.deepEqual(summary(events), ['MODIFIED a', 'DELETED b']);
    assert.equal(
      objectOf(events[1]).metadata.resourceVersion,
      String(server.revision),
      'a deletion has its own revision',
    );
    await whole.close();
    await later.close();
  });

  it('turns objects that begin or cease to match into added and deleted ones', async () => {
    const { ok, watch, server } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a', {}, { labels: { on: 'no' } }));
    const watching = await watch(CONFIG_MAPS, { labelSelector: 'on=yes' });
    await ok('PATCH', `${CONFIG_MAPS}/a`, { metadata: { labels: { on: 'yes' } } }, MERGE);
    await ok('PATCH', `${CONFIG_MAPS}/a`, { data: { x: '1' } }, MERGE);
    await ok('PATCH', `${CONFIG_MAPS}/a`, { metadata: { labels: { on: 'no' } } }, MERGE);
    const events = await watching.take();
    assert.deepEqual(summary(events), ['ADDED a', 'MODIFIED a', 'DELETED a']);
    assert.equal(objectOf(events[2]).metadata.labels?.['on'], 'yes', 'the last state that matched');
    assert.equal(objectOf(events[2]).metadata.resourceVersion, String(server.revision));
    await watching.close();
  });

  it('looks at one namespace, one name, or one kind only', async () => {
    const { ok, watch } = testServer();
    const named = await watch(CONFIG_MAPS, { fieldSelector: 'metadata.name=b' });
    const single = await watch(`${CONFIG_MAPS}/c`);
    const system = await watch('/api/v1/namespaces/kube-system/configmaps');
    for (const name of ['a', 'b', 'c']) await ok('POST', CONFIG_MAPS, configMap(name));
    await ok('POST', DEPLOYMENTS, deployment('b'));
    assert.deepEqual(summary(await named.take()), ['ADDED b']);
    assert.deepEqual(summary(await single.take()), ['ADDED c']);
    assert.deepEqual(await system.take(), []);
    for (const one of [named, single, system]) await one.close();
  });

  it('streams the initial state and marks its end', async () => {
    const { ok, watch, refused, server } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' };
    const watching = await watch(CONFIG_MAPS, query);
    const events = await watching.take();
    assert.deepEqual(
      events.map(({ type }) => type),
      ['ADDED', 'BOOKMARK'],
    );
    assert.deepEqual(objectOf(events[1]), {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(server.revision), annotations: { 'k8s.io/initial-events-end': 'true' } },
    });
    await ok('POST', CONFIG_MAPS, configMap('b'));
    assert.deepEqual(summary(await watching.take()), ['ADDED b']);
    await watching.close();
    const status = await refused('GET', CONFIG_MAPS, undefined, {
      query: { watch: 'true', sendInitialEvents: 'true' },
    });
    assert.match(status.message ?? '', /sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/);
  });

  it('bookmarks every minute and before its time is over, then ends', async () => {
    const { ok, watch, clock, server } = testServer();
    const query = { allowWatchBookmarks: 'true', timeoutSeconds: '150', resourceVersion: String(server.revision) };
    const watching = await watch(CONFIG_MAPS, query);
    await ok('POST', DEPLOYMENTS, deployment('elsewhere'));
    const times: number[] = [];
    for (let second = 1; second <= 150; second += 1) {
      await clock.advance(1000);
      for (const event of await watching.take()) {
        assert.equal(event.type, 'BOOKMARK');
        assert.equal(objectOf(event).metadata.resourceVersion, String(server.revision));
        times.push(second);
      }
    }
    assert.deepEqual(times, [60, 120, 148]);
    assert.equal(watching.ended, true);
  });

  it('says Expired when it should begin before what the server remembers', async () => {
    const { ok, watch, server } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const from = server.revision;
    await ok('POST', CONFIG_MAPS, configMap('b'));
    server.compact(server.revision);
    const watching = await watch(CONFIG_MAPS, { resourceVersion: String(from) });
    const [event] = await watching.take();
    assert.equal(event?.type, 'ERROR');
    const status = event?.object as { code: number; reason: string; message: string };
    assert.deepEqual([status.code, status.reason], [410, 'Expired']);
    assert.equal(status.message, `too old resource version: ${from} (${server.revision})`);
    assert.equal(watching.ended, true);
    const fresh = await watch(CONFIG_MAPS, { resourceVersion: String(server.revision) });
    assert.deepEqual(await fresh.take(), []);
    await fresh.close();
  });

  it('forgets by itself what is beyond the limit of its history', async () => {
    const { ok, watch, server } = testServer({ historyLimit: 10 });
    const from = server.revision;
    await ok('POST', CONFIG_MAPS, configMap('a'));
    for (let index = 0; index < 30; index += 1) {
      await ok('PATCH', `${CONFIG_MAPS}/a`, { data: { x: String(index) } }, MERGE);
    }
    const old = await watch(CONFIG_MAPS, { resourceVersion: String(from) });
    assert.equal((await old.take())[0]?.type, 'ERROR');
    const recent = await watch(CONFIG_MAPS, { resourceVersion: String(server.revision - 10) });
    assert.equal((await recent.take()).length, 10);
    await recent.close();
  });

  it('ends for a reader who is too slow, after what was waiting for him', async () => {
    const { ok, transport } = testServer({ watchBufferLimit: 3 });
    const stream = await transport.watch({ method: 'GET', path: CONFIG_MAPS, query: { watch: 'true' } });
    assert.ok(!('status' in stream));
    for (let index = 0; index < 10; index += 1) await ok('POST', CONFIG_MAPS, configMap(`cm-${index}`));
    const seen: string[] = [];
    for await (const batch of stream) seen.push(...summary(batch));
    assert.deepEqual(seen, ['ADDED cm-0', 'ADDED cm-1', 'ADDED cm-2', 'ADDED cm-3']);
  });

  it('shares its events between watchers', async () => {
    const { ok, watch } = testServer();
    const one = await watch(CONFIG_MAPS);
    const other = await watch(CONFIG_MAPS, { labelSelector: '!none' });
    await ok('POST', CONFIG_MAPS, configMap('a'));
    assert.equal((await one.take())[0], (await other.take())[0]);
    await one.close();
    await other.close();
  });

  it('ends with the signal, with the transport and with the server', async () => {
    const { watch, transport, server } = testServer();
    const controller = new AbortController();
    const signalled = await transport.watch({
      method: 'GET',
      path: CONFIG_MAPS,
      query: { watch: 'true' },
      signal: controller.signal,
    });
    assert.ok(!('status' in signalled));
    const broken = assert.rejects(signalled[Symbol.asyncIterator]().next(), { kind: 'aborted' });
    const left = await watch(CONFIG_MAPS);
    controller.abort();
    await broken;
    assert.equal(left.ended, false);
    await server.close();
    await left.take();
    assert.equal(left.ended, true);
    await assert.rejects(transport.request({ method: 'GET', path: CONFIG_MAPS }), {
      name: 'TransportError',
      kind: 'refused',
    });
  });

  it('gives metadata only when asked for it', async () => {
    const { ok, watch } = testServer();
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const watching = await watch(CONFIG_MAPS, {}, { accept });
    await ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    const [event] = await watching.take();
    assert.deepEqual(Object.keys(objectOf(event)).sort(), ['apiVersion', 'kind', 'metadata']);
    await watching.close();
  });

  it('ends the stream of a reader that leaves too many bytes waiting', async () => {
    const test = testServer();
    const stream = await test.transport.watch({ method: 'GET', path: CONFIG_MAPS, query: { watch: 'true' } });
    assert.ok(!isResponse(stream));
    const iterator = stream[Symbol.asyncIterator]();
    const data = { text: 'x'.repeat(1_000_000) };
    for (let count = 0; count < 80; count += 1) await test.ok('POST', CONFIG_MAPS, { ...configMap(`m${count}`), data });
    let events = 0;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      events += next.value.length;
    assert.ok(events < 80, `${events} events`);
  });
});
