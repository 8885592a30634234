// Openings of sources that end, overlap and are read by key: each test notices one mistake that was planted once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine } from '../engine/index.ts';
import type { SourceContext, SourceDefinition } from '../read/source.ts';
import { createSources } from './open-sources.ts';

/** A source whose openings the test drives, and a reader of the row `a` alone. */
async function opened() {
  const clock = createVirtualClock();
  const engine = createEngine({ clock, onPending: () => {} });
  const sources = createSources({ engine, clock, random: () => 1, logger: silentLogger });
  const openings: { context: SourceContext<string>; fail(): void }[] = [];
  const rows: SourceDefinition<string> = {
    name: 'rows',
    open: (context) =>
      new Promise((_resolve, reject) => {
        openings.push({ context, fail: () => reject(new Error('gone')) });
      }),
  };
  const reader = engine.derive<string>({
    name: 'reader',
    compute: (_key, tracker) => tracker.get(sources.of(rows).rows, 'a')?.row ?? 'absent',
  });
  engine.hold(reader, '');
  const value = async () => {
    await clock.settle();
    engine.flushSync();
    const settled = engine.valueOf(reader, '');
    return settled?.state === 'value' ? settled.value : settled?.state;
  };
  await value();
  await clock.settle();
  return { clock, openings, value, table: (at: number) => openings[at]?.context.table };
}

describe('a row that is read by its key', () => {
  test('is not shown before the first state is complete', async () => {
    const { table, value } = await opened();
    table(0)?.put('a', 'half');
    assert.equal(await value(), 'suspended');
    table(0)?.put('a', 'whole');
    table(0)?.complete();
    assert.equal(await value(), 'whole');
  });

  test('is not changed by an opening that has ended, neither by a late put nor by a late deletion', async () => {
    const { clock, openings, table, value } = await opened();
    table(0)?.put('a', 'first');
    table(0)?.complete();
    openings[0]?.fail();
    await clock.settle();
    table(0)?.put('a', 'late');
    assert.equal(await value(), 'first', 'before the next opening');
    await clock.advance(1_000);
    assert.equal(openings.length, 2);
    table(1)?.put('a', 'second');
    table(1)?.complete();
    table(0)?.put('a', 'late');
    table(0)?.delete('a');
    table(0)?.complete();
    assert.equal(await value(), 'second', 'beside the next opening');
  });
});

test('a source that ran for a minute is opened again after the first wait, whatever failed before', async () => {
  const { clock, openings } = await opened();
  for (const wait of [1_000, 2_000, 4_000]) {
    openings.at(-1)?.fail();
    await clock.settle();
    const count = openings.length;
    await clock.advance(wait - 1);
    assert.equal(openings.length, count);
    await clock.advance(1);
    assert.equal(openings.length, count + 1);
  }
  await clock.advance(59_999);
  openings.at(-1)?.fail();
  await clock.settle();
  await clock.advance(7_999);
  assert.equal(openings.length, 4, 'less than a minute counts as a failure more');
  await clock.advance(1);
  await clock.advance(60_000);
  openings.at(-1)?.fail();
  await clock.settle();
  await clock.advance(1_000);
  assert.equal(openings.length, 6);
});
