// What the server itself writes into a CustomResourceDefinition: names that follow from others, conditions, the finalizer
// that keeps it until its objects are gone.
import { type Condition, type CustomResourceDefinition, checkCrd, type UnknownObject } from '@capstan/kube';
import { type FieldError, fieldInvalid } from '../errors.ts';
import { isObject, valueAt } from '../json/copy.ts';
import type { Registry } from '../resources/registry.ts';
import type { Strategy } from '../resources/resource.ts';
import { plainError } from './custom-resource.ts';

export const CRD_STORAGE_KEY = 'apiextensions.k8s.io/customresourcedefinitions';
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

export function definitionStrategy(registry: Registry, now: () => string): Partial<Strategy> {
  const accept = (object: UnknownObject, old: UnknownObject | undefined): UnknownObject => {
    // A definition that is not one is told so by validate.
    if (!isDefinition(object)) return object;
    return {
      ...object,
      status: statusOf(object, old as CustomResourceDefinition | undefined, registry, now),
    };
  };
  return {
    prepareCreate: (object) => {
      const finalizers = [
        ...(object.metadata.finalizers ?? []).filter((one) => one !== CLEANUP_FINALIZER),
        CLEANUP_FINALIZER,
      ];
      return accept({ ...object, metadata: { ...object.metadata, finalizers } }, undefined);
    },
    prepareUpdate: accept,
    validate,
  };
}

/** Fills in what a definition may leave out. */
export function defaultDefinition(object: UnknownObject): UnknownObject {
  const { spec } = object;
  if (!isObject(spec) || !isObject(spec['names']) || typeof spec['names']['kind'] !== 'string') return object;
  const { kind } = spec['names'] as { kind: string };
  const names = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...spec['names'] };
  return { ...object, spec: { conversion: { strategy: 'None' }, ...spec, names } };
}

export function isDefinition(object: unknown): object is CustomResourceDefinition {
  const spec = valueAt(object, ['spec']);
  if (!isObject(spec) || !isObject(spec['names']) || !Array.isArray(spec['versions'])) return false;
  const { names } = spec as { names: Record<string, unknown> };
  return typeof spec['group'] === 'string' && typeof names['plural'] === 'string' && typeof names['kind'] === 'string';
}

export function isEstablished(crd: CustomResourceDefinition): boolean {
  return crd.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
}

function validate(object: UnknownObject, old: UnknownObject | undefined): FieldError[] {
  if (!isDefinition(object)) {
    return [fieldInvalid('spec', object['spec'], 'must have group, scope, names with plural and kind, and versions')];
  }
  const errors = checkCrd(object).map(plainError);
  if (object.spec.conversion?.strategy === 'Webhook') {
    const detail = 'the embedded server converts between versions by name only: use None';
    errors.push(fieldInvalid('spec.conversion.strategy', 'Webhook', detail));
  }
  if (old && isDefinition(old)) {
    for (const field of ['group', 'scope'] as const) {
      if (object.spec[field] !== old.spec[field]) {
        errors.push(fieldInvalid(`spec.${field}`, object.spec[field], 'field is immutable'));
      }
    }
    for (const field of ['plural', 'kind'] as const) {
      if (object.spec.names[field] !== old.spec.names[field]) {
        errors.push(fieldInvalid(`spec.names.${field}`, object.spec.names[field], 'field is immutable'));
      }
    }
  }
  return errors;
}

function statusOf(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  registry: Registry,
  now: () => string,
): Record<string, unknown> {
  const taken = conflictOf(crd, registry);
  const condition = (type: string, ok: boolean, reason: string, message: string): Condition => {
    const status = ok ? 'True' : 'False';
    const before = old?.status?.conditions?.find((one) => one.type === type);
    const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now()) : now();
    return { type, status, lastTransitionTime, reason, message };
  };
  const storage = crd.spec.versions.find((one) => one.storage)?.name;
  const stored = new Set(old?.status?.storedVersions ?? []);
  if (storage !== undefined) stored.add(storage);
  const deleting = (old?.status?.conditions ?? []).filter(({ type }) => type === 'Terminating');
  return {
    conditions: [
      taken
        ? condition('NamesAccepted', false, taken.reason, taken.message)
        : condition('NamesAccepted', true, 'NoConflicts', 'no conflicts found'),
      taken
        ? condition('Established', false, 'NotAccepted', 'not all names are accepted')
        : condition('Established', true, 'InitialNamesAccepted', 'the initial names have been accepted'),
      ...deleting,
    ],
    acceptedNames: taken ? (old?.status?.acceptedNames ?? { plural: '', kind: '' }) : crd.spec.names,
    storedVersions: [...stored],
  };
}

/** Which of its names another resource of the group has already. */
function conflictOf(
  { spec }: CustomResourceDefinition,
  registry: Registry,
): { reason: string; message: string } | undefined {
  const { group, names } = spec;
  for (const other of registry.all()) {
    if (other.group !== group || other.plural === names.plural) continue;
    const inUse = (what: string, name: string) => ({
      reason: `${what}Conflict`,
      message: `${JSON.stringify(name)} is already in use`,
    });
    const words = new Set([other.plural, other.singular, ...other.shortNames]);
    if (words.has(names.plural)) return inUse('Plural', names.plural);
    if (names.singular !== undefined && words.has(names.singular)) return inUse('Singular', names.singular);
    const short = names.shortNames?.find((one) => words.has(one));
    if (short !== undefined) return inUse('ShortNames', short);
    if (names.kind === other.kind || names.kind === other.listKind) return inUse('Kind', names.kind);
  }
  return undefined;
}
