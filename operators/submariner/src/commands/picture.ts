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
  const lines = cables.flatMap((cable) => {
    const [from, to] = [places.get(cable.left), places.get(cable.right)];
    if (from === undefined || to === undefined) return [];
    const dash = isDashed(cable) ? ' stroke-dasharray="8 6"' : '';
    const title = escapeXml(`${cable.left} - ${cable.right}: ${cable.driver} (${cable.state})`);
    const [x, y] = [Math.round((from.x + to.x) / 2), Math.round((from.y + to.y) / 2)];
    return [
      `<g><title>${title}</title><line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" stroke="${colourOf(cable)}" stroke-width="3"${dash}/>`,
      `<text x="${x}" y="${y - 5}" font-size="11" fill="${colourOf(cable)}" text-anchor="middle">${escapeXml(cable.driver)}</text></g>`,
    ];
  });
  const boxes = clusters.flatMap(({ id, labels }) => {
    const place = places.get(id);
    if (place === undefined) return [];
    const width = Math.max(id.length, labels.length) * 7 + 24;
    return [
      `<rect x="${place.x - width / 2}" y="${place.y - 20}" width="${width}" height="40" rx="8" fill="#ffffff" stroke="#424242" stroke-width="1.5"/>`,
      `<text x="${place.x}" y="${place.y - 2}" text-anchor="middle" font-weight="bold">${escapeXml(id)}</text>`,
      `<text x="${place.x}" y="${place.y + 13}" font-size="10" fill="#616161" text-anchor="middle">${escapeXml(labels)}</text>`,
    ];
  });
  const drivers = [...new Set(cables.map(({ driver }) => driver))].toSorted((a, b) => (a < b ? -1 : 1));
  const legend = drivers.map(
    (driver, index) =>
      `<text x="12" y="${20 + index * 16}" font-size="12" fill="${COLOURS[driver] ?? '#757575'}">${escapeXml(driver)}</text>`,
  );
  const parts = [...lines, ...boxes, ...legend].join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE} ${SIZE}" font-family="sans-serif" font-size="13">\n<rect width="${SIZE}" height="${SIZE}" fill="#fafafa"/>\n${parts}\n</svg>\n`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
