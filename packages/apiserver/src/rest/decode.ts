import { builtinResources, type UnknownObject } from '@capstan/kube';
import type { BodySource, Core, RequestContext } from '../core.ts';
import { badRequest, fieldInvalid, invalid, type StatusError } from '../errors.ts';
import { copyJson, isObject } from '../json/copy.ts';
import { metaTypeProblem } from '../resources/object-meta.ts';
import { apiVersionOf, goPackage, type Resource, type ResourceVersion } from '../resources/resource.ts';
import type { WriteOptions } from './options.ts';
import type { Target } from './target.ts';

/** In which forms bodies are read. */
export const BODY_TYPES = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

/** The warnings in the answer to a write. */
export interface Warnings {
  add(text: string): void;
}

/**
 * Returns a request's body as an object of the target's kind: a copy of its own, in the target's version and namespace, pruned to the
 * schema and with defaults. The sender may change its own object afterwards.
 */
export function decodeObject(target: Target, body: unknown, options: WriteOptions, warnings: Warnings): UnknownObject {
  return normaliseObject(target, readObject(target, body, options, warnings), options, warnings);
}

/** The same; lets other requests be served between the steps where the body is large. */
export async function decodeInTurns(
  core: Pick<Core, 'pause'>,
  target: Target,
  body: unknown,
  options: WriteOptions,
  context: RequestContext,
  warnings: Warnings,
): Promise<UnknownObject> {
  const read = readObject(target, body, options, warnings);
  const paused = core.pause(context);
  if (paused) await paused;
  const object = normaliseObject(target, read, options, warnings);
  const pausedAgain = core.pause(context);
  if (pausedAgain) await pausedAgain;
  return object;
}

function readObject(target: Target, body: unknown, options: WriteOptions, warnings: Warnings): UnknownObject {
  const { source } = options;
  if (source?.problem !== undefined || body === undefined)
    throw unrecognized(target, parseProblem(source), source?.text);
  // To Kubernetes' own kinds null is an object without anything in it.
  const given = body === null && !target.resource.custom ? {} : ownBody(body, source);
  if (given !== null && !isObject(given))
    throw unrecognized(target, parseProblem({ problem: notAnObject(given) }), source?.text ?? '');
  if (given === null || (target.resource.custom && (typeof given['kind'] !== 'string' || given['kind'] === ''))) {
    const text = source?.text ?? JSON.stringify(body);
    const missing = `Object 'Kind' is missing in '${text}'`;
    if (options.fieldValidation !== 'Ignore') throw unrecognized(target, missing, text);
    const { resource, version } = target;
    throw badRequest(
      `${resource.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${resource.kind}: ${missing}`,
    );
  }
  warnElsewhere(target, given, options, warnings);
  checkOtherVersion(target, given, options, warnings);
  return checkedObject(target, given);
}

/** The body as a value that is shared with no one. A body with a source was parsed from it for this request alone. */
export function ownBody(body: unknown, source: BodySource | undefined): unknown {
  return source ? body : copyJson(body);
}

/** The kind of the body of a subresource. */
export const bodyOf = (version: ResourceVersion, subresource: string) =>
  version.subresources.find(({ name }) => name === subresource)?.body;

/** Unknown fields are reported even when the namespace is wrong. */
function warnElsewhere(
  target: Target,
  given: Record<string, unknown>,
  options: WriteOptions,
  warnings: Warnings,
): void {
  const metadata = given['metadata'];
  if (!isObject(metadata) || typeof metadata['namespace'] !== 'string' || !target.resource.namespaced) return;
  if (metadata['namespace'] === '' || metadata['namespace'] === target.namespace) return;
  const { namespace: _, ...rest } = metadata;
  normaliseObject(target, checkedObject(target, { ...given, metadata: rest }), options, warnings);
}

/** And those of a custom resource when the version is wrong: of another group only its metadata is known. */
function checkOtherVersion(
  target: Target,
  given: Record<string, unknown>,
  options: WriteOptions,
  warnings: Warnings,
): void {
  const { resource, version } = target;
  const apiVersion = apiVersionOf(resource, version.name);
  const written = given['apiVersion'] ?? '';
  if (!resource.custom || written === apiVersion || typeof written !== 'string') return;
  if (given['kind'] !== resource.kind) return;
  const unknown = unknownElsewhere(target, given, written);
  if (options.fieldValidation === 'Ignore') return;
  const problems = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (options.fieldValidation === 'Warn') {
    for (const problem of problems) warnings.add(problem);
    return;
  }
  const complaints = [...(options.complaints ?? []), ...problems];
  if (complaints.length === 0) return;
  if (written === '') throw badRequest("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  const [name = ''] = written.split('/').toReversed();
  throw strictError({ ...target, version: { ...version, name } }, complaints);
}

/** Fields that the version in the data does not have: of another group only metadata is known, of no version nothing else. */
function unknownElsewhere(target: Target, given: Record<string, unknown>, written: string): readonly string[] {
  const { resource } = target;
  const [name = '', group = ''] = written.split('/').toReversed();
  const named = resource.versions.find((one) => one.name === name);
  const version = { ...(named ?? target.version), name };
  const read = { ...given, apiVersion: apiVersionOf(resource, version.name) };
  const { unknown } = version.normalise(checkedObject({ ...target, version }, read));
  if (group === resource.group && named) return unknown;
  const ofMetadata = unknown.filter((path) => path.startsWith('metadata.'));
  if (group !== resource.group) return ofMetadata;
  return [...ofMetadata, ...Object.keys(given).filter((field) => !OF_EVERY_OBJECT.has(field))];
}

const OF_EVERY_OBJECT = new Set(['apiVersion', 'kind', 'metadata']);

export function parseProblem(source: Pick<BodySource, 'problem'> | undefined): string {
  const problem = source?.problem ?? 'unexpected end of JSON input';
  return problem.startsWith('yaml: ') ? problem : `couldn't get version/kind; json parse error: ${problem}`;
}

export function notAnObject(value: unknown): string {
  const tag = (name: string) => String.raw`"json:\"${name},omitempty\""`;
  const type = `struct { APIVersion string ${tag('apiVersion')}; Kind string ${tag('kind')} }`;
  return `json: cannot unmarshal ${jsonType(value)} into Go value of type ${type}`;
}

/** Returns the name of a JSON value's type in Go's messages. */
export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function unrecognized({ resource }: Target, problem: string, text = '') {
  return badRequest(
    `the object provided is unrecognized (must be of type ${resource.kind}): ${problem} (${summary(text)})`,
  );
}

/** Returns the beginning of a text: JSON as it is, anything else byte by byte. */
function summary(text: string): string {
  const LENGTH = 30;
  if (text === '') return '<empty>';
  if (text.startsWith('{')) return text.length > LENGTH ? `${text.slice(0, LENGTH)} ...` : text;
  const bytes = Buffer.from(text);
  const shown = bytes.subarray(0, LENGTH).toString('hex');
  return bytes.length > LENGTH ? `${shown} ...` : shown;
}

/** The same for a value that is ours already (a patch's result). */
export function normaliseObject(
  target: Target,
  object: UnknownObject,
  options: WriteOptions,
  warnings: Warnings,
): UnknownObject {
  const { object: normal, unknown: all } = target.version.normalise(object);
  // For another kind, only the fields of the metadata are known.
  const unknown = object.kind === target.resource.kind ? all : all.filter((path) => path.startsWith('metadata.'));
  const complaints = [...unknown.map((path) => `unknown field ${JSON.stringify(path)}`), ...(options.complaints ?? [])];
  if (complaints.length > 0 && options.fieldValidation !== 'Ignore') {
    if (options.fieldValidation === 'Strict') throw (options.refuse ?? strictError)(target, complaints, object.kind);
    for (const complaint of complaints) warnings.add(complaint);
  }
  return normal;
}

/** Sees that a value is an object of the target's kind and place. With `isTyped`, the types of its fields have been checked. */
export function checkedObject(target: Target, body: unknown, isTyped = false): UnknownObject {
  const { resource, version } = target;
  const apiVersion = apiVersionOf(resource, version.name);
  if (!isObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  const kind = textOf(body['kind'] ?? resource.kind);
  const given = textOf(body['apiVersion'] ?? (resource.custom ? '' : apiVersion));
  if (given !== apiVersion && (resource.custom || (kind === resource.kind && isOtherVersion(resource, given)))) {
    throw badRequest(`the API version in the data (${given}) does not match the expected API version (${apiVersion})`);
  }
  // The kind of a custom resource is checked later, with everything else: see checkKind.
  if (given !== apiVersion || (kind !== resource.kind && !resource.custom)) throw otherKind(resource, given, kind);
  const problem = version.typeProblem
    ? isTyped
      ? undefined
      : version.typeProblem(body)
    : metaTypeProblem(body['metadata']);
  if (problem) {
    throw badRequest(
      `${resource.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${resource.kind}: ${problem}`,
    );
  }
  const metadata = placeOf(target, withoutNulls(isObject(body['metadata']) ? body['metadata'] : {}));
  return { ...body, apiVersion, kind, metadata };
}

/** A custom resource of another kind than its definition has. */
export function checkKind({ group, kind, custom }: Resource, object: UnknownObject): void {
  if (!custom || object.kind === kind) return;
  const problem = fieldInvalid('kind', object.kind, `must be ${kind}`);
  throw invalid({ group, kind: object.kind }, object.metadata.name ?? '', [problem]);
}

/** Another version of the same kind is known, and is the wrong one. */
export function isOtherVersion({ group, kind }: Resource, apiVersion: string): boolean {
  if (kind === 'Event') return apiVersion === 'v1' || apiVersion === 'events.k8s.io/v1';
  return group !== '' && apiVersion.startsWith(`${group}/`) && KNOWN_VERSION.test(apiVersion);
}

const KNOWN_VERSION = /\/v(1|2|1beta1|1beta2|1alpha1)$/;

/** A body of another kind: one that Kubernetes knows cannot become this one. */
export function otherKindProblem(resource: Resource, apiVersion: string, kind: string): string {
  const [version = ''] = apiVersion.split('/').toReversed();
  return isKnownKind(resource, apiVersion, kind)
    ? `converting (${version}.${kind}) to (${goPackage(resource)}.${resource.kind}): unknown conversion`
    : `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`;
}

function otherKind(resource: Resource, apiVersion: string, kind: string): StatusError {
  const [version = ''] = apiVersion.split('/').toReversed();
  const why = otherKindProblem(resource, apiVersion, kind);
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${resource.kind}: ${why}`);
}

function isKnownKind(resource: Resource, apiVersion: string, kind: string): boolean {
  // Definitions have a scheme of their own.
  if (resource.group === 'apiextensions.k8s.io' && !apiVersion.startsWith(`${resource.group}/`)) return false;
  const ofVersion = builtinResources.filter((one) => apiVersionOf(one, one.version) === apiVersion);
  const isPosted = builtinResources.some(({ subresources }) =>
    subresources.some((one) => one.kind === kind && apiVersionOf(one, one.version) === apiVersion),
  );
  const isServed = ofVersion.some(
    (one) => kind === one.kind || (one.verbs.includes('list') && kind === `${one.kind}List`),
  );
  return (
    isServed ||
    isPosted ||
    (ofVersion.length > 0 && OF_EVERY_VERSION.has(kind)) ||
    (apiVersion === 'v1' && OF_V1.has(kind))
  );
}

/** Kinds of the machinery, under every version and under the first. */
const OF_EVERY_VERSION = new Set([
  'CreateOptions',
  'DeleteOptions',
  'GetOptions',
  'ListOptions',
  'PatchOptions',
  'UpdateOptions',
  'WatchEvent',
]);
const OF_V1 = new Set(['APIGroup', 'APIGroupList', 'APIResourceList', 'APIVersions', 'List', 'Status']);

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

// Go programs send `creationTimestamp: null` for "not set".
function withoutNulls(metadata: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(metadata)) if (value !== null && key !== 'selfLink') kept[key] = value;
  return kept;
}

/** Kubernetes' decoder lists as many; for custom resources it has no limit. */
const MAX_COMPLAINTS = 100;
const MAX_CUSTOM_COMPLAINTS = 1_000;

function strictError({ resource, version }: Target, complaints: readonly string[], kind = resource.kind) {
  const listed = complaints.slice(0, resource.custom ? MAX_CUSTOM_COMPLAINTS : MAX_COMPLAINTS);
  const text = `strict decoding error: ${listed.join(', ')}`;
  return badRequest(`${kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${kind}: ${text}`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
