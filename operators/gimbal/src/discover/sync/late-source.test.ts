import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { DiscoverErrors } from '../errors.ts';
import { openingProblem } from '../kubernetes/connect.ts';
import { ABSENT } from '../mirror/mirror.ts';
import { createLateSource } from './late-source.ts';
import type { Source } from './source.ts';

it('missing credentials are reported, and read again until they exist', async () => {
  const clock = createVirtualClock();
  let isThere = false;
  const opened: Source = {
    isSynced: true,
    isLive: true,
    failure: undefined,
    identity: 'one',
    keys: () => ['team/web'],
    find: () => ABSENT,
    problems: () => [],
    subscribe: () => () => {},
    run: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  };
  const source = createLateSource({
    clock,
    logger: silentLogger,
    problemOf: openingProblem,
    open: () => (isThere ? Promise.resolve(opened) : Promise.reject(DiscoverErrors.KeyMissing('/secret', ['config']))),
  });
  let reported = 0;
  source.subscribe({ changed() {}, cycle() {}, state: () => reported++ });
  const stopping = new AbortController();
  const done = source.run(stopping.signal);
  await clock.advance(60_000);
  assert.equal(source.isLive, false);
  assert.equal(source.failure?.type, 'SecretMissing');
  assert.deepEqual([...source.keys()], []);
  isThere = true;
  await clock.advance(300_000);
  assert.equal(source.isLive, true);
  assert.equal(source.failure, undefined);
  assert.equal(source.identity, 'one');
  assert.ok(reported > 1);
  stopping.abort();
  await done;
});
