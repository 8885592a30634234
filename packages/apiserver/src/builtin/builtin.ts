// The built-in resources, created from the generated tables. Behaviour that a table cannot express is in strategies.ts.
import {
  type BuiltinResource,
  type BuiltinSchema,
  builtinResources,
  definitionOf,
  loadBuiltinSchemas,
  type UnknownObject,
} from '@capstan/kube';
import { createTypeCompiler, type TypeCompiler, type TypeSchema } from '../apply/type-schema.ts';
import { dropUnknown } from '../apply/unknown-fields.ts';
import { createDefaulter } from '../defaults/compile.ts';
import type { Defaults } from '../defaults/fill.ts';
import { loadGoFields } from '../defaults/go-fields.ts';
import { kindDefaults } from '../defaults/kind-defaults.ts';
import { podDefaults } from '../defaults/pod-defaults.ts';
import { isObject } from '../json/copy.ts';
import { eventsFace } from '../resources/event-faces.ts';
import type { Resource, ResourceVersion, Subresource } from '../resources/resource.ts';
import { jsonType } from '../rest/decode.ts';
import { builtinPrinter } from '../table/builtin-printers.ts';
import { builtinValidation } from '../validation/builtin-validation.ts';
import { typeProblem } from '../validation/go-types.ts';
import { withClusterIPs } from './service-addresses.ts';
import { builtinDefaults, builtinScale, builtinSelectableFields, builtinStrategy } from './strategies.ts';

export interface BuiltinTypes {
  /** For the schemas of custom resources, whose metadata is the built-in one. */
  customCompiler: TypeCompiler;
  /** Writes metadata as Go does, for custom resources. */
  meta: Defaults;
  metaProblem: (metadata: unknown) => string | undefined;
  resources: readonly Resource[];
  definitions: ReadonlyMap<string, BuiltinSchema>;
}

/** Loads tables and schemas; the schemas are shared by everything that is made from them, so once a process is enough. */
export function loadBuiltins(): BuiltinTypes {
  const schemas = loadBuiltinSchemas();
  const goFields = loadGoFields();
  const compiler = createTypeCompiler(schemas, goFields);
  const defaulter = createDefaulter(schemas, { ...podDefaults, ...kindDefaults }, goFields);
  const settler = createDefaulter(schemas, {}, goFields, true);
  const meta = defaulter(OBJECT_META) ?? ((value) => value);
  // Definitions of custom resources say everything about their defaults themselves.
  const settledMeta: Defaults = (object) =>
    isObject(object['metadata']) ? { ...object, metadata: meta(object['metadata']) } : object;
  const built = (one: BuiltinResource): Resource => {
    const definition = definitionOf(schemas, one);
    if (definition === undefined) return resourceOf(one, schemas, undefined, undefined, undefined, undefined);
    const fill = one.group === 'apiextensions.k8s.io' ? settledMeta : defaulter(definition);
    const settle = one.group === 'apiextensions.k8s.io' ? undefined : settler(definition);
    return resourceOf(one, schemas, definition, compiler.definition(definition), fill, settle);
  };
  return {
    customCompiler: createTypeCompiler(schemas),
    meta,
    metaProblem: (metadata) => metadataProblem(schemas, metadata),
    resources: builtinResources.map((one) => withBodies(built(one), built)),
    definitions: schemas,
  };
}

/** Subresources that are written and never stored as they are; they are read as any other object. */
const WRITTEN = new Set(['binding', 'eviction', 'scale', 'token']);

function withBodies(resource: Resource, built: (one: BuiltinResource) => Resource): Resource {
  const withBody = (one: Subresource): Subresource => {
    if (!WRITTEN.has(one.name)) return one;
    const names = { plural: one.name, singular: one.name, shortNames: [], categories: [], subresources: [] };
    const body = built({ ...one, ...names, namespaced: true });
    const [version] = body.versions;
    return version ? { ...one, body: { resource: body, version } } : one;
  };
  const versions = resource.versions.map((one) => ({ ...one, subresources: one.subresources.map(withBody) }));
  return { ...resource, versions };
}

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

function metadataProblem(schemas: ReadonlyMap<string, BuiltinSchema>, metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  if (isObject(metadata)) return typeProblem(schemas, OBJECT_META, metadata);
  return `json: cannot unmarshal ${jsonType(metadata)} into Go value of type v1.ObjectMeta`;
}

function resourceOf(
  builtin: BuiltinResource,
  schemas: ReadonlyMap<string, BuiltinSchema>,
  definition: string | undefined,
  type: TypeSchema | undefined,
  fill: Defaults | undefined,
  settle: Defaults | undefined,
): Resource {
  const id = builtin.group === '' ? builtin.plural : `${builtin.plural}.${builtin.group}`;
  const scale = builtin.subresources.some(({ name }) => name === 'scale') ? builtinScale : undefined;
  const isEventsFace = id === 'events.events.k8s.io';
  const validate = builtinValidation(id);
  const validateStatus = builtinValidation(`${id}/status`);
  const version: ResourceVersion = {
    name: builtin.version,
    served: true,
    ...(DEPRECATED[id] !== undefined && { deprecationWarning: DEPRECATED[id] }),
    emptyStatus: fill?.({})['status'],
    hasStatus: builtin.subresources.some(({ name }) => name === 'status'),
    ...(scale && { scale }),
    subresources: builtin.subresources.filter(
      ({ name }) => SERVED_SUBRESOURCES.has(name) || (name === 'proxy' && PROXIED.has(id)),
    ),
    type,
    openApi: { definition },
    printer: builtinPrinter(id),
    selectableFields: builtinSelectableFields[id] ?? [],
    normalise: normaliser(type, builtinDefaults[id], fill),
    validate: (object, old, subresource) =>
      subresource === '' ? validate(object, old) : subresource === 'status' ? validateStatus(object, old) : [],
    ...(settle &&
      !isEventsFace && {
        toStored: (object) => (id === 'services' ? withClusterIPs : asIs)(settle(object) as UnknownObject),
      }),
    ...(definition !== undefined && { typeProblem: (body) => typeProblem(schemas, definition, body) }),
  };
  return {
    group: builtin.group,
    plural: builtin.plural,
    singular: builtin.singular,
    kind: builtin.kind,
    listKind: `${builtin.kind}List`,
    shortNames: builtin.shortNames,
    categories: builtin.categories,
    namespaced: builtin.namespaced,
    verbs: builtin.verbs,
    versions: [isEventsFace ? eventsFace(version, builtinPrinter('events')) : version],
    storageVersion: builtin.version,
    storageKey: isEventsFace ? '/events' : `${builtin.group}/${builtin.plural}`,
    custom: false,
    strategy: builtinStrategy(id),
  };
}

const asIs = (object: UnknownObject) => object;

const DEPRECATED: Readonly<Record<string, string>> = {
  endpoints: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
};

const SERVED_SUBRESOURCES = new Set([
  'attach',
  'exec',
  'portforward',
  'status',
  'scale',
  'finalize',
  'token',
  'binding',
  'eviction',
  'log',
]);

/** Nodes are none of them: they are this machine. */
const PROXIED = new Set(['pods', 'services']);

function normaliser(
  type: TypeSchema | undefined,
  special: ((object: UnknownObject) => UnknownObject) | undefined,
  fill: Defaults | undefined,
) {
  return (given: UnknownObject) => {
    const unknown: string[] = [];
    const known = type ? (dropUnknown(type, given, '', unknown) as UnknownObject) : given;
    const object = special?.(known) ?? known;
    return { object: (fill?.(object) as UnknownObject | undefined) ?? object, unknown };
  };
}
