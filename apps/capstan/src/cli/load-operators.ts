// Which operators a command works with: those of --operator FILE, or without it those that come with Capstan; or of all of
// them the ones that --operators names.
import { resolve } from 'node:path';
import { CodedError, reasonOf, SchemaError } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import {
  configured,
  evaluateFlags,
  findFlag,
  flagLines,
  type GivenFlags,
  nearest,
  UsageErrors,
} from '@capstan/reconcile/command-line';
import { BUILT_IN_OPERATORS } from '../operators.ts';
import { CliErrors } from './errors.ts';
import type { Io } from './io.ts';
import type { OperatorArgs } from './operator-options.ts';

export { OPERATOR_OPTIONS } from './operator-options.ts';

/** The operators of this command line, as their flags ask for; may be none. */
export async function loadOperators(args: OperatorArgs, io: Io): Promise<readonly Operator[]> {
  const loaded = await findOperators(args, io);
  return loaded.map((operator) => {
    const given = args.operatorFlags[operator.name] ?? {};
    return withGivenFlags(operator, given, io, (flag) => `--${operator.name}.${flag}`);
  });
}

/** The same, with their default settings. */
async function findOperators({ flags, operatorFlags }: OperatorArgs, io: Io): Promise<readonly Operator[]> {
  const wanted = flags.operators;
  const loaded: Operator[] = [];
  const names = new Set<string>();
  const take = (name: string) => {
    if (names.has(name)) throw CliErrors.SameOperator(name);
    names.add(name);
    return wanted === undefined || wanted.includes(name);
  };
  // Who brings operators of his own means those, unless he names others beside them.
  const builtIn = wanted === undefined && flags.operator !== undefined ? [] : BUILT_IN_OPERATORS;
  for (const { name, load } of builtIn) if (take(name)) loaded.push((await load()).default);
  for (const file of flags.operator ?? []) {
    const found = await loadModule(file, io);
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

/** The operator as the texts of its flags ask for. Throws UsageError; `shown` is a flag as the user writes it. */
export function withGivenFlags(
  operator: Operator,
  given: GivenFlags,
  { env }: Pick<Io, 'env'>,
  shown: (flag: string) => string,
): Operator {
  const { name, flags, withFlags } = operator;
  const [first] = Object.keys(given);
  if (flags === undefined || withFlags === undefined) {
    if (first !== undefined) throw UsageErrors.NoOperatorFlags(name, first);
    return operator;
  }
  const byName: Record<string, readonly string[]> = {};
  for (const [typed, texts] of Object.entries(given)) {
    const flag = findFlag(flags, typed);
    const known = Object.keys(flags);
    const near = nearest(typed, known);
    if (flag === undefined)
      throw UsageErrors.UnknownOperatorFlag(
        name,
        shown(typed),
        known.map(shown),
        near === undefined ? near : shown(near),
      );
    byName[flag] = texts;
  }
  const values = evaluateFlags(flags, byName, env, (place, text, remedy) => {
    throw UsageErrors.BadValue(place.startsWith('--') ? shown(place.slice(2)) : place, text, remedy);
  });
  return configured(operator, values, env);
}

/** A section of help for each operator of the command line that has flags. */
export async function operatorFlagHelp(args: OperatorArgs, io: Io): Promise<string[]> {
  const operators = await findOperators(args, io);
  return operators.flatMap(({ name, flags }) =>
    flags === undefined ? [] : [`Flags of ${name}:\n${flagLines(flags, `${name}.`).join('\n')}`],
  );
}

/** The same, for commands that are nothing without one. */
export async function requireOperators(args: OperatorArgs, io: Io): Promise<readonly Operator[]> {
  const operators = await loadOperators(args, io);
  if (operators.length === 0) throw CliErrors.NoOperators(args.command);
  return operators;
}

async function loadModule(file: string, io: Io): Promise<Operator> {
  const path = resolve(io.cwd, file);
  const exports = await importOperator(path, file, io);
  const exported = exports['default'] ?? exports['operator'];
  if (isOperator(exported)) return exported;
  throw CliErrors.NotAnOperator(file);
}

async function importOperator(path: string, file: string, io: Io): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await io.importModule(path);
  } catch (error) {
    if (isMissing(error) && reasonOf(error).includes(path) && !reasonOf(error).includes(`imported from ${path}`)) {
      throw CliErrors.OperatorNotFound(file);
    }
    // The errors of the kind are the clearest ones.
    if (error instanceof CodedError || error instanceof SchemaError) throw error;
    throw CliErrors.OperatorBroken(file, reasonOf(error), error, remedyOf(reasonOf(error)));
  }
}

/** Node.js names the problem and no remedy, for problems of the place and not of the module. */
function remedyOf(reason: string): string | undefined {
  if (reason.includes('under node_modules'))
    return 'copy it into a folder of your own: Node.js runs no TypeScript from node_modules';
  if (reason.includes('outside a module')) return 'name it FILE.mts, or set "type": "module" in its package.json';
  const [, library] = /Cannot find package '(@capstan\/[a-z]+)'/.exec(reason) ?? [];
  return library && `install the library beside it: npm install ${library}, or its tarball of npm run build`;
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
