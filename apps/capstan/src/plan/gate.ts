// `--fail-on`: effects for which a pipeline stops.
import type { PlanReport } from './format-plan.ts';

export const GATES = ['rolls', 'drains', 'tears', 'deletes'] as const;
export type Gate = (typeof GATES)[number];

/** The words of disturbances. A pod that stops for good counts as torn down. */
const WORDS: Readonly<Record<Exclude<Gate, 'deletes'>, RegExp>> = {
  rolls: /\brolls?\b|\brestarts?\b/,
  drains: /\bdrains?\b/,
  tears: /\btears?\b|\bstops\b/,
};

type Gated = Pick<PlanReport, 'writes' | 'later' | 'deliveries'> & Partial<Pick<PlanReport, 'given'>>;

/** Returns a sentence for each effect that one of the gates is about. */
export function failingEffects({ given = [], writes, later, deliveries }: Gated, gates: readonly Gate[]): string[] {
  const words = gates.flatMap((gate) => (gate === 'deletes' ? [] : [WORDS[gate]]));
  const isGated = (disturbs: string | undefined) => disturbs !== undefined && words.some((word) => word.test(disturbs));
  const isDeletion = ({ verb }: { verb: string }) => verb === 'delete' && gates.includes('deletes');
  const found = [
    ...given.filter(isDeletion).map(({ object }) => `${object}: is deleted`),
    ...[...writes, ...later].flatMap((write) => [
      ...(isDeletion(write) ? [`${write.object}: is deleted`] : []),
      ...(isGated(write.disturbs) ? [`${write.object}: ${write.disturbs}`] : []),
    ]),
    ...deliveries.flatMap(({ by, key, disturbs }) => (isGated(disturbs) ? [`${key} (${by}): ${disturbs}`] : [])),
  ];
  return [...new Set(found)];
}
