import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine, type Engine } from '../engine/index.ts';
import { createWaves } from './waves.ts';

/** Waves over one table; after each of the first `hot` waves a key changes again. */
function stage(hot: number) {
  const clock = createVirtualClock();
  let count = 0;
  const seen: string[] = [];
  const waves = createWaves({
    clock,
    logger: silentLogger,
    engine: () => engine,
    onWave({ changes }) {
      count++;
      seen.push(...changes.map(({ key }) => key));
      if (count <= hot) table.put('hot', count);
    },
  });
  const engine: Engine = createEngine({ clock, onPending: () => waves.pending() });
  const table = engine.table<number>({ name: 'values' });
  table.synced();
  const copies = engine.derive<number | undefined>({
    name: 'copies',
    sink: true,
    compute: (key, tracker) => tracker.get(table, key),
  });
  engine.each(table, {}, copies);
  return {
    clock,
    waves,
    table,
    seen,
    get count() {
      return count;
    },
  };
}

test('settling waits for the wave that holds what was put, not for keys that go on changing', async () => {
  const all = stage(1000);
  all.table.put('hot', 0);
  await all.waves.settle();
  all.table.put('mine', 1);
  await all.waves.settle();
  assert.ok(all.seen.includes('mine'), 'the change of the caller has been handed over');
  assert.ok(all.count <= 4, `${all.count} waves were waited for`);
  await all.waves.stop();
});

test('a change that is put while a wave runs is handed over when settling ends', async () => {
  const all = stage(0);
  all.table.put('first', 1);
  const first = all.waves.settle();
  all.table.put('second', 1);
  await Promise.all([first, all.waves.settle()]);
  assert.deepEqual(all.seen, ['first', 'second']);
  assert.equal(all.waves.isIdle, true);
});

test('stopping ends the wait of those that settle', async () => {
  const all = stage(1000);
  all.table.put('hot', 0);
  const settling = all.waves.settle();
  all.table.put('late', 1);
  const late = all.waves.settle();
  await all.waves.stop();
  await Promise.all([settling, late]);
  await all.waves.settle();
});

test('catching up waits for the waves that evaluate new objects, and not for ever', async () => {
  let now = 0;
  let isBusy = true;
  const clock = { ...createVirtualClock(), now: () => now };
  const waves = createWaves({ clock, logger: silentLogger, engine: () => engine, onWave: () => undefined });
  const engine: Engine = createEngine({ clock, onPending: () => waves.pending() });
  const table = engine.table<number>({ name: 'values' });
  table.synced();
  const slow = engine.derive<number>({
    name: 'slow',
    sink: true,
    compute(key, tracker) {
      now += 10;
      if (isBusy) table.put('hot', now);
      return tracker.get(table, key) ?? 0;
    },
  });
  engine.each(table, {}, slow);
  await waves.settle();
  for (let index = 0; index < 1_000; index++) table.put(`k${index}`, index);
  await waves.caughtUp();
  assert.equal(engine.newcomers, 0, 'nothing has been taken in');
  void waves.settle();
  await waves.settle();
  const began = now;
  assert.ok(engine.newcomers > 0);
  await waves.caughtUp();
  assert.ok(engine.newcomers > 0 && now - began < 1_000);
  isBusy = false;
  while (engine.newcomers > 0) await waves.caughtUp();
  await waves.stop();
});

test('a pending change waits while there is more to gather; a caller that settles does not wait', async () => {
  const clock = createVirtualClock();
  let isGathering = true;
  let count = 0;
  const waves = createWaves({
    clock,
    logger: silentLogger,
    engine: () => engine,
    onWave: () => count++,
    isGathering: () => isGathering,
  });
  const engine: Engine = createEngine({ clock, onPending: () => waves.pending() });
  const table = engine.table<number>({ name: 'values' });
  table.put('a', 1);
  await clock.advance(1000);
  assert.equal(count, 0);
  await waves.settle();
  assert.equal(count, 1);
  table.put('b', 1);
  await clock.advance(1000);
  assert.equal(count, 1);
  isGathering = false;
  await clock.advance(10);
  assert.equal(count, 2);
});
