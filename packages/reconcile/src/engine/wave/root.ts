// Roots keep nodes alive: one node of a derivation per member of a query, or a single one. Reference counting from the roots gives exactly
// the served nodes, and disposal is the delete. A member that becomes unknown is kept: nothing may be taken down because a cluster cannot
// be reached.

import type { Root } from '../engine-types.ts';
import { idleNode, idleQuery, touchList } from '../graph/edge.ts';
import {
  type Cell,
  type CellEvent,
  type DerivationState,
  FRESH,
  type Graph,
  type Node,
  presenceOf,
  type RootState,
  type TableState,
  UNKNOWN,
} from '../graph/model.ts';
import { requestWave } from '../graph/pending.ts';
import { hasMember, materialize, queryFor } from '../graph/query.ts';
import type { Where } from '../graph/where.ts';
import { nodeFor } from './read-node.ts';
import { enqueue } from './schedule.ts';

export function createEach<V>(graph: Graph, table: TableState, where: Where<V>, derivation: DerivationState): Root {
  const root = newRoot(derivation, table);
  return schedule(graph, root, () => {
    const query = queryFor(graph, table, where);
    if (query.first === undefined && query.roots === undefined) touchList(graph, query);
    root.query = query;
    table.roots.add(root);
    (query.roots ??= new Set()).add(root);
    for (const cell of materialize(graph, query)) enterRoot(graph, root, cell);
  });
}

export function createHold(graph: Graph, derivation: DerivationState, key: string): Root {
  return new Hold(graph, derivation, key);
}

/** A root of a single node: there are tens of thousands of them, so that it has no table of members. */
class Hold implements Root {
  readonly #graph: Graph;
  #node: Node | undefined;
  #isStopped = false;

  constructor(graph: Graph, derivation: DerivationState, key: string) {
    this.#graph = graph;
    graph.operations.push(() => this.#start(derivation, key));
    requestWave(graph);
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#graph.operations.push(() => this.#release());
    requestWave(this.#graph);
  }

  #start(derivation: DerivationState, key: string): void {
    if (this.#isStopped) return;
    const node = nodeFor(derivation, key);
    node.holds++;
    this.#node = node;
    if (node.state === FRESH) enqueue(this.#graph, node);
  }

  #release(): void {
    const node = this.#node;
    if (node === undefined) return;
    this.#node = undefined;
    node.holds--;
    this.#graph.released = true;
    idleNode(this.#graph, node);
  }
}

/**
 * A member of the root's query appeared. If it came with the root or with the first list, it runs in this wave, because the first delivery
 * is complete. If it came by an event of its own, it runs after the existing members.
 */
export function enterRoot(graph: Graph, root: RootState, cell: Cell, event?: CellEvent): void {
  if (root.members.has(cell.key)) return;
  const node = nodeFor(root.derivation, cell.key);
  node.holds++;
  root.members.set(cell.key, node);
  graph.wave.triggers.set(node, cell);
  if (node.state !== FRESH) return;
  if (event === undefined || !cell.table.synced || cell.table.syncing) enqueue(graph, node);
  else graph.newcomers.push({ node, event });
}

export function leaveRoot(graph: Graph, root: RootState, cell: Cell): void {
  releaseNode(graph, root, cell.key, cell);
}

/** Lets go of members that were kept as unknown and now are known not to belong: one key, or all. */
export function settleRoots(graph: Graph, root: RootState, key?: string): void {
  const { query, table } = root;
  if (query === undefined || table === undefined) return;
  for (const member of key === undefined ? [...root.members.keys()] : root.members.has(key) ? [key] : []) {
    if (hasMember(query, member) !== undefined) continue;
    const cell = table.cells.get(member);
    const unknown = cell === undefined ? !table.synced : presenceOf(cell) === UNKNOWN;
    if (!unknown) releaseNode(graph, root, member, cell);
  }
}

function newRoot(derivation: DerivationState, table: TableState | undefined): RootState {
  return { derivation, table, query: undefined, members: new Map(), stopped: false };
}

function schedule(graph: Graph, root: RootState, start: () => void): Root {
  graph.operations.push(() => {
    if (!root.stopped) start();
  });
  requestWave(graph);
  return {
    stop() {
      if (root.stopped) return;
      root.stopped = true;
      graph.operations.push(() => stop(graph, root));
      requestWave(graph);
    },
  };
}

function stop(graph: Graph, root: RootState): void {
  for (const key of root.members.keys()) releaseNode(graph, root, key);
  root.table?.roots.delete(root);
  const { query } = root;
  if (query === undefined) return;
  query.roots?.delete(root);
  if (query.roots?.size === 0) query.roots = undefined;
  touchList(graph, query);
  idleQuery(graph, query);
}

function releaseNode(graph: Graph, root: RootState, key: string, cause?: Cell): void {
  const node = root.members.get(key);
  if (node === undefined) return;
  root.members.delete(key);
  node.holds--;
  graph.released = true;
  if (cause !== undefined) graph.wave.triggers.set(node, cause);
  idleNode(graph, node);
}
