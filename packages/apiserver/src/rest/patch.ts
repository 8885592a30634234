import { applyMergePatch, type UnknownObject } from '@capstan/kube';
import { withLastApplied } from '../apply/last-applied.ts';
import { applyStrategicPatch } from '../apply/strategic-merge.ts';
import type { Core, RequestContext } from '../core.ts';
import { badRequest, conflict, MODIFIED, notFound, unsupportedMediaType, untypedPatch } from '../errors.ts';
import { copyJson, isObject } from '../json/copy.ts';
import { applyJsonPatch } from '../json/patches.ts';
import { nameOf } from '../resources/resource.ts';
import { storeAbsent } from './create.ts';
import { checkedObject, normaliseObject, type Warnings } from './decode.ts';
import type { WriteOptions } from './options.ts';
import { keyFor, type Target } from './target.ts';
import { changeObject, checkName } from './update.ts';

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
  const patch = copyJson(body);
  if (isApply(contentType)) return applyObject(core, target, patch, options, context, warnings);
  const transform = patcher(target, contentType.split(';')[0]?.trim() ?? '', patch);
  const object = await changeObject(core, target, { ...options, context, conditional: false }, (live) => {
    const patched = checkedObject(target, transform(live));
    checkName(target, patched);
    return {
      object: normaliseObject(target, patched, options, warnings),
      track: (next) => core.fields.update({ target, live, object: next, manager: options.fieldManager }),
    };
  });
  return { object, created: false };
}

function patcher(target: Target, type: string, patch: unknown): (live: UnknownObject) => unknown {
  switch (type) {
    case PATCH_TYPES.json:
      return (live) => applyJsonPatch(live, patch);
    case PATCH_TYPES.merge:
      if (!isObject(patch)) throw badRequest('the merge patch is not a JSON object');
      return (live) => applyMergePatch(live, patch);
    case PATCH_TYPES.strategic:
      if (target.resource.custom) throw unsupportedMediaType([PATCH_TYPES.json, PATCH_TYPES.merge, PATCH_TYPES.apply]);
      if (!isObject(patch)) throw badRequest('the strategic merge patch is not a JSON object');
      return (live) => applyStrategicPatch(live, patch, target.version.type);
    default:
      throw unsupportedMediaType(Object.values(PATCH_TYPES));
  }
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
  if (isObject(body) && (body['apiVersion'] === undefined || body['kind'] === undefined)) {
    throw badRequest(`apply patch for ${resource.kind} must have apiVersion and kind`);
  }
  const given = checkedObject(target, body);
  const applied = { ...given, metadata: { ...given.metadata, name: given.metadata.name ?? target.name } };
  checkName(target, applied);
  if (applied.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  checkDeclared(target, applied);
  const merge = (live: UnknownObject | undefined) => {
    const merged = core.fields.apply({ target, live, applied, manager: options.fieldManager, force: options.force });
    const noted = withLastApplied(merged, applied, options.fieldManager);
    return normaliseObject(target, noted, { ...options, fieldValidation: 'Ignore' }, warnings);
  };
  const track = (object: UnknownObject) => object;
  if (!core.store.get(resource.storageKey, keyFor(target))) {
    if (target.subresource !== '') throw notFound(nameOf(resource), target.name);
    if ((applied.metadata.resourceVersion ?? '') !== '') throw conflict(nameOf(resource), target.name, MODIFIED);
    const { uid } = applied.metadata;
    if (uid)
      throw conflict(
        nameOf(resource),
        target.name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    const made = await storeAbsent(core, target, merge(undefined), options, context, track);
    if (made) return { object: made, created: true };
  }
  const object = await changeObject(core, target, { ...options, context, conditional: false }, (live) => ({
    object: merge(live),
    track,
  }));
  return { object, created: false };
}

// An apply never drops what the schema does not know: the manager would own a field that is not there.
function checkDeclared(target: Target, applied: UnknownObject): void {
  const [first] = target.version.normalise(applied).unknown;
  if (first === undefined) return;
  const { metadata, apiVersion, kind } = applied;
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
  throw untypedPatch(
    `failed to create typed patch object (${name}; ${apiVersion}, Kind=${kind}): .${first}: field not declared in schema`,
  );
}
