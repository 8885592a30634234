import {
  type ObjectMeta,
  type OwnerReference,
  type UnknownObject,
  validateAnnotationKey,
  validateLabelValue,
  validateQualifiedName,
} from '@capstan/kube';
import { boundedErrors } from '../bounded-errors.ts';
import { type FieldError, fieldForbidden, fieldInvalid, fieldRequired } from '../errors.ts';
import { equalJson, isObject } from '../json/copy.ts';
import type { Resource } from './resource.ts';

const LENIENT = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'coordination.k8s.io',
  'policy',
]);
const ANNOTATIONS_LIMIT = 256 * 1024;
const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Returns the errors of the metadata of an object that is to be stored. */
export function validateMeta(resource: Resource, object: UnknownObject): FieldError[] {
  const meta = object.metadata;
  const errors = boundedErrors();
  if (meta.generateName !== undefined && meta.generateName !== '') {
    for (const problem of resource.strategy.validateName(meta.generateName, true)) {
      errors.push(fieldInvalid('metadata.generateName', meta.generateName, problem));
    }
  }
  const name = meta.name ?? '';
  if (name === '') errors.push(fieldRequired('metadata.name', 'name or generateName is required'));
  else {
    for (const problem of resource.strategy.validateName(name, false)) {
      errors.push(fieldInvalid('metadata.name', name, problem));
    }
  }
  validateLabels(meta, errors);
  validateAnnotations(meta, errors);
  validateOwners(meta.ownerReferences ?? [], errors);
  if (meta.finalizers?.includes('orphan') && meta.finalizers.includes('foregroundDeletion')) {
    const detail = 'finalizer orphan and foregroundDeletion cannot be both set';
    errors.push(fieldInvalid('metadata.finalizers', meta.finalizers, detail));
  }
  // Extensions name their finalizers as they like.
  const isOldEvent = resource.group === '' && resource.plural === 'events';
  const strict = !resource.custom && !isOldEvent && !LENIENT.has(resource.group);
  for (const finalizer of meta.finalizers ?? []) {
    for (const problem of validateQualifiedName(finalizer)) {
      errors.push(fieldInvalid('metadata.finalizers', finalizer, problem));
    }
  }
  for (const [index, finalizer] of (strict ? (meta.finalizers ?? []) : []).entries()) {
    if (isUnqualified(finalizer)) errors.push(fieldInvalid(`metadata.finalizers[${index}]`, finalizer, UNQUALIFIED));
  }
  return errors;
}

export const UNQUALIFIED = 'name is neither a standard finalizer name nor is it fully qualified';

export const isUnqualified = (finalizer: string) => !finalizer.includes('/') && !STANDARD_FINALIZERS.has(finalizer);

/** Returns warnings about new finalizers of a custom resource that do not have the recommended form. */
export function finalizerWarnings(object: UnknownObject, old?: UnknownObject): string[] {
  const known = new Set([...STANDARD_FINALIZERS, ...(old?.metadata.finalizers ?? [])]);
  return (object.metadata.finalizers ?? [])
    .filter((one) => !known.has(one) && !one.includes('/'))
    .map((one) => {
      const name = one.includes('.') ? 'finalizer name including a path (/)' : 'finalizer name';
      return `metadata.finalizers: ${JSON.stringify(one)}: prefer a domain-qualified ${name} to avoid accidental conflicts with other finalizer writers`;
    });
}

const IMMUTABLE = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Returns the errors of an update of metadata. */
export function validateMetaUpdate(object: UnknownObject, old: UnknownObject): FieldError[] {
  const errors: FieldError[] = [];
  const next = object.metadata;
  const before = old.metadata;
  for (const field of IMMUTABLE) {
    if (next[field] !== before[field]) {
      errors.push(fieldInvalid(`metadata.${field}`, next[field], 'field is immutable'));
    }
  }
  if (before.deletionTimestamp !== undefined) {
    const known = new Set(before.finalizers ?? []);
    const added = (next.finalizers ?? []).filter((one) => !known.has(one));
    if (added.length > 0) {
      errors.push(
        fieldForbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(', ')}}`,
        ),
      );
    }
  }
  return errors;
}

/** Whether anything of the desired state changed: everything besides metadata and status. */
export function desiredStateChanged(object: UnknownObject, old: UnknownObject): boolean {
  for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (key === 'metadata' || key === 'status' || key === 'apiVersion' || key === 'kind') continue;
    if (!equalJson(object[key], old[key])) return true;
  }
  return false;
}

/** Checks a body's metadata as an ObjectMeta; the caller's decoder reports the wrong type. */
export function metaTypeProblem(meta: unknown): string | undefined {
  if (meta === undefined || meta === null) return undefined;
  if (!isObject(meta)) return 'metadata: Invalid value: must be an object';
  for (const field of ['name', 'generateName', 'namespace', 'uid', 'resourceVersion'] as const) {
    const value = meta[field];
    if (value !== undefined && value !== null && typeof value !== 'string') {
      return `json: cannot unmarshal ${typeof value} into Go struct field ObjectMeta.metadata.${field} of type string`;
    }
  }
  for (const field of ['labels', 'annotations'] as const) {
    const value = meta[field];
    if (value === undefined || value === null) continue;
    if (!isObject(value) || Object.values(value).some((one) => typeof one !== 'string')) {
      return `json: cannot unmarshal into Go struct field ObjectMeta.metadata.${field} of type string`;
    }
  }
  for (const field of ['finalizers', 'ownerReferences', 'managedFields'] as const) {
    const value = meta[field];
    if (value !== undefined && value !== null && !Array.isArray(value)) {
      return `json: cannot unmarshal into Go struct field ObjectMeta.metadata.${field} of type array`;
    }
  }
  return undefined;
}

function validateLabels(meta: ObjectMeta, errors: FieldError[]): void {
  if (!meta.labels) return;
  for (const [key, value] of Object.entries(meta.labels)) {
    for (const problem of validateQualifiedName(key)) errors.push(fieldInvalid('metadata.labels', key, problem));
    for (const problem of validateLabelValue(value)) errors.push(fieldInvalid('metadata.labels', value, problem));
  }
}

function validateAnnotations(meta: ObjectMeta, errors: FieldError[]): void {
  if (!meta.annotations) return;
  let size = 0;
  for (const [key, value] of Object.entries(meta.annotations)) {
    for (const problem of validateAnnotationKey(key)) errors.push(fieldInvalid('metadata.annotations', key, problem));
    size += key.length + value.length;
  }
  if (size > ANNOTATIONS_LIMIT) {
    errors.push({
      field: 'metadata.annotations',
      reason: 'FieldValueTooLong',
      message: `Too long: may not be more than ${ANNOTATIONS_LIMIT} bytes`,
    });
  }
}

function validateOwners(owners: readonly OwnerReference[], errors: FieldError[]): void {
  const at = 'metadata.ownerReferences';
  let controller: string | undefined;
  for (const owner of owners) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[field]) continue;
      const detail = field === 'apiVersion' ? 'version must not be empty' : 'must not be empty';
      errors.push(fieldInvalid(`${at}.${field}`, owner[field] ?? '', detail));
    }
    // Events come and go too often to own anything.
    if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
      errors.push(fieldInvalid(at, owner, '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller !== undefined) {
      const found = `Found "true" in references for ${controller} and ${name}`;
      errors.push(fieldInvalid(at, owners, `Only one reference can have Controller set to true. ${found}`));
    }
    controller ??= name;
  }
}
