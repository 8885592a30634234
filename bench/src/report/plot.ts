// Plots as SVG text: lines on linear or logarithmic axes, with a legend. The same figures give the same bytes.
import type { Point } from './growth.ts';

export interface Line {
  readonly label: string;
  readonly points: readonly Point[];
  /** True draws the line of a peer, in grey and dashed. */
  readonly isPeer?: boolean;
}

export interface Plot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly lines: readonly Line[];
  readonly scale: 'linear' | 'log';
}

const WIDTH = 720;
const ROW = 18;
const PLOT_HEIGHT = 280;
const LEFT = 70;
const TOP = 34;
const COLOURS = ['#1f6feb', '#bf3989', '#1a7f37', '#bc4c00', '#8250df', '#0a7ea4', '#9a6700', '#cf222e'];

/** Draws a plot. */
export function drawPlot(plot: Plot): string {
  // A logarithm has no place for zero.
  const isDrawn = ({ x, y }: Point) => plot.scale === 'linear' || (x > 0 && y > 0);
  const lines = plot.lines
    .map((line) => ({ ...line, points: line.points.filter(isDrawn) }))
    .filter(({ points }) => points.length > 0);
  const all = lines.flatMap(({ points }) => points);
  const xs = axisOf(
    all.map(({ x }) => x),
    plot.scale,
  );
  const ys = axisOf(plot.scale === 'linear' ? [0, ...all.map(({ y }) => y)] : all.map(({ y }) => y), plot.scale);
  const right = WIDTH - 20;
  const bottom = TOP + PLOT_HEIGHT;
  const place = ({ x, y }: Point): [number, number] => [
    LEFT + xs.at(x) * (right - LEFT),
    bottom - ys.at(y) * PLOT_HEIGHT,
  ];
  const height = bottom + 50 + lines.length * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${escaped(plot.title)}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="20" font-size="14" font-weight="600" fill="#1f2328">${escaped(plot.title)}</text>`,
    ...xs.ticks.map((tick) => {
      const [x] = place({ x: tick, y: ys.ticks[0] ?? 1 });
      return `<path d="M${fixed(x)} ${TOP}V${bottom}" stroke="#eaeef2"/><text x="${fixed(x)}" y="${bottom + 16}" text-anchor="middle" fill="#59636e">${tickText(tick)}</text>`;
    }),
    ...ys.ticks.map((tick) => {
      const [, y] = place({ x: xs.ticks[0] ?? 1, y: tick });
      return `<path d="M${LEFT} ${fixed(y)}H${right}" stroke="#eaeef2"/><text x="${LEFT - 6}" y="${fixed(y + 4)}" text-anchor="end" fill="#59636e">${tickText(tick)}</text>`;
    }),
    `<path d="M${LEFT} ${TOP}V${bottom}H${right}" fill="none" stroke="#59636e"/>`,
    `<text x="${right}" y="${bottom + 34}" text-anchor="end" fill="#59636e">${escaped(plot.xLabel)}</text>`,
    `<text x="${LEFT - 60}" y="${TOP - 2}" fill="#59636e">${escaped(plot.yLabel)}</text>`,
    ...lines.flatMap((line, index) => drawLine(line, index, place, bottom)),
    '</svg>',
    '',
  ].join('\n');
}

function drawLine(
  { label, points, isPeer }: Line,
  index: number,
  place: (point: Point) => [number, number],
  bottom: number,
) {
  const colour = isPeer ? '#818b98' : (COLOURS[index % COLOURS.length] ?? '#1f6feb');
  const dash = isPeer ? ' stroke-dasharray="5 4"' : '';
  const path = points.map((point, at) => `${at === 0 ? 'M' : 'L'}${place(point).map(fixed).join(' ')}`).join('');
  const y = bottom + 50 + index * ROW;
  return [
    `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"${dash}/>`,
    ...(points.length <= 12
      ? points.map((point) => {
          const [cx, cy] = place(point).map(fixed);
          return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`;
        })
      : []),
    `<path d="M${LEFT} ${y - 4}h24" stroke="${colour}" stroke-width="2"${dash}/><text x="${LEFT + 32}" y="${y}" fill="#1f2328">${escaped(label)}</text>`,
  ];
}

interface Axis {
  readonly ticks: readonly number[];
  /** Returns the place of a value between the ends of the axis, from 0 to 1. */
  at(value: number): number;
}

function axisOf(values: readonly number[], scale: Plot['scale']): Axis {
  const [low, high] = values.length === 0 ? [1, 10] : [Math.min(...values), Math.max(...values)];
  return scale === 'log' ? logAxis(low, high) : linearAxis(low, high);
}

/** Whole powers of ten, one more at each end if a value lies beyond. */
function logAxis(low: number, high: number): Axis {
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9));
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
  return { ticks, at: (value) => (Math.log10(value) - from) / (to - from) };
}

/** About five steps of 1, 2 or 5 times a power of ten. */
function linearAxis(low: number, high: number): Axis {
  const raw = (high - low || Math.abs(high) || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const from = Math.floor(low / step);
  const to = Math.max(from + 1, Math.ceil(high / step));
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => (from + index) * step);
  return { ticks, at: (value) => (value / step - from) / (to - from) };
}

function tickText(value: number): string {
  const text = Number(value.toPrecision(3));
  return Math.abs(text) >= 1000 ? text.toLocaleString('en-US') : String(text);
}

const fixed = (value: number) => Number(value.toFixed(1));

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
