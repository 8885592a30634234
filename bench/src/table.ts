import type { Machine } from './measure/machine.ts';
import type { Result } from './measure/result.ts';

export interface Report {
  readonly bench: string;
  readonly machine: Machine;
  readonly results: readonly Result[];
}

/** The report for people: a line for each figure, with missed targets marked and counted. */
export function formatTable({ bench, machine, results }: Report): string {
  const rows = [['figure', 'value', 'unit', 'target', '', 'rounds (low-high)', 'peer', 'ratio'], ...results.map(rowOf)];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        NUMERIC.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  const notes = results.filter(({ note }) => note !== undefined).map(({ name, note }) => `  ${name}: ${note}`);
  const judged = results.filter(({ target }) => target !== null);
  const missed = judged.filter(({ ok }) => !ok).length;
  return [
    `${bench} on Node ${machine.node}, ${machine.platform}, ${machine.cpu}, ${machine.cores} cores, ${machine.memory} GiB, load before ${machine.load}${machine.isBusy ? ' (BUSY: no measurement)' : ''}, commit ${machine.commit}, ${machine.date}`,
    '',
    ...lines,
    ...(notes.length > 0 ? ['', 'Notes:', ...notes] : []),
    '',
    `${judged.length - missed} of ${judged.length} targets reached.`,
    '',
  ].join('\n');
}

const NUMERIC = new Set([1, 7]);

function rowOf({ name, value, unit, target, ok, rounds, spread, peer, ratio }: Result): string[] {
  return [
    name,
    String(value),
    unit,
    target ?? '',
    target === null ? '' : ok ? 'ok' : 'MISSED',
    rounds > 1 ? `${rounds} (${spread[0]}-${spread[1]})` : '',
    peer === undefined ? '' : `${peer.name}: ${peer.value}`,
    ratio === undefined ? '' : String(ratio),
  ];
}
