import { formatReport, REPORT_FORMATS, type Report, type ReportFormat } from '@capstan/reconcile/command-line';
import { CommandErrors } from './errors.ts';
import type { CommandContext, Flags } from './io.ts';

export interface TableOptions {
  /** The longest text of each column. Longer texts are cut. */
  readonly limits?: readonly number[];
  /** Whether no text is cut. */
  readonly isWide?: boolean;
}

/** Formats a table as subctl does: upper-case headings, columns three spaces apart. */
export function formatTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  { limits = [], isWide = false }: TableOptions = {},
): string {
  const cut = (text: string, column: number) => {
    const limit = isWide ? Number.POSITIVE_INFINITY : (limits[column] ?? Number.POSITIVE_INFINITY);
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

/** Returns the format of -o. `text` is an earlier name of `table`. */
export function formatOf(flags: Flags, command: string): ReportFormat {
  const given = flags.text('output') ?? 'table';
  const format = given === 'text' ? 'table' : given;
  const found = REPORT_FORMATS.find((each) => each === format);
  if (found !== undefined) return found;
  throw CommandErrors.Usage(`--output: "${given}" is not a format; use one of ${REPORT_FORMATS.join(', ')}`, command);
}

/** Prints a report in the format of -o. Default: a table. */
export async function print(context: CommandContext, report: Report, command: string): Promise<void> {
  context.io.stdout(await formatReport(formatOf(context.flags, command), report));
}
