import type { SavedResult } from '../saved-results.ts';

/** One cost at several sizes of the world, smallest first. */
export interface GrowthCurve {
  /** The cost, as in "route edit, p50". */
  readonly of: string;
  readonly unit: string;
  readonly points: readonly Point[];
  /** The exponent of the fitted power law: 0 is constant, 1 is linear. */
  readonly exponent: number;
  readonly peer?: { readonly name: string; readonly points: readonly Point[]; readonly exponent: number };
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Collects the figures that were measured at several sizes. A cost at one size has no growth. */
export function growthCurves(results: readonly SavedResult[]): GrowthCurve[] {
  const byCost = Map.groupBy(
    results.filter(({ growth }) => growth !== undefined),
    ({ growth, unit }) => `${growth?.of ?? ''}\n${unit}`,
  );
  return [...byCost.values()].flatMap((figures) => {
    const sorted = figures.toSorted((a, b) => (a.growth?.size ?? 0) - (b.growth?.size ?? 0));
    const [first] = sorted;
    const points = sorted.map(({ growth, value }) => ({ x: growth?.size ?? 0, y: value }));
    const beside = sorted.flatMap(({ growth, peer }) =>
      peer === undefined ? [] : [{ x: growth?.size ?? 0, y: peer.value }],
    );
    if (first?.growth === undefined || points.length < 2) return [];
    return [
      {
        of: first.growth.of,
        unit: first.unit,
        points,
        exponent: exponentOf(points),
        ...(first.peer !== undefined &&
          beside.length > 1 && { peer: { name: first.peer.name, points: beside, exponent: exponentOf(beside) } }),
      },
    ];
  });
}

/** Fits y = c · x^e by least squares on logarithms. Returns e; 0 where a value is not positive, because such a cost cannot be fitted. */
export function exponentOf(points: readonly Point[]): number {
  if (points.length < 2 || points.some(({ x, y }) => x <= 0 || y <= 0)) return 0;
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (axis: 'x' | 'y') => logs.reduce((sum, point) => sum + point[axis], 0) / logs.length;
  const [mx, my] = [mean('x'), mean('y')];
  const spread = logs.reduce((sum, { x }) => sum + (x - mx) ** 2, 0);
  return spread === 0 ? 0 : logs.reduce((sum, { x, y }) => sum + (x - mx) * (y - my), 0) / spread;
}
