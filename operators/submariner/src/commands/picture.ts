// The clusters and their cables as a picture: text, Graphviz or SVG.
import type { ConnectionState } from '../kinds/index.ts';

export interface PictureCable {
  readonly left: string;
  readonly right: string;
  readonly driver: string;
  readonly state: ConnectionState | 'planned';
}

export interface Picture {
  readonly clusters: readonly { readonly id: string; readonly labels: string }[];
  readonly cables: readonly PictureCable[];
}

const COLOURS: Readonly<Record<string, string>> = {
  ipsec: '#2e7d32',
  wireguard: '#6a1b9a',
  vxlan: '#1565c0',
  'vxlan+ipsec': '#00838f',
};
const PROBLEM = '#c62828';

/** The colour of the driver, unless something is wrong with the cable. */
function colourOf({ driver, state }: PictureCable): string {
  return state === 'error' || state === 'conflict' ? PROBLEM : (COLOURS[driver] ?? '#757575');
}

function isDashed({ state }: PictureCable): boolean {
  return state !== 'connected';
}

export function textPicture({ clusters, cables }: Picture): string {
  const width = Math.max(0, ...clusters.map(({ id }) => id.length));
  const lines = clusters.map(({ id, labels }) => {
    const own = cables.filter(({ left, right }) => left === id || right === id);
    const ends = own.map((cable) => {
      const line =
        cable.state === 'connected' ? '===' : cable.state === 'error' || cable.state === 'conflict' ? '-x-' : '---';
      const other = cable.left === id ? cable.right : cable.left;
      return `  ${line} ${other.padEnd(width)}  ${cable.driver} (${cable.state})\n`;
    });
    return `${id}${labels === '' ? '' : ` [${labels}]`}\n${ends.join('')}`;
  });
  return lines.join('');
}

export function dotPicture({ clusters, cables }: Picture): string {
  const quote = (text: string) => JSON.stringify(text);
  const nodes = clusters.map(
    ({ id, labels }) => `  ${quote(id)} [label=${quote(labels === '' ? id : `${id}\n${labels}`)}];`,
  );
  const edges = cables.map((cable) => {
    const style = isDashed(cable) ? 'dashed' : 'solid';
    return `  ${quote(cable.left)} -- ${quote(cable.right)} [label=${quote(cable.driver)}, color=${quote(colourOf(cable))}, style=${style}];`;
  });
  return `graph cables {\n  node [shape=box, style=rounded];\n${[...nodes, ...edges].join('\n')}\n}\n`;
}

const SIZE = 640;

export function svgPicture({ clusters, cables }: Picture): string {
  const centre = SIZE / 2;
  const radius = SIZE * 0.36;
  const places = new Map(
    clusters.map(({ id }, index) => {
      const angle = (index / Math.max(1, clusters.length)) * 2 * Math.PI - Math.PI / 2;
      return [
        id,
        { x: Math.round(centre + radius * Math.cos(angle)), y: Math.round(centre + radius * Math.sin(angle)) },
      ];
    }),
  );
  const widest = Math.max(0, ...clusters.map(({ id, labels }) => boxOf(id, labels).width));
  // Boxes at the sides of the circle stay inside.
  const margin = Math.max(0, Math.ceil(widest / 2 + 12 - (centre - radius)));
  const lines = cables.flatMap((cable) => {
    const [from, to] = [places.get(cable.left), places.get(cable.right)];
    if (from === undefined || to === undefined) return [];
    const dash = isDashed(cable) ? ' stroke-dasharray="8 6"' : '';
    const title = escapeXml(`${cable.left} - ${cable.right}: ${cable.driver} (${cable.state})`);
    const [x, y] = [Math.round((from.x + to.x) / 2), Math.round((from.y + to.y) / 2)];
    return [
      `<g><title>${title}</title><line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" stroke="${colourOf(cable)}" stroke-width="3"${dash}/>`,
      `<text x="${x}" y="${y - 5}" font-size="11" fill="${colourOf(cable)}" text-anchor="middle" stroke="#fafafa" stroke-width="4" paint-order="stroke">${escapeXml(cable.driver)}</text></g>`,
    ];
  });
  const boxes = clusters.flatMap(({ id, labels }) => {
    const place = places.get(id);
    if (place === undefined) return [];
    const { lines: shown, width, height } = boxOf(id, labels);
    const top = place.y - height / 2;
    return [
      `<rect x="${place.x - width / 2}" y="${top}" width="${width}" height="${height}" rx="8" fill="#ffffff" stroke="#424242" stroke-width="1.5"/>`,
      `<text x="${place.x}" y="${top + 18}" text-anchor="middle" font-weight="bold">${escapeXml(id)}</text>`,
      ...shown.map(
        (line, index) =>
          `<text x="${place.x}" y="${top + 33 + index * LINE}" font-size="10" fill="#616161" text-anchor="middle">${escapeXml(line)}</text>`,
      ),
    ];
  });
  const drivers = [...new Set(cables.map(({ driver }) => driver))].toSorted((a, b) => (a < b ? -1 : 1));
  const legend = drivers.map(
    (driver, index) =>
      `<text x="${12 - margin}" y="${20 + index * 16}" font-size="12" fill="${COLOURS[driver] ?? '#757575'}">${escapeXml(driver)}</text>`,
  );
  const parts = [...lines, ...boxes, ...legend].join('\n');
  const width = SIZE + 2 * margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-margin} 0 ${width} ${SIZE}" font-family="sans-serif" font-size="13">\n<rect x="${-margin}" width="${width}" height="${SIZE}" fill="#fafafa"/>\n${parts}\n</svg>\n`;
}

const LINE = 13;
const MAX_LABELS = 4;
const MAX_LENGTH = 32;

/** The box of a cluster: one line a label, so that it neither leaves the picture nor covers the cables. */
function boxOf(id: string, labels: string): { lines: string[]; width: number; height: number } {
  const all = labels === '' ? [] : labels.split(', ');
  const lines = (
    all.length > MAX_LABELS ? [...all.slice(0, MAX_LABELS - 1), `… ${all.length - MAX_LABELS + 1} more`] : all
  ).map((line) => (line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH - 1)}…` : line));
  const width = Math.round(Math.max(id.length * 8.5, ...lines.map(({ length }) => length * 6.2)) + 24);
  return { lines, width, height: 28 + lines.length * LINE };
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
