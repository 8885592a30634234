import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatchEvent } from '@capstan/kube';
import { createEventStream, createSchedule } from './event-stream.ts';

const event = (name: string): WatchEvent => ({
  type: 'ADDED',
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
});
function namesIn(next: IteratorResult<readonly WatchEvent[], unknown>): string[] {
  if (next.done === true) return [];
  return next.value.map(({ object }) => (object as { metadata: { name: string } }).metadata.name);
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A storage whose commits end when the test ends them. */
function storage() {
  const commits: PromiseWithResolvers<void>[] = [];
  const schedule = createSchedule(() => {
    const commit = Promise.withResolvers<void>();
    commits.push(commit);
    return commit.promise;
  });
  const open = () => createEventStream({ initial: [], limit: 10, limitBytes: 1e6, schedule, onEnd: () => {} });
  return { commits, open };
}

test('an event that was written during a commit is delivered after the next one', async () => {
  const { commits, open } = storage();
  const { stream, push } = open();
  const iterator = stream[Symbol.asyncIterator]();
  const first = iterator.next();
  push(event('a'));
  await turn();
  push(event('b'));
  commits[0]?.resolve();
  assert.deepEqual(namesIn(await first), ['a']);
  const second = iterator.next();
  await turn();
  assert.equal(commits.length, 2);
  commits[1]?.resolve();
  assert.deepEqual(namesIn(await second), ['b']);
});

test('many watches wait for one commit, and break when it fails', async () => {
  const { commits, open } = storage();
  const streams = [open(), open(), open()];
  const waiting = streams.map(({ stream }) => stream[Symbol.asyncIterator]().next());
  for (const { push } of streams) push(event('a'));
  await turn();
  assert.equal(commits.length, 1);
  commits[0]?.reject(new Error('the disk is full'));
  for (const next of waiting) await assert.rejects(next, /the disk is full/);
  assert.deepEqual(
    streams.map(({ push }) => push(event('b'))),
    [false, false, false],
  );
});

test('a reader that leaves during a commit gets the end and no event', async () => {
  const { commits, open } = storage();
  const { stream, push } = open();
  const iterator = stream[Symbol.asyncIterator]();
  const next = iterator.next();
  push(event('a'));
  await turn();
  await iterator.return?.();
  commits[0]?.resolve();
  assert.deepEqual(await next, { done: true, value: undefined });
});

test('events that wait when a stream ends are delivered before its end', async () => {
  const { commits, open } = storage();
  const { stream, push, end } = open();
  push(event('a'));
  end();
  const iterator = stream[Symbol.asyncIterator]();
  const next = iterator.next();
  await turn();
  commits[0]?.resolve();
  assert.deepEqual(namesIn(await next), ['a']);
  assert.equal((await iterator.next()).done, true);
});
