import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { createRemovalGuard } from './removal-guard.ts';

function staged(owned: number) {
  const clock = createVirtualClock();
  const state = { owned };
  const guard = createRemovalGuard({ clock, owned: () => state.owned });
  const remove = (key: string) => {
    guard.propose(key, 1);
    if (!guard.allows(key)) return false;
    guard.removed(key, 1);
    state.owned--;
    return true;
  };
  return { clock, guard, state, remove };
}

const keys = (count: number) => Array.from({ length: count }, (_, index) => `ns/${index}`);

describe('the removal guard', () => {
  it('holds when more than half would go at once, until two further cycles say the same', () => {
    const { guard } = staged(20);
    for (const key of keys(20)) guard.propose(key, 1);
    assert.equal(guard.allows('ns/0'), false);
    assert.equal(guard.held, 20);
    assert.deepEqual(guard.cycle(), []);
    assert.equal(guard.allows('ns/0'), false);
    assert.equal(guard.cycle().length, 20);
    assert.equal(guard.allows('ns/0'), true);
    assert.equal(guard.held, 0);
  });

  it('lets few go, and half of many', () => {
    const few = staged(9);
    for (const key of keys(9)) assert.equal(few.remove(key), true);
    const half = staged(100);
    for (const key of keys(50)) half.guard.propose(key, 1);
    assert.equal(half.guard.allows('ns/0'), true);
  });

  it('sees a flood of single deletions', () => {
    const { remove, clock } = staged(100);
    const gone = keys(100).filter(remove);
    assert.equal(gone.length, 50);
    assert.notEqual(clock, undefined);
  });

  it('forgets what went long ago', async () => {
    const { remove, clock } = staged(100);
    assert.equal(keys(40).every(remove), true);
    await clock.advance(60_000);
    assert.equal(keys(65).slice(40).every(remove), true);
  });

  it('holds nothing any more once the remote side has everything back', () => {
    const { guard } = staged(20);
    for (const key of keys(20)) guard.propose(key, 1);
    assert.equal(guard.allows('ns/0'), false);
    for (const key of keys(20).slice(1)) guard.propose(key, 0);
    assert.equal(guard.held, 0);
    assert.equal(guard.allows('ns/0'), true);
  });

  it('does not hold the next small removal because a large one was approved', () => {
    const { guard, state, remove } = staged(40);
    for (const key of keys(30)) guard.propose(key, 1);
    assert.equal(guard.allows('ns/0'), false);
    guard.cycle();
    for (const key of guard.cycle()) {
      guard.removed(key, 1);
      state.owned--;
    }
    assert.equal(remove('ns/35'), true);
  });
});
