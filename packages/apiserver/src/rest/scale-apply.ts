// Server-side apply to /scale. The managers of the replica count are shown as managers of the Scale, the Scale is applied, and its
// managers become those of the replica count again.
import type { ManagedFieldsEntry, UnknownObject } from '@capstan/kube';
import { compareEntries } from '../apply/managers.ts';
import type { Core, RequestContext } from '../core.ts';
import { notFound, notServed } from '../errors.ts';
import { isObject, valueAt, withValueAt } from '../json/copy.ts';
import { apiVersionOf, nameOf, type ScalePaths } from '../resources/resource.ts';
import { bodyOf, checkedObject } from './decode.ts';
import type { WriteOptions } from './options.ts';
import { checkApplied } from './patch.ts';
import { checkReplicas, scaleFace, scaleOf } from './scale.ts';
import { keyFor, type Target } from './target.ts';
import { changeObject, checkName } from './update.ts';

/** Applies a Scale; the manager owns the replica count afterwards if the Scale has one. */
export async function applyScale(
  core: Core,
  target: Target,
  body: unknown,
  options: WriteOptions,
  context: RequestContext,
): Promise<UnknownObject> {
  const { resource, version } = target;
  const paths = version.scale;
  const type = scaleType(core);
  if (!paths || !type) throw notServed();
  const scaleTarget: Target = { ...target, ...type };
  const written = checkApplied(scaleTarget, body, options);
  if (!core.store.get(resource.storageKey, keyFor(target))) throw notFound(nameOf(resource), target.name);
  const given = checkedObject(scaleTarget, written);
  const applied = { ...given, metadata: { ...given.metadata, name: given.metadata.name ?? target.name } };
  const { fieldManager: manager, force } = options;
  const changes = { ...options, context, conditional: false, isApplied: true, face: scaleFace(paths) };
  const object = await changeObject(core, target, changes, (live) => {
    const scale = scaleOf(paths, live);
    const known = live.metadata.managedFields ?? [];
    const shown = { ...scale, metadata: { ...scale.metadata, managedFields: ofScale(known, paths) } };
    const merged = core.fields.apply({ target: scaleTarget, live: shown, applied, manager, force });
    // Kubernetes reports a conflict first.
    checkName(target, applied);
    const replicas = valueAt(merged, ['spec', 'replicas']) ?? 0;
    checkReplicas(target, replicas);
    const { resourceVersion } = applied.metadata;
    const managedFields = ofParent(target, paths, known, merged.metadata.managedFields ?? []);
    const metadata = { ...live.metadata, managedFields, ...(resourceVersion !== undefined && { resourceVersion }) };
    const scaled = withValueAt({ ...live, metadata }, paths.spec, replicas) as UnknownObject;
    return { object: scaled };
  });
  return scaleOf(paths, object);
}

/** The type of a Scale, which custom resources share with the built-in kinds. */
function scaleType({ registry }: Core) {
  const deployments = registry.find('apps', 'v1', 'deployments');
  return deployments && bodyOf(deployments.version, 'scale');
}

const SCALE_VERSION = 'autoscaling/v1';
const REPLICAS = ['f:spec', 'f:replicas'];

const fieldPath = ({ spec }: ScalePaths) => spec.map((part) => `f:${part}`);

function ofScale(entries: readonly ManagedFieldsEntry[], paths: ScalePaths): ManagedFieldsEntry[] {
  const path = fieldPath(paths);
  return entries
    .filter(({ fieldsV1 }) => valueAt(fieldsV1, path) !== undefined)
    .map((entry) => ({ ...entry, apiVersion: SCALE_VERSION, fieldsV1: fieldsAt(REPLICAS) }));
}

function ofParent(
  { resource, version }: Target,
  paths: ScalePaths,
  known: readonly ManagedFieldsEntry[],
  ofScale: readonly ManagedFieldsEntry[],
): ManagedFieldsEntry[] {
  const path = fieldPath(paths);
  const isSame = (a: ManagedFieldsEntry, b: ManagedFieldsEntry) =>
    a.manager === b.manager && a.operation === b.operation && (a.subresource ?? '') === (b.subresource ?? '');
  const owners = ofScale.filter(({ fieldsV1 }) => valueAt(fieldsV1, REPLICAS) !== undefined);
  const kept = known.flatMap((entry) => {
    // Kubernetes lets a manager keep the replica count while it manages anything of the Scale.
    if (valueAt(entry.fieldsV1, path) === undefined || ofScale.some((one) => isSame(one, entry))) return [entry];
    const fieldsV1 = withoutPath(entry.fieldsV1, path);
    return fieldsV1 === undefined ? [] : [{ ...entry, fieldsV1 }];
  });
  const added = owners.filter((one) => !known.some((entry) => isSame(one, entry)));
  const apiVersion = apiVersionOf(resource, version.name);
  return [...added.map((entry) => ({ ...entry, apiVersion, fieldsV1: fieldsAt(path) })), ...kept].sort(compareEntries);
}

function fieldsAt(path: readonly string[]): Record<string, unknown> {
  return path.reduceRight<Record<string, unknown>>((inside, part) => ({ [part]: inside }), {});
}

/** Returns the fields without the one at the path, and without parents that become empty; undefined: nothing is left. */
function withoutPath(fields: unknown, [first = '', ...rest]: readonly string[]): Record<string, unknown> | undefined {
  const { [first]: part, ...others } = isObject(fields) ? fields : {};
  const inside = rest.length === 0 ? undefined : withoutPath(part, rest);
  const result = inside === undefined ? others : { ...others, [first]: inside };
  return Object.keys(result).length === 0 ? undefined : result;
}
