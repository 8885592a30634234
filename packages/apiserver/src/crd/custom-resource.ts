import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionVersion,
  compileDefaults,
  type EvaluateRule,
  hasRules,
  type JsonSchema,
  type ObjectMeta,
  objectValidator,
  prune,
  type FieldError as SchemaFieldError,
  type UnknownObject,
  validateRules,
} from '@capstan/kube';
import type { SchemaSource, TypeCompiler } from '../apply/type-schema.ts';
import { dropUnknown } from '../apply/unknown-fields.ts';
import type { Defaults } from '../defaults/fill.ts';
import type { FieldError } from '../errors.ts';
import { type JsonObject, valueAt } from '../json/copy.ts';
import { sorted } from '../json/sorted.ts';
import { subdomain } from '../resources/names.ts';
import {
  type Resource,
  type ResourceVersion,
  renamed,
  type ScalePaths,
  type Strategy,
  type Subresource,
} from '../resources/resource.ts';
import { customPrinter } from '../table/custom-printer.ts';
import type { Conversions } from './conversion.ts';
import { hasCondition } from './definition-conditions.ts';
import { evaluateInSteps } from './stepped-rules.ts';
import { compareVersions } from './version-order.ts';

export interface CustomResourceOptions {
  compiler: TypeCompiler;
  /** Evaluates CEL rules; without it they are not enforced. */
  evaluateRule: EvaluateRule | undefined;
  /** Writes metadata as Go does: without empty values. */
  meta: Defaults;
  /** Returns the problem of the types of metadata. */
  metaProblem: (metadata: unknown) => string | undefined;
  /** Conversion webhooks of definitions that have one. */
  conversions: Pick<Conversions, 'of'>;
}

/** The resource that a definition describes. Without a webhook its versions differ in name and schema only (conversion None). */
export function customResource(crd: CustomResourceDefinition, options: CustomResourceOptions): Resource {
  const { group, names, scope, versions } = crd.spec;
  const singular = names.singular ?? names.kind.toLowerCase();
  return {
    group,
    plural: names.plural,
    singular,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: scope === 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    versions: [...versions]
      .sort((a, b) => compareVersions(a.name, b.name))
      .map((version) => versionOf(crd, version, options)),
    storageVersion: versions.find(({ storage }) => storage)?.name ?? '',
    storageKey: `${group}/${names.plural}`,
    custom: true,
    strategy: CUSTOM,
    ...(hasCondition(crd, 'Terminating') && { terminating: true }),
  };
}

const CUSTOM: Strategy = {
  validateName: subdomain,
  allowsUnconditionalUpdate: false,
  allowsCreateOnUpdate: false,
  countsGeneration: true,
};

function versionOf(
  crd: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { compiler, evaluateRule, meta, metaProblem, conversions }: CustomResourceOptions,
): ResourceVersion {
  const { group, names } = crd.spec;
  // The definition was checked when it was written: its schema is structural.
  const schema = (version.schema?.openAPIV3Schema ?? { type: 'object' }) as JsonSchema;
  const validate = objectValidator(schema, { apiVersion: `${group}/${version.name}`, kind: names.kind });
  const fill = compileDefaults(schema);
  const ruled = evaluateRule !== undefined && hasRules(schema) ? evaluateRule : undefined;
  const evaluated = new WeakMap<UnknownObject, { old: UnknownObject | undefined; evaluate: EvaluateRule }>();
  /** Returns the evaluator of an object's rules, whose outcomes may be known already. */
  const evaluatorOf = (object: UnknownObject, old: UnknownObject | undefined): EvaluateRule | undefined => {
    const known = evaluated.get(object);
    evaluated.delete(object);
    return known && known.old === old ? known.evaluate : evaluateRule;
  };
  const validateStatus = objectValidator(schema.properties?.['status'] ?? { type: 'object' });
  const stored = crd.spec.versions.find((one) => one.storage) ?? version;
  const storage = (stored.schema?.openAPIV3Schema ?? { type: 'object' }) as JsonSchema;
  const fillStored = compileDefaults(storage);
  const fillApplied = compileDefaults(schema, { keepsNulls: true });
  // An object that was stored before the schema had a default gets it when it is read: from the stored version, whatever version was
  // requested.
  const whole = (object: UnknownObject) => fillStored(renamed({ group }, stored.name, object)) as UnknownObject;
  const converter = conversions.of(crd);
  const shown = (object: UnknownObject) =>
    fill(converter?.(object, `${group}/${version.name}`) ?? object) as UnknownObject;
  const kept = (object: UnknownObject) => converter?.(object, `${group}/${stored.name}`) ?? object;
  const metaType = compiler.definition(OBJECT_META);
  const pruneMeta = (metadata: unknown, path: string, dropped: string[]) =>
    dropUnknown(metaType, metadata, path, dropped);
  const scale = scaleOf(version);
  const warning = version.deprecationWarning ?? deprecationOf(crd, version.name);
  return {
    name: version.name,
    served: version.served,
    ...(version.deprecated === true && { deprecationWarning: warning }),
    hasStatus: version.subresources?.status !== undefined,
    ...(scale && { scale }),
    subresources: subresourcesOf(crd, version),
    type: compiler.compile(withMetadata(schema)),
    openApi: { definition: undefined, schema },
    printer: customPrinter(version.additionalPrinterColumns),
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, '')),
    ...(converter && { isConverted: true }),
    convert: converter ? shown : (object) => renamed({ group }, version.name, whole(object)),
    // Fields that the stored version does not know are not kept, nor is the order of fields.
    toStored: (object) => sorted(whole(prune(storage, kept(object), { isResource: true }).value)),
    typeProblem: (body) => metaProblem((body as { metadata?: unknown }).metadata),
    // A null in the applied or resulting object is kept.
    settleApplied(object) {
      const { value } = prune(schema, object, { isResource: true, metadata: pruneMeta });
      const filled = fillApplied(value) as UnknownObject;
      return { ...filled, metadata: meta({ ...filled.metadata }) };
    },
    normalise(object) {
      const { value, dropped } = prune(schema, object, { isResource: true, metadata: pruneMeta });
      const filled = fill(value) as UnknownObject;
      const metadata = meta(filled.metadata as JsonObject) as ObjectMeta;
      return { object: metadata === filled.metadata ? filled : { ...filled, metadata }, unknown: dropped };
    },
    validate(object, old, subresource, found = []) {
      const besides = scale ? scaleProblems(scale, object) : [];
      const evaluator = evaluatorOf(object, old);
      const whole = (more: readonly FieldError[]) =>
        validate(object, old, {
          ...(evaluator && { evaluateRule: evaluator }),
          found: [...found, ...more].map(({ reason }) => ({ type: reason })),
          besides,
        }).map(plainError);
      if (subresource !== 'status') return whole([]);
      // The status is looked at as if it were the whole, and nothing else besides the rules.
      // A status that was cleared has nothing that could be wrong.
      const own = 'status' in object ? validateStatus(object['status'], old?.['status']).map(plainError) : [];
      if (own.length === 0) return whole([]);
      const shown = own.map((error) => ({
        ...error,
        field: error.field === NO_FIELD ? 'status' : `status.${error.field}`,
      }));
      const blocked = whole(own).filter(({ field }) => field === NO_FIELD);
      return [...shown, ...besides.map(plainError), ...blocked.slice(-1)];
    },
    ...(ruled && {
      *evaluateRules(object, old) {
        const walk = (evaluate: EvaluateRule) => void validateRules(schema, object, evaluate, old);
        evaluated.set(object, { old, evaluate: yield* evaluateInSteps(walk, ruled) });
      },
    }),
  };
}

/** Where a served version of higher rank is not deprecated, it is named. */
function deprecationOf({ spec: { group, names, versions } }: CustomResourceDefinition, name: string): string {
  const better = versions
    .filter((one) => one.served && one.deprecated !== true && compareVersions(one.name, name) < 0)
    .sort((a, b) => compareVersions(a.name, b.name))[0];
  const deprecated = `${group}/${name} ${names.kind} is deprecated`;
  return better === undefined ? deprecated : `${deprecated}; use ${group}/${better.name} ${names.kind}`;
}

/** The numbers that the Scale shows must be such. */
function scaleProblems({ spec, status }: ScalePaths, object: UnknownObject): SchemaFieldError[] {
  return [spec, status].flatMap((path): SchemaFieldError[] => {
    const value = valueAt(object, path);
    if (value === undefined) return [];
    const field = `.${path.join('.')}`;
    const invalid = (shown: number, detail: string): SchemaFieldError[] => [
      { type: 'FieldValueInvalid', field, detail, message: `${field}: Invalid value: ${shown}: ${detail}` },
    ];
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      const [text, type] = goValue(value);
      return invalid(0, `${field} accessor error: ${text} is of the type ${type}, expected int64`);
    }
    if (value < 0) return invalid(value, 'should be a non-negative integer');
    return value > MAX_INT32 ? invalid(value, `should be less than or equal to ${MAX_INT32}`) : [];
  });
}

/** The field of an error about the whole value. */
const NO_FIELD = '<nil>';
const MAX_INT32 = 2_147_483_647;

function goValue(value: unknown): [text: string, type: string] {
  if (value === null) return ['<nil>', '<nil>'];
  if (typeof value === 'string') return [value, 'string'];
  if (typeof value === 'number') return [String(value), 'float64'];
  if (typeof value === 'boolean') return [String(value), 'bool'];
  return Array.isArray(value) ? ['[]', '[]interface {}'] : ['map[]', 'map[string]interface {}'];
}

/** The causes of a Status hold the message without the field. */
export function plainError({ type, field, message }: SchemaFieldError): FieldError {
  return { field, reason: type, message: message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message };
}

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

// Metadata has the same type everywhere. A schema may only restrict the name.
function withMetadata(schema: SchemaSource): SchemaSource {
  const properties = {
    ...schema.properties,
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { $ref: OBJECT_META, default: {} },
  };
  return { ...schema, type: 'object', properties };
}

function scaleOf({ subresources }: CustomResourceDefinitionVersion): ScalePaths | undefined {
  const scale = subresources?.scale;
  if (!scale) return undefined;
  const path = (text: string) => text.split('.').filter((part) => part !== '');
  const selector = scale.labelSelectorPath;
  return {
    spec: path(scale.specReplicasPath),
    status: path(scale.statusReplicasPath),
    ...(selector !== undefined && selector !== '' && { selector: path(selector) }),
  };
}

function subresourcesOf({ spec }: CustomResourceDefinition, version: CustomResourceDefinitionVersion): Subresource[] {
  const verbs = ['get', 'patch', 'update'];
  const result: Subresource[] = [];
  if (version.subresources?.scale)
    result.push({ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs });
  if (version.subresources?.status) {
    result.push({ name: 'status', group: spec.group, version: version.name, kind: spec.names.kind, verbs });
  }
  return result;
}
