// The operators as far as their status is concerned: names and kinds. Those of the operators that come with Capstan are known to the
// built program, which need not load the operators for it.
import type { Kind } from '@capstan/kube/cluster';
import type { Operator } from '@capstan/reconcile';
import { UsageErrors } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';

export interface StatusOperator {
  readonly name: string;
  readonly kinds: readonly StatusKind[];
}

export interface StatusKind {
  readonly kind: Kind;
  /** Its objects have no conditions as long as there is no problem. */
  readonly isSilent: boolean;
}

/** Set by the build; see scripts/build/program-package.ts. */
declare const CAPSTAN_STATUS_OPERATORS: readonly StatusOperator[] | undefined;

export async function statusOperators(args: OperatorArgs, io: Io): Promise<readonly StatusOperator[]> {
  const { flags, operatorFlags } = args;
  const isPlain = flags.operator === undefined && Object.keys(operatorFlags).length === 0;
  if (typeof CAPSTAN_STATUS_OPERATORS !== 'undefined' && isPlain && flags.operators?.length !== 0) {
    const known = CAPSTAN_STATUS_OPERATORS;
    const names = known.map(({ name }) => name);
    const unknown = flags.operators?.find((name) => !names.includes(name));
    if (unknown !== undefined) throw UsageErrors.UnknownOperator('--operators', unknown, names);
    return known.filter(({ name }) => flags.operators?.includes(name) ?? true);
  }
  const { requireOperators } = await import('../cli/load-operators.ts');
  const { isPrimary } = await import('@capstan/reconcile');
  return (await requireOperators(args, io)).map((operator) => statusOperator(operator, isPrimary));
}

/** `isPrimary` as an argument: it comes with the whole runtime. */
export function statusOperator(
  operator: Operator,
  isPrimary: (operator: Operator, reconciler: Operator['reconcilers'][number]) => boolean,
): StatusOperator {
  const { name, kinds, reconcilers } = operator;
  const written = new Set(
    reconcilers
      .filter((reconciler) => isPrimary(operator, reconciler))
      .map(({ resource }) => `${resource.group}/${resource.kind}`),
  );
  return {
    name,
    kinds: kinds.map(({ group, version, apiVersion, kind, plural, scope }) => ({
      kind: { group, version, apiVersion, kind, plural, scope },
      isSilent: !written.has(`${group}/${kind}`),
    })),
  };
}
