// Draws many clusters as a matrix: a cell for each pair, in the colour of its driver. Neighbouring cells of one colour are one stroke, so
// that the size of the picture depends on the changes along a row, not on the number of pairs.
import { colourOf, isDashed, type Picture, svgDocument, svgLegend, svgText } from './picture-style.ts';

/** The largest number of clusters that are drawn as a web of lines. */
export const MAX_WEB = 40;

const CELL = 12;
const MAX_ID = 24;

export function svgMatrix({ clusters, cables }: Picture): string {
  const places = new Map(clusters.map(({ id }, index) => [id, index]));
  const cells = new Map<
    string,
    { readonly colour: string; readonly faint: boolean; readonly rows: Map<number, number[]> }
  >();
  for (const cable of cables) {
    const [one, other] = [places.get(cable.left), places.get(cable.right)];
    if (one === undefined || other === undefined) continue;
    const [row, column] = one > other ? [one, other] : [other, one];
    const [colour, faint] = [colourOf(cable), isDashed(cable)];
    const key = `${colour} ${faint}`;
    const group = cells.get(key) ?? { colour, faint, rows: new Map<number, number[]>() };
    cells.set(key, group);
    const columns = group.rows.get(row) ?? [];
    group.rows.set(row, columns);
    columns.push(column);
  }
  const margin = Math.min(MAX_ID, Math.max(0, ...clusters.map(({ id }) => id.length))) * 6 + 16;
  const side = clusters.length * CELL;
  const shapes = [...cells.values()].map(({ colour, faint, rows }) => {
    const path = [...rows].flatMap(([row, columns]) =>
      runsOf(columns).map(([first, length]) => `M${first * CELL} ${row * CELL + CELL / 2}h${length * CELL - 1}`),
    );
    return `<path d="${path.join('')}" stroke="${colour}" stroke-width="${CELL - 1}"${faint ? ' opacity="0.45"' : ''}/>`;
  });
  const shown = (id: string) => svgText(id.length > MAX_ID ? `${id.slice(0, MAX_ID - 1)}…` : id);
  const names = clusters.flatMap(({ id }, index) => [
    `<text x="-6" y="${index * CELL + CELL - 3}" font-size="10" text-anchor="end">${shown(id)}</text>`,
    `<text transform="translate(${index * CELL + CELL - 3} ${side + 6}) rotate(90)" font-size="10">${shown(id)}</text>`,
  ]);
  const legend = svgLegend(cables, side + 24, 0);
  const note = `<text x="${side + 24}" y="${legend.height + 20}" font-size="12" fill="#424242">pale: not connected</text>`;
  return svgDocument([...shapes, ...names, ...legend.parts, note], {
    x: -margin,
    y: -12,
    width: margin + side + 280,
    height: Math.max(side + margin, legend.height + 40) + 24,
  });
}

/** Returns runs of neighbouring columns as first column and length. */
function runsOf(columns: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const column of columns.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1] === column) last[1]++;
    else runs.push([column, 1]);
  }
  return runs;
}
