// Clusters and Endpoints between this member and its broker: its own go there, those of others come here.
import type { DefinedKind, KubeObject, ObjectMeta } from '@capstan/kube';
import {
  conditionType,
  createOnly,
  noCondition,
  patch,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  remove,
  writing,
} from '@capstan/reconcile';
import { Cluster, OWNER_ANNOTATION, Submariner } from '../kinds/index.ts';
import { type ClusterNetworks, findOverlaps, networksOf } from '../networks/overlaps.ts';
import { baseAnnotations, EXPORT, SYNC, SYNCED, type SyncObject } from '../sync/content.ts';
import { isDuplicate, syncOwned } from '../sync/sync-owned.ts';
import { annotationFields, copyOf, fieldsOf } from './copied-fields.ts';
import { BROKER_ROLE, isLeaving, type SyncPlaces } from './sync-policies.ts';

interface Owned extends KubeObject {
  metadata: ObjectMeta;
  spec: { cluster_id: string; subnets?: readonly string[] };
}

const LOCAL_WORLD = '';
const published = conditionType<'Published' | 'DuplicateClusterID' | 'OverlappingSubnets'>('Published');

const ownerOf = ({ metadata }: Cluster): SyncObject => {
  const owner = metadata.annotations?.[OWNER_ANNOTATION];
  return { metadata: { annotations: owner === undefined ? {} : { [OWNER_ANNOTATION]: owner } } };
};

function publication(id: string, isTaken: boolean, overlap: string | undefined) {
  if (isTaken) {
    const remedy = `choose another clusterID here, or remove the other one by "subctl remove-member ${id}"`;
    return published.isFalse(
      'DuplicateClusterID',
      `cluster "${id}": another cluster has joined the broker with this id, and nothing of this one is published; ${remedy}`,
    );
  }
  return overlap === undefined
    ? published.isTrue('Published', '')
    : published.isFalse(
        'OverlappingSubnets',
        `${overlap}; other clusters go on as before, and do not learn of these networks`,
      );
}

/**
 * A message if this cluster claims networks of another one that the broker knows. Packets to a network go to one cluster only, so the
 * claim is not published: the cables of the other one stay. A claim that is on the broker already stays there.
 */
function newOverlap(own: ClusterNetworks | undefined, known: readonly ClusterNetworks[]): string | undefined {
  if (own === undefined) return undefined;
  const others = known.filter(({ id }) => id !== own.id);
  const before = known.filter(({ id }) => id === own.id);
  const isKnown = findOverlaps([...before, ...others]).has(own.id);
  return isKnown ? undefined : findOverlaps([own, ...others]).get(own.id);
}
const SILENT = { restore: false, explained: false } as const;

export function createOwnedSync<T extends Owned>(kind: DefinedKind<T>, places: SyncPlaces): Reconciler[] {
  const { clusterID, namespace, brokerNamespace } = places;
  const title = kind.kind.toLowerCase();
  const isCluster = kind.kind === Cluster.kind;
  /** Whether another cluster has taken the id of this one on the broker. */
  const isTaken = (here: Pick<Reader, 'get'>, there: Pick<Reader, 'get'>) =>
    isDuplicate(
      here.get(Cluster, { namespace, name: clusterID }, ownerOf),
      there.get(Cluster, { namespace: brokerNamespace, name: clusterID }, ownerOf),
    );
  /** The Cluster and the Endpoint follow an edit one after the other: neither is published while one of them claims networks of others. */
  const claim = (here: Pick<Reader, 'get'>, there: Pick<Reader, 'list'>, { spec: { subnets = [] } }: Owned) => {
    const known = there.list(Cluster, { namespace: brokerNamespace }, networksOf);
    return (
      newOverlap(here.get(Cluster, { namespace, name: clusterID }, networksOf), known) ??
      newOverlap({ id: clusterID, subnets }, known)
    );
  };
  const isOwn = ({ spec }: Owned) => spec.cluster_id === clusterID;

  const local = reconciler<T>({
    name: `sync-${title}`,
    resource: kind,
    reads: [
      reading(kind, 'everywhere', { in: BROKER_ROLE }),
      reading(Cluster, 'everywhere', { in: BROKER_ROLE }),
      reading(Cluster, 'everywhere'),
      reading(Submariner, 'everywhere'),
    ],
    writes: [writing(kind, SYNC, { prunes: false }), writing(kind, SYNC, { prunes: false, in: BROKER_ROLE })],
    primary: false,
    writesStatus: isCluster,
    reconcile({ object, read }) {
      if (object.metadata.namespace !== namespace) return plan({ held: false, prune: false });
      // The condition is about the broker that is left: that it joined the next one is reported by the gateway of that one.
      if (isLeaving(read, places))
        return plan({
          held: false,
          prune: false,
          conditions: isCluster && isOwn(object) ? [noCondition('Published')] : [],
        });
      const { name = '' } = object.metadata;
      const there = { namespace: brokerNamespace, name };
      const world = read.in(BROKER_ROLE);
      // Without a broker nothing is known of its objects: they are neither there nor gone.
      if (world === undefined) return plan({ held: false, prune: false });
      const broker = world.get(kind, there);
      const [taken, overlap] = isOwn(object) ? [isTaken(read, world), claim(read, world, object)] : [false, undefined];
      const conditions = isCluster && isOwn(object) ? [publication(clusterID, taken, overlap)] : [];
      if (taken || overlap !== undefined) return plan({ held: false, prune: false, conditions });
      // The object of a reconciler is a view: labels and annotations count once they are read.
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
      const removals = actions.deleteMember ? [remove(kind, object, SYNCED)] : [];
      return plan({ held: false, prune: false, children, patches, removals, conditions });
    },
  });

  const imported = reconciler<T>({
    name: `import-${title}`,
    resource: kind,
    in: BROKER_ROLE,
    reads: [
      reading(kind, 'everywhere', { in: 'local' }),
      reading(Cluster, 'everywhere', { in: 'local' }),
      reading(Submariner, 'everywhere', { in: 'local' }),
      reading(Cluster, 'everywhere'),
    ],
    writes: [writing(kind, SYNC, { prunes: false, in: 'local' }), writing(kind, SYNC, { prunes: false })],
    primary: false,
    writesStatus: false,
    reconcile({ object, read }) {
      const here = read.in(LOCAL_WORLD);
      const { name = '' } = object.metadata;
      if (object.metadata.namespace !== brokerNamespace || here === undefined) return plan({ held: false });
      if (isLeaving(here, places) || (isOwn(object) && isTaken(here, read))) return plan({ held: false, prune: false });
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
        return plan({ held: false, prune: false, removals: [remove(kind, object, SYNCED)] });
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
