import { equal, type KubeObject, type ObjectMeta } from '@capstan/kube/cluster';
import { VIRTUAL_UID } from './virtual.ts';

/**
 * The object that the server would hold after a change that a caller describes by an object, which may come from a dry run, from the cache
 * or from a manifest. The server sets uid and creationTimestamp once, raises the generation with every change of the content, and keeps a
 * status that a change of the content does not mention. An object without uid is a manifest: it removes neither finalizers nor owners, nor
 * the runtime's annotations.
 */
export function wouldBe(current: KubeObject | undefined, given: KubeObject): KubeObject {
  const before = current?.metadata;
  const { metadata } = given;
  const isManifest = metadata.uid === undefined;
  const kept: Partial<ObjectMeta> = isManifest && before !== undefined ? noted(before, metadata) : {};
  const server: Partial<ObjectMeta> = {
    uid: metadata.uid ?? before?.uid ?? VIRTUAL_UID,
    ...(metadata.creationTimestamp === undefined &&
      before?.creationTimestamp !== undefined && { creationTimestamp: before.creationTimestamp }),
    ...generationOf(current, given),
  };
  const status: unknown = 'status' in given ? given.status : (current as { status?: unknown } | undefined)?.status;
  return { ...given, metadata: { ...metadata, ...kept, ...server }, ...(status !== undefined && { status }) };
}

function noted(before: ObjectMeta, given: ObjectMeta): Partial<ObjectMeta> {
  const { finalizers, ownerReferences, managedFields, resourceVersion, deletionTimestamp } = before;
  const marks = Object.entries(before.annotations ?? {}).filter(([name]) => name.startsWith('capstan.dev/'));
  const annotations = { ...Object.fromEntries(marks), ...given.annotations };
  return {
    ...(finalizers !== undefined && given.finalizers === undefined && { finalizers }),
    ...(ownerReferences !== undefined && given.ownerReferences === undefined && { ownerReferences }),
    ...(managedFields !== undefined && { managedFields }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

/** Kinds without a generation, such as ConfigMap, get none. */
function generationOf(current: KubeObject | undefined, given: KubeObject): { generation?: number } {
  const asked = given.metadata.generation;
  if (current === undefined) return asked === undefined && 'spec' in given ? { generation: 1 } : {};
  const { generation } = current.metadata;
  if (generation === undefined || (asked !== undefined && asked > generation)) return {};
  return { generation: equal(contentOf(current), contentOf(given)) ? generation : generation + 1 };
}

function contentOf(object: KubeObject): unknown {
  const {
    metadata: _metadata,
    status: _status,
    apiVersion: _version,
    kind: _kind,
    ...content
  } = object as KubeObject & {
    status?: unknown;
  };
  return content;
}
