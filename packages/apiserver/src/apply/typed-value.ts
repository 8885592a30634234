// The parts of a value by its type, and the edges that lead to them. The rules are those of Kubernetes' structured merge:
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
import { canonicalJson } from '@capstan/kube';
import { isObject } from '../json/copy.ts';
import { DEDUCED, type ListMapType, type MapType, type SetType, type TypeSchema } from './type-schema.ts';

/** How to treat one value: as a leaf, by its keys, or by its items. */
export type Parts = { by: 'leaf' } | { by: 'keys'; type: MapType } | { by: 'items'; type: ListMapType | SetType };

const LEAF: Parts = { by: 'leaf' };
const ANY_MAP: MapType = { shape: 'map', field: () => undefined, names: [], element: DEDUCED };

/** By the type, if the value fits it; else by the look of the value. Null and absent values fit every type. */
export function partsOf(type: TypeSchema, value: unknown): Parts {
  if (value === undefined || value === null) return byType(type);
  if (Array.isArray(value)) return type.shape === 'list-map' || type.shape === 'set' ? { by: 'items', type } : LEAF;
  if (!isObject(value)) return LEAF;
  switch (type.shape) {
    case 'map':
      return { by: 'keys', type };
    case 'atomic':
      return LEAF;
    case 'scalar':
    case 'deduced':
    case 'list-map':
    case 'set':
      return { by: 'keys', type: ANY_MAP };
  }
}

function byType(type: TypeSchema): Parts {
  if (type.shape === 'map') return { by: 'keys', type };
  return type.shape === 'list-map' || type.shape === 'set' ? { by: 'items', type } : LEAF;
}

/** The type of the value under a key. The types of unknown keys follow from their values. */
export function typeOfKey(type: MapType, key: string): TypeSchema {
  return type.field(key)?.type ?? type.element ?? DEDUCED;
}

/** Items in order, each with its edge. Duplicates keep the same edge. */
export function edgesOf(type: ListMapType | SetType, list: readonly unknown[]): string[] {
  return list.map((item, index) => edgeOf(type, item, index));
}

function edgeOf(type: ListMapType | SetType, item: unknown, index: number): string {
  if (type.shape === 'set') return `v:${canonicalJson(item)}`;
  if (!isObject(item)) return `i:${index}`;
  const itemType = type.item();
  // The keys of a list are sorted and scalars, so this is canonical JSON already.
  let key = '';
  for (const name of type.keys) {
    const value = item[name] ?? (itemType.shape === 'map' ? itemType.field(name)?.default : undefined);
    if (value !== undefined && value !== null)
      key += `${key === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  return key === '' ? `i:${index}` : `k:{${key}}`;
}
