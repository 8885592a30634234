import type { UnknownObject } from '@capstan/kube';
import { badRequest } from '../errors.ts';
import { copyJson, isObject } from '../json/copy.ts';
import { metaTypeProblem } from '../resources/object-meta.ts';
import { apiVersionOf } from '../resources/resource.ts';
import type { WriteOptions } from './options.ts';
import type { Target } from './target.ts';

/** What a write answers besides the object. */
export interface Warnings {
  add(text: string): void;
}

/**
 * A request's body as an object of the target's kind: a copy of its own, in the target's version and namespace, pruned to
 * the schema and with defaults. Whoever sent it may go on changing what he holds.
 */
export function decodeObject(target: Target, body: unknown, options: WriteOptions, warnings: Warnings): UnknownObject {
  const object = checkedObject(target, copyJson(body));
  return normaliseObject(target, object, options, warnings);
}

/** The same for a value that is ours already (a patch's result). */
export function normaliseObject(
  target: Target,
  object: UnknownObject,
  options: WriteOptions,
  warnings: Warnings,
): UnknownObject {
  const { object: normal, unknown } = target.version.normalise(object);
  const complaints = [...unknown.map((path) => `unknown field ${JSON.stringify(path)}`), ...(options.complaints ?? [])];
  if (complaints.length > 0 && options.fieldValidation !== 'Ignore') {
    if (options.fieldValidation === 'Strict') throw strictError(target, complaints);
    for (const complaint of complaints) warnings.add(complaint);
  }
  return normal;
}

/** Sees that a value is an object of the target's kind and place. */
export function checkedObject(target: Target, body: unknown): UnknownObject {
  const { resource, version } = target;
  const apiVersion = apiVersionOf(resource, version.name);
  if (!isObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  if (resource.custom && (typeof body['kind'] !== 'string' || body['kind'] === '')) {
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(body)}'`);
  }
  const kind = body['kind'] ?? resource.kind;
  const given = body['apiVersion'] ?? apiVersion;
  if (given !== apiVersion) {
    throw badRequest(
      `the API version in the data (${textOf(given)}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (kind !== resource.kind) {
    throw badRequest(
      `${textOf(kind)} in version ${JSON.stringify(version.name)} cannot be handled as a ${resource.kind}: the kinds differ`,
    );
  }
  const problem = version.typeProblem ? version.typeProblem(body) : metaTypeProblem(body['metadata']);
  if (problem) {
    throw badRequest(
      `${resource.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${resource.kind}: ${problem}`,
    );
  }
  const metadata = placeOf(target, withoutNulls(isObject(body['metadata']) ? body['metadata'] : {}));
  return { ...body, apiVersion, kind: resource.kind, metadata };
}

function placeOf({ resource, namespace }: Target, metadata: Record<string, unknown>): Record<string, unknown> {
  const given = (metadata['namespace'] as string | undefined) ?? '';
  if (!resource.namespaced) {
    const { namespace: _, ...rest } = metadata;
    return rest;
  }
  if (given !== '' && given !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return { ...metadata, namespace };
}

// `creationTimestamp: null` is what Go programs send for "not set".
function withoutNulls(metadata: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(metadata)) if (value !== null && key !== 'selfLink') kept[key] = value;
  return kept;
}

function strictError({ resource, version }: Target, complaints: readonly string[]) {
  const text = `strict decoding error: ${complaints.join(', ')}`;
  if (resource.custom) return badRequest(text);
  return badRequest(
    `${resource.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${resource.kind}: ${text}`,
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
