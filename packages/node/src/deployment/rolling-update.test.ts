import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment, ReplicaSet } from '@capstan/kube';
import fc from 'fast-check';
import {
  maxSurge,
  maxUnavailable,
  newReplicas,
  proportionalSizes,
  replicasOf,
  shrinkOld,
  sumOf,
} from './rolling-update.ts';

function deployment(replicas: number, surge?: number | string, unavailable?: number | string): Deployment {
  const rollingUpdate = {
    ...(surge === undefined ? {} : { maxSurge: surge }),
    ...(unavailable === undefined ? {} : { maxUnavailable: unavailable }),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { replicas, selector: {}, template: {}, strategy: { rollingUpdate } },
  };
}

function set(name: string, replicas: number, availableReplicas: number): ReplicaSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, creationTimestamp: `2026-01-01T00:00:0${name}Z` },
    spec: { replicas, selector: {} },
    status: { replicas, availableReplicas },
  };
}

test('percentages are rounded up for surge and down for unavailability, and both nothing is one unavailable', () => {
  const cases: [number, number | string | undefined, number | string | undefined, number, number][] = [
    [10, undefined, undefined, 3, 2],
    [1, undefined, undefined, 1, 0],
    [4, '25%', '25%', 1, 1],
    [3, '10%', '10%', 1, 0],
    [5, 0, '10%', 0, 1],
    [5, 2, 7, 2, 5],
    [0, '25%', '25%', 0, 0],
    [10, '0%', '0%', 0, 1],
  ];
  for (const [replicas, surge, unavailable, expectedSurge, expectedUnavailable] of cases) {
    const one = deployment(replicas, surge, unavailable);
    assert.deepEqual(
      [maxSurge(one), maxUnavailable(one)],
      [expectedSurge, expectedUnavailable],
      JSON.stringify(one.spec),
    );
  }
});

const amount = fc.oneof(
  fc.nat({ max: 6 }),
  fc.nat({ max: 100 }).map((percent) => `${percent}%`),
);

test('whatever becomes ready when, a rollout keeps within its bounds and ends', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 20 }),
      amount,
      amount,
      fc.infiniteStream(fc.nat({ max: 5 })),
      (replicas, surge, unavailable, luck) => {
        const one = deployment(replicas, surge, unavailable);
        let old = { size: replicas, available: replicas };
        let fresh = { size: 0, available: 0 };
        for (let step = 0; step < 500; step++) {
          const sets = { old: set('1', old.size, old.available), fresh: set('2', fresh.size, fresh.available) };
          const size = newReplicas(one, [sets.old, sets.fresh], fresh.size);
          const [shrunk] = shrinkOld(one, [sets.old], sets.fresh);
          if (size > fresh.size) fresh = { ...fresh, size };
          else if (shrunk !== undefined) {
            assert.ok(shrunk.replicas < old.size);
            old = { size: shrunk.replicas, available: Math.min(old.available, shrunk.replicas) };
          } else if (fresh.available === fresh.size) break;
          assert.ok(old.size + fresh.size <= replicas + maxSurge(one), 'too many');
          assert.ok(old.available + fresh.available >= replicas - maxUnavailable(one), 'too few available');
          const more = Number(luck.next().value);
          fresh = { ...fresh, available: Math.min(fresh.size, fresh.available + more + (step % 7 === 0 ? 1 : 0)) };
        }
        assert.deepEqual([old.size, fresh.size], [0, replicas]);
      },
    ),
  );
});

test('a scaling in the middle of a rollout adds up to what is allowed, and makes no set negative', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 5 }),
      fc.nat({ max: 60 }),
      amount,
      (sizes, replicas, surge) => {
        const one = deployment(replicas, surge, 1);
        const sets = sizes.map((size, index) => set(String(index), size, size));
        const before = sumOf(sets, replicasOf);
        const resized = proportionalSizes(one, sets, () => before);
        const allowed = replicas === 0 ? 0 : replicas + maxSurge(one);
        assert.equal(
          resized.reduce((sum, { replicas: size }) => sum + size, 0),
          allowed,
        );
        assert.ok(resized.every(({ replicas: size }) => size >= 0));
      },
    ),
  );
});
