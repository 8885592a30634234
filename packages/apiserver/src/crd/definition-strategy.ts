// The server's own changes of a CustomResourceDefinition: names that follow from others, the versions that are stored, and the finalizer
// that keeps a deleted one until its objects are gone. Conditions are the controller's.
import {
  type CustomResourceDefinition,
  checkCrd,
  checkCrdInSteps,
  checkNames,
  type FieldError as SchemaFieldError,
  type UnknownObject,
  type WebhookConversion,
} from '@capstan/kube';
import { type FieldError, fieldInvalid, fieldRequired } from '../errors.ts';
import { equalJson, isObject, type JsonObject, valueAt } from '../json/copy.ts';
import type { Strategy } from '../resources/resource.ts';
import type { Steps } from '../steps.ts';
import { reviewVersions, webhookClient } from '../validation/webhook-rules.ts';
import { approvalProblems } from './api-approval.ts';
import { plainError } from './custom-resource.ts';
import { hasCondition, withCondition } from './definition-conditions.ts';
import { formatWarnings } from './format-warnings.ts';
import { writtenVersion } from './written-schema.ts';

export const CRD_STORAGE_KEY = 'apiextensions.k8s.io/customresourcedefinitions';
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

export function definitionStrategy(now: () => string): Partial<Strategy> {
  const content = createContentChecks();
  return {
    prepareCreate: (object) => ({
      ...object,
      status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: storageOf(object) },
    }),
    prepareUpdate: (object, old) => withStored(object, old),
    checkInSteps: content.inSteps,
    validate: (object, old) => problemsOf(object, old, content.errorsOf),
    warnings: formatWarnings,
    markDeleted: (object, at) => marked(object, at, now),
  };
}

/** Fills in the optional fields of a definition. */
export function defaultDefinition(given: UnknownObject): UnknownObject {
  const object = withStoredVersion(withTimes(given));
  if (!isObject(object['spec'])) return object;
  // Go leaves out false values.
  const { preserveUnknownFields, ...others } = object['spec'];
  const spec: JsonObject = preserveUnknownFields ? object['spec'] : others;
  const conversion = spec['conversion'] ?? { strategy: 'None' };
  const versions = Array.isArray(spec['versions']) ? { versions: spec['versions'].map(writtenVersion) } : {};
  if (!isObject(spec['names'])) return { ...object, spec: { ...spec, conversion, ...versions } };
  const { kind = '', singular, listKind, ...more } = spec['names'] as Record<string, unknown>;
  if (typeof kind !== 'string') return object;
  const names: Record<string, unknown> = {
    ...more,
    kind,
    ...((singular || kind) && { singular: singular || kind.toLowerCase() }),
    ...((listKind || kind) && { listKind: listKind || `${kind}List` }),
  };
  for (const field of ['shortNames', 'categories']) {
    if (Array.isArray(names[field]) && names[field].length === 0) delete names[field];
  }
  return { ...object, spec: { ...spec, conversion, names, ...versions } };
}

/** A status without stored versions has the version that is stored now. Go writes the names and conditions of a status that has none. */
function withStoredVersion(object: UnknownObject): UnknownObject {
  const none = { conditions: null, acceptedNames: { plural: '', kind: '' } };
  const status: JsonObject = isObject(object['status']) ? object['status'] : none;
  const { storedVersions } = status;
  const isGiven = storedVersions !== undefined && !(Array.isArray(storedVersions) && storedVersions.length === 0);
  const versions = valueAt(object, ['spec', 'versions']);
  if (isGiven || !Array.isArray(versions)) return object;
  const stored: unknown = versions.find((one: unknown) => isObject(one) && one['storage'] === true);
  const name = valueAt(stored, ['name']);
  return typeof name === 'string' ? { ...object, status: { ...status, storedVersions: [name] } } : object;
}

/** Go writes the time of a condition even when there is none. */
function withTimes(object: UnknownObject): UnknownObject {
  const conditions = valueAt(object, ['status', 'conditions']);
  if (!Array.isArray(conditions) || conditions.length === 0) return object;
  const timed = (conditions as unknown[]).map((one) =>
    isObject(one) && one['lastTransitionTime'] === undefined ? { ...one, lastTransitionTime: null } : one,
  );
  return { ...object, status: { ...(object['status'] as object), conditions: timed } };
}

export function isDefinition(object: unknown): object is CustomResourceDefinition {
  const spec = valueAt(object, ['spec']);
  if (!isObject(spec) || !isObject(spec['names']) || !Array.isArray(spec['versions'])) return false;
  const { names } = spec as { names: Record<string, unknown> };
  return typeof spec['group'] === 'string' && typeof names['plural'] === 'string' && typeof names['kind'] === 'string';
}

export const isEstablished = (crd: CustomResourceDefinition) => hasCondition(crd, 'Established');

function storageOf(object: UnknownObject): string[] {
  const versions = valueAt(object, ['spec', 'versions']);
  const list: readonly unknown[] = Array.isArray(versions) ? versions : [];
  const found = list.find((one) => isObject(one) && one['storage'] === true);
  return isObject(found) && typeof found['name'] === 'string' ? [found['name']] : [];
}

function withStored(object: UnknownObject, old: UnknownObject): UnknownObject {
  const status = (old['status'] ?? {}) as { storedVersions?: string[] };
  const storedVersions = [...new Set([...(status.storedVersions ?? []), ...storageOf(object)])];
  return { ...object, status: { ...status, storedVersions } };
}

/** The first deletion is recorded in the status, and waits for the objects of the kind, whatever options it has. */
function marked(object: UnknownObject, at: string, now: () => string): UnknownObject {
  const finalizers = object.metadata.finalizers ?? [];
  const held = finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER];
  const metadata = { ...object.metadata, finalizers: held, deletionTimestamp: at };
  const message = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon';
  return withCondition({ ...object, metadata }, 'Terminating', 'True', 'InstanceDeletionPending', message, now());
}

/** An answer lists fewer errors. */
const MAX_ERRORS = 2_000;

/**
 * Checks the content of definitions: in steps, because their rules take up to some seconds to compile, and validation reads the errors. A
 * stored spec is valid, so a change of the status or the metadata does not check it again.
 */
function createContentChecks() {
  const checked = new WeakMap<object, { readonly name: string | undefined; readonly errors: SchemaFieldError[] }>();
  return {
    *inSteps(object: UnknownObject, old: UnknownObject | undefined): Steps<void> {
      const { spec } = object;
      if (!isObject(spec) || isSame(spec, old?.['spec'])) return;
      try {
        const errors = yield* checkCrdInSteps(object as unknown as CustomResourceDefinition, MAX_ERRORS);
        checked.set(spec, { name: object.metadata.name, errors });
      } catch {
        // Values that no definition may have, such as null for a schema: validation refuses them before it reads the content.
      }
    },
    errorsOf(crd: CustomResourceDefinition, old: CustomResourceDefinition | undefined): readonly SchemaFieldError[] {
      if (isSame(crd.spec, old?.spec)) return [];
      const known = checked.get(crd.spec);
      checked.delete(crd.spec);
      return known && known.name === crd.metadata.name ? known.errors : checkCrd(crd);
    },
  };
}

const isSame = (spec: object, old: unknown) => old !== undefined && (spec === old || equalJson(spec, old));

function problemsOf(
  object: UnknownObject,
  old: UnknownObject | undefined,
  contentErrors: ReturnType<typeof createContentChecks>['errorsOf'],
): FieldError[] {
  const crd = (isObject(object['spec']) ? object : { ...object, spec: {} }) as unknown as CustomResourceDefinition;
  const before = old as CustomResourceDefinition | undefined;
  // The name of an existing object has been checked.
  const errors = contentErrors(crd, before)
    .filter(({ field }) => !(before && field === 'metadata.name'))
    .map(plainError);
  const { generateName = '' } = crd.metadata;
  const name = `${crd.spec.names?.plural ?? ''}.${crd.spec.group ?? ''}`;
  if (!before && generateName !== '' && generateName !== name) {
    errors.unshift(fieldInvalid('metadata.generateName', generateName, 'must be spec.names.plural+"."+spec.group'));
  }
  errors.push(...conversionProblems(crd));
  if (before && isDefinition(before)) errors.push(...immutableProblems(crd, before));
  errors.push(...checkNames(crd.status?.acceptedNames ?? {}, 'status.acceptedNames').map(plainError));
  errors.push(...storedProblems(crd), ...approvalProblems(crd, before));
  return errors;
}

/** Returns the problems of a conversion webhook; it has been checked that others have none. */
function conversionProblems({ spec: { conversion } }: CustomResourceDefinition): FieldError[] {
  if (conversion?.strategy !== 'Webhook') return [];
  const errors: FieldError[] = [];
  const at = 'spec.conversion.webhookClientConfig';
  const { clientConfig, conversionReviewVersions = [] } = (conversion.webhook ?? {}) as Partial<WebhookConversion>;
  if (!clientConfig) errors.push(fieldRequired(at, 'required when strategy is set to Webhook'));
  else webhookClient(errors, at, clientConfig);
  reviewVersions(errors, 'spec.conversion.conversionReviewVersions', conversionReviewVersions, '');
  return errors;
}

function immutableProblems({ spec }: CustomResourceDefinition, old: CustomResourceDefinition): FieldError[] {
  const fields: [field: string, after: unknown, before: unknown][] = [
    ...(isEstablished(old)
      ? ([
          ['scope', spec.scope, old.spec.scope],
          ['names.kind', spec.names?.kind, old.spec.names.kind],
        ] as [string, unknown, unknown][])
      : []),
    ['group', spec.group, old.spec.group],
    ['names.plural', spec.names?.plural, old.spec.names.plural],
  ];
  return fields
    .filter(([, after, before]) => (after ?? '') !== before)
    .map(([field, after]) => fieldInvalid(`spec.${field}`, after ?? '', 'field is immutable'));
}

function storedProblems({ spec, status }: CustomResourceDefinition): FieldError[] {
  const stored = status?.storedVersions ?? [];
  const field = 'status.storedVersions';
  if (stored.length === 0) return [fieldInvalid(field, undefined, 'must have at least one stored version')];
  const names = new Set((spec.versions ?? []).map(({ name }) => name));
  // A name that comes twice is not found a second time.
  const left = new Set(stored);
  const missing = (spec.versions ?? []).filter(({ name, storage }) => !left.delete(name) && storage);
  return [
    ...missing.map(({ name }) => fieldInvalid(field, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((one, index) => {
      if (names.has(one)) return [];
      const detail = `missing from spec.versions; ${one} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${one} and removes ${one} from status.storedVersions`;
      return [fieldInvalid(`${field}[${index}]`, one, detail)];
    }),
  ];
}
