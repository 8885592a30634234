// Finds out why the pods of a proxy do not start. The operator cannot detect an error in a filter's configuration, since only the filter's
// own code understands it. A proxy that refuses it exits at once, and the end of its log gives the reason.
import { POD_PROBLEM_FIELDS, type Pod, podProblem } from '@capstan/kube';
import { CLUSTER_LABEL, MANAGED_BY } from '../kinds/labels.ts';

export interface PodProblem {
  /** The virtual cluster that owns the pods. Undefined if clusters share them. */
  readonly cluster: string | undefined;
  /** A text for a status. It stays the same while the pod does not start, however often it is restarted. */
  readonly text: string;
}

/** Returns undefined if a pod is healthy or is being deleted. */
export function podProblemOf(pod: Pod): PodProblem | undefined {
  const found = podProblem(pod, { words: cause });
  return found && { cluster: pod.metadata.labels?.[CLUSTER_LABEL], text: found.message };
}

/**
 * Returns the innermost cause in the last output of a Java program, which comes last. If there is none, returns the last line that is not a
 * stack frame.
 */
function cause(text: string): string {
  const all = text.trimEnd().split('\n');
  const lines = all.filter((line) => !/^\s*(at |\.\.\. )/.test(line));
  const found = lines.findLast((line) => line.startsWith(CAUSE))?.slice(CAUSE.length) ?? lines.at(-1) ?? '';
  // Only the end of a long log is kept. It may start in the middle of a line.
  return (found === all[0] && all.length > 1 ? `… ${found}` : found).trim();
}

const CAUSE = 'Caused by: ';

/** The fields that are read of the proxies' own pods. For other pods only their existence is read. */
export const POD_READ = {
  fields: POD_PROBLEM_FIELDS,
  labels: { matchLabels: { [MANAGED_BY.label]: MANAGED_BY.value } },
};
