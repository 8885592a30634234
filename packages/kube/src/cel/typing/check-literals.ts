import type { CallExpr, Expr } from '../syntax/ast.ts';
import type { Issue } from '../syntax/source.ts';
import type { ResolvedCall } from './overload.ts';
import { type CelType, DYN, formatType } from './types.ts';

/**
 * Refuses literals that can only fail when they are evaluated. As in Kubernetes, the items of a list literal and the entries of a map
 * literal must have one type, except in arguments of format.
 */
export function checkLiterals(
  root: Expr,
  types: ReadonlyMap<Expr, CelType>,
  calls: ReadonlyMap<CallExpr, ResolvedCall>,
  issues: Issue[],
): void {
  if (issues.length > 0) return;
  for (const [call, { overloads, args }] of calls) {
    const [argument] = call.args;
    if (!CHECKED_LITERALS.has(call.name) || argument?.op !== 'literal') continue;
    try {
      if (call.name !== 'matches') overloads[0]?.run(argument.value);
      else if (args.length === 2) overloads[0]?.run('', argument.value);
    } catch {
      issues.push({ at: argument.at, message: `invalid ${call.name} argument` });
    }
  }
  const shown = ([expr, isOptional]: Item): string => {
    const type = types.get(expr) ?? DYN;
    return formatType(isOptional && type.kind === 'optional' ? type.of : type);
  };
  const compare = (items: readonly Item[]): void => {
    const [first] = items;
    const expected = first ? shown(first) : '';
    const different = items.find((item) => shown(item) !== expected);
    if (!different) return;
    issues.push({ at: different[0].at, message: `expected type '${expected}' but found '${shown(different)}'` });
  };
  const visit = (expr: Expr): void => {
    if (expr.op === 'call' && expr.name === 'format') return;
    if (expr.op === 'list') compare(expr.items.map((item, index) => [item, expr.optional.has(index)]));
    if (expr.op === 'map') {
      compare(expr.entries.map(({ key }) => [key, false]));
      compare(expr.entries.map(({ value, isOptional }) => [value, isOptional]));
    }
    for (const part of partsOf(expr)) visit(part);
  };
  visit(root);
}

type Item = readonly [expr: Expr, isOptional: boolean];

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.op) {
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case 'list':
      return expr.items;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'fold':
      return [expr.range, ...(expr.filter ? [expr.filter] : []), expr.body];
    case 'bind':
      return [expr.init, expr.body];
    default:
      return [];
  }
}

const CHECKED_LITERALS = new Set(['matches', 'duration', 'timestamp']);
