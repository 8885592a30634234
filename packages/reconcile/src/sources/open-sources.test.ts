import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { createEngine, type Root } from '../engine/index.ts';
import type { SourceContext, SourceDefinition } from '../read/source.ts';
import { createSources } from './open-sources.ts';

/** One source whose openings the test drives by hand, and a reader of all its rows. */
function staged(definition: Partial<SourceDefinition<string>> = {}) {
  const clock = createVirtualClock();
  let isPending = false;
  const engine = createEngine({ clock, onPending: () => (isPending = true) });
  const sources = createSources({ engine, clock, random: () => 1, logger: silentLogger });
  const openings: { context: SourceContext<string>; close(error?: Error): void }[] = [];
  const cables: SourceDefinition<string> = {
    name: 'cables',
    ...definition,
    open: (context) =>
      new Promise((resolve, reject) => {
        context.signal.addEventListener('abort', () => resolve());
        openings.push({ context, close: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
  };
  const seen: string[] = [];
  const reader = engine.derive<string>({
    name: 'reader',
    compute(_key, tracker) {
      const { rows, state } = sources.of(cables);
      const { isStale, error } = tracker.get(state, '') ?? { isStale: true, error: undefined };
      const text = tracker
        .list(rows)
        .map(({ key, row }) => `${key}=${row}`)
        .join(' ');
      seen.push(text);
      return `${text}${isStale ? ' stale' : ''}${error === undefined ? '' : `: ${error.message}`}`;
    },
  });
  let root: Root | undefined;
  async function settle(): Promise<void> {
    await clock.settle();
    while (isPending) {
      isPending = false;
      engine.flushSync();
      await clock.settle();
    }
  }
  return {
    clock,
    openings,
    seen,
    sources,
    settle,
    async read() {
      root = engine.hold(reader, '');
      await settle();
    },
    async leave() {
      root?.stop();
      await settle();
    },
    async put(...rows: [key: string, row: string][]) {
      for (const [key, row] of rows) openings.at(-1)?.context.table.put(key, row);
      await settle();
    },
    async complete() {
      openings.at(-1)?.context.table.complete();
      await settle();
    },
    /** When the source was last complete, as a reader sees it. */
    completedAt() {
      const times = engine.derive<number>({
        name: 'times',
        compute: (_key, tracker) => tracker.get(sources.of(cables).completions, '') ?? -1,
      });
      engine.hold(times, '');
      return async () => {
        await settle();
        const settled = engine.valueOf(times, '');
        return settled?.state === 'value' ? settled.value : settled?.state;
      };
    },
    value() {
      const settled = engine.valueOf(reader, '');
      return settled?.state === 'value' ? settled.value : settled?.state;
    },
  };
}

describe('a source', () => {
  test('is opened when something reads it, and closed when nothing does', async () => {
    const all = staged();
    await all.settle();
    assert.equal(all.openings.length, 0);
    await all.read();
    assert.equal(all.openings.length, 1);
    await all.leave();
    assert.equal(all.openings[0]?.context.signal.aborted, true);
    await all.read();
    assert.equal(all.openings.length, 2);
    assert.equal(all.value(), 'suspended');
  });

  test('is unknown until its first complete state, also for keys that were put', async () => {
    const all = staged();
    await all.read();
    await all.put(['a', 'up']);
    assert.equal(all.value(), 'suspended');
    await all.complete();
    assert.equal(all.value(), 'a=up');
    assert.deepEqual(all.seen, ['a=up']);
  });

  test('confirms its rows each time that it is complete, and wakes only those who read that', async () => {
    const all = staged();
    const completedAt = all.completedAt();
    await all.read();
    assert.equal(await completedAt(), 'suspended');
    await all.put(['a', 'up']);
    await all.complete();
    const first = all.clock.now();
    assert.equal(await completedAt(), first);
    await all.clock.advance(30_000);
    await all.complete();
    assert.equal(await completedAt(), first + 30_000);
    assert.deepEqual(all.seen, ['a=up']);
  });

  test('is opened again with the waits that it declares', async () => {
    const all = staged({ backOff: { firstMs: 5_000, longestMs: 8_000 } });
    await all.read();
    for (const [index, wait] of [5_000, 8_000, 8_000].entries()) {
      all.openings[index]?.close(new Error('the socket is gone'));
      await all.clock.advance(wait - 1);
      assert.equal(all.openings.length, index + 1);
      await all.clock.advance(1);
      assert.equal(all.openings.length, index + 2);
    }
  });

  test('wakes its readers with each row that changes', async () => {
    const all = staged();
    await all.read();
    await all.complete();
    await all.put(['a', 'up'], ['b', 'up']);
    await all.put(['b', 'down']);
    all.openings[0]?.context.table.delete('a');
    await all.settle();
    assert.equal(all.value(), 'b=down');
  });

  test('a source that closes keeps its rows as stale and is opened again with waits that double', async () => {
    const all = staged();
    await all.read();
    await all.put(['a', 'up']);
    await all.complete();
    all.openings[0]?.close(new Error('the socket is gone'));
    await all.settle();
    assert.equal(all.value(), 'a=up stale: the socket is gone');
    await all.clock.advance(999);
    assert.equal(all.openings.length, 1);
    await all.clock.advance(1);
    assert.equal(all.openings.length, 2);
    all.openings[1]?.close();
    await all.clock.advance(1999);
    assert.equal(all.openings.length, 2);
    await all.clock.advance(1);
    assert.equal(all.openings.length, 3);
    await all.settle();
    assert.match(String(all.value()), /^a=up stale: the source cables ended before it was asked to/);
  });

  test('loses the rows of an earlier opening that a later complete state does not have', async () => {
    const all = staged();
    await all.read();
    await all.put(['a', 'up'], ['b', 'up']);
    await all.complete();
    all.openings[0]?.close(new Error('gone'));
    await all.clock.advance(1000);
    await all.put(['b', 'down']);
    assert.equal(all.value(), 'a=up b=down stale: gone');
    await all.complete();
    assert.equal(all.value(), 'b=down');
  });

  test('an opening that is over changes nothing any more', async () => {
    const all = staged();
    await all.read();
    await all.complete();
    const [first] = all.openings;
    first?.close(new Error('gone'));
    await all.clock.advance(1000);
    first?.context.table.put('late', 'up');
    await all.complete();
    assert.equal(all.value(), '');
  });

  test('refuses a batch that is not over when it returns', async () => {
    const all = staged();
    await all.read();
    const table = all.openings[0]?.context.table;
    // oxlint-disable-next-line typescript/no-misused-promises -- the refusal is tested
    assert.throws(() => table?.batch(async () => {}), /returned a promise/);
  });

  test('is closed when the program ends, and not waited for if it ignores that', async () => {
    const all = staged();
    await all.read();
    const stopped = all.sources.stop();
    await stopped;
    assert.equal(all.openings[0]?.context.signal.aborted, true);
  });
});
