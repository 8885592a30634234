// Manifests as far as a conversion reads them.
import { groupOf, isJsonObject, type JsonObject } from '@capstan/kube';
import { CONTROLLER_CONFIG_KIND } from '../runtime/render/controller-config.ts';
import type { RuntimeKind } from '../runtime/render/labels.ts';
import { PACKAGE_GROUP, RUNTIME_CONFIG_KIND } from '../runtime/runtime-config.ts';

export interface Manifest {
  readonly value: JsonObject;
  /** For messages: file and line. */
  readonly place: string;
}

export type Role = 'controllerConfig' | 'runtimeConfig' | RuntimeKind;

/** Returns the role of a manifest in a conversion; undefined if it has none. */
export function roleOf({ apiVersion, kind }: JsonObject): Role | undefined {
  if (typeof apiVersion !== 'string' || groupOf(apiVersion) !== PACKAGE_GROUP) return undefined;
  if (kind === CONTROLLER_CONFIG_KIND) return 'controllerConfig';
  if (kind === RUNTIME_CONFIG_KIND) return 'runtimeConfig';
  return kind === 'Provider' || kind === 'Function' ? kind : undefined;
}

export function nameOf({ metadata }: JsonObject): string {
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  return typeof name === 'string' ? name : '';
}

/** The object at a path of fields; empty when there is none. */
export function objectIn(value: unknown, ...fields: readonly string[]): JsonObject {
  let part: unknown = value;
  for (const field of fields) part = isJsonObject(part) ? part[field] : undefined;
  return isJsonObject(part) ? part : {};
}

/** The names in a list of `{name}`. */
export function namesIn(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) => {
    const name = isJsonObject(item) ? item['name'] : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}
