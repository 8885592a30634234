// The kind of object that runs a revision, as everybody reads it who does not care which kind that is.
import type { Kind, KubeObject, ObjectRef } from '@capstan/kube';
import { index, type KindIndex } from '@capstan/reconcile';
import { PACKAGE_GROUP } from './runtime-config.ts';

export interface WorkloadHealth {
  /** Enough pods are ready, whatever version they run. */
  readonly isAvailable: boolean;
  /** Every pod matches the current object and is ready. */
  readonly isComplete: boolean;
  readonly message: string;
}

export interface RunningWorkload extends ObjectRef {
  readonly namespace: string;
  /** That it runs. */
  readonly revision: string | undefined;
  /** That its pods run as. */
  readonly account: string | undefined;
}

export interface Workload {
  readonly kind: Kind;
  /** Caches keep no more of it than this. */
  readonly fields: readonly string[];
  // Projections: the same functions for all readers.
  readonly health: (object: KubeObject) => WorkloadHealth;
  readonly running: (object: KubeObject) => RunningWorkload;
  /** The workloads of a package or a revision, by `KIND UID`: also those that an earlier revision or configuration has left. */
  readonly byOwner: KindIndex;
}

export interface WorkloadParts<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly fields: readonly string[];
  health(object: T): WorkloadHealth;
  /** The ServiceAccount that its pods run as. */
  account(object: T): string | undefined;
}

/** To be created once for each kind, when the module is loaded. */
export function workloadOf<T extends KubeObject>({ kind, fields, health, account }: WorkloadParts<T>): Workload {
  const running = (object: T): RunningWorkload => ({
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name ?? '',
    revision: object.metadata.ownerReferences?.find(({ controller }) => controller)?.name,
    account: account(object),
  });
  // Objects of this kind are all that these functions are ever given.
  return { kind, fields, health, running, byOwner: index(kind, 'crossplane owners', ownersOf) } as unknown as Workload;
}

/** Keys of packages and revisions that an object names as its owners. */
export const ownersOf = ({ metadata }: KubeObject): readonly string[] =>
  (metadata.ownerReferences ?? []).flatMap(({ apiVersion, kind, uid }) =>
    apiVersion.startsWith(`${PACKAGE_GROUP}/`) ? [`${kind} ${uid}`] : [],
  );
