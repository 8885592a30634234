import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilAborted } from './clock.ts';

test('untilAborted resolves when the signal is aborted, and at once if it was aborted before', async () => {
  await untilAborted(AbortSignal.abort());
  const stopping = new AbortController();
  let isOver = false;
  const waiting = untilAborted(stopping.signal).then(() => {
    isOver = true;
  });
  await Promise.resolve();
  assert.equal(isOver, false);
  stopping.abort();
  await waiting;
  assert.equal(isOver, true);
});
