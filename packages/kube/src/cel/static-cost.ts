// Estimates the maximal cost of an expression before any value exists. The estimate uses the limits in the schema (maxLength, maxItems,
// maxProperties), or the size of a request where the schema has none. API servers refuse rules by the same numbers.

import { LIST_CREATE, MAP_CREATE, REGEX, TRAVERSAL } from './runtime-cost.ts';
import type { Declaration } from './schema-type.ts';
import type { CallExpr, Expr, FoldExpr } from './syntax/ast.ts';
import type { Checked } from './typing/check.ts';
import type { Overload } from './typing/overload.ts';
import type { CelType } from './typing/types.ts';
import { characterCount } from './values.ts';

interface Size {
  readonly min: number;
  readonly max: number;
}

interface Estimate {
  readonly cost: number;
  /** The size is undefined if it is not known. */
  readonly size?: Size | undefined;
  /** The declaration of the value in the schema. */
  readonly declaration?: Declaration | undefined;
  /** The value is reached from a variable by fields and elements, even if the schema does not declare it. */
  readonly hasPath?: boolean;
  /** The size of an item, for lists that an expression creates. */
  readonly item?: Size | undefined;
  readonly type: CelType | undefined;
  /** The value of an int literal. */
  readonly literal?: number;
}

/** The end of cel-go's 64 bits, at which costs are capped. */
const MAX = 2 ** 64;
const UNKNOWN: Size = { min: 0, max: MAX };
const ONE: Size = { min: 1, max: 1 };

const capped = (value: number): number => Math.min(value, MAX);
const add = (a: Size, b: Size): Size => ({ min: capped(a.min + b.min), max: capped(a.max + b.max) });
const multiply = (a: Size, b: Size): Size => ({ min: capped(a.min * b.min), max: capped(a.max * b.max) });
const union = (a: Size, b: Size): Size => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });
const factor = (size: Size, by: number): number => capped(Math.ceil(size.max * by));

/** Returns the highest cost of evaluating a checked expression whose variables have these declarations. */
export function estimateCost(
  root: Expr,
  checked: Checked,
  variables: ReadonlyMap<string, Declaration | undefined>,
): number {
  const scopes: Map<string, Estimate>[] = [];
  // A part of a value that no variable leads to is treated as the root. API servers have this quirk, and accept rules because of it.
  const rootDeclaration = variables.get('self');
  const partOf = ({ hasPath, declaration }: Estimate, part: (of: Declaration) => Declaration | undefined) =>
    hasPath ? declaration && part(declaration) : rootDeclaration;

  const estimate = (expr: Expr): Estimate => {
    const type = checked.types.get(expr);
    if (checked.typeNames.has(expr)) return { cost: 1, declaration: rootDeclaration, type };
    switch (expr.op) {
      case 'literal': {
        const { value } = expr;
        const length =
          typeof value === 'string' ? characterCount(value) : value instanceof Uint8Array ? value.length : 1;
        const literal = typeof value === 'bigint' ? { literal: Math.max(0, Number(value)) } : {};
        return { cost: 0, size: { min: length, max: length }, type, ...literal };
      }
      case 'ident': {
        const local = scopes.findLast((scope) => scope.has(expr.name))?.get(expr.name);
        if (local) return { ...local, cost: 1, type };
        return { cost: 1, declaration: variables.get(expr.name.replace(/^\./, '')), hasPath: true, type };
      }
      case 'select': {
        const operand = estimate(expr.operand);
        if (expr.isTest) return { cost: operand.cost, size: ONE, type };
        const kind = operand.type?.kind;
        const own = kind === 'map' || kind === 'object' || kind === 'param' || expr.isOptional ? 1 : 0;
        const cost = capped(operand.cost + own);
        if (expr.isOptional) return { cost, type };
        return { cost, declaration: partOf(operand, ({ fields }) => fields?.get(expr.field)), hasPath: true, type };
      }
      case 'call':
        return estimateCall(expr, type);
      case 'list': {
        const items = expr.items.map(estimate);
        const sizes = items.map(sizeOf);
        const item = sizes.length === 0 ? { min: 0, max: 0 } : sizes.reduce(union);
        return { cost: sum(items) + LIST_CREATE, size: fixed(items.length), item, type };
      }
      case 'map': {
        const parts = expr.entries.flatMap(({ key, value }) => [estimate(key), estimate(value)]);
        return { cost: sum(parts) + MAP_CREATE, size: fixed(expr.entries.length), type };
      }
      case 'fold':
        return estimateFold(expr, type);
      case 'bind': {
        const init = estimate(expr.init);
        const body = within([[expr.name, init]], () => estimate(expr.body));
        return { ...body, cost: capped(LIST_CREATE + init.cost + body.cost), type };
      }
      case 'struct':
        return { cost: 0, type };
    }
  };

  const within = (locals: readonly (readonly [string, Estimate])[], run: () => Estimate): Estimate => {
    scopes.push(new Map(locals));
    const result = run();
    scopes.pop();
    return result;
  };

  const estimateFold = (expr: FoldExpr, type: CelType | undefined): Estimate => {
    const range = estimate(expr.range);
    const count = sizeOf(range);
    const isMap = range.type?.kind === 'map';
    const element = partOf(range, (of) => of.element);
    const value: Estimate = {
      cost: 1,
      declaration: element,
      hasPath: true,
      size: element ? undefined : range.item,
      type: undefined,
    };
    // The keys of a map are strings without a declared length, which counts as zero.
    const keySize = isMap ? (range.hasPath && !range.declaration ? UNKNOWN : { min: 0, max: 0 }) : ONE;
    const key: Estimate = { cost: 1, size: keySize, type: undefined };
    const [first = '', second] = expr.variables;
    const locals: [string, Estimate][] =
      second === undefined
        ? [[first, isMap ? key : value]]
        : [
            [first, key],
            [second, value],
          ];
    if (expr.kind === 'optMap' || expr.kind === 'optFlatMap')
      locals.splice(0, 1, [first, { cost: 1, type: undefined }]);
    const parts = within(locals, () => {
      const body = estimate(expr.body);
      const filter = expr.filter ? estimate(expr.filter).cost : 0;
      return { ...body, cost: capped(body.cost + filter) };
    });
    const loops = (perItem: number): number => capped(count.max * capped(perItem + parts.cost));
    switch (expr.kind) {
      case 'all':
        return { cost: capped(range.cost + loops(3) + 1), size: ONE, type };
      case 'exists':
        return { cost: capped(range.cost + loops(4) + 1), size: ONE, type };
      case 'exists_one':
        return { cost: capped(range.cost + loops(2) + 2), size: ONE, type };
      case 'list': {
        const cost = capped(range.cost + LIST_CREATE + loops(LIST_CREATE + 2) + 1);
        return { cost, size: count, item: sizeOf(parts), type };
      }
      case 'map':
      case 'mapEntry':
        return { cost: capped(range.cost + MAP_CREATE + loops(3) + 1), size: count, type };
      case 'sortBy': {
        const compared = 1 + LIST_CREATE + factor(multiply(count, count), 2 + TRAVERSAL);
        const cost = capped(range.cost + 2 * LIST_CREATE + 2 + loops(LIST_CREATE + 2) + compared);
        return { cost, size: count, item: range.item, declaration: range.declaration, type };
      }
      default:
        return { cost: capped(2 * range.cost + LIST_CREATE + (expr.kind === 'optMap' ? 3 : 2) + parts.cost), type };
    }
  };

  const estimateCall = (expr: CallExpr, type: CelType | undefined): Estimate => {
    const resolved = checked.calls.get(expr);
    const args = (resolved?.args ?? []).map(estimate);
    const [a, b, c] = args as [Estimate, Estimate, Estimate];
    switch (expr.name) {
      case '_&&_':
      case '_||_':
        return { cost: capped(a.cost + b.cost), size: ONE, type };
      case '_?_:_':
        return { cost: capped(a.cost + Math.max(b.cost, c.cost)), size: union(sizeOf(b), sizeOf(c)), type };
      case '_[_]':
      case '_[?_]': {
        const cost = capped(sum(args) + 1);
        if (expr.name === '_[?_]') return { cost, type };
        const element = partOf(a, (of) => of.element);
        return { cost, declaration: element, hasPath: true, size: element && !a.item ? undefined : a.item, type };
      }
      case 'dyn':
        return { ...a, cost: a.cost + 1, type };
      default:
        break;
    }
    const estimates = (resolved?.overloads ?? []).map((overload) => callEstimate(overload, args));
    const cost = Math.max(0, ...estimates.map((each) => each.cost));
    const sizes = estimates.flatMap((each) => (each.size ? [each.size] : []));
    return {
      cost: capped(sum(args) + cost),
      size: sizes.length > 0 ? sizes.reduce(union) : undefined,
      item: estimates[0]?.item,
      type,
    };
  };

  return estimate(root).cost;
}

const fixed = (count: number): Size => ({ min: count, max: count });
const sum = (estimates: readonly Estimate[]): number => capped(estimates.reduce((total, { cost }) => total + cost, 0));
const SCALARS = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

function sizeOf({ size, declaration, type }: Estimate): Size {
  if (size) return size;
  if (declaration) return { min: 0, max: declaration.maxElements };
  return type && SCALARS.has(type.kind) ? ONE : UNKNOWN;
}

interface CallEstimate {
  readonly cost: number;
  readonly size?: Size;
  readonly item?: Size | undefined;
}

function callEstimate(overload: Overload, args: readonly Estimate[]): CallEstimate {
  const sizes = args.map(sizeOf);
  const [a = UNKNOWN, b = UNKNOWN, c = UNKNOWN] = sizes;
  const regex = (): number => capped(factor(add(a, ONE), TRAVERSAL) * factor(b, REGEX));
  switch (overload.id) {
    case 'string_format':
      return { cost: factor(a, TRAVERSAL) };
    case 'string_to_bytes':
      return { cost: factor(a, TRAVERSAL), size: { min: a.min, max: capped(a.max * 4) } };
    case 'bytes_to_string':
      return { cost: factor(a, TRAVERSAL), size: { min: Math.floor(a.min / 4), max: a.max } };
    case 'strings_quote':
      return { cost: factor(a, TRAVERSAL), size: { min: a.min + 2, max: capped(a.max * 2 + 2) } };
    case 'starts_with_string':
    case 'ends_with_string':
      return { cost: factor(b, TRAVERSAL) };
    case 'in_list':
      return { cost: b.max };
    case 'matches_string':
    case 'matches':
      return { cost: regex() };
    case 'contains_string':
      return { cost: capped(factor(a, TRAVERSAL) * factor(b, TRAVERSAL)) };
    case 'add_list':
      return { cost: 1, size: add(a, b), item: args[0]?.item };
    case 'add_string':
    case 'add_bytes':
      return { cost: factor(add(a, b), TRAVERSAL), size: add(a, b) };
    case 'equals':
    case 'not_equals':
      if (args[0]?.type?.kind === 'opaque' && overload.id === 'equals') return { cost: 1 };
      return { cost: factor(a.max < b.max ? a : b, TRAVERSAL) };
    case 'string_to_ip':
      return { cost: factor(a, TRAVERSAL) };
    case 'cidr_contains_ip_string':
      return { cost: 4 + factor(b, TRAVERSAL) };
    case 'cidr_contains_ip_ip':
      return { cost: 4 };
    case 'cidr_contains_cidr_string':
      return { cost: 7 + factor(b, TRAVERSAL) };
    case 'cidr_contains_cidr':
      return { cost: 7 };
    case 'format-validate':
      return { cost: factor({ min: 0, max: factor(b, TRAVERSAL) }, 128 * REGEX) };
    case 'list_flatten':
    case 'list_reverse':
      return created(a, 1);
    case 'list_flatten_int':
      return created(a, args[1]?.literal ?? MAX);
    case 'list_slice':
      return created(fixed(Math.max(0, (args[2]?.literal ?? a.max) - (args[1]?.literal ?? 0))), 1);
    case 'lists_range':
      return created(fixed(args[0]?.literal ?? MAX), 1);
    default:
      break;
  }
  if (/^(less|greater)(_equals)?_(string|bytes)$/.test(overload.id)) {
    return { cost: factor(a.max < b.max ? a : b, TRAVERSAL) };
  }
  switch (overload.name) {
    case 'isSorted':
    case 'sum':
    case 'max':
    case 'min':
    case 'indexOf':
    case 'lastIndexOf':
    case 'includes':
      return { cost: listTraversal(overload, args[0], a) };
    case 'url':
    case 'lowerAscii':
    case 'upperAscii':
    case 'substring':
    case 'trim':
      return { cost: factor(a, TRAVERSAL), size: a };
    case 'replace':
      return { cost: factor(a, 2 * TRAVERSAL), size: replaced(a, b, c) };
    case 'split':
      return { cost: factor(a, 2 * TRAVERSAL), size: { min: 0, max: a.max } };
    case 'join': {
      const item = args[0] ? itemSize(args[0]) : UNKNOWN;
      const separators = { min: Math.max(0, a.min - 1), max: Math.max(0, a.max - 1) };
      const own = multiply(a, item);
      const size = args.length > 1 ? add(own, multiply(b, separators)) : own;
      return { cost: factor(size, TRAVERSAL), size };
    }
    case 'find':
    case 'findAll':
      return { cost: regex(), size: { min: 0, max: a.max } };
    case 'cidr':
    case 'isIP':
    case 'isCIDR':
    case 'quantity':
    case 'isQuantity':
    case 'semver':
    case 'isSemver':
      return { cost: factor(a, TRAVERSAL) };
    case 'ip.isCanonical':
      return { cost: factor(a, 2 * TRAVERSAL) };
    case 'sets.contains':
    case 'sets.intersects':
      return { cost: capped(multiply(a, b).max + 1) };
    case 'sets.equivalent':
      return { cost: capped(2 * multiply(a, b).max + 1) };
    case 'distinct':
      return { cost: capped(factor(multiply(a, a), 2) + 1 + LIST_CREATE), size: multiply(a, a) };
    case 'sort':
      return { cost: capped(factor(multiply(a, a), 2 + TRAVERSAL) + 1 + LIST_CREATE), size: multiply(a, a) };
    default:
      return { cost: 1 };
  }
}

/** Estimates a call that creates a list of that size, with a cost per item. */
function created(size: Size, perItem: number): CallEstimate {
  return { cost: capped(size.max * perItem + 1 + LIST_CREATE), size };
}

function itemSize({ item, declaration, type }: Estimate): Size {
  if (item) return item;
  if (declaration?.element) return { min: 0, max: declaration.element.maxElements };
  return type?.kind === 'list' && SCALARS.has(type.of.kind) ? ONE : UNKNOWN;
}

// The cost is one per item, plus the characters of items that are strings. A string itself costs its characters.
function listTraversal(overload: Overload, target: Estimate | undefined, size: Size): number {
  if (overload.args[0]?.kind === 'string') return factor(size, TRAVERSAL);
  const of = target?.type?.kind === 'list' ? target.type.of.kind : undefined;
  const isText = (of === 'string' || of === 'bytes') && target !== undefined;
  return capped(size.max * (1 + (isText ? factor(itemSize(target), TRAVERSAL) : 0)));
}

function replaced(text: Size, from: Size, to: Size): Size {
  let max: number;
  if (from.min === 0) max = capped(capped(text.max + 1) * to.max + text.max);
  else if (to.max <= from.min) max = text.max;
  else max = capped(Math.ceil(text.max / from.min) * to.max);
  let min: number;
  if (from.max === 0) min = capped((text.min + 1) * to.min + text.min);
  else if (from.max <= to.min) min = text.min;
  else min = Math.ceil(text.min / from.max) * to.min;
  return { min, max };
}
