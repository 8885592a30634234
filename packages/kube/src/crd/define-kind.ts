// A kind of ours from one schema: its static type, its CustomResourceDefinition, its defaults, its validation and its documentation.
import type { CustomResourceDefinition, CustomResourceSubresourceScale, ValidationRule } from '../builtin/index.ts';
import { createRuleEvaluator } from '../cel/evaluator.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import { integer } from '../schema/builder.ts';
import { compileDefaults } from '../schema/defaults.ts';
import { SchemaErrors } from '../schema/errors.ts';
import type { FieldError } from '../schema/field-error.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../schema/json-schema.ts';
import type { EvaluateRule } from '../schema/rules.ts';
import type { InputOf, Presence, Schema, TypeOf } from '../schema/schema-type.ts';
import { type ObjectValidateOptions, objectValidator } from '../schema/validate-object.ts';
import { type KindAlias, type ResolvedAlias, resolveAliases, viewWith } from './aliases.ts';
import { checkCrd } from './check-crd.ts';
import { type CrdVersion, crdManifest, type PrinterColumn, pluralOf } from './crd.ts';

/** Set by the build of Capstan's programs, whose kinds its tests have checked: a command need not check them at every start. */
declare const CAPSTAN_KINDS_ARE_CHECKED: true | undefined;

/** One served version of a kind. */
export interface VersionDefinition<
  Spec extends Schema | undefined = Schema | undefined,
  Status extends Schema | undefined = Schema | undefined,
  Whole extends Schema | undefined = Schema | undefined,
> {
  spec?: Spec;
  /** `observedGeneration` is added to it. */
  status?: Status;
  /** The top-level fields of a kind that has others than spec and status; excludes both. */
  schema?: Whole;
  /** Rules over the whole object. */
  rules?: ValidationRule[];
  printerColumns?: PrinterColumn[];
  /** Fields, besides name and namespace, by which lists can be filtered: `.spec.class`. */
  selectableFields?: string[];
  subresources?: {
    /** Default: true when there is a status. */
    status?: boolean;
    scale?: CustomResourceSubresourceScale;
  };
  /** Shown to everybody who uses this version. */
  deprecated?: boolean;
  deprecationWarning?: string;
}

export interface OtherVersion extends VersionDefinition {
  name: string;
  /** Default true. */
  served?: boolean;
}

export interface KindDefinition<
  Spec extends Schema | undefined,
  Status extends Schema | undefined,
  Whole extends Schema | undefined,
  Memory extends Schema | undefined,
> extends VersionDefinition<Spec, Status, Whole> {
  group: string;
  /** The version that reconcilers see. */
  version: string;
  kind: string;
  scope: 'Namespaced' | 'Cluster';
  description?: string;
  /** Default: derived from the kind (`CablePolicy` → `cablepolicies`). */
  plural?: string;
  /** Default: the kind in lower case. */
  singular?: string;
  /** Default: the kind and `List`. */
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
  /** Further versions. Objects are not converted between versions: only their apiVersion changes, so the schemas must agree. */
  versions?: OtherVersion[];
  /** The version that is stored. Default: `version`. */
  storageVersion?: string;
  /** Other kinds, groups or versions that are read as this kind. */
  aliases?: KindAlias[];
  /** Brings misplaced or renamed fields of an object to their place; pure, and returns its argument when there is nothing to do. */
  normalise?: (object: JsonObject) => JsonObject;
  /** Bookkeeping of the runtime, kept in `status.memory` and left out of the documentation. */
  memory?: Memory;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface DefinedKind<T extends KubeObject = KubeObject, In extends KubeObject = T> extends Kind<T> {
  readonly description?: string;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** The schema of whole objects of `version`. */
  readonly schema: JsonSchema;
  /** All versions, `version` first. */
  readonly versions: readonly CrdVersion[];
  readonly aliases: readonly ResolvedAlias[];
  /** The manifest; equal definitions give equal bytes. */
  crd(): CustomResourceDefinition;
  /** The object with the defaults of its version's schema: the same reference when nothing was missing. */
  withDefaults(object: T | In): T;
  /**
   * Returns the errors, rules included, for which an API server would refuse the object. `old` is the object before an update. Metadata is
   * not checked.
   */
  validate(object: unknown, old?: unknown, options?: ObjectValidateOptions): FieldError[];
  /** The one form in which reconcilers see an object, whichever alias it was written as: normalised and with defaults; never written back. */
  viewOf(object: KubeObject): T;
}

/** The objects of a kind as they may be written: fields with defaults can be left out. */
export type KindInputOf<K> = K extends DefinedKind<KubeObject, infer In> ? In : never;

type SpecPart<S, T> =
  S extends Schema<unknown, unknown, infer P extends Presence>
    ? 'required' extends P
      ? { spec: T }
      : { spec?: T }
    : unknown;
interface ObservedGeneration {
  observedGeneration?: number;
}
type StatusPart<Status, Memory> = Status extends Schema
  ? { status?: TypeOf<Status> & ObservedGeneration & MemoryPart<Memory> }
  : Memory extends Schema
    ? { status?: ObservedGeneration & MemoryPart<Memory> }
    : unknown;
type MemoryPart<Memory> = Memory extends Schema ? { memory?: TypeOf<Memory> } : unknown;
type WholePart<Whole, T> = Whole extends Schema ? T : unknown;

export type ObjectOf<Spec, Status, Whole, Memory> = KubeObject &
  SpecPart<Spec, TypeOf<Spec>> &
  StatusPart<Status, Memory> &
  WholePart<Whole, TypeOf<Whole>>;
export type ObjectInputOf<Spec, Status, Whole, Memory> = KubeObject &
  SpecPart<Spec, InputOf<Spec>> &
  StatusPart<Status, Memory> &
  WholePart<Whole, InputOf<Whole>>;

/** Defines a kind; throws a SchemaError when no API server would accept its CustomResourceDefinition. */
export function defineKind<
  Spec extends Schema | undefined = undefined,
  Status extends Schema | undefined = undefined,
  Whole extends Schema | undefined = undefined,
  Memory extends Schema | undefined = undefined,
>(
  definition: KindDefinition<Spec, Status, Whole, Memory>,
): DefinedKind<ObjectOf<Spec, Status, Whole, Memory>, ObjectInputOf<Spec, Status, Whole, Memory>> {
  type T = ObjectOf<Spec, Status, Whole, Memory>;
  const { group, version, kind, scope } = definition;
  const apiVersion = `${group}/${version}`;
  const storage = definition.storageVersion ?? version;
  const main = crdVersion(definition, { name: version }, storage);
  const versions = [main, ...(definition.versions ?? []).map((other) => crdVersion(definition, other, storage))];
  const names = {
    plural: definition.plural ?? pluralOf(kind),
    singular: definition.singular ?? kind.toLowerCase(),
    kind,
    listKind: definition.listKind ?? `${kind}List`,
    shortNames: definition.shortNames ?? [],
    categories: definition.categories ?? [],
  };
  const { labels, annotations } = definition;
  const crd = () =>
    crdManifest({ group, scope, names, versions, ...(labels && { labels }), ...(annotations && { annotations }) });
  if (typeof CAPSTAN_KINDS_ARE_CHECKED === 'undefined') {
    const errors = checkCrd(crd());
    if (errors.length > 0) throw SchemaErrors.invalidKind(kind, errors);
  }

  const identity: Kind<T> = {
    group,
    version,
    kind,
    plural: names.plural,
    scope,
    apiVersion,
    hasStatus: main.subresources?.status !== undefined,
  };
  const aliases = resolveAliases(identity, definition.aliases ?? []);
  const ownDefaults = compileDefaults(main.schema);
  const ownValidate = objectValidator(main.schema, identity);
  const others = new Map(
    versions.slice(1).map(({ name, schema }) => {
      const at = { kind, apiVersion: `${group}/${name}` };
      return [at.apiVersion, { defaults: compileDefaults(schema), validate: objectValidator(schema, at) }];
    }),
  );
  // Many kinds are never validated by the program that defines them.
  let rules: EvaluateRule | undefined;
  const ownRules: EvaluateRule = (input) => {
    rules ??= createRuleEvaluator();
    return rules(input);
  };
  return {
    ...identity,
    ...names,
    ...(definition.description !== undefined && { description: definition.description }),
    schema: main.schema,
    versions,
    aliases,
    crd,
    withDefaults: (object) => (others.get(object.apiVersion)?.defaults ?? ownDefaults)(object) as T,
    validate(object, old, options) {
      const other = others.size > 0 && isJsonObject(object) ? others.get(String(object['apiVersion'])) : undefined;
      // A server fills in the defaults first, and rules rely on that.
      const filled = (other?.defaults ?? ownDefaults)(object);
      return (other?.validate ?? ownValidate)(filled, old, { evaluateRule: ownRules, ...options });
    },
    viewOf: (object) => ownDefaults(viewWith(identity, aliases, definition.normalise, object)) as T,
  };
}

type AnyDefinition = KindDefinition<Schema | undefined, Schema | undefined, Schema | undefined, Schema | undefined>;

function crdVersion(definition: AnyDefinition, version: OtherVersion, storage: string): CrdVersion {
  const { kind, description } = definition;
  const { name, served = true } = version;
  // A further version inherits the parts that it does not define.
  const isMain = name === definition.version;
  const own: VersionDefinition = isMain ? definition : version;
  const hasSchema = (own.spec ?? own.status ?? own.schema) !== undefined;
  const parts = hasSchema ? own : definition;
  if (parts.schema && (parts.spec || parts.status)) {
    throw SchemaErrors.inconsistentKind(kind, 'it has both `schema` and `spec` or `status`', 'move them into `schema`');
  }
  const schema = rootSchema(parts, definition.memory, own.rules ?? definition.rules, description);
  const statusEnabled =
    (own.subresources ?? definition.subresources)?.status ?? schema.properties?.['status'] !== undefined;
  const scale = (own.subresources ?? definition.subresources)?.scale;
  return {
    name,
    served,
    storage: name === storage,
    schema,
    ...(own.deprecated && { deprecated: true }),
    ...(own.deprecationWarning !== undefined && { deprecationWarning: own.deprecationWarning }),
    ...((statusEnabled || scale) && {
      subresources: { ...(statusEnabled && { status: {} }), ...(scale && { scale }) },
    }),
    printerColumns: own.printerColumns ?? definition.printerColumns ?? [],
    selectableFields: own.selectableFields ?? definition.selectableFields ?? [],
  };
}

function rootSchema(
  parts: VersionDefinition,
  memory: Schema | undefined,
  rules: ValidationRule[] | undefined,
  description: string | undefined,
): JsonSchema {
  const { spec, status, schema: whole } = parts;
  const statusJson = status || memory ? statusSchema(status?.json, memory?.json) : undefined;
  const required = [...(whole?.json.required ?? []), ...(spec?.presence === 'required' ? ['spec'] : [])];
  const allRules = [...(whole?.json['x-kubernetes-validations'] ?? []), ...(rules ?? [])];
  const { properties: _, required: __, 'x-kubernetes-validations': ___, ...keywords } = whole?.json ?? {};
  return {
    ...keywords,
    type: 'object',
    ...(description !== undefined && { description }),
    properties: {
      apiVersion: { type: 'string', description: 'The group and version of this schema.' },
      kind: { type: 'string', description: 'The kind of the object.' },
      metadata: { type: 'object' },
      ...(spec && { spec: spec.json }),
      ...whole?.json.properties,
      ...(statusJson && { status: statusJson }),
    },
    ...(required.length > 0 && { required }),
    ...(allRules.length > 0 && { 'x-kubernetes-validations': allRules }),
  };
}

function statusSchema(status: JsonSchema | undefined, memory: JsonSchema | undefined): JsonSchema {
  const observedGeneration = integer({
    format: 'int64',
    minimum: 0,
    description: 'The metadata.generation that this status describes.',
  }).json;
  const remembered = { ...memory, description: 'Bookkeeping of the controller; not for people or other programs.' };
  return {
    type: 'object',
    ...status,
    properties: {
      observedGeneration,
      ...status?.properties,
      ...(memory && { memory: remembered }),
    },
  };
}
