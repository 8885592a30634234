import type { Operator } from '@capstan/reconcile';

/** Flags of one operator by name: `--crossplane.package-runtime=External` is {'package-runtime': 'External'}. */
export type FlagsOfOperator = Readonly<Record<string, string>>;

export interface BuiltInOperator {
  readonly name: string;
  /** Loads its module when it is used. Throws a UsageError for a flag that it does not have. */
  load(flags: FlagsOfOperator): Promise<Operator>;
}

/** The operators that come with Capstan: none yet, each is added here when it is built. */
export const BUILT_IN_OPERATORS: readonly BuiltInOperator[] = [];
