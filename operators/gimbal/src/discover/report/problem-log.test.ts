import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import type { Problem } from '../mirror/problem.ts';
import { createProblemLog } from './problem-log.ts';

const invalid: Problem = { type: 'InvalidService', message: 'it has no ports', namespace: 'team', name: 'web' };

describe('the log of problems', () => {
  it('counts what happens again, and not what is merely still so', async () => {
    const clock = createVirtualClock();
    const log = createProblemLog({ clock });
    log.set('team/web', [invalid]);
    const [first] = log.list();
    await clock.advance(1000);
    log.set('team/web', [invalid]);
    assert.deepEqual(log.list(), [first]);
    log.set('team/web', [invalid], true);
    const [again] = log.list();
    assert.equal(again?.count, 2);
    assert.equal(again?.firstAt, first?.firstAt);
    assert.equal(again?.lastAt, clock.now());
  });

  it('forgets what is gone, and reports a problem only when it appears, changes or disappears', () => {
    const log = createProblemLog({ clock: createVirtualClock() });
    let reported = 0;
    log.onChange(() => reported++);
    log.set('team/web', []);
    assert.equal(reported, 0);
    log.set('team/web', [invalid]);
    log.set('team/web', [invalid], true);
    assert.equal(reported, 1);
    log.set('team/web', [{ ...invalid, message: 'its ports are there twice' }]);
    assert.equal(reported, 2);
    log.set('team/web', []);
    assert.equal(reported, 3);
    assert.equal(log.size, 0);
  });

  it('goes on with what was there before a restart', async () => {
    const clock = createVirtualClock();
    const before = createProblemLog({ clock });
    before.set('team/web', [invalid]);
    before.set('team/web', [invalid], true);
    const list = before.list();
    await clock.advance(60_000);
    const after = createProblemLog({ clock });
    after.remember(list);
    after.set('team/web', [invalid]);
    assert.deepEqual(after.list(), list);
  });
});
