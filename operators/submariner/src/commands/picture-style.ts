// Colours, line styles and the legend that all pictures of cables share.
import type { ConnectionState } from '../kinds/index.ts';

export interface PictureCable {
  readonly left: string;
  readonly right: string;
  /** Null if the two clusters must not be connected. */
  readonly driver: string | null;
  readonly state: ConnectionState | 'planned';
}

export interface PictureCluster {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Picture {
  readonly clusters: readonly PictureCluster[];
  readonly cables: readonly PictureCable[];
}

const COLOURS: Readonly<Record<string, string>> = {
  ipsec: '#2e7d32',
  wireguard: '#6a1b9a',
  vxlan: '#1565c0',
  'vxlan+ipsec': '#00838f',
};
const PROBLEM = '#c62828';
const UNKNOWN = '#757575';

/** Returns the colour of the driver, or the one for problems. */
export function colourOf({ driver, state }: Pick<PictureCable, 'driver' | 'state'>): string {
  return state === 'error' || state === 'conflict' ? PROBLEM : (COLOURS[driver ?? ''] ?? UNKNOWN);
}

export function isDashed({ state }: Pick<PictureCable, 'state'>): boolean {
  return state !== 'connected';
}

/** Draws the meaning of every colour and line style in a column. */
export function svgLegend(
  cables: readonly PictureCable[],
  x: number,
  y: number,
): { readonly parts: string[]; readonly height: number } {
  const drivers = [...new Set(cables.map(({ driver }) => driver).filter((driver) => driver !== null))].toSorted(
    (a, b) => (a < b ? -1 : 1),
  );
  const rows = [
    ...drivers.map((driver) => ({ text: driver, colour: COLOURS[driver] ?? UNKNOWN, dash: false })),
    { text: 'connected', colour: UNKNOWN, dash: false },
    { text: 'planned, connecting or none', colour: UNKNOWN, dash: true },
    { text: 'error or conflict', colour: PROBLEM, dash: true },
  ];
  const parts = rows.map(({ text, colour, dash }, index) => {
    const line = y + index * ROW + ROW / 2;
    const style = dash ? ' stroke-dasharray="8 6"' : '';
    return `<g><line x1="${x}" y1="${line}" x2="${x + 36}" y2="${line}" stroke="${colour}" stroke-width="3"${style}/><text x="${x + 46}" y="${line + 4}" font-size="12" fill="#424242">${svgText(text)}</text></g>`;
  });
  return { parts, height: rows.length * ROW };
}

const ROW = 18;

export function svgDocument(
  parts: readonly string[],
  { x, y, width, height }: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${x} ${y} ${width} ${height}" font-family="sans-serif" font-size="13">\n<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="#fafafa"/>\n${parts.join('\n')}\n</svg>\n`;
}

export function svgText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
