import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cableMap, cablePath, changedPairs, NODE_HEIGHT, NODE_WIDTH } from './cable-map.ts';

const cluster = (id: string, location: string) => ({ id, labels: { location } });

describe('the map of cables', () => {
  it('has a column for each value of the label, and no two clusters overlap', () => {
    const clusters = [cluster('a', 'cloud'), cluster('b', 'edge'), cluster('c', 'cloud'), cluster('d', 'office')];
    const { groups, places, width, height } = cableMap(clusters, 'location');
    assert.deepEqual(
      groups.map(({ title }) => title),
      ['location=cloud', 'location=edge', 'location=office'],
    );
    const all = [...places.values()];
    for (const one of all) {
      assert.ok(one.x >= 0 && one.x + NODE_WIDTH <= width && one.y + NODE_HEIGHT <= height);
      for (const other of all)
        assert.ok(one === other || Math.abs(one.x - other.x) >= NODE_WIDTH || Math.abs(one.y - other.y) >= NODE_HEIGHT);
    }
  });

  it('draws two columns where no label groups the clusters', () => {
    const { places } = cableMap([cluster('a', 'x'), cluster('b', 'x')], undefined);
    assert.notEqual(places.get('a')?.x, places.get('b')?.x);
    const [a, b] = [places.get('a'), places.get('b')];
    assert.ok(a !== undefined && b !== undefined);
    assert.equal(cablePath(a, b), cablePath(b, a));
  });
});

describe('changedPairs', () => {
  it('names pairs with another driver and new pairs', () => {
    const before = [
      { left: 'a', right: 'b', driver: 'vxlan' },
      { left: 'a', right: 'c', driver: 'ipsec' },
    ];
    const after = [
      { left: 'a', right: 'b', driver: 'wireguard' },
      { left: 'a', right: 'c', driver: 'ipsec' },
      { left: 'b', right: 'c', driver: 'ipsec' },
    ];
    assert.deepEqual([...changedPairs(before, after).keys()], ['a b', 'b c']);
  });
});
