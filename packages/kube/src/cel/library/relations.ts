import { compareValues, equalValues } from '../equality.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { type CelList, type CelMap, type CelObject, characterCount, fieldOf, itemOf, type Value } from '../values.ts';

const ORDERED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
const NUMBERS = ['int', 'uint', 'double'];
const IDS: Readonly<Record<string, string>> = { int: 'int64', uint: 'uint64' };

function order(name: string, id: string, holds: (comparison: number) => boolean): Overload[] {
  const run = (a: Value, b: Value): boolean => holds(compareValues(a, b));
  const same = ORDERED.map((type) => func(name, `(${type}, ${type}) -> bool`, `${id}_${IDS[type] ?? type}`, run));
  const mixed = NUMBERS.flatMap((left) =>
    NUMBERS.filter((right) => right !== left).map((right) =>
      func(name, `(${left}, ${right}) -> bool`, `${id}_${IDS[left] ?? left}_${IDS[right] ?? right}`, run),
    ),
  );
  return [...same, ...mixed];
}

export const relations: readonly Overload[] = [
  func('_==_', '(A, A) -> bool', 'equals', (a: Value, b: Value) => equalValues(a, b)),
  func('_!=_', '(A, A) -> bool', 'not_equals', (a: Value, b: Value) => !equalValues(a, b)),
  ...order('_<_', 'less', (comparison) => comparison < 0),
  ...order('_<=_', 'less_equals', (comparison) => comparison <= 0),
  ...order('_>_', 'greater', (comparison) => comparison > 0),
  ...order('_>=_', 'greater_equals', (comparison) => comparison >= 0),
  func('!_', '(bool) -> bool', 'logical_not', (a: boolean) => !a),
  func('@in', '(A, list(A)) -> bool', 'in_list', (item: Value, from: CelList) => {
    for (let index = 0; index < from.items.length; index++) if (equalValues(item, itemOf(from, index))) return true;
    return false;
  }),
  func('@in', '(A, map(A, B)) -> bool', 'in_map', (key: Value, from: CelMap | CelObject) =>
    from.kind === 'map' ? from.get(key) !== undefined : typeof key === 'string' && fieldOf(from, key) !== undefined,
  ),
  ...sizes(),
];

function sizes(): Overload[] {
  const counted: [type: string, run: (value: never) => bigint][] = [
    ['string', (text: string) => BigInt(characterCount(text))],
    ['bytes', (bytes: Uint8Array) => BigInt(bytes.length)],
    ['list(A)', (list: CelList) => BigInt(list.items.length)],
    ['map(A, B)', (map: CelMap | CelObject) => BigInt(map.kind === 'map' ? map.size : Object.keys(map.raw).length)],
  ];
  return counted.flatMap(([type, run]) => {
    const word = type.replace(/\(.*/, '');
    return [
      func('size', `(${type}) -> int`, `size_${word}`, run),
      method('size', `(${type}) -> int`, `${word}_size`, run),
    ];
  });
}
