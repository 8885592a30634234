// Everything that a node was computed from, directly or through others, each with a digest of what was checked: to be kept
// outside the process and compared after a restart, when no wave knows what was before.
import { hash } from 'node:crypto';
import { canonicalJson } from '@capstan/kube/cluster';
import type { Input, Projection } from './engine-types.ts';
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
  RETAINED,
  UNKNOWN,
} from './graph/model.ts';
import { isAside, isUnrecorded, reportedView } from './graph/projection.ts';
import { materialize } from './graph/query.ts';

const MAX_INPUTS = 128;
const MAX_NODES = 500;
const MAX_MEMBERS = 16;
const DIGITS = 8;

/** Empty where there are too many to keep. */
export function inputsOf(graph: Graph, derivation: DerivationState, key: string): readonly Input[] {
  const root = derivation.nodes.get(key);
  if (root === undefined) return [];
  const found = new Map<Cell, { digests: Set<string>; via: readonly string[] }>();
  const chains = new Map<Node, readonly string[]>([[root, [nodeName(root)]]]);
  for (const [node, via] of chains) {
    if (found.size > MAX_INPUTS || chains.size > MAX_NODES) return [];
    for (const edge of depsOf(node)) {
      const { source, project, mode } = edge;
      if ((mode & RETAINED) !== 0 || isAside(project) || isUnrecorded(project)) continue;
      if (source.kind === NODE) {
        if (!chains.has(source)) chains.set(source, [nodeName(source), ...via]);
        continue;
      }
      const cells = source.kind === CELL ? [source] : materialize(graph, source);
      // The cost must follow the change, and not the size of what a sum or a list is built from.
      if (cells.length > MAX_MEMBERS) continue;
      for (const cell of cells) {
        const known = found.get(cell) ?? { digests: new Set(), via };
        found.set(cell, known);
        known.digests.add(safeDigest(graph, cell, edge, derivation.owner));
        if (found.size > MAX_INPUTS) return [];
      }
    }
  }
  return [...found].map(([cell, { digests, via }]) => ({
    source: { table: cell.table.name, key: cell.key },
    value: cell.value,
    digest: short([...digests].sort().join()),
    via,
  }));
}

/** A value that contains itself has no digest. */
function safeDigest(graph: Graph, cell: Cell, edge: Edge, owner: string | undefined): string {
  try {
    return digestOf(graph, cell, edge, owner);
  } catch {
    return '';
  }
}

function digestOf(graph: Graph, cell: Cell, { project, mode }: Edge, owner: string | undefined): string {
  const presence = presenceOf(cell);
  if (presence !== KNOWN) return presence === UNKNOWN ? 'unknown' : 'absent';
  if ((mode & MODE) === PRESENCE || (mode & MODE) === KEYS) return 'known';
  const seen = seenOf(cell, project);
  if (!cell.table.sensitive) return short(canonicalJson(seen));
  return graph.sensitiveDigest?.(cell.value, seen, owner) ?? '';
}

/** What the read looked at. */
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
