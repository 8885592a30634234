// OpenAPI v3: an index of documents, one for each group and version, with the schemas of its kinds and the operations that
// kubectl looks for (it refuses to validate unless PATCH declares fieldValidation). The hash in a document's address changes
// with its content, so clients may keep it for ever.
import { createHash } from 'node:crypto';
import { type ApiRequest, type ApiResponse, type BuiltinSchema, publishedSchema } from '@capstan/kube';
import type { Registry } from '../resources/registry.ts';
import type { Resource, ResourceVersion } from '../resources/resource.ts';
import { KUBERNETES_VERSION } from './about.ts';
import { described } from './descriptions.ts';
import { v2Answer } from './open-api-v2.ts';

type Definitions = ReadonlyMap<string, BuiltinSchema>;
type Json = Record<string, unknown>;

// OpenAPI v2 in JSON has the schemas of all kinds and no operations. In protobuf it is the frame of a document without a kind in it:
// kubectl reads it for manifests that are a List, and takes kinds that are not described there for valid; the server validates them
// afterwards.
/** Answers requests under /openapi; undefined for any other path. */
export function createOpenApi(registry: Registry, definitions: Definitions) {
  let made = -1;
  let documents = new Map<string, { body: Json; hash: string }>();
  const current = () => {
    if (made === registry.generation) return documents;
    documents = new Map();
    for (const [path, served] of groupVersions(registry.all())) {
      const body = documentOf(path, served, definitions);
      const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex').toUpperCase().slice(0, 64);
      documents.set(path, { body, hash });
    }
    made = registry.generation;
    return documents;
  };

  let v2: { of: unknown; answer: ApiResponse } | undefined;
  const inV2 = (): ApiResponse => {
    const all = current();
    if (v2?.of !== all) v2 = { of: all, answer: v2Answer([...all.values()].map(({ body }) => body)) };
    return v2.answer;
  };

  return ({ path, accept, headers }: ApiRequest): ApiResponse | undefined => {
    if (path === '/openapi/v2') {
      if ((accept ?? headers?.['accept'] ?? '').includes('protobuf')) return V2;
      const answer = inV2();
      const known = headers?.['if-none-match'];
      return known !== undefined && known === answer.headers['etag']
        ? { status: 304, headers: answer.headers, body: undefined }
        : answer;
    }
    if (!path.startsWith('/openapi/v3')) return undefined;
    const rest = path.slice('/openapi/v3'.length).replace(/^\/|\/$/g, '');
    if (rest !== '') {
      const document = current().get(rest);
      return (
        document && {
          status: 200,
          headers: { 'content-type': 'application/json', etag: `"${document.hash}"` },
          body: document.body,
        }
      );
    }
    const paths = [...current()].map(([name, { hash }]) => [
      name,
      { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` },
    ]);
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: { paths: Object.fromEntries(paths) as Json },
    };
  };
}

/** As Kubernetes' clients ask for it, in protobuf: fields 1 (swagger), 2 (info: title, version) and 8 (paths) of the document. */
const V2: ApiResponse = {
  status: 200,
  headers: { 'content-type': 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf' },
  body: [
    protobufField(1, '2.0'),
    protobufField(2, protobufField(1, 'Kubernetes') + protobufField(2, 'v1')),
    protobufField(8, ''),
  ].join(''),
};

/** One with a length before it; short and of ASCII, so that its bytes are those of the text. */
function protobufField(number: number, content: string): string {
  return String.fromCharCode((number << 3) | 2, content.length) + content;
}

interface Served {
  resource: Resource;
  version: ResourceVersion;
}

function groupVersions(resources: readonly Resource[]): Map<string, Served[]> {
  const result = new Map<string, Served[]>();
  for (const resource of resources) {
    for (const version of resource.versions) {
      if (!version.served) continue;
      const path = resource.group === '' ? `api/${version.name}` : `apis/${resource.group}/${version.name}`;
      result.set(path, [...(result.get(path) ?? []), { resource, version }]);
    }
  }
  return result;
}

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const LIST_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';

function documentOf(path: string, served: readonly Served[], definitions: Definitions): Json {
  const schemas: Json = {};
  const paths: Json = {};
  const include = (name: string) => {
    const definition = definitions.get(name);
    if (!definition || name in schemas) return;
    schemas[name] = publishedSchema(described(name, definition));
    for (const other of referencesOf(definition)) include(other);
  };
  for (const one of served) {
    const name = schemaName(one);
    if (one.version.openApi.schema) {
      schemas[name] = customSchema(one, one.version.openApi.schema as Json);
      include(OBJECT_META);
    } else include(name);
    include(LIST_META);
    schemas[`${name}List`] ??= listSchema(one, name);
    Object.assign(paths, pathsOf(`/${path}`, one, name));
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: `v${KUBERNETES_VERSION}` },
    paths,
    components: { schemas },
  };
}

function referencesOf(schema: BuiltinSchema): string[] {
  const parts = [schema.items, schema.additionalProperties, ...Object.values(schema.properties ?? {})];
  const below = parts.flatMap((part) => (part ? referencesOf(part) : []));
  return schema.$ref === undefined ? below : [schema.$ref, ...below];
}

/** Built-in kinds have theirs; a custom one is named as Kubernetes does: `com.example.v1.Widget`. */
function schemaName({ resource, version }: Served): string {
  const { definition } = version.openApi;
  if (definition !== undefined) return definition;
  return [...resource.group.split('.').reverse(), version.name, resource.kind].join('.');
}

const kindOf = ({ resource, version }: Served) => ({
  group: resource.group,
  version: version.name,
  kind: resource.kind,
});
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function customSchema(served: Served, schema: Json): Json {
  const properties = {
    apiVersion: {
      type: 'string',
      description: 'APIVersion defines which group and version of the schema this object follows.',
    },
    kind: { type: 'string', description: 'What this object is.' },
    ...(schema['properties'] as Json | undefined),
    metadata: {
      allOf: [reference(OBJECT_META)],
      description: 'Names, labels, annotations and what the server adds.',
    },
  };
  return { ...schema, properties, 'x-kubernetes-group-version-kind': [kindOf(served)] };
}

function listSchema(served: Served, name: string): Json {
  return {
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { allOf: [reference(LIST_META)] },
      items: { type: 'array', items: reference(name) },
    },
    'x-kubernetes-group-version-kind': [{ ...kindOf(served), kind: served.resource.listKind }],
  };
}

const query = (name: string, type = 'string') => ({ name, in: 'query', schema: { type, uniqueItems: true } });
const WRITE = [query('dryRun'), query('fieldManager'), query('fieldValidation')];
const SELECT = [query('labelSelector'), query('fieldSelector'), query('limit', 'integer'), query('continue')];
const segment = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } });

function pathsOf(prefix: string, served: Served, name: string): Json {
  const { resource, version } = served;
  const place = resource.namespaced ? `${prefix}/namespaces/{namespace}` : prefix;
  const above = resource.namespaced ? [segment('namespace')] : [];
  const operation = (action: string, answer: string, parameters: unknown[], body?: string[]) => ({
    parameters,
    ...(body && { requestBody: { content: content(body, name) } }),
    responses: { 200: { description: 'OK', content: content(['application/json'], answer) } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': kindOf(served),
  });
  const one = {
    parameters: [...above, segment('name')],
    get: operation('get', name, []),
    put: operation('put', name, WRITE, ['application/json']),
    patch: operation(
      'patch',
      name,
      [...WRITE, query('force', 'boolean')],
      isCustom(version) ? PATCHES : BUILTIN_PATCHES,
    ),
    delete: operation('delete', name, [
      query('dryRun'),
      query('propagationPolicy'),
      query('gracePeriodSeconds', 'integer'),
    ]),
  };
  const collection = {
    parameters: above,
    get: operation('list', `${name}List`, SELECT),
    post: operation('post', name, WRITE, ['application/json']),
    delete: operation('deletecollection', name, [query('dryRun'), ...SELECT]),
  };
  const result: Json = { [`${place}/${resource.plural}`]: collection, [`${place}/${resource.plural}/{name}`]: one };
  if (resource.namespaced) result[`${prefix}/${resource.plural}`] = { get: operation('list', `${name}List`, SELECT) };
  if (version.hasStatus) {
    const { delete: _, ...writable } = one;
    result[`${place}/${resource.plural}/{name}/status`] = writable;
  }
  return result;
}

const PATCHES = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];
/** kubectl apply reads here which patches it may send: strategic merge patches are for built-in kinds alone. */
const BUILTIN_PATCHES = [...PATCHES, 'application/strategic-merge-patch+json'];

function isCustom(version: Served['version']): boolean {
  return version.openApi.definition === undefined;
}

function content(types: readonly string[], name: string): Json {
  return Object.fromEntries(types.map((type) => [type, { schema: reference(name) }]));
}
