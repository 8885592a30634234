import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse, Transport, WatchEvent } from '@capstan/kube';
import { createActivity } from './activity.ts';

const map = (resourceVersion: string, labels: Record<string, string> = {}) => ({
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'x', uid: 'u', resourceVersion, labels },
});
const write: ApiRequest = { method: 'PUT', path: '/api/v1/namespaces/x/configmaps/a' };

/** A server whose watch delivers the events of the test, and ends when the test ends it. */
function scripted(answer: ApiResponse) {
  const events: WatchEvent[] = [];
  let hasEnded = false;
  let wake = () => {};
  const inner: Transport = {
    address: 'scripted',
    request: async () => answer,
    watch: async () =>
      (async function* () {
        for (;;) {
          const next = events.splice(0);
          if (next.length > 0) yield next;
          else if (hasEnded) return;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      })(),
    close: async () => {},
  };
  return {
    inner,
    bring(event: WatchEvent) {
      events.push(event);
      wake();
    },
    end() {
      hasEnded = true;
      wake();
    },
  };
}

async function watching(transport: Transport, query: Record<string, string> = {}): Promise<void> {
  const stream = await transport.watch({
    method: 'GET',
    path: '/api/v1/configmaps',
    query: { watch: 'true', ...query },
  });
  assert.ok(Symbol.asyncIterator in stream);
  void (async () => {
    for await (const _ of stream);
  })();
}

/** How long a rest takes while the event comes after `ms`. */
async function restFor(ms: number, event: WatchEvent, query: Record<string, string>, answer: ApiResponse) {
  const { inner, bring } = scripted(answer);
  const activity = createActivity();
  const transport = activity.follow(inner);
  await watching(transport, query);
  await transport.request(write);
  const start = performance.now();
  setTimeout(() => bring(event), ms);
  assert.equal(await activity.rest(), true);
  return performance.now() - start;
}

const answered = (body: object): ApiResponse => ({ status: 200, headers: {}, body });
const LATE = 300;
const QUIET = 40;

test('a write is waited for until the watch that must bring it has brought it', async () => {
  const event: WatchEvent = { type: 'MODIFIED', object: map('7') };
  assert.ok((await restFor(LATE, event, {}, answered(map('7')))) >= LATE);
});

test('a deletion is waited for by the name of what is gone', async () => {
  const gone = { kind: 'Status', status: 'Success', details: { uid: 'u' } };
  assert.ok((await restFor(LATE, { type: 'DELETED', object: map('9') }, {}, answered(gone))) >= LATE);
});

test('a write is not waited for on a watch that cannot bring it', async () => {
  const event: WatchEvent = { type: 'MODIFIED', object: map('7', { app: 'web' }) };
  assert.ok((await restFor(LATE, event, { labelSelector: 'app=db' }, answered(map('7', { app: 'web' })))) < LATE);
});

test('an event that came before the answer to its write is not waited for again', async () => {
  const { inner, bring } = scripted(answered(map('7')));
  const activity = createActivity();
  const transport = activity.follow(inner);
  await watching(transport);
  bring({ type: 'MODIFIED', object: map('7') });
  await new Promise((resolve) => setImmediate(resolve));
  const start = performance.now();
  await transport.request(write);
  await activity.rest();
  assert.ok(performance.now() - start < 1_000);
  assert.equal(await activity.rest(), false, 'nothing has happened since');
});

/** How long a rest takes at least after a watch is opened, when all before it was at rest. */
async function restAfterOpening(transport: Transport, rest: () => Promise<boolean>, query: Record<string, string>) {
  const times: number[] = [];
  for (let turn = 0; turn < 8; turn++) {
    await rest();
    const start = performance.now();
    await watching(transport, query);
    await rest();
    times.push(performance.now() - start);
  }
  return Math.min(...times);
}

test('a watch that is opened is given time for what it has to bring, but not where all is known that was written', async () => {
  const { inner } = scripted(answered(map('7')));
  const { follow, rest } = createActivity();
  const transport = follow(inner);
  await transport.request(write);
  assert.ok((await restAfterOpening(transport, rest, {})) >= QUIET, 'it may begin with anything');
  assert.ok((await restAfterOpening(transport, rest, { resourceVersion: '6' })) >= QUIET, 'it has yet to bring 7');
  assert.ok((await restAfterOpening(transport, rest, { resourceVersion: '7' })) < QUIET);
});

test('after a deletion every watch of the kind is given time until one has reported its version', async () => {
  const gone = { kind: 'Status', status: 'Success', details: { uid: 'u' } };
  const { inner, bring } = scripted(answered(gone));
  const { follow, rest } = createActivity();
  const transport = follow(inner);
  await transport.request({ ...write, method: 'DELETE' });
  assert.ok((await restAfterOpening(transport, rest, { resourceVersion: '8' })) >= QUIET);
  bring({ type: 'DELETED', object: map('9') });
  await rest();
  assert.ok((await restAfterOpening(transport, rest, { resourceVersion: '8' })) >= QUIET);
  assert.ok((await restAfterOpening(transport, rest, { resourceVersion: '9' })) < QUIET);
});

test('a watch that the server ended has lapsed until its client lists or watches the same again', async () => {
  const { inner, end } = scripted(answered(map('7')));
  const { follow, rest, hasLapsedWatch } = createActivity();
  const transport = follow(inner);
  await watching(transport, { labelSelector: 'app=web' });
  assert.equal(hasLapsedWatch(), false);
  end();
  await rest();
  assert.equal(hasLapsedWatch(), true);
  await transport.request({ method: 'GET', path: '/api/v1/configmaps', query: { labelSelector: 'app=db' } });
  assert.equal(hasLapsedWatch(), true, 'another selection');
  await transport.request({ method: 'GET', path: '/api/v1/configmaps', query: { labelSelector: 'app=web' } });
  assert.equal(hasLapsedWatch(), false);
});

test('a watch that its client left has not lapsed', async () => {
  const { inner, bring } = scripted(answered(map('7')));
  const { follow, hasLapsedWatch } = createActivity();
  const stream = await follow(inner).watch({ method: 'GET', path: '/api/v1/configmaps' });
  assert.ok(Symbol.asyncIterator in stream);
  bring({ type: 'MODIFIED', object: map('7') });
  for await (const _ of stream) break;
  assert.equal(hasLapsedWatch(), false);
});
