// The tree of one object: its dependencies, its dependents, its children and its owners.
import { keyOfNode, type Node, type ObjectGraph } from './object-graph.ts';

/** An object of a tree; `depth` is 0 for those next to the object that was asked for. */
export interface Branch extends Node {
  readonly depth: number;
}

export interface TreeReport {
  /** True if the object, everything that it depends on and everything that it owns is healthy. */
  readonly healthy: boolean;
  readonly object: Node;
  readonly belongsTo: readonly Branch[];
  readonly dependsOn: readonly Branch[];
  readonly neededBy: readonly Branch[];
  readonly owns: readonly Branch[];
  /** Kinds that could not be read: their objects are not in the tree. */
  readonly unread: readonly string[];
}

export function treeOf(graph: ObjectGraph, object: Node): TreeReport {
  const dependsOn = branches(object, graph.dependsOn);
  const owns = branches(object, graph.owns);
  return {
    healthy: [object, ...dependsOn, ...owns].every(({ state }) => state === 'Ready' || state === 'Present'),
    object,
    belongsTo: branches(object, graph.belongsTo),
    dependsOn,
    neededBy: branches(object, graph.neededBy),
    owns,
    unread: graph.unread,
  };
}

/** In the order of a tree. An object that is in it already has no branches a second time, so that circles end. */
function branches(root: Node, next: (node: Node) => readonly Node[]): Branch[] {
  const seen = new Set([keyOfNode(root)]);
  const found: Branch[] = [];
  const add = (node: Node, depth: number) => {
    for (const one of next(node)) {
      const isNew = !seen.has(keyOfNode(one));
      if (keyOfNode(one) === keyOfNode(root)) continue;
      found.push({ depth, ...one });
      seen.add(keyOfNode(one));
      if (isNew) add(one, depth + 1);
    }
  };
  add(root, 0);
  return found;
}
