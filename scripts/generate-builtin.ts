// Writes packages/kube/src/builtin/gen from the Kubernetes release that builtin-selection.ts names: types, kinds, resources
// and schemas of the built-in kinds that Capstan uses or serves. It is run by hand (`npm run generate:builtin`, needs Go to
// fetch the module) and its output is committed. Three parts of the release are read: the OpenAPI v3 documents (fields), the
// discovery documents (resources) and the generated Go definitions (enums, which the published OpenAPI leaves out). No
// description is taken over.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ALIASES, EXTRA_DEFINITIONS, FOREIGN, KINDS, META, MODULE, NAMES, RELEASE } from './builtin-selection.ts';

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  required?: string[];
  enum?: string[];
  'x-kubernetes-group-version-kind'?: GroupVersionKind[];
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

interface DiscoveredResource {
  name: string;
  kind: string;
  group?: string;
  version?: string;
  singularName: string;
  namespaced: boolean;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
}

interface Resource extends GroupVersionKind {
  plural: string;
  singular: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  verbs: string[];
  subresources: { name: string; group: string; version: string; kind: string; verbs: string[] }[];
}

const root = dirname(import.meta.dirname);
const output = join(root, 'packages/kube/src/builtin/gen');
const release = fetchModule();
const resources = KINDS.flatMap(([groupVersion, ...kinds]) => resourcesOf(groupVersion, kinds));
const definitions = reachable(allDefinitions());
const names = nameDefinitions();
const rootDefinitions = new Map(
  [...definitions].flatMap(([name, schema]) => servedAs(schema).map((gvk) => [gvkId(gvk), name] as const)),
);
mkdirSync(output, { recursive: true });
writeFileSync(join(output, 'types.ts'), renderTypes());
writeFileSync(join(output, 'kinds.ts'), renderKinds());
writeFileSync(join(output, 'resources.ts'), renderResources());
writeFileSync(join(output, 'schemas.json'), renderSchemas());
console.log(`${resources.length} resources, ${definitions.size} definitions of Kubernetes ${RELEASE} in ${output}`);

function fetchModule(): string {
  const result = spawnSync('go', ['mod', 'download', '-json', `${MODULE}@${RELEASE}`], {
    cwd: tmpdir(),
    encoding: 'utf8',
  });
  if (result.error || result.status !== 0) {
    throw new Error(
      `cannot fetch ${MODULE}@${RELEASE} with "go mod download": ${result.error?.message ?? result.stderr + result.stdout}; Go must be installed and its module proxy reachable`,
    );
  }
  return (parse(result.stdout) as { Dir: string }).Dir;
}

function readJson(...path: string[]): unknown {
  return parse(readFileSync(join(release, ...path), 'utf8'));
}

function parse(text: string): unknown {
  return JSON.parse(text);
}

/** `v1` is at `api__v1`, `apps/v1` at `apis__apps__v1`. */
function documentName(groupVersion: string): string {
  return groupVersion.includes('/') ? `apis__${groupVersion.replace('/', '__')}` : `api__${groupVersion}`;
}

function resourcesOf(groupVersion: string, kinds: string[]): Resource[] {
  const list = readJson('api/discovery', `${documentName(groupVersion)}.json`) as {
    resources: DiscoveredResource[];
  };
  const [version = '', group = ''] = groupVersion.split('/').reverse();
  return kinds.map((kind) => {
    const found = list.resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (!found) throw new Error(`discovery of ${groupVersion} in ${RELEASE} has no resource of kind ${kind}`);
    return {
      group,
      version,
      kind,
      plural: found.name,
      singular: found.singularName,
      namespaced: found.namespaced,
      shortNames: found.shortNames ?? [],
      categories: found.categories ?? [],
      verbs: found.verbs,
      subresources: list.resources
        .filter((one) => one.name.startsWith(`${found.name}/`))
        .map((one) => ({
          name: one.name.slice(found.name.length + 1),
          group: one.group ?? group,
          version: one.version ?? version,
          kind: one.kind,
          verbs: one.verbs,
        })),
    };
  });
}

function allDefinitions(): Map<string, Schema> {
  const documents = ['api', 'apis', 'version', ...groupVersions().map(documentName)];
  const all = new Map<string, Schema>();
  for (const document of documents) {
    const { components } = readJson('api/openapi-spec/v3', `${document}_openapi.json`) as {
      components: { schemas: Record<string, Schema> };
    };
    for (const [name, schema] of Object.entries(components.schemas)) all.set(name, simplify(schema));
  }
  addEnums(all);
  return all;
}

/** The served group-versions, those of subresources included. */
function groupVersions(): string[] {
  const ids = resources.flatMap((resource) => [resource, ...resource.subresources].map(groupVersionOf));
  return [...new Set(ids)];
}

function groupVersionOf({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

function gvkId(gvk: GroupVersionKind): string {
  return `${groupVersionOf(gvk)} ${gvk.kind}`;
}

function servedAs(schema: Schema): GroupVersionKind[] {
  return schema['x-kubernetes-group-version-kind'] ?? [];
}

/**
 * Leaves descriptions out, writes a reference as the bare name of its definition, and puts the `allOf` that OpenAPI 3.0
 * needs around a reference with siblings back into one object. Keys that are property names are not touched.
 */
function simplify(schema: Schema): Schema {
  const { description: _, allOf, $ref, properties, items, additionalProperties, ...rest } = schema;
  const wrapped = allOf?.[0]?.$ref ?? $ref;
  return {
    ...(wrapped === undefined ? {} : { $ref: wrapped.slice(wrapped.lastIndexOf('/') + 1) }),
    ...rest,
    ...(items === undefined ? {} : { items: simplify(items) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: simplify(additionalProperties) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, simplify(value)])) }),
  };
}

/** Enums by line: a function a definition, properties at five tabs, their enum at seven, that of array items deeper. */
function addEnums(all: Map<string, Schema>): void {
  const byFunction = new Map([...all].map(([name, schema]) => [goFunction(name), schema]));
  let schema: Schema | undefined;
  let property: Schema | undefined;
  for (const line of readFileSync(join(release, 'pkg/generated/openapi/zz_generated.openapi.go'), 'utf8').split('\n')) {
    const begins = /^func (schema_\w+)\(/.exec(line);
    if (begins?.[1]) schema = byFunction.get(begins[1]);
    const named = /^\t{5}"([^"]+)": \{$/.exec(line);
    if (named?.[1]) property = schema?.properties?.[named[1]];
    const values = /^(\t+)Enum:\s+\[\]interface\{\}\{(.*)\},$/.exec(line);
    if (!values || !schema) continue;
    const target = values[1]?.length === 7 ? property : (property?.items ?? property?.additionalProperties);
    if (!target) throw new Error(`the enum ${line.trim()} belongs to no property that the OpenAPI documents have`);
    target.enum = parse(`[${values[2]}]`) as string[];
  }
}

function goFunction(definition: string): string {
  const parts = definition.startsWith('io.k8s.api.')
    ? ['k8sio', ...definition.split('.').slice(2)]
    : definition.split('.').slice(3);
  return `schema_${parts.join('_')}`;
}

function reachable(all: Map<string, Schema>): Map<string, Schema> {
  const wanted = new Set(resources.flatMap((one) => [one, ...one.subresources].map(gvkId)));
  const pending = [...all].filter(([, schema]) => isOwnKind(schema, wanted)).map(([name]) => name);
  pending.push(...EXTRA_DEFINITIONS);
  const reached = new Set<string>();
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    pending.push(...references(definitionIn(all, name)));
  }
  const served = new Set(groupVersions());
  return new Map(
    [...reached].sort().map((name) => {
      const schema = definitionIn(all, name);
      // Options like DeleteOptions list every group of a whole cluster: keep those that are served.
      const gvks = servedAs(schema).filter((gvk) => served.has(groupVersionOf(gvk)));
      if (gvks.length > 0) schema['x-kubernetes-group-version-kind'] = gvks;
      return [name, schema];
    }),
  );
}

function definitionIn(all: Map<string, Schema>, name: string): Schema {
  const schema = all.get(name);
  if (!schema) throw new Error(`definition ${name} is not in the OpenAPI documents of ${RELEASE}`);
  return schema;
}

function isOwnKind(schema: Schema, wanted: Set<string>): boolean {
  const [gvk, ...more] = servedAs(schema);
  return gvk !== undefined && more.length === 0 && wanted.has(gvkId(gvk));
}

function references(schema: Schema): string[] {
  const nested = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  const found = nested.flatMap((one) => (one ? references(one) : []));
  return schema.$ref === undefined ? found : [schema.$ref, ...found];
}

function nameDefinitions(): Map<string, string> {
  const taken = new Map<string, string>();
  const named = new Map<string, string>();
  for (const definition of definitions.keys()) {
    if (FOREIGN[definition] !== undefined) continue;
    const name = NAMES[definition] ?? definition.slice(definition.lastIndexOf('.') + 1);
    const other = taken.get(name);
    if (other) throw new Error(`${definition} and ${other} are both called ${name}: add one of them to NAMES`);
    taken.set(name, definition);
    named.set(definition, name);
  }
  return named;
}

function nameOfKind(gvk: GroupVersionKind): string {
  const definition = rootDefinitions.get(gvkId(gvk));
  const name = definition === undefined ? undefined : names.get(definition);
  if (name === undefined) throw new Error(`no definition for ${gvkId(gvk)}`);
  return name;
}

function header(): string {
  return `// Generated by scripts/generate-builtin.ts from Kubernetes ${RELEASE}. Do not edit.\n`;
}

function renderTypes(): string {
  const blocks = [...names].map(([definition, name]) => {
    const alias = ALIASES[definition];
    if (alias !== undefined) return `export type ${name} = ${alias};\n`;
    return renderInterface(name, definitionIn(definitions, definition));
  });
  const imports = `import type { KubeObject, ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../../object.ts';\n`;
  return `${header()}${usedImports(imports, blocks.join('\n'))}\n${blocks.join('\n')}`;
}

/** An unused import would be an error of the type checker's stricter settings. */
function usedImports(line: string, body: string): string {
  return line.replace(/\{(.*)\}/, (_, list: string) => {
    const used = list.split(',').filter((name) => new RegExp(`\\b${name.trim()}\\b`).test(body));
    return `{${used.join(',').trimEnd()} }`;
  });
}

function renderInterface(name: string, schema: Schema): string {
  // Objects of a kind of their own always have apiVersion and kind; those embedded in others (volume claim templates) need not.
  const isKind = isOwnKind(schema, ownKinds()) && schema.properties?.metadata?.$ref === `${META}.ObjectMeta`;
  const fields = Object.entries(schema.properties ?? {})
    .filter(([field]) => !(isKind && ['apiVersion', 'kind', 'metadata'].includes(field)))
    .map(([field, value]) => {
      const key = /^[A-Za-z_$][\w$]*$/.test(field) ? field : `'${field}'`;
      return `  ${key}${schema.required?.includes(field) ? '' : '?'}: ${typeOf(value)};\n`;
    });
  return `export interface ${name}${isKind ? ' extends KubeObject' : ''} {\n${fields.join('')}}\n`;
}

function ownKinds(): Set<string> {
  return new Set(resources.flatMap((one) => [one, ...one.subresources].map(gvkId)));
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return FOREIGN[schema.$ref] ?? names.get(schema.$ref) ?? 'unknown';
  switch (schema.type) {
    case 'array': {
      const item = typeOf(schema.items ?? {});
      return item.includes('|') ? `(${item})[]` : `${item}[]`;
    }
    case 'object':
      return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : 'unknown'}>`;
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'string':
      // Open-ended: a newer server may know more values.
      return schema.enum ? [...schema.enum.map((value) => `'${value}'`), '(string & {})'].join(' | ') : 'string';
    default:
      return 'unknown';
  }
}

function renderKinds(): string {
  const constants = resources.map((resource) => {
    const name = nameOfKind(resource);
    const fields = [
      ...(['group', 'version', 'kind', 'plural'] as const).map((field) => `${field}: '${resource[field]}'`),
      `scope: '${resource.namespaced ? 'Namespaced' : 'Cluster'}'`,
      ...(resource.subresources.some((one) => one.name === 'status') ? ['hasStatus: true'] : []),
      ...(gvkId(resource) === 'v1 Secret' ? ['sensitive: true'] : []),
    ];
    const constant = `export const ${name} = externalKind<types.${name}>({\n  ${fields.join(',\n  ')},\n});\n`;
    return { name, text: `${constant}export type ${name} = types.${name};\n` };
  });
  const kindNames = new Set(constants.map((one) => one.name));
  const others = [...names.values()].filter((name) => !kindNames.has(name)).sort();
  return [
    `${header()}import { externalKind, type Kind } from '../../kind.ts';\nimport type * as types from './types.ts';\n`,
    ...constants.map((one) => one.text),
    `export const builtinKinds: readonly Kind[] = [\n${constants.map((one) => `  ${one.name},\n`).join('')}];\n`,
    `export type {\n${others.map((name) => `  ${name},\n`).join('')}} from './types.ts';\n`,
  ].join('\n');
}

function renderResources(): string {
  const lines = resources.map((resource) => `  ${JSON.stringify(resource)},\n`);
  const type = `import type { BuiltinResource } from '../resource.ts';\n`;
  return `${header()}${type}\nexport const builtinResources: readonly BuiltinResource[] = [\n${lines.join('')}];\n`;
}

function renderSchemas(): string {
  const lines = [...definitions].map(([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(schema)}`);
  const mark = `"generated":"by scripts/generate-builtin.ts from Kubernetes ${RELEASE}; do not edit"`;
  return `{${mark},\n"definitions":{\n${lines.join(',\n')}\n}}\n`;
}
