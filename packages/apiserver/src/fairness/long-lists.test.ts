// Work on thousands of objects, over a real connection: it is done in steps, and other requests are served between them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { longestTurn } from '../event-loop.test-support.ts';
import { CONFIG_MAPS, configMap, testServer } from '../server.test-support.ts';

const PODS = '/api/v1/namespaces/default/pods';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const COUNT = 6_000;

test('a list, a watch and a deletion of thousands of objects do not occupy the event loop', async () => {
  const { server, ok } = testServer({ clock: systemClock });
  const labels = { app: 'x' };
  for (let index = 0; index < COUNT; index += 1) {
    const { metadata, ...rest } = configMap(`c${index}`);
    await ok('POST', CONFIG_MAPS, { ...rest, metadata: { ...metadata, labels } });
    if (index % 3 === 0) await ok('POST', PODS, pod(`p${index}`));
  }
  const send = (method: 'GET' | 'DELETE', path: string, query: Record<string, string>, accept?: string) =>
    server.handle({ method, path, query, ...(accept !== undefined && { accept }) }, { user: ADMIN, isPaced: true });
  const labelSelector = Array.from({ length: 900 }, (_, index) => `app!=y${index}`).join(',');
  const works: readonly [what: string, work: () => Promise<unknown>][] = [
    ['a selector with many requirements', () => send('GET', CONFIG_MAPS, { labelSelector })],
    ['the same in a watch', () => opened(send('GET', CONFIG_MAPS, { labelSelector, watch: 'true' }))],
    ['the same from an earlier revision', () => opened(send('GET', CONFIG_MAPS, { ...FROM_FIRST, labelSelector }))],
    ['a table of pods', () => send('GET', PODS, {}, TABLE)],
    ['a table of pods in a watch', () => opened(send('GET', PODS, { watch: 'true' }, TABLE))],
    ['a deletion of pods', () => send('DELETE', PODS, {})],
    ['a deletion by a selector', () => send('DELETE', CONFIG_MAPS, { labelSelector })],
  ];
  for (const [what, work] of works) {
    const longest = await longestTurn(async () => {
      await work();
    });
    assert.ok(longest < 60, `${what}: ${Math.round(longest)} ms`);
  }
  assert.deepEqual((await ok('GET', CONFIG_MAPS))['items'], []);
  await server.close();
});

const FROM_FIRST = { watch: 'true', resourceVersion: '1' };

/** Opens a watch, reads its first events and ends it. */
async function opened(answer: ReturnType<ReturnType<typeof testServer>['server']['handle']>): Promise<void> {
  const stream = await answer;
  assert.ok(Symbol.asyncIterator in stream);
  const iterator = stream[Symbol.asyncIterator]();
  const first = await iterator.next();
  assert.ok(first.done !== true && first.value.length > 0);
  await iterator.return?.();
}

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'x', image: 'x' }] },
});

test('a list in steps shows the state of one moment, and so does a watch that begins with it', async () => {
  const { server, ok } = testServer({ clock: systemClock });
  for (let index = 0; index < 3_000; index += 1) await ok('POST', CONFIG_MAPS, configMap(`c${index}`));
  const labelSelector = Array.from({ length: 900 }, (_, index) => `app!=y${index}`).join(',');
  const get = (query: Record<string, string>) =>
    server.handle(
      { method: 'GET', path: CONFIG_MAPS, query: { labelSelector, ...query } },
      { user: ADMIN, isPaced: true },
    );
  const listing = get({});
  const watching = get({ watch: 'true' });
  await ok('DELETE', `${CONFIG_MAPS}/c2999`);
  await ok('POST', CONFIG_MAPS, configMap('late'));
  const { body } = (await listing) as { body: { items: { metadata: { name: string } }[]; metadata: object } };
  assert.equal(body.items.length, 3_000);
  assert.ok(body.items.some(({ metadata }) => metadata.name === 'c2999'));
  const stream = await watching;
  assert.ok(Symbol.asyncIterator in stream);
  const iterator = stream[Symbol.asyncIterator]();
  const names = new Set<string>();
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    for (const { type, object } of next.value) {
      const { name = '' } = (object as { metadata: { name?: string } }).metadata;
      if (type === 'DELETED') names.delete(name);
      else names.add(name);
    }
    if (names.has('late')) break;
  }
  assert.equal(names.size, 3_000);
  assert.ok(!names.has('c2999'));
  await iterator.return?.();
  await server.close();
});
