import { stripVTControlCharacters } from 'node:util';

/** Rows below a heading, columns aligned; the last column is not padded, so that long texts do no harm. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const padded = (cell: string, width = 0) => cell + ' '.repeat(Math.max(0, width - widthOf(cell)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : padded(cell, widths[column])))
      .join('  ')
      .trimEnd();
  return `${[heading, ...rows].map(line).join('\n')}\n`;
}

/** As it is seen: colours take no room. */
function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

/** `1 object`, `2 objects`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** JSON for people and programs, with the end of its last line. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
