import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Layout, layeredLayout } from './layered-layout.ts';

const graphs = fc.integer({ min: 1, max: 40 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    pairs: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 80 }),
  }),
);

describe('layeredLayout', () => {
  it('overlaps no two nodes', () => {
    fc.assert(
      fc.property(graphs, ({ count, pairs }) => {
        const layout = layout0(count, pairs);
        const nodes = [...layout.nodes.values()];
        for (const a of nodes)
          for (const b of nodes)
            if (a !== b && a.layer === b.layer) assert.ok(a.y + a.height <= b.y + 1e-6 || b.y + b.height <= a.y + 1e-6);
        for (const { x, y, width, height } of nodes)
          assert.ok(x >= 0 && y >= -1e-6 && x + width <= layout.width && y + height <= layout.height + 1e-6);
      }),
    );
  });

  it('draws every edge of a graph without cycles to the right', () => {
    fc.assert(
      fc.property(graphs, ({ count, pairs }) => {
        const layout = layout0(
          count,
          pairs.filter(([a, b]) => a < b),
        );
        for (const { from, to } of layout.edges)
          assert.ok((layout.nodes.get(from)?.layer ?? 0) < (layout.nodes.get(to)?.layer ?? 0));
      }),
    );
  });

  it('ends on cycles and on edges to nodes that are not there', () => {
    const layout = layeredLayout(
      [{ id: 'a' }, { id: 'b' }],
      [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'a' },
        { from: 'a', to: 'a' },
        { from: 'a', to: 'x' },
      ],
    );
    assert.equal(layout.nodes.size, 2);
    assert.equal(layout.edges.length, 2);
  });

  it('takes layers that are given, also negative ones', () => {
    const layout = layeredLayout(
      [
        { id: 'me', layer: 0 },
        { id: 'read', layer: -2 },
      ],
      [{ from: 'read', to: 'me' }],
    );
    assert.equal(layout.nodes.get('read')?.layer, 0);
    assert.equal(layout.nodes.get('me')?.layer, 2);
    assert.equal(layout.layers, 3);
  });

  it('keeps the order of the other nodes when one node is added', () => {
    const pairs: [number, number][] = [
      [0, 3],
      [1, 3],
      [2, 4],
      [3, 5],
      [4, 5],
    ];
    const before = layout0(6, pairs);
    const after = layout0(7, [...pairs, [6, 5]]);
    const order = (layout: Layout) =>
      [...layout.nodes.values()].filter(({ id }) => id !== '6').sort((a, b) => a.layer - b.layer || a.y - b.y);
    assert.deepEqual(
      order(after).map(({ id }) => id),
      order(before).map(({ id }) => id),
    );
  });

  it('places 10,000 nodes', () => {
    const nodes = Array.from({ length: 10_000 }, (_, at) => ({ id: String(at), layer: at % 8 }));
    const edges = nodes.map(({ id }, at) => ({ from: id, to: String((at + 1) % 10_000) }));
    assert.equal(layeredLayout(nodes, edges).nodes.size, 10_000);
  });

  it('places nothing for nothing', () => {
    assert.deepEqual(layeredLayout([], []), { nodes: new Map(), edges: [], width: 0, height: 0, layers: 0 });
  });
});

function layout0(count: number, pairs: readonly (readonly [number, number])[]): Layout {
  const nodes = Array.from({ length: count }, (_, at) => ({ id: String(at) }));
  return layeredLayout(
    nodes,
    pairs.map(([from, to]) => ({ from: String(from), to: String(to) })),
  );
}
