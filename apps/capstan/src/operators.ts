import type { Operator } from '@capstan/reconcile';

export interface BuiltInOperator {
  readonly name: string;
  /** Its module, whose default export is the operator with its default settings; loaded when it is used. */
  load(): Promise<{ readonly default: Operator }>;
}

/** The operators that come with Capstan. */
export const BUILT_IN_OPERATORS: readonly BuiltInOperator[] = [
  { name: 'kroxylicious', load: () => import('@capstan/kroxylicious') },
  { name: 'crossplane', load: () => import('@capstan/crossplane') },
  { name: 'gimbal', load: () => import('@capstan/gimbal') },
];
