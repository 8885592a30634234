// Macros look like calls, but their arguments are expressions over variables that the macro declares.
import type { CallExpr, Expr, FoldExpr, FoldKind } from './ast.ts';
import type { Issue } from './source.ts';

export interface MacroOptions {
  /** Enables cel.bind, math.greatest and math.least, which API servers do not offer. Default: false. */
  extensions?: boolean;
}

/** Expands `has(a.b)`. */
export function expandGlobalMacro(call: CallExpr, issues: Issue[]): Expr | undefined {
  const [argument] = call.args;
  if (call.name !== 'has' || call.args.length !== 1 || !argument) return undefined;
  if (argument.op === 'select' && !argument.isTest) return { ...argument, isTest: true, isOptional: false };
  issues.push({ at: argument.at, message: 'invalid argument to has() macro' });
  return argument;
}

const FOLDS: Readonly<Record<string, FoldKind>> = {
  all: 'all',
  exists: 'exists',
  exists_one: 'exists_one',
  existsOne: 'exists_one',
  map: 'list',
  filter: 'list',
  transformList: 'list',
  transformMap: 'map',
  transformMapEntry: 'mapEntry',
  sortBy: 'sortBy',
  optMap: 'optMap',
  optFlatMap: 'optFlatMap',
};

/** Returns the number of variables of a macro with this name and number of arguments, or undefined for an ordinary call. */
function variableCount(name: string, args: number): number | undefined {
  switch (name) {
    case 'all':
    case 'exists':
    case 'exists_one':
    case 'existsOne':
      return args === 2 ? 1 : args === 3 ? 2 : undefined;
    case 'map':
      return args === 2 || args === 3 ? 1 : undefined;
    case 'transformList':
    case 'transformMap':
    case 'transformMapEntry':
      return args === 3 || args === 4 ? 2 : undefined;
    case 'filter':
    case 'sortBy':
    case 'optMap':
    case 'optFlatMap':
      return args === 2 ? 1 : undefined;
    default:
      return undefined;
  }
}

/** Expands `range.all(x, condition)` and the other macros of ranges. */
export function expandMethodMacro(call: CallExpr, options: MacroOptions, issues: Issue[]): Expr | undefined {
  const { name, target, args, at } = call;
  if (!target) return undefined;
  if (options.extensions && target.op === 'ident') {
    const expanded = expandNamespaced(call, target.name, issues);
    if (expanded) return expanded;
  }
  const count = variableCount(name, args.length);
  const kind = FOLDS[name];
  if (count === undefined || kind === undefined) return undefined;
  const variables: string[] = [];
  for (const argument of args.slice(0, count)) {
    if (argument.op !== 'ident' || argument.name.startsWith('.')) {
      issues.push({ at: argument.at, message: 'argument must be a simple name' });
      return call;
    }
    if (variables.includes(argument.name)) {
      issues.push({ at: argument.at, message: `duplicate variable name: ${argument.name}` });
      return call;
    }
    variables.push(argument.name);
  }
  const rest = args.slice(count);
  const first = rest[0] as Expr;
  const fold: FoldExpr = { op: 'fold', kind, range: target, variables, filter: undefined, body: first, at };
  if (name === 'filter') {
    const [variable] = args;
    return { ...fold, filter: first, body: variable as Expr };
  }
  return rest.length === 2 ? { ...fold, filter: first, body: rest[1] as Expr } : fold;
}

function expandNamespaced(call: CallExpr, namespace: string, issues: Issue[]): Expr | undefined {
  const { name, args, at } = call;
  if (namespace === 'cel' && name === 'bind' && args.length === 3) {
    const [variable, init, body] = args as [Expr, Expr, Expr];
    if (variable.op !== 'ident') {
      issues.push({ at: variable.at, message: 'cel.bind() variable names must be simple identifiers' });
      return call;
    }
    return { op: 'bind', name: variable.name, init, body, at };
  }
  if (namespace === 'math' && (name === 'greatest' || name === 'least')) {
    if (args.length === 0) {
      issues.push({ at, message: `math.${name}() requires at least one argument` });
      return call;
    }
    const fn = name === 'greatest' ? 'math.@max' : 'math.@min';
    const single = args.length <= 2 ? args : [{ op: 'list', items: args, optional: new Set<number>(), at } as const];
    return { op: 'call', name: fn, target: undefined, args: single, at };
  }
  return undefined;
}
