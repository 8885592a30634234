// The cost of an evaluation, in cel-go's units and with Kubernetes' numbers for its own functions: about one for a step, a tenth for each
// character that is checked. The limits use these numbers, so that a rule stops here where it stops on a real server.
import type { Overload } from './typing/overload.ts';
import {
  type CelList,
  type CelMap,
  type CelObject,
  itemOf,
  itemsOf,
  keysOf,
  kindOf,
  type NamedFormat,
  sizeOf,
  type Value,
  valueAt,
} from './values.ts';

export const TRAVERSAL = 0.1;
export const REGEX = 0.25;
export const LIST_CREATE = 10;
export const MAP_CREATE = 30;

type CallCost = (args: readonly Value[], result: Value) => number;

const perCharacter = (size: number): number => Math.ceil(size * TRAVERSAL);
const ofFirst: CallCost = ([first]) => perCharacter(sizeOf(first as Value));
const twiceFirst: CallCost = ([first]) => Math.ceil(sizeOf(first as Value) * 2 * TRAVERSAL);
const ofSmaller: CallCost = ([a, b]) => perCharacter(Math.min(sizeOf(a as Value), sizeOf(b as Value)));
const ofRegex: CallCost = ([text, pattern]) =>
  perCharacter(1 + sizeOf(text as Value)) * Math.ceil(sizeOf(pattern as Value) * REGEX);
const ofResultList: CallCost = (_, result) => 1 + LIST_CREATE + sizeOf(result);
const ofTraversal: CallCost = ([first]) => traversal(first as Value);
const ofProduct =
  (factor: number): CallCost =>
  ([a, b]) =>
    1 + factor * sizeOf(a as Value) * sizeOf(b as Value);

const ofSelfCompare: CallCost = ([first]) => {
  const list = first as CelList;
  const size = list.items.length;
  const kind = size === 0 ? 'int' : kindOf(itemOf(list, 0));
  return 1 + LIST_CREATE + Math.floor(size * size * (kind === 'string' || kind === 'bytes' ? 2 + TRAVERSAL : 2));
};

const ofContainment =
  (isCidr: boolean, isText: boolean): CallCost =>
  ([cidr, other]) => {
    const size = sizeOf(cidr as Value);
    return (
      perCharacter(2 * size) +
      (isCidr ? perCharacter(size) + 1 : 0) +
      (isText ? perCharacter(sizeOf(other as Value)) : 0)
    );
  };

/** Returns the cost of traversing a value and all its parts. */
function traversal(value: Value): number {
  switch (kindOf(value)) {
    case 'string':
      return Math.floor(Buffer.byteLength(value as string) * TRAVERSAL);
    case 'bytes':
      return Math.floor((value as Uint8Array).length * TRAVERSAL);
    case 'list':
      return itemsOf(value as CelList).reduce<number>((sum, item) => sum + traversal(item), 0);
    case 'map':
    case 'object': {
      const from = value as CelMap | CelObject;
      return keysOf(from).reduce<number>(
        (sum, key) => sum + traversal(key) + traversal(valueAt(from, key) as Value),
        0,
      );
    }
    default:
      return 1;
  }
}

const BY_NAME: Readonly<Record<string, CallCost>> = {
  isSorted: ofTraversal,
  sum: ofTraversal,
  max: ofTraversal,
  min: ofTraversal,
  indexOf: ofTraversal,
  lastIndexOf: ofTraversal,
  includes: ofTraversal,
  url: ofFirst,
  lowerAscii: ofFirst,
  upperAscii: ofFirst,
  substring: ofFirst,
  trim: ofFirst,
  replace: twiceFirst,
  split: twiceFirst,
  join: (_, result) => Math.ceil(sizeOf(result) * 2 * TRAVERSAL),
  find: ofRegex,
  findAll: ofRegex,
  cidr: ofFirst,
  isIP: ofFirst,
  isCIDR: ofFirst,
  'ip.isCanonical': twiceFirst,
  quantity: ofFirst,
  isQuantity: ofFirst,
  semver: ofFirst,
  isSemver: ofFirst,
  validate: ([format, text]) =>
    perCharacter(1 + sizeOf(text as Value)) * Math.ceil((format as NamedFormat).regexSize * REGEX),
  'sets.contains': ofProduct(1),
  'sets.intersects': ofProduct(1),
  'sets.equivalent': ofProduct(2),
  slice: ofResultList,
  'lists.range': ofResultList,
  distinct: ofSelfCompare,
  sort: ofSelfCompare,
};

const BY_ID: Readonly<Record<string, CallCost>> = {
  string_to_ip: ofFirst,
  starts_with_string: ([, part]) => perCharacter(sizeOf(part as Value)),
  ends_with_string: ([, part]) => perCharacter(sizeOf(part as Value)),
  string_to_bytes: ofFirst,
  bytes_to_string: ofFirst,
  strings_quote: ofFirst,
  string_format: ofFirst,
  in_list: ([, list]) => sizeOf(list as Value),
  add_string: ([a, b]) => perCharacter(sizeOf(a as Value) + sizeOf(b as Value)),
  add_bytes: ([a, b]) => perCharacter(sizeOf(a as Value) + sizeOf(b as Value)),
  matches: ofRegex,
  matches_string: ofRegex,
  contains_string: ([a, b]) => perCharacter(sizeOf(a as Value)) * perCharacter(sizeOf(b as Value)),
  cidr_contains_ip_string: ofContainment(false, true),
  cidr_contains_ip_ip: ofContainment(false, false),
  cidr_contains_cidr_string: ofContainment(true, true),
  cidr_contains_cidr: ofContainment(true, false),
  list_flatten: ([list]) => 1 + LIST_CREATE + sizeOf(list as Value),
  list_flatten_int: ([list, depth]) => 1 + LIST_CREATE + sizeOf(list as Value) * Number(depth),
  list_reverse: ofResultList,
  equals: ofSmaller,
  not_equals: ofSmaller,
  ...Object.fromEntries(
    ['less', 'less_equals', 'greater', 'greater_equals'].flatMap((order) =>
      ['string', 'bytes'].map((type) => [`${order}_${type}`, ofSmaller]),
    ),
  ),
};

/** Returns the cost of a call without its arguments, or undefined for the usual 1. */
export function callCost({ id, name }: Overload): CallCost | undefined {
  if (Object.hasOwn(BY_ID, id)) return BY_ID[id];
  return Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
}
