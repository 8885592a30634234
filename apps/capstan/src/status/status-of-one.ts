// The status of one object: itself, its dependencies, and its dependents.
import { type Problem, plainKind, type StatusReport } from './gather-status.ts';

export interface One {
  /** `Kind.group` */
  readonly kind: string;
  /** `namespace/name`, or `name`. */
  readonly object: string;
}

/** The part of a report that concerns one object; `healthy` is about that part. */
export function statusOfOne(report: StatusReport, { kind, object }: One): StatusReport {
  const name = `${plainKind(kind)} ${object}`;
  const byName = new Map(report.problems.map((problem) => [nameOf(problem), problem]));
  const wanted = new Set([name]);
  // Sets are walked in the order in which they grow.
  for (const one of wanted) for (const cause of byName.get(one)?.dependsOn ?? []) wanted.add(cause);
  for (const affected of byName.get(name)?.affects ?? []) wanted.add(affected);
  const operator = report.kinds.find((one) => one.kind === kind)?.operator;
  wanted.add(`Operator ${operator}`);
  const problems = report.problems.filter((problem) => wanted.has(nameOf(problem)));
  const kinds = report.kinds
    .filter((one) => one.kind === kind)
    .map((one) => ({ ...one, objects: 1, notReady: one.notReady.filter((other) => other.object === object) }));
  return {
    healthy: problems.length === 0 && kinds.every(({ problem }) => problem === undefined),
    problems,
    operators: report.operators.filter((one) => one.operator === operator),
    kinds,
  };
}

const nameOf = ({ kind, object }: Problem) => `${plainKind(kind)} ${object}`;
