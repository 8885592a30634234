import { stringify } from 'yaml';
import { CommandErrors } from './errors.ts';
import type { CommandContext } from './io.ts';

/** A table as subctl prints it: upper-case headings, columns three spaces apart. */
export function formatTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  limits: readonly number[] = [],
): string {
  const cut = (text: string, column: number) => {
    const limit = limits[column] ?? Number.POSITIVE_INFINITY;
    return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
  };
  const cells = [heading, ...rows.map((row) => row.map(cut))];
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map(
      (row) =>
        `${row
          .map((text, column) => text.padEnd((widths[column] ?? 0) + 3))
          .join('')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Prints data as -o asks for; a table by default. */
export function print({ io, flags }: CommandContext, data: unknown, table: () => string, command: string): void {
  const format = flags.text('output') ?? 'table';
  if (format === 'json') io.stdout(`${JSON.stringify(data, undefined, 2)}\n`);
  else if (format === 'yaml') io.stdout(stringify(data));
  else if (format === 'table' || format === 'text') io.stdout(table());
  else throw CommandErrors.Usage(`--output: "${format}" is not a format (table, json, yaml)`, command);
}
