// The plan that removes the traces of the sync from a cluster that has left: copies go, and its own policies become plain objects.
import type { Kind, KubeObject, ObjectMeta } from '@capstan/kube';
import { type GroupInput, type Patch, patch, type Reader, type Removal, remove } from '@capstan/reconcile';
import { SYNCED } from '../sync/content.ts';
import { clearedMetadata, isCopy, SYNCED_KINDS } from './clear-member.ts';

const wholeOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => ({ apiVersion, kind, metadata });

/** Returns the next step of the cleanup; undefined when all is done. The gateways of a cluster that joins another broker go on. */
export function localCleanup(
  read: Reader,
  namespace: string,
  kinds: readonly Kind[] = SYNCED_KINDS,
): readonly GroupInput[] | undefined {
  const patches: Patch[] = [];
  const removals: Removal[] = [];
  for (const kind of kinds)
    for (const object of read.list(kind, { namespace }, wholeOf)) {
      const { metadata } = object;
      const fields = fieldsOf(metadata);
      const ref = { namespace, name: metadata.name ?? '' };
      if (fields.length > 0) patches.push(patch(kind, ref, fields, { restore: false, explained: false }));
      if (isCopy(kind.kind, metadata) && metadata.deletionTimestamp === undefined)
        removals.push(remove(kind, object, SYNCED));
    }
  if (patches.length + removals.length === 0) return undefined;
  return [
    { name: 'marks', patches },
    { name: 'copies', removals },
  ];
}

function fieldsOf(metadata: ObjectMeta) {
  const { annotations = {}, finalizers } = clearedMetadata(metadata) ?? {};
  const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
  return [
    ...Object.keys(annotations).map((key) => ({ path: `/metadata/annotations/${escaped(key)}`, value: undefined })),
    ...(finalizers === undefined
      ? []
      : [{ path: '/metadata/finalizers', value: finalizers.length > 0 ? finalizers : undefined }]),
  ];
}
