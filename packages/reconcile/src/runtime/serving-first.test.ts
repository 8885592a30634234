import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { createServingFirst } from './serving-first.ts';

function stage(isWanted = true, isBusy?: () => boolean) {
  const clock = createVirtualClock();
  const first = createServingFirst(clock, isWanted, undefined, isBusy);
  const events: string[] = [];
  const reports = (name: string) =>
    first.afterwards(() => {
      events.push(`${name} starts`);
      return { stop: () => void events.push(`${name} stops`) };
    });
  return { clock, first, events, reports };
}

describe('what is reported', () => {
  test('starts a moment after all that serves has its first snapshot', async () => {
    const { clock, first, events, reports } = stage();
    reports('status');
    const [xds, other] = [first.expect('xds'), first.expect('other')];
    first.begin();
    xds();
    await clock.advance(1000);
    assert.deepEqual(events, []);
    other();
    await clock.advance(1000);
    assert.deepEqual(events, ['status starts']);
    // A later snapshot, and parts that are added while it runs.
    other();
    reports('another');
    assert.deepEqual(events, ['status starts', 'another starts']);
  });

  test('waits while clients are being served, but not for ever', async () => {
    let isBusy = true;
    const [rested, flooded] = [stage(true, () => isBusy), stage(true, () => true)];
    for (const { first, reports } of [rested, flooded]) {
      reports('status');
      const served = first.expect('xds');
      first.begin();
      served();
    }
    await rested.clock.advance(12_000);
    assert.deepEqual(rested.events, []);
    isBusy = false;
    await rested.clock.advance(500);
    assert.deepEqual(rested.events, ['status starts']);
    await flooded.clock.advance(29_000);
    assert.deepEqual(flooded.events, []);
    await flooded.clock.advance(1_500);
    assert.deepEqual(flooded.events, ['status starts']);
  });

  test('starts at once where nothing serves, or where it is not asked to wait', () => {
    const none = stage();
    none.reports('status');
    none.first.begin();
    assert.deepEqual(none.events, ['status starts']);
    const unwanted = stage(false);
    unwanted.first.expect('xds');
    unwanted.reports('status');
    assert.deepEqual(unwanted.events, ['status starts']);
  });

  test('starts after a while where something cannot serve: the reason would not be reported otherwise', async () => {
    const { clock, first, events, reports } = stage();
    reports('status');
    first.expect('xds');
    first.begin();
    await clock.advance(9_999);
    assert.deepEqual(events, []);
    await clock.advance(1);
    assert.deepEqual(events, ['status starts']);
  });

  test('does not start when it was stopped before, and is stopped afterwards', async () => {
    const { clock, first, events, reports } = stage();
    const stopped = reports('gone');
    const running = reports('status');
    const xds = first.expect('xds');
    first.begin();
    stopped.stop();
    xds();
    await clock.advance(1000);
    running.stop();
    assert.deepEqual(events, ['status starts', 'status stops']);
  });
});
