// Which operators a command works with: those of --operator FILE, or without it those that come with Capstan; or of all of
// them the ones that --operators names.
import { resolve } from 'node:path';
import { CodedError, reasonOf, SchemaError } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { BUILT_IN_OPERATORS } from '../operators.ts';
import { nearest } from '../text/nearest.ts';
import type { Args, OperatorFlags, Options, Values } from './command.ts';
import { CliErrors, UsageErrors } from './errors.ts';
import type { Io } from './io.ts';

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
    help: 'Use only these, by name, with commas; default those of --operator, else all.',
  },
} as const satisfies Options;

type OperatorArgs = Pick<Args, 'operatorFlags'> & { flags: Values<typeof OPERATOR_OPTIONS> };

/** The operators of this command line; may be none. */
export async function loadOperators({ flags, operatorFlags }: OperatorArgs, io: Io): Promise<readonly Operator[]> {
  const wanted = splitList(flags.operators);
  const loaded: Operator[] = [];
  const names = new Set<string>();
  const take = (name: string) => {
    if (names.has(name)) throw CliErrors.SameOperator(name);
    names.add(name);
    return wanted === undefined || wanted.includes(name);
  };
  // Who brings operators of his own means those, unless he names others beside them.
  const builtIn = wanted === undefined && flags.operator !== undefined ? [] : BUILT_IN_OPERATORS;
  for (const { name, load } of builtIn) if (take(name)) loaded.push(await load(operatorFlags[name] ?? {}, io.env));
  for (const file of flags.operator ?? []) {
    const found = await loadModule(file, operatorFlags, io);
    if (take(found.name)) loaded.push(found);
  }
  const unknown = wanted?.find((name) => !names.has(name));
  if (unknown !== undefined) throw UsageErrors.UnknownOperator('--operators', unknown, [...names]);
  for (const [name, given] of Object.entries(operatorFlags)) {
    const [flag = ''] = Object.keys(given);
    const near = nearest(name, names);
    if (!names.has(name))
      throw UsageErrors.UnknownOperator(`--${name}.${flag}`, name, near === undefined ? [...names] : [near]);
  }
  return loaded;
}

/** The same, for commands that are nothing without one. */
export async function requireOperators(command: string, args: OperatorArgs, io: Io): Promise<readonly Operator[]> {
  const operators = await loadOperators(args, io);
  if (operators.length === 0) throw CliErrors.NoOperators(command);
  return operators;
}

/** Names between commas; undefined when the flag was not given. */
export function splitList(list: string | undefined): readonly string[] | undefined {
  return list
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

async function loadModule(file: string, operatorFlags: OperatorFlags, io: Io): Promise<Operator> {
  const path = resolve(io.cwd, file);
  const exports = await importOperator(path, file, io);
  const exported = exports['default'] ?? exports['operator'];
  if (isOperator(exported)) {
    const [flag] = Object.keys(operatorFlags[exported.name] ?? {});
    if (flag !== undefined) throw UsageErrors.NoOperatorFlags(exported.name, flag);
    return exported;
  }
  // A function is an operator with flags: it gets all of them, by operator.
  if (typeof exported === 'function') {
    const made = (exported as (flags: OperatorFlags) => unknown)(operatorFlags);
    if (isOperator(made)) return made;
  }
  throw CliErrors.NotAnOperator(file);
}

async function importOperator(path: string, file: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await io.importModule(path);
  } catch (error) {
    if (isMissing(error) && reasonOf(error).includes(path) && !reasonOf(error).includes(`imported from ${path}`)) {
      throw CliErrors.OperatorNotFound(file);
    }
    // The kind's own errors say best what is wrong.
    if (error instanceof CodedError || error instanceof SchemaError) throw error;
    throw CliErrors.OperatorBroken(file, reasonOf(error), error);
  }
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && (error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'ENOENT')
  );
}

function isOperator(value: unknown): value is Operator {
  if (typeof value !== 'object' || value === null) return false;
  const { name, kinds, reconcilers } = value as Partial<Operator>;
  return typeof name === 'string' && Array.isArray(kinds) && Array.isArray(reconcilers);
}
