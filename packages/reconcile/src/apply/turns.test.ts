import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from './turns.ts';

test('work on one thing is done one after the other, in order, and on different things at the same time', async () => {
  const turns = createTurns();
  const seen: string[] = [];
  const gates = new Map(['a1', 'a2', 'b1'].map((name) => [name, Promise.withResolvers<void>()]));
  const work = (name: string) =>
    turns(name.slice(0, 1), async (hasWaited) => {
      seen.push(`${name}${hasWaited ? ' waited' : ''}`);
      await gates.get(name)?.promise;
      return name;
    });
  const all = ['a1', 'a2', 'b1'].map(work);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, ['a1', 'b1']);
  gates.get('a1')?.resolve();
  await all[0];
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, ['a1', 'b1', 'a2 waited']);
  for (const gate of gates.values()) gate.resolve();
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'b1']);
});

test('work that throws does not block the work after it', async () => {
  const turns = createTurns();
  const failing = turns('a', async () => {
    throw new Error('no');
  });
  const next = turns('a', async (hasWaited) => hasWaited);
  await assert.rejects(failing, /no/);
  assert.equal(await next, true);
  assert.equal(await turns('a', async (hasWaited) => hasWaited), false, 'the line is empty');
});
