import type { EngineStats, Explanation, ReadRecord } from './engine-types.ts';
import { depsOf } from './graph/edge.ts';
import {
  CELL,
  type DerivationState,
  type Edge,
  type Graph,
  KNOWN,
  nodeName,
  presenceOf,
  QUERY,
  RETAINED,
  UNKNOWN,
} from './graph/model.ts';
import { waitingForList } from './graph/query.ts';
import { settledOf } from './graph/settled.ts';

/** Returns the reads and the readers of a node, for people. */
export function explainNode(derivation: DerivationState, key: string): Explanation | undefined {
  const node = derivation.nodes.get(key);
  const settled = node === undefined ? undefined : settledOf(node);
  if (node === undefined || settled === undefined) return undefined;
  const readers = new Set<string>();
  for (let edge = node.first; edge !== undefined; edge = edge.next) readers.add(nodeName(edge.reader));
  return {
    node: nodeName(node),
    settled,
    reads: [...depsOf(node)].filter(({ mode }) => (mode & RETAINED) === 0).map(readRecord),
    readers: [...readers].sort(),
    height: node.height,
  };
}

function readRecord({ source, project }: Edge): ReadRecord {
  const projection = project?.name ?? '';
  if (source.kind === CELL) {
    const presence = presenceOf(source);
    return {
      source: `${source.table.name}/${source.key}`,
      kind: 'object',
      projection,
      presence: presence === KNOWN ? 'known' : presence === UNKNOWN ? 'unknown' : 'absent',
    };
  }
  if (source.kind === QUERY) return { source: waitingForList(source), kind: 'list', projection };
  return { source: nodeName(source), kind: 'derived', projection };
}

export function graphStats(graph: Graph): EngineStats {
  let cells = 0;
  let values = 0;
  let queries = 0;
  let whereQueries = 0;
  for (const table of graph.tables) {
    cells += table.cells.size;
    values += table.values;
    queries += table.queries.size + table.bucketQueries;
    whereQueries += table.whereQueries;
  }
  return {
    wave: graph.wave.number,
    tables: graph.tables.length,
    cells,
    values,
    queries,
    whereQueries,
    nodes: graph.derivations.reduce((count, { nodes }) => count + nodes.size, 0),
    edges: graph.edges,
    predicateEvaluations: graph.predicateEvaluations,
    runs: graph.runs,
  };
}
