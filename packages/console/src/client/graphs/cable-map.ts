// The places of clusters on the map of cables: a column for each value of a label, and a line for each pair.

export interface MappedCluster {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ClusterPlace {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

export interface CableMap {
  readonly groups: readonly {
    readonly title: string;
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  }[];
  readonly places: ReadonlyMap<string, ClusterPlace>;
  readonly width: number;
  readonly height: number;
}

export const NODE_WIDTH = 112;
export const NODE_HEIGHT = 28;
const ROW = 64;
const COLUMN = 250;
const TOP = 30;
const PAD = 24;

export function cableMap(clusters: readonly MappedCluster[], groupBy: string | undefined): CableMap {
  const groups = new Map<string, MappedCluster[]>();
  for (const cluster of clusters) {
    const value = groupBy === undefined ? '' : (cluster.labels[groupBy] ?? '');
    groups.set(value, [...(groups.get(value) ?? []), cluster]);
  }
  // Without groups, two columns keep the lines apart.
  const columns =
    groups.size > 1
      ? [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
      : [0, 1].map((side): [string, MappedCluster[]] => ['', clusters.filter((_, at) => at % 2 === side)]);
  const tallest = Math.max(1, ...columns.map(([, members]) => members.length));
  const height = TOP + tallest * ROW + PAD;
  const places = new Map<string, ClusterPlace>();
  const boxes = columns
    .filter(([, members]) => members.length > 0)
    .map(([value, members], column) => {
      const own = members.length * ROW + PAD / 2;
      const x = column * COLUMN + 40;
      const y = TOP + (tallest * ROW + PAD / 2 - own) / 2;
      members.forEach(({ id }, at) => places.set(id, { id, x: x + PAD, y: y + PAD / 2 + at * ROW + 6 }));
      const title = groupBy === undefined || groups.size === 1 ? '' : `${groupBy}=${value === '' ? '(none)' : value}`;
      return { title, x, y, width: NODE_WIDTH + PAD * 2, height: own };
    });
  return { groups: boxes, places, width: boxes.length * COLUMN - (COLUMN - NODE_WIDTH - PAD * 2) + 80, height };
}

/** The curve between two clusters: across columns a straight line, inside one column an arc that leaves the others free. */
export function cablePath(from: ClusterPlace, to: ClusterPlace): string {
  const middle = NODE_HEIGHT / 2;
  if (from.x === to.x) {
    const bend = 16 + Math.min(3, Math.abs(from.y - to.y) / ROW) * 14;
    return `M${from.x} ${from.y + middle}C${from.x - bend} ${from.y + middle} ${to.x - bend} ${to.y + middle} ${to.x} ${to.y + middle}`;
  }
  const [left, right] = from.x < to.x ? [from, to] : [to, from];
  return `M${left.x + NODE_WIDTH} ${left.y + middle}L${right.x} ${right.y + middle}`;
}

export interface DrivenPair {
  readonly left: string;
  readonly right: string;
  readonly driver: string;
}

/** The pairs whose driver differs, by `left right`. */
export function changedPairs<P extends DrivenPair>(
  before: readonly P[],
  after: readonly P[],
): ReadonlyMap<string, readonly [P | undefined, P]> {
  const known = new Map(before.map((pair) => [pairKey(pair), pair]));
  return new Map(
    after
      .filter((pair) => known.get(pairKey(pair))?.driver !== pair.driver)
      .map((pair) => [pairKey(pair), [known.get(pairKey(pair)), pair]]),
  );
}

export function pairKey({ left, right }: { readonly left: string; readonly right: string }): string {
  return `${left} ${right}`;
}
