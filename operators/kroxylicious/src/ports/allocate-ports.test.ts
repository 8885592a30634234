import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { allocatePorts, type PortBlock, type PortMemory, type PortRequest } from './allocate-ports.ts';

const NOTHING: PortMemory = { ports: {} };
const request = (name: string, nodes: number | undefined = 3): PortRequest => ({ name, nodes });
const numbers = ({ bootstrap, nodes, count }: PortBlock) => [
  bootstrap,
  ...Array.from({ length: count }, (_, i) => nodes + i),
];

describe('ports', () => {
  test('are consecutive from 9292 on', () => {
    const { ports } = allocatePorts([request('a'), request('b', 1)], NOTHING);
    assert.deepEqual(ports, {
      a: { bootstrap: 9292, nodes: 9293, count: 3 },
      b: { bootstrap: 9296, nodes: 9297, count: 1 },
    });
  });

  test('stay the same when clusters come and go', () => {
    const first = allocatePorts([request('a'), request('b'), request('c')], NOTHING);
    const second = allocatePorts([request('0'), request('c')], first);
    assert.deepEqual(second.ports['c'], first.ports['c']);
  });

  test('ports that were freed are not given to the next cluster', () => {
    const first = allocatePorts([request('a'), request('b')], NOTHING);
    const second = allocatePorts([request('b'), request('c')], first);
    assert.equal(second.ports['c']?.bootstrap, 9300);
    const full = allocatePorts([request('d')], { ports: {}, nextPort: 65_534 });
    assert.equal(full.ports['d']?.bootstrap, 9292);
  });

  test('keep the bootstrap port when the cluster gets more nodes', () => {
    const first = allocatePorts([request('a'), request('b')], NOTHING);
    const last = allocatePorts([request('a'), request('b', 5)], first);
    assert.deepEqual(last.ports['b'], { bootstrap: 9296, nodes: 9297, count: 5 });
    const moved = allocatePorts([request('a', 4), request('b')], first);
    assert.deepEqual(moved.ports['a'], { bootstrap: 9292, nodes: 9300, count: 4 });
    assert.deepEqual(moved.ports['b'], first.ports['b']);
  });

  test('are kept while the number of nodes is not known', () => {
    const first = allocatePorts([request('a')], NOTHING);
    assert.deepEqual(allocatePorts([{ name: 'a', nodes: undefined }], first).ports, first.ports);
    assert.deepEqual(allocatePorts([{ name: 'a', nodes: undefined }], NOTHING).ports, {});
  });

  test('ports that two users fixed go to the first, and the conflict is reported on the other', () => {
    const { ports, refused } = allocatePorts(
      [
        { name: 'a', nodes: 3, fixed: 10_000 },
        { name: 'b', nodes: 1, fixed: 10_002 },
      ],
      NOTHING,
    );
    assert.deepEqual(Object.keys(ports), ['a']);
    assert.match(refused['b'] ?? '', /port 10002 is used by a/);
    assert.match(
      allocatePorts([{ name: 'a', nodes: 3, fixed: 9189 }], NOTHING, [9190]).refused['a'] ?? '',
      /9190 .*the proxy itself/,
    );
  });

  test('ports that run out are refused with a message', () => {
    assert.match(allocatePorts([request('a', 60_000)], NOTHING).refused['a'] ?? '', /no 60001 ports in a row/);
  });

  test('never overlap and never change, whatever clusters come and go', () => {
    const step = fc.uniqueArray(
      fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), nodes: fc.integer({ min: 1, max: 9 }) }),
      { selector: ({ name }) => name },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        let memory: PortMemory = NOTHING;
        for (const requests of steps) {
          const planned = allocatePorts(requests, memory, [9190, 9291]);
          const all = Object.values(planned.ports).flatMap(numbers);
          assert.equal(new Set(all).size, all.length);
          // Clusters that are gone keep an entry while their ports are free, in case they come back.
          const names = new Set([...Object.keys(memory.ports), ...requests.map(({ name }) => name)]);
          assert.ok(requests.every(({ name }) => planned.ports[name] !== undefined));
          assert.ok(Object.keys(planned.ports).every((name) => names.has(name)));
          for (const { name, nodes } of requests) {
            const known = memory.ports[name];
            if (known === undefined) continue;
            assert.equal(planned.ports[name]?.bootstrap, known.bootstrap);
            if (known.count === nodes) assert.deepEqual(planned.ports[name], known);
          }
          assert.deepEqual(allocatePorts(requests, planned, [9190, 9291]), planned);
          memory = planned;
        }
      }),
    );
  });
});
