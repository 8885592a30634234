import { isObject, type JsonObject, setOwn } from '../json/copy.ts';
import type { MapType, TypeSchema } from './type-schema.ts';

/** The value without the fields that its type does not know, whose paths are added to `unknown`, and without null ones. */
export function dropUnknown(type: TypeSchema, value: unknown, path: string, unknown: string[]): unknown {
  switch (type.shape) {
    case 'map':
      return dropFromMap(type, value, path, unknown);
    case 'atomic':
      if (type.inside) return dropFromMap(type.inside, value, path, unknown);
      return type.item ? dropFromList(type.item, value, path, unknown) : value;
    case 'list-map':
    case 'set':
      return dropFromList(type.item, value, path, unknown);
    case 'scalar':
    case 'deduced':
      return value;
  }
}

function dropFromMap(type: MapType, value: unknown, path: string, unknown: string[]): unknown {
  if (!isObject(value)) return value;
  let result: JsonObject | undefined;
  for (const key of Object.keys(value)) {
    const field = type.field(key);
    // Null in a field of the schema is how some clients write that it is not set.
    if (field && value[key] === null) {
      result ??= { ...value };
      delete result[key];
      continue;
    }
    if (!field && value[key] === null && type.element) {
      result ??= { ...value };
      setOwn(result, key, zeroOf(type.element));
      continue;
    }
    const below = field?.type ?? type.element;
    const at = path === '' ? key : `${path}.${key}`;
    if (below) {
      const part = dropUnknown(below, value[key], at, unknown);
      if (part === value[key]) continue;
      result ??= { ...value };
      setOwn(result, key, part);
    } else {
      unknown.push(at);
      result ??= { ...value };
      delete result[key];
    }
  }
  return result ?? value;
}

function dropFromList(item: () => TypeSchema, value: unknown, path: string, unknown: string[]): unknown {
  if (!Array.isArray(value)) return value;
  const type = item();
  if (type.shape === 'scalar' && !value.includes(null)) return value;
  let changed = false;
  const items = value.map((one: unknown, index) => {
    const kept = one === null ? zeroOf(type) : dropUnknown(type, one, `${path}[${index}]`, unknown);
    changed ||= kept !== one;
    return kept;
  });
  return changed ? items : value;
}

/** The value that Go's decoder reads from a null in a list or a map: the zero of the type, null where there is no type. */
function zeroOf(type: TypeSchema): unknown {
  switch (type.shape) {
    case 'map':
      return {};
    case 'list-map':
    case 'set':
      return [];
    case 'atomic':
      return type.inside ? {} : type.item ? [] : null;
    case 'scalar':
      // Quantities have several types at once.
      return type.of === undefined ? '0' : ZEROS[type.of];
    case 'deduced':
      return null;
  }
}

const ZEROS = { string: '', numeric: 0, boolean: false } as const;
