// Options of a rule: a reference to a ConfigMap, its data written out, or both. The design embeds a whole ConfigMap; its
// commands name one.
import { type FieldError, invalidField, isJsonObject, type JsonObject } from '@capstan/kube';
import { parse } from 'yaml';

export interface RuleOptions {
  readonly configMapRef?: { readonly name: string; readonly namespace?: string };
  /** Written out in the policy; wins over the ConfigMap. */
  readonly data: Readonly<Record<string, string>>;
}

export const NO_OPTIONS: RuleOptions = { data: {} };

export function readOptions(
  { given, path }: { readonly given: unknown; readonly path: string },
  problems: FieldError[],
): RuleOptions {
  if (given === undefined || given === null) return NO_OPTIONS;
  if (typeof given === 'string') return { configMapRef: { name: given }, data: {} };
  if (!isJsonObject(given)) {
    problems.push(invalidField(path, given, 'must be a ConfigMap or {configMapRef, data}'));
    return NO_OPTIONS;
  }
  const reference = given['configMapRef'] ?? (isJsonObject(given['metadata']) ? given['metadata'] : undefined);
  const data = isJsonObject(given['data']) ? dataOf(given['data'], `${path}.data`, problems) : {};
  if (given['data'] !== undefined && given['data'] !== null && !isJsonObject(given['data']))
    problems.push(invalidField(`${path}.data`, given['data'], 'must be a map of strings'));
  // A ConfigMap that brings its data is written out: there is nothing to look up.
  const isEmbedded = given['configMapRef'] === undefined && Object.keys(data).length > 0;
  if (isEmbedded || reference === undefined) return { data };
  const { name, namespace } = isJsonObject(reference) ? reference : {};
  if (typeof name !== 'string' || (namespace !== undefined && typeof namespace !== 'string')) {
    problems.push(invalidField(`${path}.configMapRef`, reference, 'must have a name'));
    return { data };
  }
  return { configMapRef: { name, ...(typeof namespace === 'string' && { namespace }) }, data };
}

/**
 * The options in the data of a ConfigMap: the YAML or JSON text under CableCustomConfig, and the keys beside it, which win.
 * The design's own example has its text beside the key instead of under it.
 */
export function optionsOfConfigMap(data: Readonly<Record<string, string>>): {
  readonly data: Record<string, string>;
  readonly problem?: string;
} {
  const { [CUSTOM_CONFIG]: text, ...beside } = data;
  if (text === undefined || text.trim() === '') return { data: beside };
  let inner: unknown;
  try {
    inner = parse(text);
  } catch {
    return { data: beside, problem: `${CUSTOM_CONFIG}: is neither YAML nor JSON` };
  }
  if (!isJsonObject(inner)) return { data: beside, problem: `${CUSTOM_CONFIG}: must be a map` };
  const texts = Object.entries(inner).map(([key, value]) => [key, scalarText(value)] as const);
  const wrong = texts.find(([, value]) => value === undefined);
  if (wrong !== undefined) return { data: beside, problem: `${CUSTOM_CONFIG}.${wrong[0]}: must be a plain value` };
  return { data: { ...Object.fromEntries(texts.map(([key, value]) => [key, value ?? ''])), ...beside } };
}

const CUSTOM_CONFIG = 'CableCustomConfig';

function dataOf(given: JsonObject, path: string, problems: FieldError[]): Record<string, string> {
  const strings: Record<string, string> = {};
  for (const [key, value] of Object.entries(given)) {
    // A policy's data is not a ConfigMap of the server's: a bare number can only mean its text.
    const text = scalarText(value);
    if (text === undefined) problems.push(invalidField(`${path}[${key}]`, value, 'must be a string'));
    else strings[key] = text;
  }
  const { data, problem } = optionsOfConfigMap(strings);
  if (problem !== undefined) problems.push(invalidField(path, strings[CUSTOM_CONFIG], problem));
  return data;
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
