// The graph of an object as it is drawn: each object stands beside its reader.

export interface ShapeNode {
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  /** Negative for objects that the middle reads. */
  readonly distance: number;
}

export interface ShapeEdge {
  /** The reader. */
  readonly from: string;
  /** The object that is read. */
  readonly to: string;
}

/** Whether an edge leads away from the middle; the others close a cycle and have no place in columns. */
export function isOutward(from: ShapeNode, to: ShapeNode): boolean {
  if (from.distance < 0) return to.distance < 0;
  if (from.distance === 0) return to.distance < 0;
  return to.distance >= 0;
}

/** Returns the column of each node: the longest way to the middle, so that every object stands beyond all of its readers. */
export function columnsAround(nodes: readonly ShapeNode[], edges: readonly ShapeEdge[]): ReadonlyMap<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const [reader, read] = [byId.get(from), byId.get(to)];
    if (reader === undefined || read === undefined || !isOutward(reader, read)) continue;
    // On the side of the readers the way to the middle follows the edges; on the other side it runs against them.
    const [outer, inner] = reader.distance > 0 ? [from, to] : [to, from];
    next.set(outer, [...(next.get(outer) ?? []), inner]);
  }
  const depth = new Map<string, number>();
  const open = new Set<string>();
  const depthOf = (id: string): number => {
    const known = depth.get(id);
    if (known !== undefined) return known;
    const node = byId.get(id);
    if (node === undefined || node.distance === 0 || open.has(id)) return 0;
    open.add(id);
    const steps = (next.get(id) ?? []).filter((inner) => !open.has(inner)).map((inner) => depthOf(inner) + 1);
    open.delete(id);
    const found = steps.length === 0 ? Math.abs(node.distance) : Math.max(...steps);
    depth.set(id, found);
    return found;
  };
  return new Map(nodes.map(({ id, distance }) => [id, Math.sign(distance) * depthOf(id)]));
}
