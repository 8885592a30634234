// The clusters and their cables as a picture: text, Graphviz or SVG.
import { MAX_WEB, svgMatrix } from './picture-matrix.ts';
import {
  colourOf,
  isDashed,
  type Picture,
  type PictureCluster,
  svgDocument,
  svgLegend,
  svgText,
} from './picture-style.ts';

export type { Picture, PictureCable } from './picture-style.ts';

/** Lists each pair once, under the cluster whose id comes first. */
export function textPicture({ clusters, cables }: Picture): string {
  const width = Math.max(0, ...clusters.map(({ id }) => id.length));
  const lines = clusters.map(({ id, labels }) => {
    const own = cables.filter(({ left }) => left === id);
    const ends = own.map(({ right, driver, state }) => {
      const line = state === 'connected' ? '===' : state === 'error' || state === 'conflict' ? '-x-' : '---';
      return `  ${line} ${right.padEnd(width)}  ${driver ?? 'not connected'} (${state})\n`;
    });
    const shown = labelLines(labels).join(', ');
    return `${id}${shown === '' ? '' : ` [${shown}]`}\n${ends.join('')}`;
  });
  return lines.join('');
}

export function dotPicture({ clusters, cables }: Picture): string {
  const quote = (text: string) => JSON.stringify(text);
  const nodes = clusters.map(({ id, labels }) => {
    const shown = labelLines(labels).join(', ');
    return `  ${quote(id)} [label=${quote(shown === '' ? id : `${id}\n${shown}`)}];`;
  });
  const edges = cables.map((cable) => {
    const style = isDashed(cable) ? 'dashed' : 'solid';
    return `  ${quote(cable.left)} -- ${quote(cable.right)} [label=${quote(cable.driver ?? 'not connected')}, color=${quote(colourOf(cable))}, style=${style}];`;
  });
  return `graph cables {\n  node [shape=box, style=rounded];\n${[...nodes, ...edges].join('\n')}\n}\n`;
}

/** Draws a web of boxes and lines. Above MAX_WEB clusters it draws a matrix, since lines would cover each other. */
export function svgPicture(picture: Picture): string {
  return picture.clusters.length > MAX_WEB ? svgMatrix(picture) : svgWeb(picture);
}

const SIZE = 640;

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function svgWeb({ clusters, cables }: Picture): string {
  const centre = SIZE / 2;
  const radius = SIZE * 0.36 + Math.max(0, clusters.length - 12) * 14;
  const places = new Map(
    clusters.map(({ id }, index) => {
      const angle = (index / Math.max(1, clusters.length)) * 2 * Math.PI - Math.PI / 2;
      return [
        id,
        { x: Math.round(centre + radius * Math.cos(angle)), y: Math.round(centre + radius * Math.sin(angle)) },
      ];
    }),
  );
  const boxes = clusters.flatMap((cluster) => {
    const place = places.get(cluster.id);
    if (place === undefined) return [];
    const { width, height, lines } = boxOf(cluster);
    return [{ cluster, lines, x: place.x - width / 2, y: place.y - height / 2, width, height }];
  });
  const taken: Rectangle[] = [...boxes];
  const drawn = cables.flatMap((cable) => {
    const [from, to] = [places.get(cable.left), places.get(cable.right)];
    if (from === undefined || to === undefined) return [];
    const dash = isDashed(cable) ? ' stroke-dasharray="8 6"' : '';
    const driver = cable.driver ?? 'not connected';
    const title = svgText(`${cable.left} - ${cable.right}: ${driver} (${cable.state})`);
    const label = freePlace(driver, from, to, taken);
    if (label !== undefined) taken.push(label);
    const text =
      label === undefined
        ? ''
        : `<text x="${label.x + label.width / 2}" y="${label.y + LABEL_HEIGHT - 4}" font-size="11" fill="${colourOf(cable)}" text-anchor="middle" stroke="#fafafa" stroke-width="4" paint-order="stroke">${svgText(driver)}</text>`;
    return [
      {
        line: `<g><title>${title}</title><line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" stroke="${colourOf(cable)}" stroke-width="3"${dash}/></g>`,
        text,
      },
    ];
  });
  const shapes = boxes.flatMap(({ cluster: { id }, lines, x, y, width, height }) => [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="#ffffff" stroke="#424242" stroke-width="1.5"/>`,
    `<text x="${x + width / 2}" y="${y + 18}" text-anchor="middle" font-weight="bold">${svgText(id)}</text>`,
    ...lines.map(
      (line, index) =>
        `<text x="${x + width / 2}" y="${y + 33 + index * LINE}" font-size="10" fill="#616161" text-anchor="middle">${svgText(line)}</text>`,
    ),
  ]);
  const edge = {
    left: Math.min(0, ...boxes.map(({ x }) => x - 12)),
    top: Math.min(0, ...boxes.map(({ y }) => y - 12)),
    right: Math.max(SIZE, ...boxes.map(({ x, width }) => x + width + 12)),
    bottom: Math.max(0, ...boxes.map(({ y, height }) => y + height + 12)),
  };
  const legend = svgLegend(cables, edge.left + 12, edge.bottom + 12);
  const parts = [
    ...drawn.map(({ line }) => line),
    ...drawn.map(({ text }) => text).filter((text) => text !== ''),
    ...shapes,
    ...legend.parts,
  ];
  return svgDocument(parts, {
    x: edge.left,
    y: edge.top,
    width: edge.right - edge.left,
    height: edge.bottom - edge.top + legend.height + 24,
  });
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const LABEL_HEIGHT = 16;

/** Returns a place on the line where the text covers no box and no other text. Returns undefined if there is none: the line has a title. */
function freePlace(text: string, from: Point, to: Point, taken: readonly Rectangle[]): Rectangle | undefined {
  const width = text.length * 6.6 + 6;
  for (const part of [0.5, 0.4, 0.6, 0.33, 0.67, 0.27, 0.73, 0.45, 0.55, 0.22, 0.78]) {
    const x = Math.round(from.x + (to.x - from.x) * part - width / 2);
    const y = Math.round(from.y + (to.y - from.y) * part - LABEL_HEIGHT / 2);
    const place = { x, y, width, height: LABEL_HEIGHT };
    if (!taken.some((other) => overlap(place, other))) return place;
  }
  return undefined;
}

function overlap(a: Rectangle, b: Rectangle): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

const LINE = 13;
const MAX_LABELS = 4;
const MAX_LENGTH = 32;

function labelLines(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`);
}

/** Returns the box of a cluster with one line for each label, so that it stays in the picture and does not cover cables. */
function boxOf({ id, labels }: PictureCluster): { lines: string[]; width: number; height: number } {
  const all = labelLines(labels);
  const lines = (
    all.length > MAX_LABELS ? [...all.slice(0, MAX_LABELS - 1), `… ${all.length - MAX_LABELS + 1} more`] : all
  ).map((line) => (line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line));
  const width = Math.round(Math.max(id.length * 8.5, ...lines.map(({ length }) => length * 6.2)) + 24);
  return { lines, width, height: 28 + lines.length * LINE };
}
