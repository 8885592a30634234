import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { applying, deleting, group, owner, refused, stage, status } from './carry-out.test-support.ts';

describe('pruning', () => {
  const pruning = (count: number, inventory: number) => {
    const prune = Array.from({ length: count }, (_, index) => deleting(`x${index}`));
    return (sent: readonly string[]) => (sent.length > 0 ? {} : { prune, inventory });
  };

  test('pruning of a small share goes at once', async () => {
    for (const [count, inventory] of [
      [1, 1],
      [1, 2],
      [2, 4],
      [5, 100],
    ] as const) {
      const all = stage(pruning(count, inventory));
      assert.deepEqual(await all.run(), { type: 'done' });
      assert.equal(all.sent.length, count);
    }
  });

  test('pruning of a large share at once needs a second check', async () => {
    for (const [count, inventory] of [
      [2, 2],
      [3, 5],
      [60, 100],
    ] as const) {
      const all = stage(pruning(count, inventory));
      assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
      assert.deepEqual(all.sent, []);
      await all.clock.advance(5000);
      assert.deepEqual(await all.run(), { type: 'done' });
      assert.equal(all.sent.length, count);
    }
  });

  test('pruning that is no longer wanted at the second check does not happen', async () => {
    let prune = [deleting('x'), deleting('y')];
    const all = stage(() => ({ prune, inventory: prune.length }));
    await all.run();
    prune = [];
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, []);
  });

  test('pruning leaves other objects of the same names alone', async () => {
    let uid = 'first';
    const all = stage(() => ({ prune: [deleting('x', uid), deleting('y', uid)], inventory: 2 }));
    await all.run();
    uid = 'second';
    await all.clock.advance(5000);
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 5000 });
    assert.deepEqual(all.sent, []);
  });

  test('pruning with an owner that is being deleted goes at once', async () => {
    const all = stage(pruning(3, 3));
    all.owner = { ...owner, metadata: { ...owner.metadata, deletionTimestamp: 'now' } };
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.equal(all.sent.length, 3);
  });

  test('waits for caches that the server has confirmed lately', async () => {
    const all = stage(pruning(1, 5));
    all.fresh = false;
    assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 1000 });
    assert.deepEqual(all.sent, []);
    all.fresh = true;
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['delete x0']);
  });

  test('does not begin while a group is left', async () => {
    const all = stage(() => ({ groups: [group([], { open: false })], prune: [deleting('x')] }));
    await all.run();
    assert.deepEqual(all.sent, []);
  });
});

describe('a status', () => {
  test('a status that is urgent goes out at once, each time', async () => {
    let value = 1;
    const all = stage((sent) => (sent.length === value ? {} : { status: status({ value }) }));
    await all.run();
    value = 2;
    await all.run();
    assert.deepEqual(all.sent, ['status {"value":1}', 'status {"value":2}']);
  });

  test('a status of progress alone goes out once a second, the first and the last value always', async () => {
    let value = 0;
    const all = stage((sent) =>
      sent.at(-1) === `status {"value":${value}}` ? {} : { status: status({ value }, false) },
    );
    assert.deepEqual(await all.run(), { type: 'done' });
    for (const step of [1, 2, 3]) {
      value = step;
      await all.clock.advance(100);
      assert.deepEqual(await all.run(), { type: 'retryAfter', ms: 1000 - step * 100 });
    }
    await all.clock.advance(700);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual(all.sent, ['status {"value":0}', 'status {"value":3}']);
  });

  test('is written from what was evaluated after the last report', async () => {
    const all = stage((_sent, { reports }) => ({
      groups: [group([applying('a')])],
      status: reports.length > 0 ? status({ failure: true }) : status({ fine: true }),
    }));
    all.answer = (line) => (line.startsWith('apply') ? refused(403) : undefined);
    await all.run();
    assert.deepEqual(all.sent, ['apply a', 'status {"failure":true}']);
  });

  test('a status that the server does not keep is not written for ever', async () => {
    const all = stage(() => ({ status: status({ unknown: 1 }) }));
    const outcome = await all.run();
    assert.match(String('error' in outcome && outcome.error), /did not keep the status .*\(unknown\)/);
    assert.equal(all.sent.length, 1);
  });

  test('a status whose object moved on is planned again, and does not count as written', async () => {
    const all = stage((sent) => (sent.length >= 2 ? {} : { status: status({ value: 1 }) }));
    all.answer = (line) => (all.sent.length === 1 ? (line === 'find' ? owner : refused(409, 'Conflict')) : undefined);
    assert.deepEqual(await all.run(), { type: 'done' });
    assert.deepEqual([all.sent.length, all.written], [2, ['status']]);
  });

  test('a status that cannot be written is tried again later', async () => {
    const all = stage(() => ({ status: status({ value: 1 }) }));
    all.answer = () => refused(500);
    assert.equal((await all.run()).type, 'retry');
    assert.equal(all.sent.length, 1);
  });
});
