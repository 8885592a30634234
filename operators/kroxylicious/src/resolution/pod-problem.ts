// Why the pods of a proxy do not start: the one error that the operator cannot detect is in a filter's configuration, which
// only the filter's own code understands. A proxy that does not take it ends at once, and its last words say why.
import { POD_PROBLEM_FIELDS, type Pod, podProblem } from '@capstan/kube';
import { CLUSTER_LABEL, MANAGED_BY } from '../kinds/labels.ts';

export interface PodProblem {
  /** The virtual cluster whose own pods these are; undefined where clusters share them. */
  readonly cluster: string | undefined;
  /** In words for a status; the same for as long as it does not start, however often it is tried. */
  readonly text: string;
}

/** Undefined when a pod is healthy, or is being deleted. */
export function podProblemOf(pod: Pod): PodProblem | undefined {
  const found = podProblem(pod, { words: cause });
  return found && { cluster: pod.metadata.labels?.[CLUSTER_LABEL], text: found.message };
}

/** Of the last words of a Java program the innermost cause, which comes last; else the last line that is no frame of a stack. */
function cause(text: string): string {
  const all = text.trimEnd().split('\n');
  const lines = all.filter((line) => !/^\s*(at |\.\.\. )/.test(line));
  const found = lines.findLast((line) => line.startsWith(CAUSE))?.slice(CAUSE.length) ?? lines.at(-1) ?? '';
  // Of a long log only the end is kept, which may begin anywhere in a line.
  return (found === all[0] && all.length > 1 ? `… ${found}` : found).trim();
}

const CAUSE = 'Caused by: ';

/** What is read of the proxies' own pods; of all others nothing but that they are there. */
export const POD_READ = {
  fields: POD_PROBLEM_FIELDS,
  labels: { matchLabels: { [MANAGED_BY.label]: MANAGED_BY.value } },
};
