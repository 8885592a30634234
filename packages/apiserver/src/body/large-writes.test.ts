// Writes with tens of thousands of values are worked on in steps, and other requests are served between the steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse, UnknownObject } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { CONFIG_MAPS, configMap, manualClock, settle, testServer } from '../server.test-support.ts';

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const STRATEGIC = 'application/strategic-merge-patch+json';

/** A server whose pauses are counted; `meanwhile` runs work in the first of them. */
function pausingServer() {
  const clock = manualClock();
  let pauses = 0;
  let inPause: (() => Promise<unknown>) | undefined;
  let isRepeated = false;
  const { server, ok } = testServer({
    clock: {
      ...clock,
      async yield() {
        pauses += 1;
        const work = inPause;
        if (!isRepeated) inPause = undefined;
        await settle();
        await work?.();
      },
    },
  });
  const send = async (method: ApiRequest['method'], path: string, body: unknown, contentType?: string) => {
    const text = JSON.stringify(body);
    const query: Record<string, string> = contentType === APPLY ? { fieldManager: 'large', force: 'true' } : {};
    const read = JSON.parse(text) as unknown;
    const request = { method, path, query, body: read, ...(contentType !== undefined && { contentType }) };
    pauses = 0;
    const { status, body: answer } = (await server.handle(request, { user: ADMIN, source: { text } })) as ApiResponse;
    return { status, object: answer as UnknownObject, pauses };
  };
  return {
    send,
    ok,
    meanwhile: (work: () => Promise<unknown>) => {
      inPause = work;
    },
    /** Runs work in every pause. */
    always: (work: () => Promise<unknown>) => {
      inPause = work;
      isRepeated = true;
    },
  };
}

const data = (count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, value]));

test('a large write lets others be served between its steps, a small one does not wait', async () => {
  const { send } = pausingServer();
  const large = configMap('large', data(10_000, 'a'));
  const writes: [ApiRequest['method'], string, unknown, string?][] = [
    ['POST', CONFIG_MAPS, large],
    ['PUT', `${CONFIG_MAPS}/large`, configMap('large', data(10_000, 'b'))],
    ['PATCH', `${CONFIG_MAPS}/large`, { data: data(10_000, 'c') }, MERGE],
    ['PATCH', `${CONFIG_MAPS}/large`, { data: data(10_000, 'd') }, STRATEGIC],
    ['PATCH', `${CONFIG_MAPS}/large`, configMap('large', data(10_000, 'e')), APPLY],
    ['PATCH', `${CONFIG_MAPS}/applied`, configMap('applied', data(10_000, 'f')), APPLY],
  ];
  for (const [method, path, body, type] of writes) {
    const { status, pauses } = await send(method, path, body, type);
    assert.ok(status === 200 || status === 201, `${method} ${type}: ${status}`);
    assert.ok(pauses >= 4, `${method} ${type}: ${pauses} pauses`);
  }
  const small = await send('POST', CONFIG_MAPS, configMap('small', data(10, 'a')));
  assert.deepEqual([small.status, small.pauses], [201, 0]);
});

test('a large write starts again when another client changes its object meanwhile', async () => {
  const { send, ok, meanwhile } = pausingServer();
  await ok('POST', CONFIG_MAPS, configMap('shared'));
  for (const type of [MERGE, STRATEGIC, APPLY]) {
    const label = { metadata: { labels: { meanwhile: type.slice(12, 17) } } };
    meanwhile(() => ok('PATCH', `${CONFIG_MAPS}/shared`, label, { contentType: MERGE }));
    const change = { data: data(10_000, type) };
    const body = type === APPLY ? { ...configMap('shared'), ...change } : change;
    const { status, object } = await send('PATCH', `${CONFIG_MAPS}/shared`, body, type);
    assert.equal(status, 200);
    assert.deepEqual(object.metadata.labels, { meanwhile: type.slice(12, 17) });
    assert.deepEqual(object['data'], data(10_000, type));
  }
});

test('a small change of a large object lets others be served between its steps too', async () => {
  const { send } = pausingServer();
  await send('POST', CONFIG_MAPS, configMap('large', data(20_000, 'a')));
  const path = `${CONFIG_MAPS}/large`;
  const changes: [type: string, patch: unknown][] = [
    [MERGE, { metadata: { labels: { a: 'b' } } }],
    ['application/json-patch+json', [{ op: 'add', path: '/data/x', value: 'y' }]],
    [APPLY, { ...configMap('large'), data: { z: 'z' } }],
  ];
  for (const [type, patch] of changes) {
    const { status, pauses } = await send('PATCH', path, patch, type);
    assert.equal(status, 200);
    assert.ok(pauses >= 4, `${type}: ${pauses} pauses`);
  }
});

test('a JSON patch of a large object is taken: its managers, which repeat each key, do not count as values of a body', async () => {
  const { send } = pausingServer();
  await send('POST', CONFIG_MAPS, configMap('large', data(40_000, 'a')));
  const patch = (path: string, value: unknown) =>
    send('PATCH', `${CONFIG_MAPS}/large`, [{ op: 'add', path, value }], 'application/json-patch+json');
  const { status, object } = await patch('/data/x', 'y');
  assert.deepEqual([status, (object['data'] as Record<string, string>)['x']], [200, 'y']);
  assert.equal((await patch('/data', data(50_000, 'a'))).status, 422);
});

test('a large object that others change all the time is refused with a conflict at last', async () => {
  const { send, ok, always } = pausingServer();
  await ok('POST', CONFIG_MAPS, configMap('busy'));
  let count = 0;
  always(() => ok('PATCH', `${CONFIG_MAPS}/busy`, { data: { count: String(count++) } }, { contentType: MERGE }));
  const { status } = await send('PATCH', `${CONFIG_MAPS}/busy`, { data: data(10_000, 'a') }, MERGE);
  assert.equal(status, 409);
});

test('a large object is stored and watched as a small one is', async () => {
  const { send, ok } = pausingServer();
  const { object } = await send('POST', CONFIG_MAPS, configMap('whole-2', data(10_000, 'a')));
  assert.ok(Object.isFrozen(object['data']) && Object.isFrozen(object.metadata));
  assert.deepEqual(await ok('GET', `${CONFIG_MAPS}/whole-2`), object);
});

test('a large object whose name is taken meanwhile is refused, and the other one stays', async () => {
  const { send, ok, meanwhile } = pausingServer();
  meanwhile(() => ok('POST', CONFIG_MAPS, configMap('taken', { by: 'another' })));
  const { status } = await send('POST', CONFIG_MAPS, configMap('taken', data(10_000, 'a')));
  assert.equal(status, 409);
  assert.deepEqual((await ok('GET', `${CONFIG_MAPS}/taken`))['data'], { by: 'another' });
});

test('a large write with a resourceVersion is refused when its object moved on meanwhile', async () => {
  const { send, ok, meanwhile } = pausingServer();
  const { metadata } = await ok('POST', CONFIG_MAPS, configMap('versioned'));
  meanwhile(() => ok('PATCH', `${CONFIG_MAPS}/versioned`, { data: { a: 'b' } }, { contentType: MERGE }));
  const body = { data: data(10_000, 'a'), metadata: { resourceVersion: metadata.resourceVersion } };
  const { status } = await send('PATCH', `${CONFIG_MAPS}/versioned`, body, MERGE);
  assert.equal(status, 409);
});
