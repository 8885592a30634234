import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { columnsAround, isOutward, type ShapeNode } from './graph-shape.ts';

const node = (kind: string, key: string, distance: number): ShapeNode => ({
  id: `${kind} ${key}`,
  kind,
  key,
  distance,
});
const proxy = node('KafkaProxy.kroxylicious.io', 'default/p', 0);
const cluster = node('VirtualKafkaCluster.kroxylicious.io', 'default/c', -1);
const secret = node('Secret', 'default/s', -1);
const edge = (from: ShapeNode, to: ShapeNode) => ({ from: from.id, to: to.id });

describe('the shape of a graph', () => {
  it('an object stands beyond all of its readers', () => {
    const columns = columnsAround(
      [proxy, cluster, secret],
      [edge(proxy, cluster), edge(cluster, secret), edge(proxy, secret)],
    );
    assert.deepEqual([...columns.values()], [0, -1, -2]);
  });

  it('every edge that leads away from the middle crosses columns in one direction, and cycles end', () => {
    const graph = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 9 }).chain((distances) =>
      fc.record({
        nodes: fc.constant([
          proxy,
          ...distances.filter((one) => one !== 0).map((one, at) => node('K', `n/${at}`, one)),
        ]),
        pairs: fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 16 }),
      }),
    );
    fc.assert(
      fc.property(graph, ({ nodes, pairs }) => {
        const edges = pairs.flatMap(([a, b]) => {
          const [from, to] = [nodes[a % nodes.length], nodes[b % nodes.length]];
          return from === undefined || to === undefined || a % nodes.length >= b % nodes.length ? [] : [edge(from, to)];
        });
        const columns = columnsAround(nodes, edges);
        for (const { from, to } of edges) {
          const [reader, read] = [nodes.find(({ id }) => id === from), nodes.find(({ id }) => id === to)];
          if (reader === undefined || read === undefined || !isOutward(reader, read)) continue;
          assert.ok((columns.get(to) ?? 0) <= (columns.get(from) ?? 0));
        }
      }),
    );
  });
});
