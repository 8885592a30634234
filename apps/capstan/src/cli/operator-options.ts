import { type Args, type Flags, type FlagValues, list } from '@capstan/reconcile/command-line';

export const OPERATOR_OPTIONS = {
  operator: {
    type: 'string',
    multiple: true,
    value: 'FILE',
    help: 'Load an operator from a module (its default export, or "operator"); may be repeated.',
  },
  operators: {
    type: 'string',
    value: 'LIST',
    parse: list,
    help: 'Use only these, by name, with commas; default those of --operator, else all.',
  },
} as const satisfies Flags;

export type OperatorArgs = Pick<Args, 'operatorFlags' | 'command'> & { flags: FlagValues<typeof OPERATOR_OPTIONS> };
