// The reads of a node by name, and those that changed after a wave with the inputs that they follow from.
import type { Edge, Node } from '../engine/graph/model.ts';

/** Returns the name of a read: `table/key`, `table[where]` or `derivation(key)`. */
export function readName({ source }: Edge): string {
  if ('derivation' in source) return `${source.derivation.name}(${source.key})`;
  return 'canonical' in source ? `${source.table.name}[${source.canonical}]` : `${source.table.name}/${source.key}`;
}

const DEEPEST = 10;

export interface Moves {
  /** The last wave in which a node ran. */
  readonly ranAt: WeakMap<Node, number>;
  /** The last wave in which an input, as `table/key`, or any input of a table entered. */
  readonly enteredAt: ReadonlyMap<string, number>;
  readonly since: number;
}

/** Returns the reads of a node that changed after a wave, each with its way from an input: `Secret/default/a → password(default/a)`. */
export function movedReads(node: Node, { ranAt, enteredAt, since }: Moves): string[] {
  const isMoved = ({ source }: Edge) => {
    if ('derivation' in source) return (ranAt.get(source) ?? -1) > since;
    const input = 'canonical' in source ? source.table.name : `${source.table.name}/${source.key}`;
    return (enteredAt.get(input) ?? -1) > since;
  };
  const waysTo = (edge: Edge, depth: number): string[] => {
    const { source } = edge;
    const below = 'derivation' in source && depth < DEEPEST ? source.deps.filter(isMoved) : [];
    if (below.length === 0) return [readName(edge)];
    return below.flatMap((one) => waysTo(one, depth + 1).map((way) => `${way} → ${readName(edge)}`));
  };
  return [...new Set(node.deps.filter(isMoved).flatMap((edge) => waysTo(edge, 0)))];
}
