// Compares a message with its patched form, and finds the first change that a patch may not make.
import { equal, formatPointer } from '@capstan/kube';
import { messageTable, TYPE_URL_PREFIX } from '../../envoy/index.ts';
import { ADDED_FILTERS, OPEN_FIELDS, type Openness, SEALED } from './open-fields.ts';

export interface ProtectedChange {
  readonly pointer: string;
  readonly problem: string;
}

/** Returns the first change of a value that is not open; undefined when all of them are. */
export function protectedChange(type: string, before: unknown, after: unknown): ProtectedChange | undefined {
  return compareMessage(type, before, after, []);
}

type Path = readonly string[];
type Fields = { readonly [field: string]: unknown };

const asFields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/** A message of which some fields are open. */
function compareMessage(type: string, before: unknown, after: unknown, path: Path): ProtectedChange | undefined {
  if (equal(before, after)) return undefined;
  const open = OPEN_FIELDS[type];
  if (!open || after === undefined) return refusal(path);
  const [old, next] = [asFields(before), asFields(after)];
  for (const name of new Set([...Object.keys(old), ...Object.keys(next)])) {
    if (equal(old[name], next[name])) continue;
    const problem = compareField(type, name, open[name], old[name], next[name], [...path, name]);
    if (problem) return problem;
  }
  return undefined;
}

function compareField(
  type: string,
  name: string,
  openness: Openness | undefined,
  before: unknown,
  after: unknown,
  path: Path,
): ProtectedChange | undefined {
  const field = messageTable(type)?.byName.get(name);
  if (!field || openness === undefined) return refusal(path);
  if (openness === 'any') return sealedValue(field.type, after, path);
  if (openness === 'filters') return compareFilters(before, after, path);
  if (field.label === 'map') {
    const [old, next] = [asFields(before), asFields(after)];
    const names = new Set([...Object.keys(old), ...Object.keys(next)]);
    return first(names, (key) => compareValue(field.type, old[key], next[key], [...path, key]));
  }
  if (field.label === 'one') return compareValue(field.type, before, after, path);
  const [old, next] = [listOf(before), listOf(after)];
  if (old.length !== next.length) return refusal(path, 'its items cannot be added, removed or moved');
  return first(old.keys(), (index) => compareValue(field.type, old[index], next[index], [...path, String(index)]));
}

function compareValue(type: string, before: unknown, after: unknown, path: Path): ProtectedChange | undefined {
  if (type !== 'google.protobuf.Any') return compareMessage(type, before, after, path);
  const [old, next] = [typeOf(before ?? after), typeOf(after)];
  if (old === undefined || old !== next) return refusal([...path, '@type']);
  const { '@type': _old, ...oldFields } = asFields(before);
  const { '@type': _next, ...nextFields } = asFields(after);
  return compareMessage(next, oldFields, nextFields, path);
}

/** The filters that were there stay in their order. Others may be added before the last one, which sends the request on. */
function compareFilters(before: unknown, after: unknown, path: Path): ProtectedChange | undefined {
  const [old, next] = [listOf(before).map(asFields), listOf(after).map(asFields)];
  const names = new Set<unknown>();
  let kept = 0;
  for (const [index, filter] of next.entries()) {
    const at = [...path, String(index)];
    const { name } = filter;
    if (names.has(name)) return { pointer: formatPointer([...at, 'name']), problem: 'is the name of another filter' };
    names.add(name);
    const known = old[kept];
    if (known && known['name'] === name) {
      const problem = compareMessage(FILTER, known, filter, at);
      if (problem) return problem;
      kept += 1;
      continue;
    }
    const type = typeOf(filter['typed_config']);
    if (old.some((each) => each['name'] === name)) return refusal(at, 'filters keep their order');
    if (kept === old.length) return refusal(at, 'the last filter sends requests on, and stays the last one');
    if (type === undefined || !ADDED_FILTERS.has(type))
      return refusal(at, `only filters of these types can be added: ${[...ADDED_FILTERS].join(', ')}`);
    const more = Object.keys(filter).filter((each) => !['name', 'typed_config'].includes(each));
    if (more[0] !== undefined) return refusal([...at, more[0]]);
    const problem = sealedValue('google.protobuf.Any', filter['typed_config'], [...at, 'typed_config']);
    if (problem) return problem;
  }
  return kept < old.length ? refusal(path, `the filter ${String(old[kept]?.['name'])} cannot be removed`) : undefined;
}

const FILTER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter';

/** Envoy replaces these in texts by values of its process and its pod. */
const FORMATTERS = /%(ENVIRONMENT|FILE_CONTENT|CEL|SECRET)/i;

/** Fields that name a cluster, by any message: the clusters of Sesame itself and of Envoy's admin pages are among them. */
const CLUSTER_FIELD = /^(cluster|cluster_name|cluster_header|[a-z_]+_cluster)$/;

/** Returns the part of a new value that names a file, a secret, a server or a value of Envoy's process. */
function sealedValue(type: string, value: unknown, path: Path): ProtectedChange | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string')
    return FORMATTERS.test(value) ? refusal(path, 'it shows values of Envoy’s pod to clients') : undefined;
  if (Array.isArray(value))
    return first(value.keys(), (index) => sealedValue(type, value[index], [...path, String(index)]));
  if (typeof value !== 'object' || ArrayBuffer.isView(value)) return undefined;
  if (SEALED.has(type)) return refusal(path, 'it names a file, a secret or a server');
  const inner = type === 'google.protobuf.Any' ? typeOf(value) : type;
  const table = inner === undefined ? undefined : messageTable(inner);
  return first(Object.entries(value), ([name, content]) => {
    const at = [...path, name];
    const field = table?.byName.get(name);
    if (field && CLUSTER_FIELD.test(name) && typeof content === 'string') return refusal(at, 'it names a cluster');
    return sealedValue(field?.type ?? (table ? 'string' : type), content, at);
  });
}

function typeOf(value: unknown): string | undefined {
  const url = asFields(value)['@type'];
  return typeof url === 'string' ? url.slice(TYPE_URL_PREFIX.length) : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function first<Item>(
  items: Iterable<Item>,
  problemOf: (item: Item) => ProtectedChange | undefined,
): ProtectedChange | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem) return problem;
  }
  return undefined;
}

function refusal(path: Path, reason = 'it is not one of the values that a patch may change'): ProtectedChange {
  return { pointer: formatPointer(path), problem: `is protected: ${reason}` };
}
