// A layered layout for graphs of dependence. Layers come from the caller or from longest paths; the order in a layer comes from
// barycentres; edges that span layers pass through dummy nodes. The result depends on the input alone, so that one more node moves little.

export interface LayoutNode {
  readonly id: string;
  /** The column; computed from longest paths where any node has none. */
  readonly layer?: number;
  /** In pixels; 52 by default. */
  readonly height?: number;
}

export interface LayoutEdge {
  /** The left end. */
  readonly from: string;
  /** The right end. */
  readonly to: string;
}

export interface PlacedNode {
  readonly id: string;
  readonly layer: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedEdge extends LayoutEdge {
  /** The path of an SVG. */
  readonly path: string;
}

export interface Layout {
  readonly nodes: ReadonlyMap<string, PlacedNode>;
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
  readonly layers: number;
}

export interface LayoutOptions {
  /** 172 by default. */
  readonly nodeWidth?: number;
  /** Between columns; 40 by default. */
  readonly columnGap?: number;
  /** Between rows; 16 by default. */
  readonly rowGap?: number;
  /** Above the first row, for the titles of columns; 0 by default. */
  readonly top?: number;
}

interface Cell {
  readonly id: string;
  readonly height: number;
  readonly isDummy: boolean;
  readonly layer: number;
  y: number;
  left: Cell[];
  right: Cell[];
}

const DEFAULT_HEIGHT = 52;
const DUMMY_HEIGHT = 10;
const SWEEPS = 6;

export function layeredLayout(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  { nodeWidth = 172, columnGap = 40, rowGap = 16, top = 0 }: LayoutOptions = {},
): Layout {
  const layerOf = layersOf(nodes, edges);
  const columns: Cell[][] = [];
  const cells = new Map<string, Cell>();
  const add = (cell: Cell) => {
    while (columns.length <= cell.layer) columns.push([]);
    columns[cell.layer]?.push(cell);
    return cell;
  };
  for (const { id, height = DEFAULT_HEIGHT } of nodes) {
    if (cells.has(id)) continue;
    cells.set(id, add({ id, height, isDummy: false, layer: layerOf.get(id) ?? 0, y: 0, left: [], right: [] }));
  }
  const routes: { readonly edge: LayoutEdge; readonly through: readonly Cell[] }[] = [];
  for (const edge of edges) {
    const ends = [cells.get(edge.from), cells.get(edge.to)].filter((cell) => cell !== undefined);
    const [from, to] = ends;
    if (from === undefined || to === undefined || from === to) continue;
    const isForward = from.layer <= to.layer;
    const [first, last] = isForward ? [from, to] : [to, from];
    const through = [first];
    for (let layer = first.layer + 1; layer < last.layer; layer++)
      through.push(add({ id: '', height: DUMMY_HEIGHT, isDummy: true, layer, y: 0, left: [], right: [] }));
    through.push(last);
    for (let at = 1; at < through.length; at++) {
      const [a, b] = [through[at - 1], through[at]];
      if (a === undefined || b === undefined || a.layer === b.layer) continue;
      a.right.push(b);
      b.left.push(a);
    }
    routes.push({ edge, through: isForward ? through : through.toReversed() });
  }
  placeRows(columns, rowGap);
  const lowest = Math.min(0, ...columns.map((column) => column[0]?.y ?? 0));
  for (const column of columns) for (const cell of column) cell.y += top - lowest;
  const xOf = (layer: number) => layer * (nodeWidth + columnGap);
  let height = 0;
  for (const column of columns) {
    const last = column.at(-1);
    if (last !== undefined) height = Math.max(height, last.y + last.height);
  }
  const placed = new Map<string, PlacedNode>();
  for (const [id, { layer, y, height: own }] of cells)
    placed.set(id, { id, layer, x: xOf(layer), y, width: nodeWidth, height: own });
  return {
    nodes: placed,
    edges: routes.map(({ edge, through }) => ({ ...edge, path: pathOf(through, xOf, nodeWidth) })),
    width: columns.length === 0 ? 0 : xOf(columns.length - 1) + nodeWidth,
    height,
    layers: columns.length,
  };
}

/** Takes the given layers, moved to begin at 0, or the longest path to each node. An edge that closes a cycle is ignored. */
function layersOf(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[]): Map<string, number> {
  const given = nodes.map(({ layer }) => layer);
  if (nodes.length > 0 && given.every((layer) => layer !== undefined)) {
    const least = given.reduce((least, layer) => Math.min(least, layer), Number.POSITIVE_INFINITY);
    return new Map(nodes.map(({ id, layer = 0 }) => [id, layer - least]));
  }
  const incoming = new Map<string, number>(nodes.map(({ id }) => [id, 0]));
  const outgoing = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) {
    if (from === to || !incoming.has(from) || !incoming.has(to)) continue;
    incoming.set(to, (incoming.get(to) ?? 0) + 1);
    outgoing.get(from)?.push(to);
  }
  const layers = new Map<string, number>(nodes.map(({ id }) => [id, 0]));
  const waiting = new Set(nodes.map(({ id }) => id));
  const ready = nodes.filter(({ id }) => incoming.get(id) === 0).map(({ id }) => id);
  while (waiting.size > 0) {
    const id = ready.pop() ?? firstOf(waiting);
    if (id === undefined || !waiting.delete(id)) continue;
    for (const next of outgoing.get(id) ?? []) {
      if (!waiting.has(next)) continue;
      layers.set(next, Math.max(layers.get(next) ?? 0, (layers.get(id) ?? 0) + 1));
      const left = (incoming.get(next) ?? 0) - 1;
      incoming.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  return layers;
}

function firstOf(set: ReadonlySet<string>): string | undefined {
  for (const one of set) return one;
  return undefined;
}

function placeRows(columns: readonly Cell[][], gap: number): void {
  for (const column of columns) stack(column, gap);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isRight = sweep % 2 === 0;
    for (const column of isRight ? columns : columns.toReversed()) {
      const wanted = new Map(column.map((cell) => [cell, wantedOf(cell, isRight ? cell.left : cell.right)]));
      // Array.sort is stable: cells with the same wish keep their order.
      column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      settle(column, wanted, gap);
    }
  }
}

function wantedOf(cell: Cell, neighbours: readonly Cell[]): number {
  const middle = cell.y + cell.height / 2;
  if (neighbours.length === 0) return middle;
  return neighbours.reduce((sum, { y, height }) => sum + y + height / 2, 0) / neighbours.length;
}

function stack(column: readonly Cell[], gap: number): void {
  let y = 0;
  for (const cell of column) {
    cell.y = y;
    y += cell.height + gap;
  }
}

/** Moves each cell as near to its wanted middle as the order allows: overlapping cells form a block with the average wish. */
function settle(column: readonly Cell[], wanted: ReadonlyMap<Cell, number>, gap: number): void {
  const blocks: { cells: Cell[]; height: number; sum: number; top: number }[] = [];
  for (const cell of column) {
    const top = (wanted.get(cell) ?? 0) - cell.height / 2;
    let block = { cells: [cell], height: cell.height, sum: top, top };
    for (let before = blocks.at(-1); before !== undefined; before = blocks.at(-1)) {
      if (before.top + before.height + gap <= block.top) break;
      blocks.pop();
      // A cell's wish, expressed as a wish for the top of the whole block.
      const sum = before.sum + block.sum - block.cells.length * (before.height + gap);
      for (const one of block.cells) before.cells.push(one);
      const { cells } = before;
      block = { cells, height: before.height + gap + block.height, sum, top: sum / cells.length };
    }
    blocks.push(block);
  }
  for (const { cells, top } of blocks) {
    let y = top;
    for (const cell of cells) {
      cell.y = y;
      y += cell.height + gap;
    }
  }
}

function pathOf(through: readonly Cell[], xOf: (layer: number) => number, width: number): string {
  const [start, ...rest] = through;
  if (start === undefined) return '';
  const round = (value: number) => Math.round(value * 10) / 10;
  const isBack = (rest[0]?.layer ?? 0) < start.layer;
  let x = xOf(start.layer) + (isBack ? 0 : width);
  let y = start.y + start.height / 2;
  let path = `M${round(x)} ${round(y)}`;
  for (const cell of rest) {
    const [nextX, nextY] = [xOf(cell.layer) + (isBack ? width : 0), cell.y + cell.height / 2];
    const bend = (x + nextX) / 2;
    path += `C${round(bend)} ${round(y)} ${round(bend)} ${round(nextY)} ${round(nextX)} ${round(nextY)}`;
    [x, y] = [nextX, nextY];
    if (!cell.isDummy) continue;
    x = xOf(cell.layer) + (isBack ? 0 : width);
    path += `H${round(x)}`;
  }
  return path;
}
