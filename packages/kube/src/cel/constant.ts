import type { Expr } from './syntax/ast.ts';
import type { Checked } from './typing/check.ts';

const CONVERSIONS = new Set('bool bytes double dyn duration int string timestamp uint'.split(' '));

/**
 * Reports whether an expression is built from literals only. As in cel-go, such lists, maps and conversions (duration('1h')) are created
 * once and cost nothing.
 */
export function isConstant(expr: Expr, checked: Checked): boolean {
  switch (expr.op) {
    case 'literal':
      return true;
    case 'list':
      return expr.optional.size === 0 && expr.items.every((item) => isConstant(item, checked));
    case 'map':
      return expr.entries.every(
        ({ key, value, isOptional }) => !isOptional && isConstant(key, checked) && isConstant(value, checked),
      );
    case 'call': {
      if (!CONVERSIONS.has(expr.name) || expr.target) return false;
      return (checked.calls.get(expr)?.args ?? []).every((arg) => isConstant(arg, checked));
    }
    default:
      return false;
  }
}

/** Reports whether the expression is a plain path to a value: a name, fields, elements. */
export function isAttribute(expr: Expr): boolean {
  switch (expr.op) {
    case 'ident':
      return true;
    case 'select':
      return !expr.isTest && isAttribute(expr.operand);
    case 'call':
      return expr.name === '_[_]' && isAttribute(expr.args[0] as Expr);
    default:
      return false;
  }
}
