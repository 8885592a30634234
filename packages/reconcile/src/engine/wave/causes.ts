// Why a sink changed: back from the sink along the reads that changed in this wave, breadth first, to the cells that
// did. Made only for those who ask, while the wave's record is there; strings only, so that nothing old is kept alive.
import { hash } from 'node:crypto';
import { canonicalJson, diff } from '@capstan/kube/cluster';
import type { Cause, Projection } from '../engine-types.ts';
import { depsOf } from '../graph/edge.ts';
import {
  CELL,
  type CellEvent,
  FRESH,
  type Graph,
  KEYS,
  KNOWN,
  MODE,
  NODE,
  type Node,
  nodeName,
  PRESENCE,
  QUERY,
  RETAINED,
  type Source,
  UNKNOWN,
  type WaveRecord,
} from '../graph/model.ts';
import { fieldPaths, isAside, reportedView, valueAt } from '../graph/projection.ts';
import { projectionChanged } from './evaluate.ts';

export function causesOf(graph: Graph, wave: WaveRecord, sink: Node): Cause[] {
  const causes = new Map<CellEvent, Cause>();
  const chains = new Map<Node, readonly string[]>([[sink, [nodeName(sink)]]]);
  for (const [node, via] of chains) {
    if (causes.size >= MAX_CAUSES || chains.size > MAX_NODES) break;
    const found = (event: CellEvent, project: Projection | undefined) => {
      if (causes.size >= MAX_CAUSES || causes.has(event)) return;
      causes.set(event, { ...describe(graph, wave, event, project, sink.derivation.owner), via: shorten(via) });
    };
    const before = causes.size;
    const follow = (reader: Node) => {
      if (!chains.has(reader)) chains.set(reader, [nodeName(reader), ...via]);
    };
    const known = chains.size;
    if (wave.changed.get(node)?.state !== FRESH) {
      for (const { source, project, mode } of depsOf(node))
        if ((mode & RETAINED) === 0) check(wave, source, project, mode & MODE, found, follow);
    }
    // The node's trigger may no longer be among its reads; an event that started or ended the node never was.
    const trigger = wave.triggers.get(node);
    if (trigger !== undefined && causes.size === before && chains.size === known) {
      check(wave, trigger, undefined, 0, found, follow);
    }
  }
  return [...causes.values()];
}

const MAX_CAUSES = 10;
const MAX_NODES = 500;
const MAX_PATHS = 8;
const MAX_VIA = 6;

function check(
  wave: WaveRecord,
  source: Source,
  project: Projection | undefined,
  mode: number,
  found: (event: CellEvent, project: Projection | undefined) => void,
  follow: (node: Node) => void,
): void {
  if (source.kind === CELL) {
    const event = wave.cells.get(source);
    if (event !== undefined && isSeen(event, project, mode)) found(event, project);
  } else if (source.kind === QUERY) {
    for (const event of wave.queries.get(source) ?? []) if (isSeen(event, project, mode)) found(event, project);
  } else if (source.kind === NODE && (wave.changed.has(source) || wave.triggers.has(source))) {
    follow(source);
  }
}

function isSeen(event: CellEvent, project: Projection | undefined, mode: number): boolean {
  if (event.beforePresence !== event.afterPresence) return true;
  if (mode === PRESENCE || mode === KEYS) return false;
  return project === undefined || projectionChanged(project, event.before, event.after, event.cell.key);
}

/** A cause without its way; created once for all sinks that share it. */
function describe(
  graph: Graph,
  wave: WaveRecord,
  event: CellEvent,
  project: Projection | undefined,
  owner: string | undefined,
): Omit<Cause, 'via'> {
  // Each owner has a key of its own: a digest for one reveals nothing about a secret to another.
  if (event.cell.table.sensitive) return newCause(graph, event, project, owner);
  let known = wave.causes.get(event);
  if (known === undefined) wave.causes.set(event, (known = new Map<unknown, Omit<Cause, 'via'>>()));
  let cause = known.get(project);
  if (cause === undefined) known.set(project, (cause = newCause(graph, event, project, owner)));
  return cause;
}

function newCause(
  graph: Graph,
  event: CellEvent,
  project: Projection | undefined,
  owner: string | undefined,
): Omit<Cause, 'via'> {
  const { table, key } = event.cell;
  return {
    source: { table: table.name, key },
    paths: orElse([], () => pathsOf(event, project)),
    before: orElse('', () => digestOf(graph, event, event.beforePresence, event.before, owner)),
    after: orElse('', () => digestOf(graph, event, event.afterPresence, event.after, owner)),
    ...(isAside(project) ? { isAside: true as const } : {}),
  };
}

/** A value that cannot be compared or digested has no paths and no digest; it is a cause all the same. */
function orElse<T>(otherwise: T, compute: () => T): T {
  try {
    return compute();
  } catch {
    return otherwise;
  }
}

function pathsOf({ cell, before, after }: CellEvent, project: Projection | undefined): string[] {
  if (before === undefined || after === undefined) return [];
  if (project === undefined) return diff(before, after, MAX_PATHS);
  const reported = reportedView(project);
  if (reported !== undefined) return diff(reported(before), reported(after), MAX_PATHS);
  const paths = fieldPaths(project);
  if (paths === undefined) {
    try {
      return diff(project(before, cell.key), project(after, cell.key), MAX_PATHS);
    } catch {
      return [];
    }
  }
  const found = paths.flatMap((path) =>
    diff(valueAt(before, path), valueAt(after, path), MAX_PATHS).map((changed) => join(path.join('.'), changed)),
  );
  return found.slice(0, MAX_PATHS);
}

function join(prefix: string, path: string): string {
  if (path === '.') return prefix;
  return path.startsWith('[') ? prefix + path : `${prefix}.${path}`;
}

function digestOf(graph: Graph, event: CellEvent, presence: number, value: unknown, owner: string | undefined): string {
  if (presence === UNKNOWN) return 'unknown';
  if (presence !== KNOWN) return 'absent';
  if (event.cell.table.sensitive) return graph.sensitiveDigest?.(value, undefined, owner) ?? '';
  if (typeof value !== 'object' || value === null) return contentDigest(value);
  let digest = graph.digests.get(value);
  if (digest === undefined) graph.digests.set(value, (digest = contentDigest(value)));
  return digest;
}

function contentDigest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'hex').slice(0, 12);
}

/** Both ends count most: the derivation that read the source, and those nearest to the sink. */
function shorten(via: readonly string[]): readonly string[] {
  return via.length <= MAX_VIA ? via : [via[0] as string, ...via.slice(via.length - MAX_VIA + 1)];
}
