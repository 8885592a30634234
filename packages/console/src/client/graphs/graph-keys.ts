// Arrow keys walk a graph: up and down in a column, left and right to the nearest node of the next column that has one.
import type { Layout, PlacedNode } from './layered-layout.ts';

/** Returns the node that the key leads to; undefined at an edge of the graph and for other keys. */
export function nearestNode({ nodes, layers }: Layout, from: string, key: string): string | undefined {
  const start = nodes.get(from);
  if (start === undefined) return undefined;
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    const sign = key === 'ArrowDown' ? 1 : -1;
    const beyond = columnOf(nodes, start.layer).filter(({ y }) => (y - start.y) * sign > 0);
    return closest(beyond, start);
  }
  if (key !== 'ArrowLeft' && key !== 'ArrowRight') return undefined;
  const step = key === 'ArrowRight' ? 1 : -1;
  for (let layer = start.layer + step; layer >= 0 && layer < layers; layer += step) {
    const found = closest(columnOf(nodes, layer), start);
    if (found !== undefined) return found;
  }
  return undefined;
}

function columnOf(nodes: ReadonlyMap<string, PlacedNode>, layer: number): PlacedNode[] {
  return [...nodes.values()].filter((node) => node.layer === layer);
}

function closest(candidates: readonly PlacedNode[], { y }: PlacedNode): string | undefined {
  let found: PlacedNode | undefined;
  for (const one of candidates) if (found === undefined || Math.abs(one.y - y) < Math.abs(found.y - y)) found = one;
  return found?.id;
}
