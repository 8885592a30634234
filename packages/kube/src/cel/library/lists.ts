import { compareValues, equalValues } from '../equality.ts';
import { CelCostError, CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { type CelList, type Duration, itemOf, itemsOf, kindOf, list, type Uint, uint, type Value } from '../values.ts';
import { checkedDuration, checkedInt, checkedUint } from './arithmetic.ts';

const MAX_RANGE = 1_000_000n;
const COMPARABLE = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];

const SUMS: Readonly<Record<string, (items: readonly Value[]) => Value>> = {
  int: (items) => items.reduce<bigint>((sum, item) => checkedInt(sum + (item as bigint)), 0n),
  uint: (items) => items.reduce<Uint>((sum, item) => checkedUint(sum.value + (item as Uint).value), uint(0n)),
  double: (items) => items.reduce<number>((sum, item) => sum + (item as number), 0),
  duration: (items) =>
    items.reduce<Duration>((sum, item) => checkedDuration(sum.nanos + (item as Duration).nanos), {
      kind: 'duration',
      nanos: 0n,
    }),
};

/** The list functions of Kubernetes. */
export const kubernetesLists: readonly Overload[] = [
  ...COMPARABLE.flatMap((type) => [
    method('isSorted', `(list(${type})) -> bool`, `list_${type}_is_sorted_bool`, (items: CelList) => {
      const values = itemsOf(items);
      return values.every((item, index) => index === 0 || !(compareValues(values[index - 1] as Value, item) > 0));
    }),
    method(
      'max',
      `(list(${type})) -> ${type}`,
      `list_${type}_max_${type}`,
      extreme('max', (order) => order < 0),
    ),
    method(
      'min',
      `(list(${type})) -> ${type}`,
      `list_${type}_min_${type}`,
      extreme('min', (order) => order > 0),
    ),
  ]),
  ...Object.entries(SUMS).map(([type, sum]) =>
    method('sum', `(list(${type})) -> ${type}`, `list_${type}_sum_${type}`, (items: CelList) => sum(itemsOf(items))),
  ),
  method('indexOf', '(list(A), A) -> int', 'list_a_index_of_int', (items: CelList, item: Value) =>
    BigInt(itemsOf(items).findIndex((other) => equalValues(other, item))),
  ),
  method('lastIndexOf', '(list(A), A) -> int', 'list_a_last_index_of_int', (items: CelList, item: Value) =>
    BigInt(itemsOf(items).findLastIndex((other) => equalValues(other, item))),
  ),
];

function extreme(name: string, isBetter: (order: number) => boolean): (items: CelList) => Value {
  return (items) => {
    if (items.items.length === 0) throw new CelError(`${name} called on empty list`);
    return itemsOf(items).reduce((best, item) => (isBetter(compareValues(best, item)) ? item : best));
  };
}

/** The list extension of cel-go. */
export const lists: readonly Overload[] = [
  method('slice', '(list(T), int, int) -> list(T)', 'list_slice', (items: CelList, start: bigint, end: bigint) => {
    const problem =
      start < 0n || end < 0n
        ? 'negative indexes not supported'
        : start > end
          ? 'start index must be less than or equal to end index'
          : end > BigInt(items.items.length)
            ? `list is length ${items.items.length}`
            : undefined;
    if (problem !== undefined) throw new CelError(`cannot slice(${start}, ${end}), ${problem}`);
    return list(itemsOf(items).slice(Number(start), Number(end)));
  }),
  method('flatten', '(list(list(T))) -> list(T)', 'list_flatten', (items: CelList) => list(flattened(items, 1n))),
  method('flatten', '(list(dyn), int) -> list(dyn)', 'list_flatten_int', (items: CelList, depth: bigint) => {
    if (depth < 0n) throw new CelError('level must be non-negative');
    return list(flattened(items, depth));
  }),
  ...COMPARABLE.map((type) =>
    method('sort', `(list(${type})) -> list(${type})`, `list_${type}_sort`, (items: CelList) => sortedBy(items, items)),
  ),
  func('lists.range', '(int) -> list(int)', 'lists_range', (count: bigint) => {
    // A longer range exceeds the cost limit of any expression.
    if (count > MAX_RANGE) throw new CelCostError();
    return list(Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)));
  }),
  method('reverse', '(list(T)) -> list(T)', 'list_reverse', (items: CelList) => list(itemsOf(items).toReversed())),
  method('distinct', '(list(T)) -> list(T)', 'list_distinct', (items: CelList) => {
    const kept: Value[] = [];
    for (const item of itemsOf(items)) if (!kept.some((other) => equalValues(item, other))) kept.push(item);
    return list(kept);
  }),
];

function flattened(items: CelList, depth: bigint): Value[] {
  return itemsOf(items).flatMap((item) =>
    depth > 0n && kindOf(item) === 'list' ? flattened(item as CelList, depth - 1n) : [item],
  );
}

/** Returns the items in the order of their keys. */
export function sortedBy(items: CelList, keys: CelList): CelList {
  if (keys.items.length === 0) return items;
  const kind = kindOf(itemOf(keys, 0));
  if (!COMPARABLE.includes(kind)) throw new CelError('list elements must be comparable');
  const keyed = itemsOf(items).map((item, index) => [itemOf(keys, index), item] as const);
  if (keyed.some(([key]) => kindOf(key) !== kind)) throw new CelError('list elements must have the same type');
  return list(keyed.toSorted(([a], [b]) => compareValues(a, b)).map(([, item]) => item));
}

const contains = (from: CelList, item: Value): boolean =>
  from.items.some((_, index) => equalValues(itemOf(from, index), item));
const containsAll = (from: CelList, items: CelList): boolean => itemsOf(items).every((item) => contains(from, item));

export const sets: readonly Overload[] = [
  func('sets.contains', '(list(T), list(T)) -> bool', 'list_sets_contains_list', containsAll),
  func('sets.equivalent', '(list(T), list(T)) -> bool', 'list_sets_equivalent_list', (a: CelList, b: CelList) => {
    return containsAll(a, b) && containsAll(b, a);
  }),
  func('sets.intersects', '(list(T), list(T)) -> bool', 'list_sets_intersects_list', (a: CelList, b: CelList) =>
    itemsOf(a).some((item) => contains(b, item)),
  ),
];
