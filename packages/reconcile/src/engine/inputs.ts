// All inputs of a node, direct or through others, each with a digest of the checked part: to be kept outside the process and compared after
// a restart, when no wave knows the former values.
import { hash } from 'node:crypto';
import { canonicalJson } from '@capstan/kube/cluster';
import type { Input, Inputs, Projection } from './engine-types.ts';
import { depsOf } from './graph/edge.ts';
import {
  CELL,
  type Cell,
  type DerivationState,
  type Edge,
  type Graph,
  KEYS,
  KNOWN,
  MODE,
  NODE,
  type Node,
  nodeName,
  PRESENCE,
  presenceOf,
  QUERY,
  type Query,
  RETAINED,
  UNKNOWN,
} from './graph/model.ts';
import { isAside, isUnrecorded, reportedView } from './graph/projection.ts';
import { materialize, waitingForList } from './graph/query.ts';

const MAX_INPUTS = 128;
const MAX_NODES = 500;
const MAX_MEMBERS = 64;
const DIGITS = 8;
const LIST_DIGITS = 4;

const NOTHING: Inputs = { values: [], lists: [], isThere: () => undefined };

interface Found {
  readonly digests: Set<string>;
  readonly via: readonly string[];
  /** The first list that it was read in. */
  list: string | undefined;
  isProjected: boolean;
}

/** Empty where there are too many to keep. */
export function inputsOf(graph: Graph, derivation: DerivationState, key: string): Inputs {
  const root = derivation.nodes.get(key);
  if (root === undefined) return NOTHING;
  const found = new Map<Cell, Found>();
  const lists = new Set<string>();
  const chains = new Map<Node, readonly string[]>([[root, [nodeName(root)]]]);
  for (const [node, via] of chains) {
    if (found.size > MAX_INPUTS || chains.size > MAX_NODES) return NOTHING;
    for (const edge of depsOf(node)) {
      const { source, project, mode } = edge;
      if ((mode & RETAINED) !== 0 || isAside(project) || isUnrecorded(project)) continue;
      if (source.kind === NODE) {
        if (!chains.has(source)) chains.set(source, [nodeName(source), ...via]);
        continue;
      }
      const cells = source.kind === CELL ? [source] : materialize(graph, source);
      // The cost must follow the change, and not the size of a sum or a list.
      if (cells.length > MAX_MEMBERS) continue;
      const list = source.kind === QUERY ? listId(source) : undefined;
      if (list !== undefined) lists.add(list);
      for (const cell of cells) {
        const known = found.get(cell) ?? { digests: new Set(), via, list, isProjected: false };
        found.set(cell, known);
        known.list ??= list;
        known.isProjected ||= project !== undefined;
        known.digests.add(safeDigest(graph, cell, edge, derivation.owner));
        if (found.size > MAX_INPUTS) return NOTHING;
      }
    }
  }
  return {
    values: [...found].map(([cell, one]) => inputOf(graph, cell, one, derivation.owner)),
    lists: [...lists],
    isThere: (table, of) => isThere(graph, table, of),
  };
}

function inputOf(
  graph: Graph,
  cell: Cell,
  { digests, via, list, isProjected }: Found,
  owner: string | undefined,
): Input {
  return {
    source: { table: cell.table.name, key: cell.key },
    value: cell.value,
    whole: isProjected ? safeDigest(graph, cell, { project: undefined, mode: 0 }, owner) : '',
    digests: [...digests].sort(),
    ...(list === undefined ? {} : { list }),
    via,
  };
}

/** The same text in every process: predicates count by their names. */
function listId(query: Query): string {
  const text = `${waitingForList(query)} ${query.where.where?.name ?? ''}`;
  return hash('sha256', text, 'hex').slice(0, LIST_DIGITS);
}

function isThere(graph: Graph, table: string, key: string): boolean | undefined {
  const cells = graph.tables.filter(({ name }) => name === table).map(({ cells: of }) => of.get(key));
  if (cells.length === 0) return undefined;
  return cells.some((cell) => cell !== undefined && presenceOf(cell) === KNOWN);
}

/** A value that contains itself has no digest. */
function safeDigest(graph: Graph, cell: Cell, edge: Read, owner: string | undefined): string {
  try {
    return digestOf(graph, cell, edge, owner);
  } catch {
    return '';
  }
}

type Read = Pick<Edge, 'project' | 'mode'>;

function digestOf(graph: Graph, cell: Cell, { project, mode }: Read, owner: string | undefined): string {
  const presence = presenceOf(cell);
  if (presence !== KNOWN) return presence === UNKNOWN ? 'unknown' : 'absent';
  if ((mode & MODE) === PRESENCE || (mode & MODE) === KEYS) return 'known';
  const seen = seenOf(cell, project);
  if (!cell.table.sensitive) return short(canonicalJson(seen));
  return graph.sensitiveDigest?.(cell.value, seen, owner) ?? '';
}

/** The part of the value that the read looked at. */
function seenOf(cell: Cell, project: Projection | undefined): unknown {
  if (project === undefined) return withoutVersion(cell.value);
  try {
    return reportedView(project)?.(cell.value) ?? project(cell.value, cell.key) ?? null;
  } catch {
    return null;
  }
}

/** Where values carry a version, it moves with every write of any field, and is no content. */
function withoutVersion(value: unknown): unknown {
  const { metadata } = (value ?? {}) as { metadata?: Record<string, unknown> };
  if (metadata === undefined) return value;
  const { resourceVersion: _version, generation: _generation, managedFields: _fields, ...kept } = metadata;
  return { ...(value as object), metadata: kept };
}

function short(text: string): string {
  return hash('sha256', text, 'hex').slice(0, DIGITS);
}
