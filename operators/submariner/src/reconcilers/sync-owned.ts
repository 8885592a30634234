// Clusters and Endpoints between this member and its broker: its own go there, those of others come here.
import type { DefinedKind, KubeObject, ObjectMeta } from '@capstan/kube';
import { createOnly, patch, plan, type Reconciler, reading, reconciler, remove, writing } from '@capstan/reconcile';
import { baseAnnotations, EXPORT } from '../sync/content.ts';
import { syncOwned } from '../sync/sync-owned.ts';
import { annotationFields, BROKER_ROLE, copyOf, fieldsOf, type SyncPlaces } from './sync-policies.ts';

interface Owned extends KubeObject {
  metadata: ObjectMeta;
  spec: { cluster_id: string };
}

const LOCAL_WORLD = '';
const SILENT = { restore: false, explained: false } as const;

export function createOwnedSync<T extends Owned>(
  kind: DefinedKind<T>,
  { clusterID, namespace, brokerNamespace }: SyncPlaces,
): Reconciler[] {
  const title = kind.kind.toLowerCase();
  const isOwn = ({ spec }: Owned) => spec.cluster_id === clusterID;

  const local = reconciler<T>({
    name: `sync-${title}`,
    resource: kind,
    reads: [reading(kind, 'everywhere', { in: BROKER_ROLE })],
    writes: [writing(kind, 'both'), writing(kind, 'both', { in: BROKER_ROLE })],
    primary: false,
    writesStatus: false,
    reconcile({ object, read }) {
      if (object.metadata.namespace !== namespace) return plan({ held: false });
      const { name = '' } = object.metadata;
      const there = { namespace: brokerNamespace, name };
      const world = read.in(BROKER_ROLE);
      // Without a broker nothing is known of its objects: they are neither there nor gone.
      if (world === undefined) return plan({ held: false, prune: false });
      const broker = world.get(kind, there);
      // What a reconciler is given is a view: labels and annotations count once they are read.
      const { labels, annotations } = object.metadata;
      const member = {
        ...object,
        metadata: { ...object.metadata, labels: labels ?? {}, annotations: annotations ?? {} },
      };
      const actions = syncOwned({ local: clusterID, isOwn: isOwn(object), member, broker });
      const children = [];
      const patches = [];
      if (actions.toBroker !== undefined) {
        const { content, mark } = actions.toBroker;
        const marks = { [EXPORT]: mark };
        if (broker === undefined) {
          const copy = copyOf(there, content, clusterID, marks);
          children.push(createOnly(kind as DefinedKind, copy, { owned: false, in: BROKER_ROLE }));
        } else {
          const fields = [...fieldsOf(content, clusterID, broker), ...annotationFields(marks)];
          patches.push(patch(kind, there, fields, { ...SILENT, in: BROKER_ROLE }));
        }
      }
      if (actions.toMember !== undefined) {
        const origin = isOwn(object) ? undefined : object.spec.cluster_id;
        const fields = fieldsOf(actions.toMember.content, origin, member);
        patches.push(
          patch(
            kind,
            { namespace, name },
            [...fields, ...annotationFields(baseAnnotations(actions.toMember.base))],
            SILENT,
          ),
        );
      }
      const removals = actions.deleteMember ? [remove(kind, object)] : [];
      return plan({ held: false, prune: false, children, patches, removals });
    },
  });

  const imported = reconciler<T>({
    name: `import-${title}`,
    resource: kind,
    in: BROKER_ROLE,
    reads: [reading(kind, 'everywhere', { in: 'local' })],
    writes: [writing(kind, 'both', { in: 'local' }), writing(kind, 'both')],
    primary: false,
    writesStatus: false,
    reconcile({ object, read }) {
      const here = read.in(LOCAL_WORLD);
      const { name = '' } = object.metadata;
      if (object.metadata.namespace !== brokerNamespace || here === undefined) return plan({ held: false });
      const member = here.get(kind, { namespace, name });
      if (member !== undefined) return plan({ held: false, prune: false });
      const { labels, annotations } = object.metadata;
      const broker = {
        ...object,
        metadata: { ...object.metadata, labels: labels ?? {}, annotations: annotations ?? {} },
      };
      const actions = syncOwned({ local: clusterID, isOwn: isOwn(object), member, broker });
      // Ours, and not here any more: an Endpoint of an earlier gateway.
      if (actions.deleteBroker !== undefined)
        return plan({ held: false, prune: false, removals: [remove(kind, object)] });
      if (actions.toMember === undefined) return plan({ held: false, prune: false });
      const copy = copyOf(
        { namespace, name },
        actions.toMember.content,
        object.spec.cluster_id,
        baseAnnotations(actions.toMember.base),
      );
      return plan({
        held: false,
        prune: false,
        children: [createOnly(kind as DefinedKind, copy, { owned: false, in: LOCAL_WORLD })],
      });
    },
  });
  return [local, imported];
}
