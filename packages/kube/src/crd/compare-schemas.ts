// Finds the changes of a schema that break objects or manifests which the old schema accepted: values that are now refused, dropped,
// defaulted or merged differently. Junctors and patterns are compared as text, because it cannot be decided whether one is wider.
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '../builtin/index.ts';
import { goJson } from '../schema/go-text.ts';
import { equalJson, type JsonSchema } from '../schema/json-schema.ts';

export type BreakingChangeType =
  | 'KindRemoved'
  | 'NameChanged'
  | 'ScopeChanged'
  | 'VersionRemoved'
  | 'SubresourceRemoved'
  | 'SelectableFieldRemoved'
  | 'FieldRemoved'
  | 'FieldRequired'
  | 'TypeChanged'
  | 'ValuesNarrowed'
  | 'DefaultChanged'
  | 'ListTypeChanged'
  | 'RuleAdded';

export interface BreakingChange {
  readonly type: BreakingChangeType;
  /** The version of the kind; absent when all are concerned. */
  readonly version?: string;
  /** `spec.ports[].name`; empty for the kind itself. */
  readonly path: string;
  /** A sentence that names the field and the change. */
  readonly message: string;
}

/** The breaking changes between two manifests of one kind. */
export function compareCrds(released: CustomResourceDefinition, current: CustomResourceDefinition): BreakingChange[] {
  const changes: BreakingChange[] = [];
  const [old, now] = [released.spec, current.spec];
  const names = [
    ['group', old.group, now.group],
    ['kind', old.names.kind, now.names.kind],
    ['plural', old.names.plural, now.names.plural],
  ] as const;
  for (const [name, before, after] of names) {
    if (before !== after) {
      changes.push({ type: 'NameChanged', path: '', message: `the ${name} changed from ${before} to ${after}` });
    }
  }
  if (old.scope !== now.scope) {
    const message = `the scope changed from ${old.scope} to ${now.scope}`;
    changes.push({ type: 'ScopeChanged', path: '', message });
  }
  for (const version of old.versions.filter(({ served }) => served)) {
    const successor = now.versions.find(({ name, served }) => name === version.name && served);
    const of = { version: version.name };
    if (!successor) {
      changes.push({
        ...of,
        type: 'VersionRemoved',
        path: '',
        message: `version ${version.name} is not served any more`,
      });
    } else {
      changes.push(...compareVersions(version, successor).map((change) => ({ ...change, ...of })));
    }
  }
  return changes;
}

function compareVersions(
  released: CustomResourceDefinitionVersion,
  current: CustomResourceDefinitionVersion,
): BreakingChange[] {
  const changes: BreakingChange[] = [];
  for (const subresource of ['status', 'scale'] as const) {
    if (released.subresources?.[subresource] && !current.subresources?.[subresource]) {
      const message = `the ${subresource} subresource was removed`;
      changes.push({ type: 'SubresourceRemoved', path: '', message });
    }
  }
  const selectable = new Set(current.selectableFields?.map(({ jsonPath }) => jsonPath));
  for (const { jsonPath } of released.selectableFields ?? []) {
    if (selectable.has(jsonPath)) continue;
    const message = `lists cannot be filtered by ${jsonPath} any more`;
    changes.push({ type: 'SelectableFieldRemoved', path: jsonPath.slice(1), message });
  }
  const [before, after] = [released.schema?.openAPIV3Schema, current.schema?.openAPIV3Schema];
  if (before && after) changes.push(...compareSchemas(before as JsonSchema, after as JsonSchema));
  return changes;
}

/** The breaking changes between two schemas of one value. */
export function compareSchemas(released: JsonSchema, current: JsonSchema, path = ''): BreakingChange[] {
  const changes: BreakingChange[] = [];
  const add = (type: BreakingChangeType, at: string, text: string) =>
    changes.push({ type, path: at, message: `${at === '' ? 'the object' : at}: ${text}` });

  const [before, after] = [typeName(released), typeName(current)];
  if (!isWiderType(before, after)) {
    add('TypeChanged', path, `the type changed from ${before} to ${after}`);
    return changes;
  }
  for (const text of narrowed(released, current)) add('ValuesNarrowed', path, text);
  for (const text of listTypeChanges(released, current)) add('ListTypeChanged', path, text);
  if (released.default !== undefined && !equalJson(released.default, current.default)) {
    const now = current.default === undefined ? 'was removed' : `changed to ${goJson(current.default)}`;
    add('DefaultChanged', path, `the default ${goJson(released.default)} ${now}`);
  }
  const oldRules = new Set(released['x-kubernetes-validations']?.map(({ rule }) => rule));
  for (const { rule } of current['x-kubernetes-validations'] ?? []) {
    if (!oldRules.has(rule)) add('RuleAdded', path, `there is a new rule: ${rule}`);
  }

  for (const name of current.required ?? []) {
    const property = current.properties?.[name];
    if (released.required?.includes(name) || property?.default !== undefined) continue;
    add('FieldRequired', fieldPath(path, name), 'the field is required now');
  }
  for (const [name, property] of Object.entries(released.properties ?? {})) {
    const at = fieldPath(path, name);
    const successor = fieldOf(current, name);
    if (successor) changes.push(...compareSchemas(property, successor, at));
    else if (!current['x-kubernetes-preserve-unknown-fields']) add('FieldRemoved', at, 'the field was removed');
  }
  changes.push(...compareMaps(released, current, path));
  if (released.items && current.items) changes.push(...compareSchemas(released.items, current.items, `${path}[]`));
  return changes;
}

function compareMaps(released: JsonSchema, current: JsonSchema, path: string): BreakingChange[] {
  const [before, after] = [released.additionalProperties, current.additionalProperties];
  const at = `${path}.*`;
  if (typeof before === 'object' && typeof after === 'object') return compareSchemas(before, after, at);
  if (before === undefined || before === false || after === true || current['x-kubernetes-preserve-unknown-fields']) {
    return [];
  }
  if (typeof after === 'object') return [];
  return [{ type: 'FieldRemoved', path: at, message: `${at}: keys of any name were removed` }];
}

function fieldOf(schema: JsonSchema, name: string): JsonSchema | undefined {
  const { properties, additionalProperties } = schema;
  if (properties && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function typeName(schema: JsonSchema): string {
  return schema['x-kubernetes-int-or-string'] ? 'integer or string' : (schema.type ?? 'any');
}

function isWiderType(before: string, after: string): boolean {
  if (before === after || after === 'any') return true;
  if (after === 'integer or string') return before === 'integer' || before === 'string';
  return before === 'integer' && after === 'number';
}

function narrowed(released: JsonSchema, current: JsonSchema): string[] {
  const texts: string[] = [];
  if (current.enum) {
    const allowed = current.enum;
    const removed = released.enum?.filter((value) => !allowed.some((other) => equalJson(value, other)));
    if (!removed) texts.push(`only ${current.enum.map(goJson).join(', ')} are allowed now`);
    else if (removed.length > 0) texts.push(`${removed.map(goJson).join(', ')} not allowed any more`);
  }
  for (const bound of ['minimum', 'minLength', 'minItems', 'minProperties'] as const) {
    const [before = bound === 'minimum' ? -Infinity : 0, after = -Infinity] = [released[bound], current[bound]];
    if (after > before) texts.push(`${bound} rose from ${released[bound] ?? 'none'} to ${after}`);
  }
  for (const bound of ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const) {
    const [before = Infinity, after = Infinity] = [released[bound], current[bound]];
    if (after < before) texts.push(`${bound} fell from ${released[bound] ?? 'none'} to ${after}`);
  }
  for (const flag of ['exclusiveMinimum', 'exclusiveMaximum', 'uniqueItems'] as const) {
    if (current[flag] && !released[flag]) texts.push(`${flag} was added`);
  }
  for (const keyword of ['pattern', 'format', 'multipleOf', 'anyOf', 'oneOf', 'allOf', 'not'] as const) {
    if (current[keyword] === undefined || equalJson(released[keyword], current[keyword])) continue;
    const before = released[keyword] === undefined ? 'was added' : `changed from ${goJson(released[keyword])}`;
    texts.push(`${keyword} ${before}: ${goJson(current[keyword])}`);
  }
  if (released.nullable && !current.nullable) texts.push('null is not allowed any more');
  const preserve = 'x-kubernetes-preserve-unknown-fields';
  if (released[preserve] && !current[preserve]) texts.push('unknown fields are dropped now');
  if (!released['x-kubernetes-embedded-resource'] && current['x-kubernetes-embedded-resource']) {
    texts.push('apiVersion and kind are required now');
  }
  return texts;
}

function listTypeChanges(released: JsonSchema, current: JsonSchema): string[] {
  const texts: string[] = [];
  const defaults = { 'x-kubernetes-list-type': 'atomic', 'x-kubernetes-map-type': 'granular' } as const;
  for (const keyword of ['x-kubernetes-list-type', 'x-kubernetes-map-type'] as const) {
    const [before, after] = [released[keyword] ?? defaults[keyword], current[keyword] ?? defaults[keyword]];
    if (before !== after) texts.push(`${keyword} changed from ${before} to ${after}`);
  }
  const keys = 'x-kubernetes-list-map-keys';
  if (released[keys] && current[keys] && !equalJson(released[keys].toSorted(), current[keys].toSorted())) {
    texts.push(`the keys of the list changed from ${released[keys].join(', ')} to ${current[keys].join(', ')}`);
  }
  return texts;
}
