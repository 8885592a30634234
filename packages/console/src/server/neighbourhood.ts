// The neighbourhood of one object in the graph of dependence, within a budget: worst first, one parent at most a quarter. The omitted nodes
// are counted for each parent.
import { formatObjectId, type ObjectGraph, type ObjectId } from '@capstan/reconcile';
import type { Row } from './rows.ts';

export interface GraphReport {
  readonly nodes: readonly GraphReportNode[];
  /** Edges from the reader to the objects that it reads, by ids. */
  readonly edges: readonly { readonly from: string; readonly to: string; readonly via: readonly string[] }[];
  readonly left: readonly {
    readonly of: string;
    readonly direction: Direction;
    readonly count: number;
    readonly worst: string;
  }[];
}

export interface GraphReportNode extends ObjectId {
  readonly id: string;
  /** The state as in a row; `absent` and `unknown` for read objects that do not exist, or are not known; `sink` for a key of a sink. */
  readonly state: string;
  /** Steps from the object; negative for the objects that it reads. */
  readonly distance: number;
}

export type Direction = 'reads' | 'readers';

export interface NeighbourhoodOptions {
  readonly directions: readonly Direction[];
  readonly depth: number;
  readonly budget: number;
}

const RANK: Readonly<Record<string, number>> = {
  absent: 0,
  broken: 0,
  paused: 1,
  progress: 2,
  unknown: 3,
  ready: 4,
  none: 5,
  sink: 5,
};

export function neighbourhood(
  graph: Pick<ObjectGraph, 'readsOf' | 'readersOf'>,
  start: ObjectId,
  rows: ReadonlyMap<string, Pick<Row, 'state'>>,
  { directions, depth, budget }: NeighbourhoodOptions,
): GraphReport {
  const startId = formatObjectId(start);
  const nodes = new Map<string, GraphReportNode>([
    [startId, { ...pick(start), id: startId, state: rows.get(startId)?.state ?? 'absent', distance: 0 }],
  ]);
  const edges = new Map<string, GraphReport['edges'][number]>();
  const left: GraphReport['left'][number][] = [];
  const share = Math.max(1, Math.floor(budget / 4));
  for (const direction of directions) {
    const sign = direction === 'reads' ? -1 : 1;
    // Half of the budget for each direction, if there are two.
    const limit = nodes.size + Math.floor((budget - 1) / directions.length);
    let level: readonly GraphReportNode[] = [...nodes.values()].filter(({ id }) => id === startId);
    for (let step = 1; step <= depth && level.length > 0; step++) {
      const next: GraphReportNode[] = [];
      for (const parent of level) {
        const found = neighbours(graph, parent, direction, rows).toSorted(
          (a, b) => (RANK[a.state] ?? 5) - (RANK[b.state] ?? 5) || (a.id < b.id ? -1 : 1),
        );
        let taken = 0;
        const omitted: Neighbour[] = [];
        for (const neighbour of found) {
          const isNew = !nodes.has(neighbour.id);
          if (isNew && (taken >= share || nodes.size >= limit)) {
            omitted.push(neighbour);
            continue;
          }
          if (isNew) {
            taken++;
            const node = { ...pick(neighbour), id: neighbour.id, state: neighbour.state, distance: sign * step };
            nodes.set(neighbour.id, node);
            next.push(node);
          }
          const [from, to] = direction === 'reads' ? [parent.id, neighbour.id] : [neighbour.id, parent.id];
          edges.set(`${from} > ${to}`, { from, to, via: neighbour.via });
        }
        if (omitted.length > 0)
          left.push({ of: parent.id, direction, count: omitted.length, worst: omitted[0]?.state ?? '' });
      }
      level = next;
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], left };
}

interface Neighbour extends ObjectId {
  readonly id: string;
  readonly state: string;
  readonly via: readonly string[];
}

function neighbours(
  graph: Pick<ObjectGraph, 'readsOf' | 'readersOf'>,
  of: GraphReportNode,
  direction: Direction,
  rows: ReadonlyMap<string, Pick<Row, 'state'>>,
): Neighbour[] {
  if (direction === 'reads') {
    return graph.readsOf(of).map((read) => {
      const id = formatObjectId(read);
      const state = read.presence === 'known' ? (rows.get(id)?.state ?? 'none') : read.presence;
      return { ...pick(read), id, state, via: read.via };
    });
  }
  if (of.state === 'sink') return [];
  return graph.readersOf(of).map((reader) => {
    const id = formatObjectId(reader);
    return { ...pick(reader), id, state: reader.isSink ? 'sink' : (rows.get(id)?.state ?? 'none'), via: reader.via };
  });
}

function pick({ world, kind, key }: ObjectId): ObjectId {
  return { world, kind, key };
}
