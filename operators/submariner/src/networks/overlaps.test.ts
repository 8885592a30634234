import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { overlaps } from '../drivers/addresses.ts';
import { type ClusterNetworks, findLostClaims, findOverlaps } from './overlaps.ts';

test('both clusters of an overlap are named, and no other', () => {
  const found = findOverlaps([
    { id: 'east', subnets: ['10.1.0.0/16', 'fd10:1::/64'] },
    { id: 'west', subnets: ['10.1.200.0/24'] },
    { id: 'north', subnets: ['10.2.0.0/16', 'not a subnet'] },
  ]);
  assert.deepEqual(
    [...found],
    [
      [
        'west',
        'cluster "west": its subnet 10.1.200.0/24 overlaps 10.1.0.0/16 of cluster "east"; use networks that do not overlap',
      ],
      [
        'east',
        'cluster "east": its subnet 10.1.0.0/16 overlaps 10.1.200.0/24 of cluster "west"; use networks that do not overlap',
      ],
    ],
  );
});

const subnet = fc
  .tuple(fc.constantFrom('10', '11'), fc.nat(7), fc.integer({ min: 8, max: 24 }))
  .map(([first, second, bits]) => `${first}.${second * 32}.0.0/${bits}`);
const clusters = fc
  .array(fc.array(subnet, { maxLength: 3 }), { maxLength: 6 })
  .map((list) => list.map((subnets, index): ClusterNetworks => ({ id: `c${index}`, subnets })));
const isOverlap = (one: ClusterNetworks, other: ClusterNetworks) =>
  one.id !== other.id && other.subnets.some((b) => one.subnets.some((a) => overlaps(a, b)));
const ids = (given: readonly ClusterNetworks[]) => given.map(({ id }) => id).toSorted();

test('it finds what a comparison of all pairs finds, in whatever order clusters come', () => {
  fc.assert(
    fc.property(clusters, (given) => {
      const wanted = given.filter((one) => given.some((other) => isOverlap(one, other)));
      const found = findOverlaps(given);
      assert.deepEqual([...found.keys()].toSorted(), ids(wanted));
      assert.deepEqual(findOverlaps(given.toReversed()).keys().toArray().toSorted(), [...found.keys()].toSorted());
    }),
  );
});

test('the cluster with the greater id loses a network that two claim, and the smallest winner is named', () => {
  fc.assert(
    fc.property(clusters, (given) => {
      const found = findLostClaims(given.toReversed());
      const winners = new Map(
        given.flatMap((one) => {
          const winner = given.find((other) => other.id < one.id && isOverlap(one, other));
          return winner === undefined ? [] : [[one.id, winner.id] as const];
        }),
      );
      assert.deepEqual([...found.keys()].toSorted(), [...winners.keys()].toSorted());
      for (const [id, message] of found) assert.ok(message.includes(` of cluster "${winners.get(id)}"`), message);
    }),
  );
});
