// The actions of others after a write: the server accepts new types, and controllers start pods, which become ready.
import { type Kind, type KubeObject, kindId } from '@capstan/kube/cluster';

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Returns the object with the status that the server sets by itself: a new type is served at once. */
export function whenAccepted(kind: Kind, object: KubeObject): KubeObject {
  if (kindId(kind) !== 'CustomResourceDefinition.apiextensions.k8s.io') return object;
  const { status } = object as { status?: { conditions?: readonly { type: string; status: string }[] } };
  if (status?.conditions?.some(({ type }) => type === 'Established')) return object;
  const { spec } = object as { spec?: { names?: object; versions?: readonly { name: string; storage: boolean }[] } };
  const conditions = [
    condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
    condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
  ];
  const storedVersions = spec?.versions?.filter(({ storage }) => storage).map(({ name }) => name) ?? [];
  return { ...object, status: { conditions, acceptedNames: spec?.names, storedVersions } } as KubeObject;
}

/** Returns the workload with the status that it has when all its pods are ready; undefined for other kinds. */
export function whenReady(kind: Kind, object: KubeObject): KubeObject | undefined {
  const make = STATUSES[kindId(kind)];
  if (make === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
  const workload = object as Workload;
  const observedGeneration = object.metadata.generation ?? 1;
  return { ...workload, status: { ...workload.status, observedGeneration, ...make(workload) } } as KubeObject;
}

const STATUSES: Readonly<Record<string, (workload: Workload) => object>> = {
  'Deployment.apps': (workload) => ({
    ...replicas(workload),
    availableReplicas: countOf(workload),
    unavailableReplicas: undefined,
    conditions: [
      condition('Available', 'MinimumReplicasAvailable', 'Deployment has minimum availability.'),
      condition('Progressing', 'NewReplicaSetAvailable', 'ReplicaSet has successfully progressed.'),
    ],
  }),
  'StatefulSet.apps': (workload) => ({
    ...replicas(workload),
    currentReplicas: countOf(workload),
    availableReplicas: countOf(workload),
  }),
  'DaemonSet.apps': ({ status }) => {
    const nodes = status?.['desiredNumberScheduled'];
    const count = typeof nodes === 'number' && nodes > 0 ? nodes : 1;
    return {
      desiredNumberScheduled: count,
      currentNumberScheduled: count,
      updatedNumberScheduled: count,
      numberReady: count,
      numberAvailable: count,
      numberMisscheduled: 0,
      numberUnavailable: undefined,
    };
  },
};

function replicas(workload: Workload): object {
  const count = countOf(workload);
  return { replicas: count, updatedReplicas: count, readyReplicas: count };
}

function countOf({ spec }: Workload): number {
  return spec?.replicas ?? 1;
}

function condition(type: string, reason: string, message: string): object {
  return { type, status: 'True', reason, message, lastTransitionTime: '1970-01-01T00:00:00Z' };
}
