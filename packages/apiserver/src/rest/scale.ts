// The scale subresource: a Scale object that stands for two or three fields of the real one.
import { compileLabelSelector, type UnknownObject } from '@capstan/kube';
import type { Core, RequestContext } from '../core.ts';
import { badRequest, fieldInvalid, invalid, notServed, unreadablePatch } from '../errors.ts';
import { copyJson, isObject, valueAt, withValueAt } from '../json/copy.ts';
import type { ScalePaths } from '../resources/resource.ts';
import { jsonType } from './decode.ts';
import type { WriteOptions } from './options.ts';
import { existing, type Target } from './target.ts';
import { changeObject, checkName, type Face } from './update.ts';

const SCALE = { group: 'autoscaling', kind: 'Scale' };

export function getScale(core: Core, target: Target): UnknownObject {
  return scaleOf(pathsOf(target), existing(core, target));
}

/** PUT and PATCH of the Scale; `transform` creates the new Scale from the present one, `named` is the name in a PUT. */
export async function writeScale(
  core: Core,
  target: Target,
  options: WriteOptions,
  context: RequestContext,
  transform: (scale: UnknownObject) => unknown,
  named?: string,
): Promise<UnknownObject> {
  const paths = pathsOf(target);
  if (named !== undefined) checkName(target, { metadata: { name: named } } as UnknownObject);
  const face = scaleFace(paths);
  const isReplaced = named !== undefined;
  const changes = { ...options, context, conditional: false, face, isReplaced };
  const object = await changeObject(core, target, changes, (live) => {
    const scale = copyJson(transform(scaleOf(paths, live)));
    if (!isObject(scale)) throw badRequest('the object provided is unrecognized (must be of type Scale)');
    const name = valueAt(scale, ['metadata', 'name']);
    if (typeof name === 'string' && name !== '') checkName(target, { metadata: { name } } as UnknownObject);
    const replicas = valueAt(scale, ['spec', 'replicas']) ?? 0;
    if (typeof replicas !== 'number') {
      const problem = `json: cannot unmarshal ${jsonType(replicas)} into Go struct field ScaleSpec.spec.replicas of type int32`;
      throw named === undefined ? unreadablePatch(JSON.stringify(scale), problem) : badRequest(problem);
    }
    checkReplicas(target, replicas);
    const resourceVersion = valueAt(scale, ['metadata', 'resourceVersion']);
    const uid = valueAt(scale, ['metadata', 'uid']);
    const metadata = {
      ...live.metadata,
      ...(typeof resourceVersion === 'string' && { resourceVersion }),
      ...(typeof uid === 'string' && { uid }),
    };
    const scaled = withValueAt({ ...live, metadata }, paths.spec, replicas) as UnknownObject;
    return {
      object: scaled,
      track: (next) =>
        core.fields.updating({
          target,
          live,
          object: next,
          manager: options.fieldManager,
          isTimeless: true,
          // If the replica count had no owner before, it has none afterwards.
          isUnowned: replicas === 0 || !isOwned(live, paths),
        }),
    };
  });
  return scaleOf(paths, object);
}

/** The object that admissions see in place of the scaled one. */
export const scaleFace = (paths: ScalePaths): Face => ({
  of: (whole) => scaleOf(paths, whole),
  applied: (whole, scale) => withValueAt(whole, paths.spec, valueAt(scale, ['spec', 'replicas']) ?? 0) as UnknownObject,
});

/** Refuses a negative number. A custom resource reports errors of the field behind it itself. */
export function checkReplicas({ resource, name }: Target, replicas: unknown): void {
  if (resource.custom || (Number.isInteger(replicas) && (replicas as number) >= 0)) return;
  throw invalid(SCALE, name, [fieldInvalid('spec.replicas', replicas, 'must be greater than or equal to 0')]);
}

function isOwned({ metadata }: UnknownObject, { spec }: ScalePaths): boolean {
  const path = spec.map((part) => `f:${part}`);
  return (metadata.managedFields ?? []).some(({ fieldsV1 }) => valueAt(fieldsV1, path) !== undefined);
}

function pathsOf(target: Target): ScalePaths {
  if (!target.version.scale) throw notServed();
  return target.version.scale;
}

/** The Scale that stands for an object. */
export function scaleOf(paths: ScalePaths, object: UnknownObject): UnknownObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const number = (path: readonly string[]) => Number(valueAt(object, path) ?? 0);
  const selector = paths.selector ? selectorText(valueAt(object, paths.selector)) : undefined;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    // Go leaves out zero here.
    spec: number(paths.spec) === 0 ? {} : { replicas: number(paths.spec) },
    status: { replicas: number(paths.status), ...(selector !== undefined && { selector }) },
  };
}

function selectorText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!isObject(value)) return undefined;
  // A ReplicationController has the labels alone.
  const isPlain = Object.values(value).every((one) => typeof one === 'string');
  return compileLabelSelector(isPlain ? { matchLabels: value as Record<string, string> } : value).canonical;
}
