// The judgement of a soak: each figure of each program must stay flat. The last sixth of the time is compared with the second sixth (in an
// hour: the last ten minutes with minutes 10 to 20).
import { median } from '../measure/percentiles.ts';

export interface Series {
  readonly program: string;
  readonly figure: string;
  readonly unit: string;
  readonly points: readonly { readonly minute: number; readonly value: number }[];
  /** The median of a window counts, or its highest value where faults lower the count: connections that are cut. */
  readonly by: 'median' | 'peak';
  /** A rise below this amount is noise: one connection more, one collection of garbage less. */
  readonly noise: number;
}

export interface Verdict {
  readonly program: string;
  readonly figure: string;
  readonly unit: string;
  /** The values of the two windows; undefined without enough samples. */
  readonly reference: number | undefined;
  readonly last: number | undefined;
  readonly isFlat: boolean;
}

const MOST_GROWTH = 1.1;
const FEWEST_SAMPLES = 3;

/** Compares the windows of one figure. A figure with too few samples is not flat, because it was not measured. */
export function judge({ program, figure, unit, points, by, noise }: Series, minutes: number): Verdict {
  const window = (from: number, to: number) => {
    const values = points
      .filter(({ minute }) => minute >= (minutes * from) / 6 && minute <= (minutes * to) / 6)
      .map(({ value }) => value);
    if (values.length < FEWEST_SAMPLES) return undefined;
    return by === 'peak' ? Math.max(...values) : median(values);
  };
  const reference = window(1, 2);
  const last = window(5, 6);
  const isFlat =
    reference !== undefined && last !== undefined && (last <= reference * MOST_GROWTH || last - reference <= noise);
  return { program, figure, unit, reference, last, isFlat };
}

/** Formats the verdicts as a table, those that are not flat first. */
export function formatVerdicts(verdicts: readonly Verdict[]): string {
  const shown = (value: number | undefined) =>
    value === undefined ? 'not measured' : String(Number(value.toPrecision(4)));
  const rows = [
    ['', 'program', 'figure', 'minutes 1/6 to 2/6', 'last sixth', 'unit'],
    ...verdicts
      .toSorted((a, b) => Number(a.isFlat) - Number(b.isFlat))
      .map((each) => [
        each.isFlat ? 'flat' : 'GROWS',
        each.program,
        each.figure,
        shown(each.reference),
        shown(each.last),
        each.unit,
      ]),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
