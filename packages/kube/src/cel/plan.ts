// Compiles a checked expression to closures. It uses the result of the type check: a call with one overload is called directly, and a field
// of an object is read from its JSON. Only for dyn is the overload chosen at run time. Each step adds its cost.

import { isAttribute, isConstant } from './constant.ts';
import { CelError, noSuchKey, noSuchOverload } from './errors.ts';
import { charge, type Evaluate, type Frame, type Planner } from './frame.ts';
import { planFold } from './plan-fold.ts';
import { callCost, LIST_CREATE, MAP_CREATE } from './runtime-cost.ts';
import type { CallExpr, Expr, SelectExpr } from './syntax/ast.ts';
import type { Checked } from './typing/check.ts';
import type { Overload } from './typing/overload.ts';
import { type CelType, isDyn } from './typing/types.ts';
import {
  type CelList,
  type CelMap,
  type CelObject,
  type CelOptional,
  fieldOf,
  fitsType,
  itemOf,
  kindOf,
  mapValue,
  NONE,
  shownKey,
  some,
  type Value,
} from './values.ts';

export interface Plan {
  readonly evaluate: Evaluate;
  /** The number of slots that a frame must have. */
  readonly slots: number;
}

/** Plans an expression. `variables` are in the first slots. */
export function planCel(root: Expr, checked: Checked, variables: readonly string[]): Plan {
  const scopes: Map<string, number>[] = [new Map(variables.map((name, slot) => [name, slot]))];
  let slots = variables.length;
  const slotOf = (written: string): number | undefined => {
    const name = written.replace(/^\./, '');
    if (written !== name) return scopes[0]?.get(name);
    return scopes.findLast((scope) => scope.has(name))?.get(name);
  };

  const planList = ({ items: parts, optional }: Expr & { op: 'list' }): Evaluate => {
    const items = parts.map(plan);
    return (frame) => {
      const values: Value[] = [];
      for (const [index, item] of items.entries()) {
        const value = item(frame);
        if (!optional.has(index)) values.push(value);
        else if ((value as CelOptional).value !== undefined) values.push((value as CelOptional).value as Value);
      }
      charge(frame, LIST_CREATE);
      return { kind: 'list', items: values };
    };
  };
  const planEntries = ({ entries }: Expr & { op: 'map' }): Evaluate =>
    planMap(entries.map((entry) => [plan(entry.key), plan(entry.value), entry.isOptional]));

  const plan = (expr: Expr): Evaluate => {
    const typeName = checked.typeNames.get(expr);
    if (typeName !== undefined) {
      const value: Value = { kind: 'type', name: typeName };
      return () => value;
    }
    if (expr.op !== 'literal' && isConstant(expr, checked)) {
      const folded = fold(expr);
      if (folded !== undefined) return () => folded;
    }
    switch (expr.op) {
      case 'literal': {
        const { value } = expr;
        return () => value;
      }
      case 'ident': {
        const slot = slotOf(expr.name) ?? -1;
        return (frame) => {
          charge(frame, 1);
          return frame.slots[slot] as Value;
        };
      }
      case 'select':
        return planSelect(expr, plan(expr.operand), checked.types.get(expr.operand));
      case 'call':
        return planCall(expr, planner);
      case 'list':
        return planList(expr);
      case 'map':
        return planEntries(expr);
      case 'fold':
        return planFold(expr, planner);
      case 'bind': {
        const init = plan(expr.init);
        return planner.planWith([expr.name], ([slot = 0]) => {
          const body = plan(expr.body);
          return (frame) => {
            frame.slots[slot] = init(frame);
            return body(frame);
          };
        });
      }
      case 'struct':
        throw new Error(`${expr.name} has no type, so it was not to be planned`);
    }
  };
  const fold = (expr: Expr): Value | undefined => {
    const run =
      expr.op === 'call'
        ? planCall(expr, planner)
        : expr.op === 'list'
          ? planList(expr)
          : planEntries(expr as Expr & { op: 'map' });
    try {
      return run({ slots: [], cost: 0, limit: Infinity });
    } catch (error) {
      // The constant fails when it is evaluated, which may never happen.
      if (error instanceof CelError) return undefined;
      throw error;
    }
  };
  const planWith: Planner['planWith'] = (names, run) => {
    const own = names.map(() => slots++);
    scopes.push(new Map(names.map((name, index) => [name, own[index] as number])));
    const evaluate = run(own);
    scopes.pop();
    return evaluate;
  };
  const planner: Planner = { checked, plan, planWith };
  const evaluate = plan(root);
  return { evaluate, slots };
}

function planSelect(expr: SelectExpr, operand: Evaluate, type: CelType | undefined): Evaluate {
  const { field, isTest, isOptional } = expr;
  const read = type?.kind === 'object' ? (value: Value) => fieldOf(value as CelObject, field) : reader(field);
  if (isTest) {
    return (frame) => {
      const target = operand(frame);
      if (kindOf(target) !== 'optional') return read(target) !== undefined;
      const inner = (target as CelOptional).value;
      return inner !== undefined && reader(field)(inner) !== undefined;
    };
  }
  return (frame) => {
    const target = operand(frame);
    const isWrapped = kindOf(target) === 'optional';
    const inner = isWrapped ? (target as CelOptional).value : target;
    const value = inner === undefined ? undefined : isWrapped ? reader(field)(inner) : read(inner);
    // A lookup that may miss costs nothing if it finds nothing.
    if (value !== undefined || !isOptional) charge(frame, 1);
    if (isOptional || isWrapped) return value === undefined ? NONE : some(value);
    if (value === undefined) throw noSuchKey(field);
    return value;
  };
}

function reader(field: string): (value: Value) => Value | undefined {
  return (value) => {
    switch (kindOf(value)) {
      case 'object':
        return fieldOf(value as CelObject, field);
      case 'map':
        return (value as CelMap).get(field);
      default:
        throw noSuchOverload();
    }
  };
}

function planMap(entries: readonly (readonly [key: Evaluate, value: Evaluate, isOptional: boolean])[]): Evaluate {
  return (frame) => {
    const values: [Value, Value][] = [];
    for (const [key, value, isOptional] of entries) {
      const name = key(frame);
      const part = value(frame);
      if (!isOptional) values.push([name, part]);
      else if ((part as CelOptional).value !== undefined) values.push([name, (part as CelOptional).value as Value]);
    }
    charge(frame, MAP_CREATE);
    for (const [key] of values) if (!KEYS.has(kindOf(key))) throw new CelError('unsupported key type');
    return mapValue(values);
  };
}

const KEYS = new Set(['bool', 'int', 'uint', 'string']);

function planCall(expr: CallExpr, planner: Planner): Evaluate {
  const resolved = planner.checked.calls.get(expr);
  if (!resolved) throw new Error(`${expr.name} was not resolved`);
  const args = resolved.args.map(planner.plan);
  const [a, b, c] = args as [Evaluate, Evaluate, Evaluate];
  const inList = resolved.overloads.find(({ id }) => id === 'in_list');
  switch (expr.name) {
    case '_&&_':
      return logical(a, b, false);
    case '_||_':
      return logical(a, b, true);
    case '_?_:_':
      return planConditional(resolved.args, a, b, c);
    case '_[_]':
    case '_[?_]':
      return planIndex(a, b, expr.name === '_[?_]', resolved.args[1]?.op === 'ident' ? 0 : 1);
    case '@in':
      // A constant list becomes a set, in which a lookup costs nothing.
      if (inList && resolved.args[1]?.op === 'list' && isConstant(resolved.args[1], planner.checked)) {
        return (frame) => inList.run(a(frame), b(frame));
      }
      break;
    case 'or':
    case 'orValue': {
      const isValue = expr.name === 'orValue';
      if (!resolved.overloads.some(({ id }) => id.startsWith('optional_'))) break;
      return (frame) => {
        const optional = a(frame) as CelOptional;
        if (kindOf(optional) !== 'optional') throw noSuchOverload();
        if (optional.value === undefined) return b(frame);
        return isValue ? optional.value : optional;
      };
    }
    default:
      break;
  }
  const types = resolved.args.map((arg) => planner.checked.types.get(arg));
  const isStatic = types.every((type) => type !== undefined && !hasDyn(type));
  const [only] = resolved.overloads;
  if (resolved.overloads.length === 1 && only && (isStatic || only.id === 'equals' || only.id === 'not_equals')) {
    return direct(only, args);
  }
  return dispatched(resolved.overloads, args);
}

// The branches of a conditional are separate paths, whose names are not charged.
function planConditional(args: readonly Expr[], condition: Evaluate, yes: Evaluate, no: Evaluate): Evaluate {
  const [, first, second] = args as [Expr, Expr, Expr];
  const yesRefund = isAttribute(first) ? 1 : 0;
  const noRefund = isAttribute(second) ? 1 : 0;
  return (frame) => {
    const holds = condition(frame);
    if (typeof holds !== 'boolean') throw noSuchOverload();
    const value = holds ? yes(frame) : no(frame);
    frame.cost -= holds ? yesRefund : noRefund;
    return value;
  };
}

function hasDyn(type: CelType): boolean {
  switch (type.kind) {
    case 'list':
    case 'optional':
      return hasDyn(type.of);
    case 'map':
      return hasDyn(type.key) || hasDyn(type.value);
    default:
      return isDyn(type);
  }
}

function direct(overload: Overload, args: readonly Evaluate[]): Evaluate {
  const { run } = overload;
  const cost = callCost(overload);
  const [a, b] = args as [Evaluate, Evaluate];
  const isPlain = cost === undefined;
  const isEquality = overload.id === 'equals' || overload.id === 'not_equals';
  if (args.length === 1) {
    return (frame) => {
      const value = a(frame);
      const result = run(value);
      charge(frame, isPlain ? 1 : cost([value], result));
      return result;
    };
  }
  if (args.length === 2) {
    return (frame) => {
      const left = a(frame);
      const right = b(frame);
      const result = run(left, right);
      charge(frame, isPlain || (isEquality && typeof left === 'bigint') ? 1 : cost([left, right], result));
      return result;
    };
  }
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    const result = run(...values);
    charge(frame, isPlain ? 1 : cost(values, result));
    return result;
  };
}

// The types are known only at run time. Calls the first overload that fits them; there is at most one.
function dispatched(overloads: readonly Overload[], args: readonly Evaluate[]): Evaluate {
  const choices = overloads.map((overload) => ({ overload, cost: callCost(overload) }));
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    const choice = choices.find(({ overload }) =>
      overload.args.every((type, index) => fitsType(values[index] as Value, type)),
    );
    if (!choice) throw noSuchOverload();
    try {
      const result = choice.overload.run(...values);
      charge(frame, choice.cost ? choice.cost(values, result) : 1);
      return result;
    } catch (error) {
      // Later items of a list may have another type than the first one, which selected the overload.
      throw error instanceof TypeError ? noSuchOverload() : error;
    }
  };
}

// One deciding side is enough, even if the other fails.
function logical(left: Evaluate, right: Evaluate, decisive: boolean): Evaluate {
  const second = (frame: Frame, error: CelError | undefined): Value => {
    const value = right(frame);
    if (value === decisive) return decisive;
    if (error !== undefined) throw error;
    if (typeof value !== 'boolean') throw noSuchOverload();
    return value;
  };
  return (frame) => {
    let first: Value;
    try {
      first = left(frame);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      return second(frame, error);
    }
    if (first === decisive) return decisive;
    return second(frame, typeof first === 'boolean' ? undefined : noSuchOverload());
  };
}

function planIndex(operand: Evaluate, index: Evaluate, isOptional: boolean, cost: number): Evaluate {
  return (frame) => {
    const target = operand(frame);
    const key = index(frame);
    charge(frame, cost);
    const isWrapped = kindOf(target) === 'optional';
    if (!isOptional && !isWrapped) return elementOf(target, key);
    const inner = isWrapped ? (target as CelOptional).value : target;
    if (inner === undefined) return NONE;
    const found = findElement(inner, key);
    return found === undefined ? NONE : some(found);
  };
}

function elementOf(target: Value, key: Value): Value {
  const found = findElement(target, key);
  if (found !== undefined) return found;
  if (kindOf(target) === 'list') throw new CelError(`index out of bounds: ${shownKey(key)}`);
  throw noSuchKey(shownKey(key));
}

function findElement(target: Value, key: Value): Value | undefined {
  switch (kindOf(target)) {
    case 'list': {
      const list = target as CelList;
      const index = kindOf(key) === 'uint' ? (key as { value: bigint }).value : key;
      const isNumber = typeof index === 'bigint' || (typeof index === 'number' && Number.isInteger(index));
      if (!isNumber) throw noSuchOverload();
      const position = Number(index);
      return position >= 0 && position < list.items.length ? itemOf(list, position) : undefined;
    }
    case 'map':
      return (target as CelMap).get(key);
    case 'object':
      return typeof key === 'string' ? fieldOf(target as CelObject, key) : undefined;
    default:
      throw noSuchOverload();
  }
}
