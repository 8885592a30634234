// The page of benchmarks, generated from the saved results: tables and plots, losses before wins. Figures from a busy machine are no
// measurements and are left out; the page counts them.
import type { SavedResult, SavedResults } from '../saved-results.ts';
import { growthCurves } from './growth.ts';
import { drawPlot } from './plot.ts';

export interface Page {
  readonly markdown: string;
  /** The plots by their file names. */
  readonly plots: ReadonlyMap<string, string>;
}

/** An edit must not cost more in a larger world: the exponent of its growth stays below this. */
const EXPONENT_LIMIT = 0.15;
const MOST_LINES = 200;

/** Writes the page of all saved results. Throws if it would be longer than people read. */
export function benchmarkPage(saved: readonly SavedResults[]): Page {
  const plots = new Map<string, string>();
  const quiet = saved
    .map(({ bench, results }) => ({ bench, results: results.filter(({ machine }) => !machine.isBusy) }))
    .filter(({ results }) => results.length > 0);
  const busy = saved.reduce((sum, { results }) => sum + results.filter(({ machine }) => machine.isBusy).length, 0);
  const lines = [
    '# Benchmarks',
    '',
    '`npm run bench -- report` generates this page from the last run of each bench on a quiet machine (`bench/results/*.json`).',
    '`npm run bench` lists the benches; [testing.md](testing.md) describes how they measure.',
    ...(busy > 0 ? ['', `${busy} figures were measured on a busy machine (load above 4) and are not shown.`] : []),
    ...losses(quiet),
    ...quiet.flatMap(({ bench, results }) => section(bench, results, plots)),
    '',
  ];
  if (lines.length > MOST_LINES)
    throw new Error(
      `the page of benchmarks has ${lines.length} lines; give targets to fewer figures (at most ${MOST_LINES} lines)`,
    );
  return { markdown: lines.join('\n'), plots };
}

/** Lists the missed targets and the figures in which the peer is better: a reader sees them first. */
function losses(saved: readonly SavedResults[]): string[] {
  const rows = saved.flatMap(({ bench, results }) =>
    results
      .filter((result) => !result.ok || isPeerBetter(result))
      .map((result) => `| ${bench} | ${cells(result).join(' | ')} |`),
  );
  if (rows.length === 0) return [];
  return ['', '## Missed targets, and figures in which a peer is better', '', heading('bench'), rule(7), ...rows];
}

function section(bench: string, results: readonly SavedResult[], plots: Map<string, string>): string[] {
  const shown = results.filter(({ target, peer }) => target !== null || peer !== undefined);
  const curves = growthCurves(results);
  const drawn: string[] = [];
  const draw = (name: string, title: string, svg: string) => {
    plots.set(`${bench}-${name}.svg`, svg);
    drawn.push('', `![${title}](benchmarks/${bench}-${name}.svg)`);
  };
  for (const [unit, group] of Map.groupBy(curves, (curve) => curve.unit)) {
    const title = `${bench}: cost (${unit}) against the size of the world`;
    const lines = group.flatMap(({ of, points, exponent, peer }) => [
      { label: `${of} (exponent ${exponent.toFixed(2)})`, points },
      ...(peer
        ? [{ label: `${peer.name}: ${of} (${peer.exponent.toFixed(2)})`, points: peer.points, isPeer: true }]
        : []),
    ]);
    const name = `growth-${unit.replaceAll(/[^a-zA-Z0-9]+/g, '-').toLowerCase()}`;
    draw(name, title, drawPlot({ title, xLabel: 'objects', yLabel: unit, scale: 'log', lines }));
  }
  for (const { name, unit, curve } of results) {
    if (curve === undefined) continue;
    const points = curve.map(({ minute, value }) => ({ x: minute, y: value }));
    const title = `${bench}: ${name}`;
    const file = name.replaceAll(/[^a-zA-Z0-9]+/g, '-').toLowerCase();
    draw(
      file,
      title,
      drawPlot({ title, xLabel: 'minutes', yLabel: unit, scale: 'linear', lines: [{ label: name, points }] }),
    );
  }
  const [first] = results;
  return [
    '',
    `## ${bench}`,
    '',
    ...(first ? [machineLine(results)] : []),
    ...(shown.length > 0 ? ['', heading(), rule(6), ...shown.map((result) => `| ${cells(result).join(' | ')} |`)] : []),
    ...growthTable(curves),
    ...drawn,
  ];
}

function growthTable(curves: ReturnType<typeof growthCurves>): string[] {
  const edits = curves.filter(({ of }) => /\bedit\b/.test(of));
  const steep = edits.filter(({ exponent }) => exponent >= EXPONENT_LIMIT);
  if (edits.length === 0) return [];
  const names = steep.map(({ of, exponent }) => `${of} (${exponent.toFixed(2)})`).join(', ');
  return [
    '',
    steep.length === 0
      ? `All ${edits.length} costs of edits grow with an exponent below ${EXPONENT_LIMIT}.`
      : `**Costs of edits that grow with an exponent of ${EXPONENT_LIMIT} or more: ${names}.**`,
  ];
}

/** Names machines and commits of a bench: several where its parts were measured at different times. */
function machineLine(results: readonly SavedResult[]): string {
  const machines = new Set(
    results.map(
      ({ machine: { node, cpu, cores, memory, commit, date, load } }) =>
        `${date.slice(0, 10)}, commit ${commit}, Node ${node}, ${cpu}, ${cores} cores, ${memory} GiB, load before ${load}`,
    ),
  );
  return [...machines].join('; ');
}

const heading = (first?: string) =>
  `| ${[...(first === undefined ? [] : [first]), 'figure', 'value', 'rounds: low–high', 'target', 'peer', 'ratio'].join(' | ')} |`;
const rule = (columns: number) => `|${'---|'.repeat(columns)}`;

function cells(result: SavedResult): string[] {
  const { name, value, unit, rounds, spread, target, ok, peer, ratio } = result;
  const isLoss = !ok || isPeerBetter(result);
  const text = `${amount(value)} ${unit}`;
  return [
    name.replaceAll('|', '\\|'),
    isLoss ? `**${text}**` : text,
    rounds > 1 ? `${rounds}: ${amount(spread[0])}–${amount(spread[1])}` : '',
    target === null ? '' : `${target}${ok ? '' : ' **missed**'}`,
    peer === undefined ? '' : `${peer.name} ${amount(peer.value)} ${unit}`,
    ratio === undefined ? '' : String(ratio),
  ];
}

const amount = (value: number) => (Math.abs(value) >= 1000 ? value.toLocaleString('en-US') : String(value));

/** A rate is better when it is higher; times, bytes and counts are better when they are lower. */
function isPeerBetter({ ratio, unit, target }: SavedResult): boolean {
  if (ratio === undefined) return false;
  const isHigherBetter = target?.startsWith('>=') || /\/s$|per second|a second/.test(unit);
  return isHigherBetter ? ratio < 1 : ratio > 1;
}
