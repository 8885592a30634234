import { applyMergePatch, type ObjectMeta, type UnknownObject } from '@capstan/kube';
import { withLastApplied } from '../apply/last-applied.ts';
import { applyStrategicPatch } from '../apply/strategic-merge.ts';
import { typedProblem } from '../apply/typed-check.ts';
import type { Core, RequestContext } from '../core.ts';
import {
  badRequest,
  conflict,
  notFound,
  requestError,
  unreadablePatch,
  unsupportedMediaType,
  unsupportedPatchType,
} from '../errors.ts';
import { isObject, valueAt, withoutNulls } from '../json/copy.ts';
import { applyJsonPatch } from '../json/patches.ts';
import { apiVersionOf, nameOf } from '../resources/resource.ts';
import { atOnce, inTurns, type Steps } from '../steps.ts';
import { storeAbsent } from './create.ts';
import {
  checkedObject,
  isOtherVersion,
  jsonType,
  normaliseObject,
  notAnObject,
  otherKindProblem,
  ownBody,
  parseProblem,
  type Warnings,
} from './decode.ts';
import type { WriteOptions } from './options.ts';
import { keyFor, type Target } from './target.ts';
import { changeObject, checkName, type Proposal } from './update.ts';

export const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Server-side apply, in any of the forms of its media type. */
export const isApply = (contentType: string) => contentType.startsWith('application/apply-patch');

/** PATCH in its four kinds. */
export async function patchObject(
  core: Core,
  target: Target,
  body: unknown,
  contentType: string,
  options: WriteOptions,
  context: RequestContext,
  warnings: Warnings,
): Promise<{ object: UnknownObject; created: boolean }> {
  const patch = ownBody(body, options.source);
  if (isApply(contentType)) return applyObject(core, target, patch, options, context, warnings);
  const type = contentType.split(';')[0]?.trim() ?? '';
  // The result has the resourceVersion of the object, unless the patch removes it.
  const conditional = !target.resource.strategy.allowsUnconditionalUpdate;
  function* propose(live: UnknownObject): Steps<Proposal> {
    yield;
    const result = keptManagers(target, yield* patched(target, type, patch, live, options));
    const isStrategic = type === PATCH_TYPES.strategic;
    const shown = () => (isStrategic ? goText(takenPatch(patch, live)) : JSON.stringify(result));
    const refuse = (_: Target, complaints: readonly string[]) =>
      unreadablePatch(shown(), `strict decoding error: ${complaints.join(', ')}`);
    yield;
    const checked = readable(target, result, shown, isStrategic);
    yield;
    const object = normaliseObject(target, checked, { ...options, refuse }, warnings);
    checkName(target, checked);
    yield;
    return {
      object,
      written: result,
      track: (next: UnknownObject) =>
        core.fields.updating({ target, live, object: next, manager: options.fieldManager }),
    };
  }
  const object = await changeObject(core, target, { ...options, context, conditional }, (live, pause) =>
    inTurns(propose(live), pause),
  );
  return { object, created: false };
}

/** To a patch of a custom resource an empty list of managers is none at all. */
function keptManagers({ resource }: Target, result: unknown): unknown {
  const given = valueAt(result, ['metadata', 'managedFields']);
  if (!resource.custom || !isObject(result) || !Array.isArray(given) || given.length > 0) return result;
  const { managedFields: _, ...metadata } = result['metadata'] as ObjectMeta;
  return { ...result, metadata };
}

/** Which patches a kind takes is looked at before anything else. */
export function checkPatchType({ resource }: Target, contentType: string): void {
  const type = contentType.split(';')[0]?.trim() ?? '';
  if (isApply(type)) return;
  const taken: string[] = resource.custom
    ? [PATCH_TYPES.json, PATCH_TYPES.merge]
    : [PATCH_TYPES.json, PATCH_TYPES.merge, PATCH_TYPES.strategic];
  if (taken.includes(type)) return;
  throw resource.custom ? unsupportedMediaType([...taken, PATCH_TYPES.apply]) : unsupportedPatchType();
}

function* patched(
  target: Target,
  type: string,
  patch: unknown,
  live: UnknownObject,
  { source, fieldValidation }: WriteOptions,
): Steps<unknown> {
  // Kubernetes looks into a patch only when it has the object to which it is to be applied.
  const isIgnorant = fieldValidation === 'Ignore';
  const prefix = type === PATCH_TYPES.strategic || isIgnorant ? '' : 'error decoding patch: ';
  const problem = source?.problem ?? (patch === undefined ? 'unexpected end of JSON input' : undefined);
  if (type === PATCH_TYPES.merge) {
    // Without validation, another library reads the patch. It reports less, and a list replaces the object.
    if (isIgnorant && Array.isArray(patch)) {
      throw unreadablePatch(JSON.stringify(patch), parseProblem({ problem: notAnObject(patch) }));
    }
    const isRead = problem === undefined && (isIgnorant ? isObject(patch) : patch !== null);
    if (!isRead && (isIgnorant || problem === undefined)) throw badRequest('Invalid JSON Patch');
  }
  if (problem !== undefined) throw badRequest(`${prefix}${problem}`);
  const wrong = (wanted: string, value = patch) =>
    badRequest(`${prefix}json: cannot unmarshal ${jsonType(value)} into Go value of type ${wanted}`);
  // To Go null is a list or a map without anything in it.
  if (patch === null) return live;
  if (type === PATCH_TYPES.json) {
    if (!Array.isArray(patch)) throw wrong('[]handlers.jsonPatchOp');
    const odd: unknown = patch.find((one: unknown) => one !== null && !isObject(one));
    if (odd !== undefined) throw wrong('handlers.jsonPatchOp', odd);
    return yield* applyJsonPatch(live, patch);
  }
  if (!isObject(patch)) throw wrong('map[string]interface {}');
  if (type === PATCH_TYPES.merge) return applyMergePatch(live, patch);
  return applyStrategicPatch(live, patch, target.version.type);
}

/** Returns the result of a patch as an object of the kind. Values that its fields cannot hold are errors of the patch. */
function readable(target: Target, result: unknown, shown: () => string, isStrategic: boolean): UnknownObject {
  const worded = isStrategic ? conversionProblem : (problem: string) => problem;
  const { resource, version } = target;
  const problem = isObject(result) ? version.typeProblem?.(result) : undefined;
  if (problem !== undefined) throw unreadablePatch(shown(), worded(problem));
  if (resource.custom || !isObject(result)) return checkedObject(target, result);
  const apiVersion = apiVersionOf(resource, version.name);
  const { kind = resource.kind, apiVersion: given = apiVersion } = result;
  // A strategic patch changes a Go struct, whose type stays the same.
  if (isStrategic) return checkedObject(target, { ...result, apiVersion, kind: resource.kind }, true);
  const isOther = given !== apiVersion || kind !== resource.kind;
  const isOurs = kind === resource.kind && isOtherVersion(resource, String(given));
  if (isOther && !isOurs && typeof kind === 'string' && typeof given === 'string') {
    throw unreadablePatch(shown(), otherKindProblem(resource, given, kind));
  }
  return checkedObject(target, result, true);
}

/** The result of a strategic patch is converted, not decoded, so its errors have other messages. */
function conversionProblem(problem: string): string {
  if (problem.startsWith('illegal base64')) return `error decoding from json: ${problem}`;
  const [, found = '', number, type = ''] = MISMATCH.exec(problem) ?? [];
  if (found === '') return problem;
  const decoded = DECODED[type];
  if (decoded !== undefined) return `json: cannot unmarshal ${found} into Go value of type ${decoded}`;
  const isFraction = !Number.isInteger(Number(number ?? 0));
  const kind = found === 'number' && isFraction ? 'float64' : (GO_KINDS[found] ?? found);
  const [whole] = /^(map|\[\])/.exec(type) ?? [];
  if (whole !== undefined) return `cannot restore ${whole === 'map' ? 'map' : 'slice'} from ${kind}`;
  if (type.includes('.')) return `cannot restore struct from: ${kind}`;
  const isNumber = type !== 'bool' && type !== 'string';
  // Go converts a whole number to a text, as a character.
  const isConverted = kind === 'int64' ? type !== 'bool' : kind === 'float64' && isNumber;
  return isConverted ? `cannot convert ${kind} to ${type}` : `unrecognized type: ${type}`;
}

const MISMATCH = /^json: cannot unmarshal (\w+)(?: (\S+))? into Go struct field \S+ of type (\S+)$/;
const GO_KINDS: Readonly<Record<string, string>> = { number: 'int64', array: 'slice', object: 'map' };
/** Types that read themselves, from which they are read. */
const DECODED: Readonly<Record<string, string>> = {
  'v1.Time': 'string',
  'v1.MicroTime': 'string',
  'intstr.IntOrString': 'int32',
};

/** Returns the patch as merging leaves it, for messages: where there is nothing to merge with, its nulls are gone. */
function takenPatch(patch: unknown, live: unknown): unknown {
  if (!isObject(patch)) return patch;
  if (!isObject(live)) return withoutNulls(patch);
  return Object.fromEntries(Object.entries(patch).map(([key, part]) => [key, takenPatch(part, live[key])]));
}

/** A value as Go prints maps and lists. */
function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return value === null ? '<nil>' : `${value as string | number | boolean}`;
  const keys = Object.keys(value).toSorted();
  return `map[${keys.map((key) => `${key}:${goText(value[key])}`).join(' ')}]`;
}

async function applyObject(
  core: Core,
  target: Target,
  body: unknown,
  options: WriteOptions,
  context: RequestContext,
  warnings: Warnings,
): Promise<{ object: UnknownObject; created: boolean }> {
  const { resource } = target;
  const isThere = core.store.get(resource.storageKey, keyFor(target)) !== undefined;
  const isMade = target.subresource === '' || resource.strategy.allowsCreateOnUpdate;
  const checks = appliedSteps(target, body, options, () => {
    if (!isMade && !isThere) throw notFound(nameOf(resource), target.name);
  });
  const checked = inTurns(checks, () => core.pause(context));
  const { written, isTyped } = checked instanceof Promise ? await checked : checked;
  const given = checkedObject(target, written, isTyped);
  // An apply without a name to an existing object takes the name of that object.
  const name = given.metadata.name ?? (isThere ? target.name : '');
  const applied = { ...given, metadata: { ...given.metadata, name } };
  checkName(target, applied);
  function* merge(live: UnknownObject | undefined): Steps<UnknownObject> {
    yield;
    const { fieldManager: manager, force } = options;
    const object = yield* core.fields.applying({ target, live, applied, manager, force });
    yield;
    checkTwice(options, warnings);
    const noted = withLastApplied(object, applied, manager);
    const settled = target.version.settleApplied?.(noted);
    const normal = settled ?? normaliseObject(target, noted, { ...options, fieldValidation: 'Ignore' }, warnings);
    yield;
    return normal;
  }
  if (!core.store.get(resource.storageKey, keyFor(target))) {
    const { uid } = applied.metadata;
    if (uid)
      throw conflict(
        nameOf(resource),
        target.name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    const merged = inTurns(merge(undefined), () => core.pause(context));
    const wanted = merged instanceof Promise ? await merged : merged;
    const made = await storeAbsent(core, target, wanted, options, context, undefined);
    if (made) return { object: made, created: true };
  }
  const changes = { ...options, context, conditional: false, isApplied: true };
  const object = await changeObject(core, target, changes, (live, pause) => {
    const merged = inTurns(merge(live), pause);
    return merged instanceof Promise ? merged.then((next) => ({ object: next })) : { object: merged };
  });
  return { object, created: false };
}

/** Sees that a body is an object of the target's kind that can be applied. */
export function checkApplied(target: Target, body: unknown, options: WriteOptions): Record<string, unknown> {
  return atOnce(appliedSteps(target, body, options)).written;
}

interface Applied {
  readonly written: Record<string, unknown>;
  /** The types of its fields are those of its kind. */
  readonly isTyped: boolean;
}

/** `checkPlace` runs before the fields of the body are looked at. */
function* appliedSteps(
  target: Target,
  body: unknown,
  options: WriteOptions,
  checkPlace: () => void = () => {},
): Steps<Applied> {
  const { resource, version } = target;
  const { problem } = options.source ?? {};
  if (problem !== undefined) throw badRequest(`error decoding YAML: error converting YAML to JSON: ${problem}`);
  if (!isObject(body)) {
    const value = `json: cannot unmarshal ${jsonType(body)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${value}`);
  }
  const id = kindId(body);
  if (id !== kindId({ apiVersion: apiVersionOf(resource, version.name), kind: resource.kind })) {
    throw badRequest(`invalid object type: ${id}`);
  }
  if (valueAt(body, ['metadata', 'managedFields']) !== undefined)
    throw badRequest('metadata.managedFields must be nil');
  checkPlace();
  checkTyped(target, body);
  yield;
  const unreadable = version.typeProblem?.(body);
  if (unreadable?.startsWith('quantities must match')) {
    const given = body['metadata'] as Partial<ObjectMeta> | undefined;
    const { name = target.name, namespace = '' } = given ?? {};
    throw requestError(
      `failed to convert new object (${namespace}/${name}; ${id}) to proper version: unable to convert unstructured object to ${id}: ${unreadable}`,
    );
  }
  yield;
  return { written: body, isTyped: unreadable === undefined };
}

/** Keys that the text has twice, which are looked at when everything else is in order. */
function checkTwice({ complaints = [], fieldValidation }: WriteOptions, warnings: Warnings): void {
  if (fieldValidation === 'Ignore') return;
  for (const complaint of complaints) {
    const problem = complaint.startsWith('yaml: ') ? `error converting YAML to JSON: ${complaint}` : complaint;
    if (fieldValidation === 'Strict') throw badRequest(`error strict decoding YAML: ${problem}`);
    warnings.add(problem);
  }
}

// An apply never drops unknown fields: the manager would own a field that does not exist.
function checkTyped(target: Target, body: unknown): void {
  const type = target.version.type;
  const problem = type && typedProblem(type, body);
  if (problem === undefined || !isObject(body)) return;
  const { name, namespace = '' } = isObject(body['metadata']) ? (body['metadata'] as ObjectMeta) : {};
  throw requestError(
    `failed to create typed patch object (${namespace}/${name ?? target.name}; ${kindId(body)}): ${problem}`,
  );
}

/** As in `apps/v1, Kind=Deployment`. */
function kindId(body: Readonly<Record<string, unknown>>): string {
  const [apiVersion, kind] = [body['apiVersion'], body['kind']].map((text) => (typeof text === 'string' ? text : ''));
  const [version = '', group = ''] = (apiVersion ?? '').split('/').toReversed();
  return `${group}/${version}, Kind=${kind}`;
}
