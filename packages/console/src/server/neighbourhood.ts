// The neighbourhood of one object in the graph of dependence, within a budget: worst first, one parent at most a quarter. The omitted nodes
// are counted for each parent.
import { createNodeSet, formatObjectId, type NodeSet, type ObjectGraph, type ObjectId } from '@capstan/reconcile';
import type { Row } from './rows.ts';

export interface GraphReport {
  readonly nodes: readonly GraphReportNode[];
  /** Edges from the reader to the objects that it reads, by ids. */
  readonly edges: readonly { readonly from: string; readonly to: string; readonly via: readonly string[] }[];
  readonly left: readonly {
    readonly of: string;
    readonly direction: Direction | 'writes';
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
  /** The objects that the plans of the start write. They stand there, also where its plans read them again. */
  readonly written?: readonly ObjectId[];
  /** The object whose plan writes the start. */
  readonly writer?: ObjectId | undefined;
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
  { directions, depth, budget, written = [], writer }: NeighbourhoodOptions,
): GraphReport {
  const startId = formatObjectId(start);
  const first: GraphReportNode = {
    ...pick(start),
    id: startId,
    state: rows.get(startId)?.state ?? 'absent',
    distance: 0,
  };
  const share = Math.max(1, Math.floor(budget / 4));
  const stateOf = (id: string) => rows.get(id)?.state ?? 'none';
  const writes = written
    .map(
      (one): GraphReportNode => ({
        ...pick(one),
        id: formatObjectId(one),
        state: stateOf(formatObjectId(one)),
        distance: 1,
      }),
    )
    .toSorted((a, b) => (RANK[a.state] ?? 5) - (RANK[b.state] ?? 5) || (a.id < b.id ? -1 : 1));
  const drawn = writes.slice(0, share);
  const owner: GraphReportNode[] =
    writer === undefined
      ? []
      : [{ ...pick(writer), id: formatObjectId(writer), state: stateOf(formatObjectId(writer)), distance: -1 }];
  const placed = new Set([...writes, ...owner].map(({ id }) => id));
  const walked = (direction: Direction, limit: number) =>
    walk({ graph, rows, depth, share, placed, budget }, first, direction, limit);
  const most = Math.max(0, budget - 1 - drawn.length - owner.length);
  const half = Math.floor(most / directions.length);
  let walks = directions.map((direction) => walked(direction, half));
  // One direction gets the part of the budget that the other one leaves.
  if (walks.length > 1 && walks.some(({ left }) => left.length > 0))
    walks = walks.map((one, at) => {
      const others = walks.reduce((sum, other, index) => sum + (index === at ? 0 : other.nodes.size - 1), 0);
      const rest = Math.max(half, most - others);
      return one.left.length > 0 && rest > half ? walked(one.direction, rest) : one;
    });
  const nodes = new Map(walks.flatMap((one) => [...one.nodes]).toReversed());
  const edges = createEdgeSet();
  for (const one of walks) for (const edge of one.edges) edges.put(edge);
  const omitted = writes[drawn.length];
  const found = [first, ...[...nodes.values()].toReversed().filter(({ id }) => id !== startId), ...drawn, ...owner];
  return {
    nodes: found,
    edges: [
      ...directEdges(found, edges.all()),
      ...drawn.map(({ id }) => ({ from: id, to: startId, via: [] })),
      ...owner.map(({ id }) => ({ from: startId, to: id, via: [] })),
    ],
    left: [
      ...walks.flatMap(({ left }) => left),
      ...(omitted === undefined
        ? []
        : [{ of: startId, direction: 'writes' as const, count: writes.length - drawn.length, worst: omitted.state }]),
    ],
  };
}

interface WalkOptions {
  readonly graph: Pick<ObjectGraph, 'readsOf' | 'readersOf'>;
  readonly rows: ReadonlyMap<string, Pick<Row, 'state'>>;
  readonly depth: number;
  /** One parent gets so many nodes at most. */
  readonly share: number;
  /** Objects that have a place already. */
  readonly placed: ReadonlySet<string>;
  readonly budget: number;
}

/** Walks in one direction, breadth first, until `limit` nodes besides the start are found. */
function walk(
  { graph, rows, depth, share, placed, budget }: WalkOptions,
  start: GraphReportNode,
  direction: Direction,
  limit: number,
): {
  readonly direction: Direction;
  readonly nodes: ReadonlyMap<string, GraphReportNode>;
  readonly edges: GraphReport['edges'];
  readonly left: GraphReport['left'];
} {
  const sign = direction === 'reads' ? -1 : 1;
  const nodes = new Map([[start.id, start]]);
  const edges = createEdgeSet();
  const left: GraphReport['left'][number][] = [];
  let level: readonly GraphReportNode[] = [start];
  // Objects that are computed together share most of their reads, of which the page draws one edge each.
  let walked: NodeSet | undefined = createNodeSet();
  for (let step = 1; step <= depth && level.length > 0; step++) {
    const next: GraphReportNode[] = [];
    for (const parent of level) {
      const reached = neighbours(graph, parent, direction, rows, walked);
      if (parent === start && reached.length <= budget / 2) walked = undefined;
      const found = reached.toSorted((a, b) => (RANK[a.state] ?? 5) - (RANK[b.state] ?? 5) || (a.id < b.id ? -1 : 1));
      let taken = 0;
      const omitted: Neighbour[] = [];
      for (const neighbour of found) {
        if (placed.has(neighbour.id)) continue;
        const isNew = !nodes.has(neighbour.id);
        if (isNew && (taken >= share || nodes.size > limit)) {
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
        edges.put({ from, to, via: neighbour.via });
      }
      if (omitted.length > 0)
        left.push({ of: parent.id, direction, count: omitted.length, worst: omitted[0]?.state ?? '' });
    }
    level = next;
  }
  return { direction, nodes, edges: edges.all(), left };
}

/** Returns a set of edges by their two ends. One text of both ends would be built and hashed for each edge. */
function createEdgeSet() {
  const byStart = new Map<string, Map<string, GraphReport['edges'][number]>>();
  return {
    put(edge: GraphReport['edges'][number]): void {
      const known = byStart.get(edge.from);
      if (known === undefined) byStart.set(edge.from, new Map([[edge.to, edge]]));
      else known.set(edge.to, edge);
    },
    all: () => [...byStart.values()].flatMap((ends) => [...ends.values()]),
  };
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
  walked: NodeSet | undefined,
): Neighbour[] {
  if (direction === 'reads') {
    return graph.readsOf(of, walked).map((read) => {
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

/** With more edges than that for each node, a derivation is taken for one of the object that has its key. */
const DENSE = 4;

/**
 * Removes an edge whose derivations name another object of the graph: its own edges show the way. An object that would lose all of its
 * edges keeps them, or one of them where there are many.
 */
export function directEdges(
  nodes: readonly Pick<GraphReportNode, 'id' | 'kind' | 'key'>[],
  edges: GraphReport['edges'],
): GraphReport['edges'] {
  const names = new Map(nodes.map(({ id, kind, key }) => [`${kind.split('.')[0] ?? kind}(${key})`, id]));
  if (edges.length > DENSE * nodes.length) {
    // Objects that are computed together read all of each other's reads: `root(default/shop)`, which each HTTPProxy below it names.
    const byKey = Map.groupBy(nodes, ({ key }) => key);
    for (const [key, [only, ...others]] of byKey)
      if (only !== undefined && others.length === 0) names.set(`(${key})`, only.id);
  }
  const isDirect = ({ from, to, via }: GraphReport['edges'][number]) =>
    via.every((step) => {
      // A derivation of an object is named after it: `broken clusters of KafkaProxy(default/my-proxy)`.
      const open = step.indexOf('(');
      const id = names.get(step.slice(step.lastIndexOf(' ', open) + 1)) ?? names.get(step.slice(open));
      return id === undefined || id === from || id === to;
    });
  const kept = edges.filter(isDirect);
  const reached = new Set(kept.flatMap(({ from, to }) => [from, to]));
  const isDense = edges.length > DENSE * nodes.length;
  const lost = edges.filter((edge) => {
    if (reached.has(edge.from) && reached.has(edge.to)) return false;
    if (isDirect(edge)) return false;
    if (isDense) reached.add(edge.from).add(edge.to);
    return true;
  });
  return [...kept, ...lost];
}
