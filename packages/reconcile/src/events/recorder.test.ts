import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, type Client, Event, type KubeObject, Namespace, TransportError } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, objectOf } from '@capstan/testing';
import { createEventRecorder, type DropReason } from './recorder.ts';

const MINUTE = 60_000;

function objectNamed(name: string, uid = `uid-of-${name}`): KubeObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop', uid, resourceVersion: '7' } };
}

const pod = objectNamed('web');
const text = { type: 'Warning' as const, reason: 'PullFailed', note: 'no such image' };

/** A recorder on a server that holds Events in a map. */
function setUp() {
  const clock = createVirtualClock();
  const server = {
    events: new Map<string, Event>(),
    writes: [] as string[],
    /** Thrown instead of an answer; `after` once the write was done. */
    fault: undefined as undefined | { error: Error; after?: boolean },
    isSilent: false,
  };
  const keyOf = (event: { namespace?: string; name?: string }) => `${event.namespace}/${event.name}`;

  async function serve<T>(verb: string, signal: AbortSignal, write: () => T): Promise<T> {
    server.writes.push(verb);
    if (server.isSilent) {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    }
    const { fault } = server;
    if (fault !== undefined && !fault.after) throw fault.error;
    const result = write();
    if (fault !== undefined) throw fault.error;
    return result;
  }
  const client = {
    create: (_: unknown, event: Event, { signal }: { signal: AbortSignal }) =>
      serve('create', signal, () => {
        const key = keyOf(event.metadata);
        if (server.events.has(key)) throw refusal(409, 'AlreadyExists');
        server.events.set(key, event);
        return event;
      }),
    patch: (
      _: unknown,
      ref: { namespace: string; name: string },
      type: string,
      patch: Partial<Event>,
      { signal }: { signal: AbortSignal },
    ) =>
      serve(`patch ${type}`, signal, () => {
        const event = server.events.get(keyOf(ref));
        if (event === undefined) throw refusal(404, 'NotFound');
        server.events.set(keyOf(ref), { ...event, ...patch });
      }),
  } as unknown as Client;
  const leadership = { holds: true };
  const drops: DropReason[] = [];
  const recorder = createEventRecorder({
    client,
    clock,
    random: createRandom(1),
    leadership,
    controller: 'capstan.dev/test',
    instance: 'pod-1',
    observe: { written() {}, dropped: (reason) => drops.push(reason) },
  });
  const stop = new AbortController();
  const ended = recorder.run(stop.signal);
  return {
    clock,
    server,
    leadership,
    drops,
    recorder,
    stored: () => [...server.events.values()],
    async stop() {
      stop.abort();
      await clock.runUntilIdle(5_000);
      await ended;
      assert.equal(clock.pendingTimers, 0);
    },
  };
}

function refusal(code: number, reason: string): ApiError {
  return new ApiError({ code, status: { reason }, method: 'POST', path: '/events', address: 'test' });
}

describe('an event recorder', () => {
  it('writes one event for an occurrence with an id, whichever process reports it and when', async () => {
    const { clock, recorder, server, stored, stop } = setUp();
    recorder.record(pod, { ...text, id: 'first' });
    recorder.record(pod, { ...text, id: 'first' });
    recorder.record(pod, { ...text, id: 'second' });
    await clock.settle();
    const names = stored().map(({ metadata }) => metadata.name);
    assert.equal(names.length, 2);
    assert.deepEqual(
      stored().map(({ series }) => series),
      [undefined, undefined],
    );
    await stop();
    const next = setUp();
    for (const [key, event] of server.events) next.server.events.set(key, event);
    await next.clock.advance(60_000);
    next.recorder.record(pod, { ...text, note: 'in other words', id: 'first' });
    await next.clock.settle();
    assert.deepEqual(
      next.stored().map(({ metadata }) => metadata.name),
      names,
    );
    await next.stop();
  });

  it('writes an event with all that events.k8s.io/v1 asks for', async () => {
    const { clock, recorder, stored, stop } = setUp();
    recorder.record(pod, { ...text, related: objectNamed('node-1') });
    await clock.settle();
    const [event] = stored();
    assert.deepEqual(event, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: event?.metadata.name, namespace: 'shop' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      type: 'Warning',
      reason: 'PullFailed',
      action: 'PullFailed',
      note: 'no such image',
      regarding: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop', uid: 'uid-of-web' },
      related: { apiVersion: 'v1', kind: 'Pod', name: 'node-1', namespace: 'shop', uid: 'uid-of-node-1' },
      reportingController: 'capstan.dev/test',
      reportingInstance: 'pod-1',
    });
    assert.match(event?.metadata.name ?? '', /^web\.[0-9a-f]{16}$/);
    await stop();
  });

  it('writes a repeated event once, makes a series of it, and writes the count every 30 minutes', async () => {
    const { clock, server, recorder, stored, stop } = setUp();
    const startedAt = clock.now();
    for (let telling = 0; telling < 29; telling++) {
      recorder.record(pod, text);
      await clock.advance(MINUTE);
    }
    assert.deepEqual(server.writes, ['create', 'patch merge']);
    assert.equal(stored()[0]?.series?.count, 2);
    recorder.record(pod, text);
    await clock.advance(2 * MINUTE);
    assert.deepEqual(server.writes, ['create', 'patch merge', 'patch merge']);
    assert.deepEqual(stored()[0]?.series, {
      count: 30,
      lastObservedTime: new Date(startedAt + 29 * MINUTE).toISOString().replace('Z', '000Z'),
    });
    assert.equal(stored().length, 1);
    await stop();
  });

  it('ends a series after six quiet minutes with its last count, and begins a new one afterwards', async () => {
    const { clock, server, recorder, stored, stop } = setUp();
    for (let telling = 0; telling < 5; telling++) recorder.record(pod, text);
    await clock.settle();
    for (let telling = 0; telling < 5; telling++) recorder.record(pod, text);
    await clock.advance(12 * MINUTE);
    assert.deepEqual(server.writes, ['create', 'patch merge']);
    assert.equal(stored()[0]?.series?.count, 10);
    recorder.record(pod, text);
    await clock.settle();
    assert.equal(stored().length, 2);
    await stop();
  });

  it('takes another note, reason or object for another event', async () => {
    const { clock, recorder, stored, stop } = setUp();
    recorder.record(pod, text);
    recorder.record(pod, { ...text, note: 'another' });
    recorder.record(pod, { ...text, reason: 'Other' });
    recorder.record(objectNamed('web', 'a-later-one'), text);
    // The same object, changed.
    recorder.record({ ...pod, metadata: { ...pod.metadata, resourceVersion: '8' } }, text);
    await clock.settle();
    assert.equal(stored().length, 4);
    assert.equal(new Set(stored().map((event) => event.metadata.name)).size, 4);
    await stop();
  });

  it('lets an object have 25 events at once and then one every five minutes, whatever others have', async () => {
    const { clock, recorder, stored, drops, stop } = setUp();
    const notify = (object: KubeObject, count: number) => {
      for (let index = 0; index < count; index++) {
        recorder.record(object, { ...text, note: `${clock.now()} ${index}` });
      }
    };
    notify(pod, 40);
    notify(objectNamed('db'), 3);
    await clock.settle();
    assert.equal(stored().length, 28);
    assert.deepEqual(drops, Array(15).fill('spam'));
    await clock.advance(5 * MINUTE);
    notify(pod, 3);
    await clock.settle();
    assert.equal(stored().length, 29);
    await stop();
  });

  it('cuts notes at 1024 bytes, not inside a character', async () => {
    const { clock, recorder, stored, stop } = setUp();
    recorder.record(pod, { ...text, note: 'ä'.repeat(2000) });
    await clock.settle();
    const note = stored()[0]?.note ?? '';
    assert.ok(Buffer.byteLength(note) <= 1024 && Buffer.byteLength(note) > 1020);
    assert.match(note, /^ä+…$/);
    await stop();
  });

  it('gives every event a legal name, in a namespace', async () => {
    const { clock, recorder, stored, stop } = setUp();
    for (const name of ['system:node:Proxy_er', '..', 'x'.repeat(253), 'a.b-c']) {
      recorder.record({ apiVersion: 'v1', kind: 'ClusterRole', metadata: { name } }, text);
    }
    await clock.settle();
    for (const { metadata } of stored()) {
      assert.match(metadata.name ?? '', /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      assert.ok((metadata.name ?? '').length <= 253);
      assert.equal(metadata.namespace, 'default');
    }
    assert.equal(stored().length, 4);
    await stop();
  });

  it('tries again when the server does not answer, twelve times at most, and goes on with others', async () => {
    const { clock, server, recorder, stored, drops, stop } = setUp();
    server.fault = { error: new TransportError('refused', 'test') };
    recorder.record(pod, text);
    await clock.advance(10 * MINUTE);
    assert.equal(server.writes.length, 12);
    assert.deepEqual(drops, ['failed']);
    server.fault = undefined;
    recorder.record(pod, text);
    await clock.settle();
    assert.equal(stored().length, 1, 'a dropped event that is told again is a new one');
    await stop();
  });

  it('does not try again what the server refuses', async () => {
    const { clock, server, recorder, drops, stop } = setUp();
    server.fault = { error: refusal(403, 'Forbidden') };
    recorder.record(pod, text);
    await clock.advance(MINUTE);
    assert.equal(server.writes.length, 1);
    assert.deepEqual(drops, ['refused']);
    await stop();
  });

  it('makes one event when only the answer was lost', async () => {
    const { clock, server, recorder, stored, drops, stop } = setUp();
    server.fault = { error: new TransportError('reset', 'test'), after: true };
    recorder.record(pod, text);
    await clock.settle();
    server.fault = undefined;
    await clock.advance(MINUTE);
    assert.equal(stored().length, 1);
    assert.deepEqual(drops, []);
    await stop();
  });

  it('creates the event again when the server has let go of it before the series ended', async () => {
    const { clock, server, recorder, stored, stop } = setUp();
    recorder.record(pod, text);
    await clock.settle();
    server.events.clear();
    recorder.record(pod, text);
    await clock.settle();
    assert.equal(stored()[0]?.series?.count, 2);
    await stop();
  });

  it('writes only while leading', async () => {
    const { clock, server, leadership, recorder, drops, stop } = setUp();
    leadership.holds = false;
    recorder.record(pod, text);
    leadership.holds = true;
    recorder.record(objectNamed('db'), text);
    leadership.holds = false;
    await clock.settle();
    assert.deepEqual(server.writes, []);
    assert.deepEqual(drops, ['not-leading', 'not-leading']);
    await stop();
  });

  it('keeps at most a thousand events waiting', async () => {
    const { server, recorder, drops, clock, stop } = setUp();
    server.fault = { error: new TransportError('refused', 'test') };
    for (let index = 0; index < 1200; index++) recorder.record(objectNamed(`p${index}`), text);
    await clock.advance(30_000);
    assert.equal(drops.filter((reason) => reason === 'full').length, 200);
    await stop();
  });

  it('writes what is left, and last counts, when it stops', async () => {
    const { clock, recorder, stored, stop } = setUp();
    for (let telling = 0; telling < 3; telling++) {
      recorder.record(pod, text);
      await clock.settle();
    }
    recorder.record(objectNamed('db'), text);
    await stop();
    assert.deepEqual(
      stored().map((event) => event.series?.count),
      [3, undefined],
    );
  });

  it('stops in time when the server does not answer', async () => {
    const { clock, server, recorder, stop } = setUp();
    server.isSilent = true;
    recorder.record(pod, text);
    await clock.settle();
    const before = clock.now();
    await stop();
    assert.equal(clock.now() - before, 2_000);
  });

  it('writes what a real server takes: an event, and then its series', async () => {
    const clock = createVirtualClock();
    const random = createRandom(1);
    const { client, close } = await createTestCluster({ clock, random });
    await client.create(Namespace, objectOf<Namespace>(Namespace, { metadata: { name: 'shop' } }));
    const drops: DropReason[] = [];
    const recorder = createEventRecorder({
      client,
      clock,
      random,
      leadership: { holds: true },
      controller: 'capstan.dev/test',
      instance: 'pod-1',
      observe: { written() {}, dropped: (reason) => drops.push(reason) },
    });
    const stop = new AbortController();
    const ended = recorder.run(stop.signal);
    for (let telling = 0; telling < 3; telling++) {
      recorder.record(pod, text);
      await clock.settle();
    }
    stop.abort();
    await clock.runUntilIdle(5_000);
    await ended;
    const { items } = await client.list(Event, { namespace: 'shop' });
    assert.deepEqual(
      items.map((event) => [event.reason, event.note, event.series?.count]),
      [['PullFailed', 'no such image', 3]],
    );
    assert.deepEqual(drops, []);
    await close();
  });
});
