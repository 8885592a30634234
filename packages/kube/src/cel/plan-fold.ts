// Macros over ranges. Their costs are those of the loops that cel-go expands them to, which include reading and writing the accumulator.

import { CelError, noSuchOverload } from './errors.ts';
import { charge, type Evaluate, type Frame, type Planner } from './frame.ts';
import { sortedBy } from './library/lists.ts';
import { LIST_CREATE, TRAVERSAL } from './runtime-cost.ts';
import type { FoldExpr } from './syntax/ast.ts';
import {
  type CelList,
  type CelMap,
  type CelObject,
  type CelOptional,
  itemOf,
  keysOf,
  keyText,
  kindOf,
  list,
  mapValue,
  NONE,
  shownKey,
  some,
  type Value,
  valueAt,
} from './values.ts';

// The accumulator is read in each step and at the end. A read that only keeps it costs nothing.
const READ = 1;

export function planFold(expr: FoldExpr, planner: Planner): Evaluate {
  const range = planner.plan(expr.range);
  return planner.planWith(expr.variables, ([first = 0, second]) => {
    const body = planner.plan(expr.body);
    const filter = expr.filter && planner.plan(expr.filter);
    switch (expr.kind) {
      case 'optMap':
      case 'optFlatMap':
        return overOptional(range, body, first, expr.kind === 'optMap');
      case 'all':
      case 'exists':
        return quantified(range, body, first, second, expr.kind);
      case 'exists_one':
        return existsOne(range, body, first, second);
      case 'list':
        return mapped(range, filter, body, first, second);
      case 'map':
      case 'mapEntry':
        return transformed(range, filter, body, first, second, expr.kind);
      case 'sortBy':
        return sorted(range, body, first);
    }
  });
}

/** Calls back for each element with its variables set, until the callback returns stop. */
function iterate(
  frame: Frame,
  target: Value,
  first: number,
  second: number | undefined,
  visit: (key: Value) => boolean,
): void {
  switch (kindOf(target)) {
    case 'list': {
      const items = target as CelList;
      for (let index = 0; index < items.items.length; index++) {
        const item = itemOf(items, index);
        const key = BigInt(index);
        if (second === undefined) {
          frame.slots[first] = item;
        } else {
          frame.slots[first] = key;
          frame.slots[second] = item;
        }
        if (!visit(key)) return;
      }
      return;
    }
    case 'map':
    case 'object': {
      const from = target as CelMap | CelObject;
      for (const key of keysOf(from)) {
        frame.slots[first] = key;
        if (second !== undefined) {
          frame.slots[second] = valueAt(from, key) as Value;
        }
        if (!visit(key)) return;
      }
      return;
    }
    default:
      throw noSuchOverload();
  }
}

// One deciding element is enough, even if others fail.
function quantified(
  range: Evaluate,
  body: Evaluate,
  first: number,
  second: number | undefined,
  kind: 'all' | 'exists',
): Evaluate {
  const decisive = kind === 'exists';
  // The loop checks before each step whether the result is decided.
  const test = kind === 'all' ? 2 : 3;
  return (frame) => {
    const target = range(frame);
    let isDecided = false;
    let failure: CelError | undefined;
    iterate(frame, target, first, second, () => {
      charge(frame, test);
      if (isDecided) return false;
      charge(frame, READ);
      try {
        const value = body(frame);
        if (typeof value !== 'boolean') throw noSuchOverload();
        isDecided = value === decisive;
      } catch (error) {
        if (!(error instanceof CelError)) throw error;
        failure ??= error;
      }
      return true;
    });
    charge(frame, READ);
    if (isDecided) return decisive;
    if (failure) throw failure;
    return !decisive;
  };
}

function isTrue(value: Value): boolean {
  if (typeof value !== 'boolean') throw noSuchOverload();
  return value;
}

function existsOne(range: Evaluate, body: Evaluate, first: number, second: number | undefined): Evaluate {
  return (frame) => {
    let count = 0;
    iterate(frame, range(frame), first, second, () => {
      if (isTrue(body(frame))) {
        count++;
        charge(frame, READ + 1);
      }
      return true;
    });
    charge(frame, READ + 1);
    return count === 1;
  };
}

function mapped(
  range: Evaluate,
  filter: Evaluate | undefined,
  body: Evaluate,
  first: number,
  second: number | undefined,
): Evaluate {
  return (frame) => {
    const target = range(frame);
    const items: Value[] = [];
    iterate(frame, target, first, second, () => {
      if (filter && !isTrue(filter(frame))) return true;
      items.push(body(frame));
      charge(frame, READ + LIST_CREATE + 1);
      return true;
    });
    charge(frame, READ);
    return list(items);
  };
}

function transformed(
  range: Evaluate,
  filter: Evaluate | undefined,
  body: Evaluate,
  first: number,
  second: number | undefined,
  kind: 'map' | 'mapEntry',
): Evaluate {
  return (frame) => {
    const target = range(frame);
    const entries = new Map<string, readonly [Value, Value]>();
    const insert = (key: Value, value: Value): void => {
      const text = keyText(key);
      if (entries.has(text)) throw new CelError(`insert failed: key ${shownKey(key)} already exists`);
      entries.set(text, [key, value]);
    };
    iterate(frame, target, first, second, (key) => {
      if (filter && !isTrue(filter(frame))) return true;
      const value = body(frame);
      charge(frame, READ + (kind === 'map' ? 2 : 1));
      if (kind === 'map') {
        insert(key, value);
      } else {
        const entry = value as CelMap;
        if (kindOf(entry) !== 'map') throw noSuchOverload();
        for (const name of entry.keys()) insert(name, entry.get(name) as Value);
      }
      return true;
    });
    charge(frame, READ);
    return mapValue(entries.values());
  };
}

function sorted(range: Evaluate, body: Evaluate, first: number): Evaluate {
  return (frame) => {
    const target = range(frame) as CelList;
    if (kindOf(target) !== 'list') throw noSuchOverload();
    // The list is a variable, which is read twice.
    charge(frame, 2 * READ);
    const keys: Value[] = [];
    iterate(frame, target, first, undefined, () => {
      keys.push(body(frame));
      charge(frame, READ + LIST_CREATE + 1);
      return true;
    });
    const kind = kindOf(keys[0] ?? null);
    const factor = kind === 'string' || kind === 'bytes' ? 2 + TRAVERSAL : 2;
    charge(frame, READ + 1 + LIST_CREATE + Math.floor(keys.length * keys.length * factor));
    return sortedBy(target, list(keys));
  };
}

function overOptional(range: Evaluate, body: Evaluate, slot: number, isWrapped: boolean): Evaluate {
  return (frame) => {
    const before = frame.cost;
    const optional = range(frame) as CelOptional;
    if (kindOf(optional) !== 'optional') throw noSuchOverload();
    const cost = frame.cost - before;
    charge(frame, 1);
    if (optional.value === undefined) return NONE;
    // The optional is evaluated once to see whether it has a value, and again to get it.
    charge(frame, cost + (isWrapped ? 2 : 1));
    frame.slots[slot] = optional.value;
    const value = body(frame);
    return isWrapped ? some(value) : value;
  };
}
