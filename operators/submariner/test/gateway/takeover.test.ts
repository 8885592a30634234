// The node of the active gateway goes in three ways. The other gateway takes over, never two are active at once, no packet leaves in
// clear, and the node that comes back gives up its cables and keeps its backstop. `npm run bench -- cables` measures the times.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { skip } from '../cables/underlay.ts';
import { openTakeoverStage, overlaps, spansOf, TAKEOVER_EVENTS, type TakeoverStage } from './takeover.ts';

describe('a cluster with two gateways and an encrypted cable', { skip }, () => {
  let stage: TakeoverStage;
  before(async () => {
    stage = await openTakeoverStage();
  });
  after(() => stage?.close());

  for (const event of TAKEOVER_EVENTS)
    test(`goes over to the other gateway when the node of the active one is ${event}`, async () => {
      const { lost, clear, conflicts, rejected, leaseMs } = await stage.fail(event);
      assert.deepEqual(conflicts, []);
      assert.equal(clear, 0, 'packets in clear');
      assert.deepEqual(rejected, stage.west.local.subnets.toSorted(), 'the old node keeps its backstop');
      assert.ok(lost > 0, 'packets are lost while no gateway is active');
      // The Lease of 4 s was renewed at most 1 s before.
      assert.ok(leaseMs > 2500, `the Lease was taken after ${leaseMs} ms`);
    });
});

describe('times in which gateways led', () => {
  const process = (changes: readonly [number, boolean][], stops: readonly number[] = []) => ({
    roles: () => changes.map(([at, isActive]) => ({ at, isActive })),
    stoppedAt: () => stops,
  });

  test('overlap where one led before the other had ceased to', () => {
    const a = spansOf(
      process([
        [0, true],
        [10, false],
      ]),
      'a',
    );
    assert.deepEqual(overlaps([...a, ...spansOf(process([[10, true]]), 'b')]), []);
    assert.equal(overlaps([...a, ...spansOf(process([[9, true]]), 'b')]).length, 1);
  });

  test('end when the process is frozen, also if it logs that later', () => {
    const a = spansOf(
      process(
        [
          [0, true],
          [90, false],
        ],
        [5],
      ),
      'a',
    );
    assert.deepEqual(a, [{ node: 'a', from: 0, to: 5 }]);
    assert.deepEqual(overlaps([...a, ...spansOf(process([[9, true]]), 'b')]), []);
  });

  test('have no end where the process is alive and did not cease to lead', () => {
    const [a, b] = [spansOf(process([[0, true]]), 'a'), spansOf(process([[9, true]]), 'b')];
    assert.equal(overlaps([...a, ...b]).length, 1);
  });
});
