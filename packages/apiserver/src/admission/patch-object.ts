import { applyJsonPatch, InvalidValueError, type UnknownObject } from '@capstan/kube';
import type { AdmissionRequest } from '../core.ts';
import { badRequest, internalError } from '../errors.ts';
import { copyJson, equalJson, isObject } from '../json/copy.ts';
import type { ResourceVersion } from '../resources/resource.ts';
import type { Webhook } from './webhook.ts';

/**
 * Returns the object with a webhook's patch, with defaults filled in and unknown fields dropped; undefined if that changes nothing. Fields
 * that only the server sets, and those that the endpoint may not change, stay as they were.
 */
export function patchObject(
  { name }: Webhook,
  { object: before, subresource, resource, operation }: AdmissionRequest,
  version: ResourceVersion,
  patch: string,
): UnknownObject | undefined {
  if (!before) {
    const problem = 'attempted to modify the object, which is not supported for this operation';
    throw internalError(`admission webhook ${JSON.stringify(name)} ${problem}`);
  }
  const patched = apply(before, patch);
  const { apiVersion, kind } = before;
  if (!isObject(patched) || patched['apiVersion'] !== apiVersion || patched['kind'] !== kind) {
    throw internalError(`admission webhook ${JSON.stringify(name)} attempted to make something else of a ${kind}`);
  }
  const given = patched as UnknownObject;
  const metadata = { ...(isObject(given.metadata) ? given.metadata : {}) } as UnknownObject['metadata'];
  if (metadata.namespace !== before.metadata.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  for (const field of DECIDED_HERE) {
    delete metadata[field];
    if (before.metadata[field] !== undefined) Object.assign(metadata, { [field]: before.metadata[field] });
  }
  let after: UnknownObject = { ...given, metadata };
  if (subresource === 'status') {
    const status = after['status'] === undefined ? {} : { status: after['status'] };
    const { status: _, ...rest } = before;
    after = { ...rest, metadata: resource.custom ? before.metadata : metadata, ...status };
  } else if (subresource === undefined && version.hasStatus) {
    const isKept = operation === 'CREATE' && resource.strategy.keepsStatus === true;
    const { status, ...rest } = after;
    const kept = isKept ? status : before['status'];
    after = kept === undefined ? rest : { ...rest, status: kept };
  }
  if (subresource === undefined || subresource === 'status') after = version.normalise(after).object;
  return equalJson(after, before) ? undefined : after;
}

const DECIDED_HERE = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

function apply(object: UnknownObject, patch: string): unknown {
  try {
    // Copy: patches share the parts that they do not change, and stored objects are shared with all readers.
    return copyJson(applyJsonPatch(object, JSON.parse(patch)));
  } catch (error) {
    if (error instanceof InvalidValueError) throw internalError(error.problem);
    if (error instanceof SyntaxError) throw internalError(`the patch is not JSON: ${error.message}`);
    throw error;
  }
}
