// The ingress-like graph at three sizes: cold, after single edits, in previews, and through its hub. Latency is the put of
// one changed object and the flush that follows; parsing and I/O are outside.
import { systemClock } from '@capstan/kube';
import { createEngine, type Engine } from '@capstan/reconcile';
import { createRandom, type SeededRandom } from '@capstan/testing';
import type { Part, Scale } from '../bench.ts';
import { buildIngressGraph, type IngressEdit, type IngressGraph } from '../ingress-graph.ts';
import { rebuildIngress } from '../ingress-rebuild.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { median } from '../measure/percentiles.ts';
import { type Result, result } from '../measure/result.ts';
import { latencyOf, milliseconds, rounds, timeEach } from '../measure/timing.ts';
import { checkOutputs, currentObjects } from './ingress-check.ts';
import { measureHub } from './ingress-hub.ts';
import { measurePreviews } from './ingress-preview.ts';

const SIZES = {
  full: { sizes: [100, 1000, 10_000], rounds: 5, warmUp: 200, edits: 1000, wideEdits: 40, previews: 300 },
  tiny: { sizes: [40, 80], rounds: 1, warmUp: 5, edits: 10, wideEdits: 3, previews: 5 },
};

type Size = (typeof SIZES)[Scale];

export const ingress: Part = {
  name: 'ingress',
  summary: 'the ingress-like graph: cold, edits, previews',
  measure(scale) {
    const size = SIZES[scale];
    const random = createRandom(11);
    // Warm-up: a graph of the middle size, with every kind of edit, is thrown away.
    measureGraph(size.sizes[1] ?? 100, { ...size, previews: 10, wideEdits: 1 }, random);
    const measured = rounds(size.rounds, () => size.sizes.map((objects) => measureGraph(objects, size, random)));
    const largest = size.sizes.at(-1) ?? 0;
    return Promise.resolve([
      ...size.sizes.flatMap((objects, at) =>
        figuresOf(
          objects,
          measured.flatMap((round) => round[at] ?? []),
          objects === largest,
        ),
      ),
      ...flatness(size.sizes, measured),
      ...measurePreviews(largest, size),
      ...measureHub(largest, size.rounds),
    ]);
  },
};

interface Measured {
  cold: number;
  rebuild: number;
  nodes: number;
  bytes: number;
  edits: Record<MeasuredEdit, { p50: number; p99: number; runs: number }>;
  /** The listener as one derivation that reads every chain. */
  wide: number;
}

const EDITS = ['status', 'route', 'endpoint', 'nodeName', 'secret', 'listener'] as const satisfies IngressEdit[];
type MeasuredEdit = (typeof EDITS)[number];

function measureGraph(objects: number, size: Size, random: SeededRandom): Measured {
  const engine = createEngine({ clock: systemClock });
  const graph = buildIngressGraph(engine, objects);
  const empty = heapAfterGc();
  const cold = milliseconds(() => engine.flushSync());
  const bytes = heapAfterGc() - empty;
  const { nodes } = engine.stats();
  const edits = Object.fromEntries(
    EDITS.map((edit) => [edit, measureEdit(engine, graph, edit, size, random)]),
  ) as Measured['edits'];
  checkOutputs(engine, graph);
  const plain = currentObjects(graph);
  rebuildIngress(plain);
  heapAfterGc();
  const rebuild = median(rounds(3, () => milliseconds(() => rebuildIngress(plain))));
  return { cold, rebuild, nodes, bytes, edits, wide: wideListener(objects, size, random) };
}

function measureEdit(engine: Engine, graph: IngressGraph, edit: IngressEdit, size: Size, random: SeededRandom) {
  let runs = 0;
  const samples = timeEach({
    warmUp: size.warmUp,
    count: size.edits,
    prepare(index) {
      const i = random.integer(0, graph.size - 1);
      return () => {
        graph.edit[edit](i, index + 1);
        runs += engine.flushSync().runs;
      };
    },
  });
  return { ...latencyOf(samples), runs: runs / (size.warmUp + size.edits) };
}

function wideListener(objects: number, size: Size, random: SeededRandom): number {
  const engine = createEngine({ clock: systemClock });
  const graph = buildIngressGraph(engine, objects, { wide: true });
  engine.flushSync();
  return measureEdit(engine, graph, 'listener', { ...size, warmUp: 5, edits: size.wideEdits }, random).p50;
}

const MEANING: Record<MeasuredEdit, string> = {
  status: 'a status write',
  route: 'a route edit',
  endpoint: 'an endpoint edit',
  nodeName: 'a nodeName edit (cut off)',
  secret: 'a secret edit',
  listener: 'a listener edit',
};

function figuresOf(objects: number, measured: readonly Measured[], isLargest: boolean): Result[] {
  const at = `ingress ${objects}`;
  const of = (value: (each: Measured) => number) => measured.map(value);
  const nodes = measured[0]?.nodes ?? 0;
  const rebuild = { name: 'plain rebuild, ms', rounds: of((each) => each.rebuild) };
  const edits = EDITS.flatMap((edit) => {
    const isBound = edit === 'route' || edit === 'endpoint';
    const p50 = result({
      name: `${at}: ${MEANING[edit]}, p50`,
      unit: 'ms',
      rounds: of((each) => each.edits[edit].p50),
      growth: { of: `ingress graph: ${MEANING[edit]}, p50`, size: objects },
      ...(edit === 'listener'
        ? { peer: { name: 'one derivation over all, ms', rounds: of((each) => each.wide) } }
        : isBound
          ? { peer: rebuild }
          : {}),
    });
    const p99 = result({
      name: `${at}: ${MEANING[edit]}, p99`,
      unit: 'ms',
      rounds: of((each) => each.edits[edit].p99),
      ...(isBound ? { below: 0.5 } : {}),
    });
    return [p50, p99];
  });
  return [
    result({
      name: `${at}: cold`,
      unit: 'ms',
      rounds: of((each) => each.cold),
      ...(isLargest ? { below: 1500 } : {}),
      peer: rebuild,
      note: `${nodes} nodes${isLargest ? '; the rebuild does not find out what changed' : ''}`,
    }),
    ...edits,
    result({
      name: `${at}: runs by a status write`,
      unit: 'runs',
      rounds: of((each) => each.edits.status.runs),
      exactly: 0,
    }),
    result({
      name: `${at}: runs by a route edit`,
      unit: 'runs',
      rounds: of((each) => each.edits.route.runs),
    }),
    result({
      name: `${at}: a node with its value`,
      unit: 'bytes',
      rounds: of((each) => each.bytes / each.nodes),
      // At small sizes the fixed cost exceeds that of the nodes.
      ...(isLargest
        ? {
            atMost: 1536,
            note: 'heap after the first flush less heap before it, by nodes; edges, lists and tables included, objects not',
          }
        : {}),
    }),
  ];
}

function flatness(sizes: readonly number[], measured: readonly (readonly Measured[])[]): Result[] {
  return (['route', 'endpoint'] as const).map((edit) =>
    result({
      name: `ingress: ${MEANING[edit]}, p50 at ${sizes.at(-1)} against ${sizes[0]}`,
      unit: 'times',
      rounds: measured.map((round) => (round.at(-1)?.edits[edit].p50 ?? 0) / (round[0]?.edits[edit].p50 ?? 0)),
      atMost: 3,
    }),
  );
}
