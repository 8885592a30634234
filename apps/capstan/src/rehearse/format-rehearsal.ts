// A rehearsal as text: shared parts of `plan upgrade` and `plan takeover`.
import type { PreviewWrite } from '@capstan/reconcile';
import { count } from '@capstan/reconcile/command-line';
import { effectLines, type FormatPlanOptions, isLasting } from '../plan/format-plan.ts';
import type { Rehearsal } from './rehearse-operators.ts';

/** The writes of the operators, with the statuses in a line for each kind. */
export function rehearsalLines(rehearsal: Rehearsal, options: FormatPlanOptions): string[] {
  const { bold, yellow } = options.colours;
  const statuses = options.showStatus ? [] : foldedStatuses([...rehearsal.writes, ...rehearsal.later]);
  return [
    ...effectLines(rehearsal, options),
    ...(statuses.length === 0 ? [] : ['', bold('Statuses (see --show-status):'), ...statuses]),
    ...(rehearsal.unread.length === 0
      ? []
      : ['', yellow(bold('Not read:')), ...rehearsal.unread.map((one) => `  ? ${one}`)]),
  ];
}

/** One line for each kind and reconciler: `~ 12 statuses of KafkaProxy  conditions, observedGeneration`. */
function foldedStatuses(writes: readonly PreviewWrite[]): string[] {
  const statuses = writes.filter((write) => write.verb === 'status' && isLasting(write));
  const groups = Map.groupBy(statuses, ({ by, object }) => `${object.split(' ')[0]} by ${by}`);
  return [...groups].map(([what, same]) => {
    const objects = new Set(same.map(({ object }) => object)).size;
    const fields = new Set(
      same.flatMap(({ paths }) => paths.map((path) => path.replace(/^status\.?/, '').split(/[.[]/)[0] ?? '')),
    );
    const shown = [...fields].filter((field) => field !== '' && field !== 'memory').toSorted();
    return `  ~ ${count(objects, 'status', 'statuses')} of ${what}${shown.length === 0 ? '' : `: ${shown.join(', ')}`}`;
  });
}

const MOST_MESSAGES = 20;

/** The messages that the operators would send to clients of their sinks, by their keys. */
export function sinkLines(sinks: Rehearsal['sinks'], { colours, isWide }: FormatPlanOptions): string[] {
  if (sinks.length === 0) return [];
  const shown = sinks.flatMap(({ sink, messages, keys }) => [
    `  ${sink} (${count(messages, 'message')})`,
    ...keys.slice(0, isWide ? undefined : MOST_MESSAGES).map((key) => `    > ${key}`),
    ...(isWide || keys.length <= MOST_MESSAGES ? [] : [`    … and ${keys.length - MOST_MESSAGES} more (-o wide)`]),
  ]);
  return ['', colours.bold('Sent to clients once they connect to the new version:'), ...shown];
}

/** Reports whether a rehearsal found anything that would be written, or that is not known. */
export function isSettled({ writes, later }: Pick<Rehearsal, 'writes' | 'later'>): boolean {
  return ![...writes, ...later].some(isLasting);
}
