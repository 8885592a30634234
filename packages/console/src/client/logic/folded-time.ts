// A scale of time on which idle gaps take a fixed width, so that bursts that are hours apart stand beside one another.

export interface FoldedScale {
  /** The place of a moment, in pixels. Moments outside are at the edges. */
  x(at: number): number;
  /** The moment of a place. */
  at(x: number): number;
  readonly gaps: readonly { readonly x: number; readonly width: number; readonly from: number; readonly to: number }[];
  /** Moments for labels, at least `space` pixels apart. */
  ticks(space: number): readonly number[];
}

/** Idle time beyond this is folded. */
export const FOLD_MS = 120_000;
const GAP_WIDTH = 26;
/** Time beside activity that a fold leaves. */
const MARGIN_MS = 5000;

interface Segment {
  readonly from: number;
  readonly to: number;
  readonly isGap: boolean;
  x: number;
  width: number;
}

export function foldedScale(moments: readonly number[], from: number, to: number, width: number): FoldedScale {
  const end = Math.max(to, from + 1);
  const segments = segmentsOf(moments, from, end);
  const gaps = segments.filter(({ isGap }) => isGap);
  // Many gaps in little room become narrower, so that half of the width is left for activity.
  const gapWidth = gaps.length === 0 ? 0 : Math.min(GAP_WIDTH, width / 2 / gaps.length);
  const active = segments.reduce((sum, one) => sum + (one.isGap ? 0 : one.to - one.from), 0);
  const perMs = active === 0 ? 0 : (width - gaps.length * gapWidth) / active;
  let x = 0;
  for (const segment of segments) {
    segment.x = x;
    segment.width = segment.isGap ? gapWidth : (segment.to - segment.from) * perMs;
    x += segment.width;
  }
  const place = (at: number) => {
    if (at <= from) return 0;
    const segment = segments.find((one) => at <= one.to);
    if (segment === undefined) return width;
    return segment.x + ((at - segment.from) / Math.max(1, segment.to - segment.from)) * segment.width;
  };
  return {
    x: place,
    at(wanted) {
      if (wanted <= 0) return from;
      const segment = segments.find((one) => wanted <= one.x + one.width);
      if (segment === undefined) return end;
      return segment.from + ((wanted - segment.x) / Math.max(0.001, segment.width)) * (segment.to - segment.from);
    },
    gaps: gaps.map((gap) => ({ x: gap.x, width: gap.width, from: gap.from, to: gap.to })),
    ticks: (space) => ticksOf(segments, space),
  };
}

function segmentsOf(moments: readonly number[], from: number, to: number): Segment[] {
  const inside = [...new Set([from, ...moments.filter((at) => at > from && at < to), to])].sort((a, b) => a - b);
  const segments: Segment[] = [];
  const add = (start: number, end: number, isGap: boolean) => {
    const last = segments.at(-1);
    if (end <= start) return;
    if (last !== undefined && !last.isGap && !isGap) segments[segments.length - 1] = { ...last, to: end };
    else segments.push({ from: start, to: end, isGap, x: 0, width: 0 });
  };
  for (let at = 1; at < inside.length; at++) {
    const [start = 0, end = 0] = [inside[at - 1], inside[at]];
    if (end - start <= FOLD_MS) {
      add(start, end, false);
      continue;
    }
    add(start, start + MARGIN_MS, false);
    add(start + MARGIN_MS, end - MARGIN_MS, true);
    add(end - MARGIN_MS, end, false);
  }
  return segments;
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400].map((seconds) => seconds * 1000);

function ticksOf(segments: readonly Segment[], space: number): readonly number[] {
  const ticks: number[] = [];
  let free = Number.NEGATIVE_INFINITY;
  for (const { from, to, isGap, x, width } of segments) {
    if (isGap) continue;
    const perMs = width / (to - from);
    const step = STEPS.find((one) => one * perMs >= space) ?? to - from;
    const firstTick = Math.ceil(from / step) * step;
    const own = firstTick > to ? [from] : [];
    for (let at = firstTick; at <= to; at += step) own.push(at);
    for (const at of own) {
      const place = x + (at - from) * perMs;
      if (place < free) continue;
      ticks.push(at);
      free = place + space;
    }
  }
  return ticks;
}
