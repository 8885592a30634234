// Fields of a written resource that no configuration has. An API server would drop them without a word, and so would a migration.
import { isJsonObject, type JsonSchema } from '@capstan/kube/values';
import { nearest } from '../configuration/file/nearest.ts';
import { normalise } from '../configuration/normalise.ts';
import { configurationSchema } from '../kinds/configuration-spec.ts';

/** Returns one message for each of them: `spec.envoy.lisener: is not a field; did you mean listener?`. */
export function unknownFields(given: unknown): string[] {
  return unknown(normalise(given).spec, configurationSchema.json, 'spec');
}

function unknown(value: unknown, { properties, items }: JsonSchema, path: string): string[] {
  if (Array.isArray(value)) return items ? value.flatMap((item, at) => unknown(item, items, `${path}[${at}]`)) : [];
  if (!isJsonObject(value) || properties === undefined) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const at = `${path}.${name}`;
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (field) return unknown(part, field, at);
    const near = nearest(name, new Set(Object.keys(properties)));
    return [`${at}: is not a field; ${near === undefined ? 'remove it' : `did you mean ${near}?`}`];
  });
}
