// What is remembered of an object here: a digest of what we manage of it instead of its content, so that a backend with
// thousands of endpoints costs little memory, and "is it as it should be" is the comparison of two texts.
import { EndpointSlice, Endpoints, type Kind, type KubeObject, Service } from '@capstan/kube/cluster';
import { isMarked } from '@capstan/reconcile/ownership';
import { LABEL_FAMILIES } from '../../kinds/group.ts';
import { type CopiedKeys, copiedKeys, MIRROR_ANNOTATION } from '../mirror/metadata.ts';
import { addressCount, managedDigest } from '../mirror/projection.ts';

export interface LocalRecord extends KubeObject {
  readonly digest: string;
  /** Undefined when no discoverer created it: then it is never removed. */
  readonly copied: CopiedKeys | undefined;
  readonly addresses: number;
  /** `namespace/name` of the Service that it belongs to. */
  readonly unit: string;
}

/** Kinds of what is discovered, as their records: what the server sends is cut down to one on arrival. */
export const RECORDS = {
  Service: recordKind(Service),
  EndpointSlice: recordKind(EndpointSlice),
  Endpoints: recordKind(Endpoints),
};

export type RecordKind = keyof typeof RECORDS;

function recordKind<T extends KubeObject>(kind: Kind<T>): Kind<LocalRecord> {
  // Only where the kind lives in the API is used: `toRecord` makes what the type promises.
  return kind as unknown as Kind<LocalRecord>;
}

export function toRecord(object: KubeObject): LocalRecord {
  const { name = '', namespace = '', uid, resourceVersion, labels } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      namespace,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    digest: managedDigest(object),
    copied: keysOf(object),
    addresses: addressCount(object),
    unit: `${namespace}/${object.kind === 'EndpointSlice' ? (labels?.['kubernetes.io/service-name'] ?? name) : name}`,
  };
}

/** The one who writes discovered objects. */
export const FIELD_MANAGER = 'gimbal-discoverer';

/** A discoverer annotates each mirror. A copy that a user made has the annotation too, but another field manager set it. */
export const CREATED_BY = { annotation: MIRROR_ANNOTATION, managers: [FIELD_MANAGER] };

function keysOf(object: KubeObject): CopiedKeys | undefined {
  const copied = copiedKeys(object.metadata.annotations);
  if (copied === undefined) return upstreamKeys(object);
  return isMarked(object, CREATED_BY) ? copied : undefined;
}

/**
 * Upstream's discoverer writes no annotation: what it made has the labels of backend and service of its family. A slice that
 * Kubernetes built from such Endpoints is deleted with those, and no discoverer removes it.
 */
function upstreamKeys({ metadata: { labels = {} } }: KubeObject): CopiedKeys | undefined {
  const isCreated = LABEL_FAMILIES.some((family) => `${family}/backend` in labels && `${family}/service` in labels);
  const isCopy =
    labels['endpointslice.kubernetes.io/managed-by']?.startsWith('endpointslicemirroring-controller') === true;
  return isCreated && !isCopy ? { labels: [], annotations: [] } : undefined;
}
