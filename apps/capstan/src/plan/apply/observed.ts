// The objects that operators write, as they are at one moment, and what happened to them between two moments.
import {
  type Client,
  canonicalJson,
  equal,
  isApiError,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  kindId,
} from '@capstan/kube';
import { FIELD_MANAGER_PREFIX, INVENTORY_LABEL, type Operator, OWNER_ANNOTATION } from '@capstan/reconcile';

/** By `Kind namespace/name`. */
export type Observation = ReadonlyMap<string, Observed>;

interface Observed {
  /** The object that it was written for, as `Kind namespace/name`; '' for objects that no operator has created. */
  readonly owner: string;
  readonly content: string;
  /** When an operator last wrote to it, to the second, as the server noted it; undefined where no operator has. */
  readonly writtenAt: number | undefined;
  readonly workload: { readonly replicas: number; readonly template: unknown } | undefined;
}

const WORKLOADS = new Set(['Deployment.apps', 'DaemonSet.apps', 'StatefulSet.apps']);

/** Reads every child of the operators, and the other objects that are named. Kinds that cannot be read are left out. */
export async function observe(
  client: Client,
  operators: readonly Operator[],
  named: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Observation> {
  const found = new Map<string, Observed>();
  const kinds = writtenKinds(operators);
  for (const kind of kinds.values()) {
    await readable(async () => {
      for await (const { items } of client.pages<KubeObject>(kind, { labelSelector: INVENTORY_LABEL, signal }))
        for (const object of items) found.set(nameOf(kind, object), observed(kind, object));
    });
  }
  for (const name of named) {
    const [kindName = '', key = ''] = name.split(' ');
    const kind = [...kinds.values()].find((one) => one.kind === kindName);
    if (kind === undefined || found.has(name)) continue;
    const [of, only] = key.includes('/') ? key.split('/') : [undefined, key];
    const ref = { name: only ?? '', ...(of !== undefined && { namespace: of }) };
    await readable(async () => {
      const object = await client.find<KubeObject>(kind, ref, { signal });
      if (object !== undefined) found.set(`${kind.kind} ${keyOf(ref)}`, observed(kind, object));
    });
  }
  return found;
}

export interface ObservedStatus {
  /** Without the times of conditions. */
  readonly content: string;
  /** True where operators alone write to it. */
  readonly isOurs: boolean;
}

/** Reads the statuses of all objects that the operators work on, by `Kind namespace/name`. */
export async function observeStatuses(
  client: Client,
  operators: readonly Operator[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ObservedStatus>> {
  const found = new Map<string, ObservedStatus>();
  const resources = operators.flatMap(({ reconcilers }) => reconcilers.map(({ resource }) => resource));
  for (const kind of new Map(resources.map((one) => [kindId(one), one])).values()) {
    await readable(async () => {
      for await (const { items } of client.pages<KubeObject>(kind, { signal }))
        for (const object of items) found.set(nameOf(kind, object), observedStatus(object));
    });
  }
  return found;
}

/** The content of a status that nothing has written to. */
export const EMPTY = canonicalJson({});

function observedStatus({ metadata, ...object }: KubeObject): ObservedStatus {
  const { conditions, ...status } = ((object as { status?: object }).status ?? {}) as { conditions?: unknown };
  const untimed = Array.isArray(conditions)
    ? conditions.map((one: object) => ({ ...one, lastTransitionTime: undefined }))
    : conditions;
  const writers = metadata.managedFields?.filter(({ subresource }) => subresource === 'status') ?? [];
  return {
    content: canonicalJson({ ...status, conditions: untimed }),
    isOurs: writers.every(({ manager }) => manager?.startsWith(FIELD_MANAGER_PREFIX)),
  };
}

function writtenAt({ managedFields = [] }: KubeObject['metadata']): number | undefined {
  const times = managedFields
    .filter(({ manager, subresource }) => subresource !== 'status' && manager?.startsWith(FIELD_MANAGER_PREFIX))
    .flatMap(({ time }) => (time === undefined ? [] : [Date.parse(time)]));
  return times.length === 0 ? undefined : Math.max(...times);
}

/** `created`, `changed` or `deleted`, by name; objects that stayed as they were are left out. */
export function changesOf(before: Observation, after: Observation): Map<string, 'created' | 'changed' | 'deleted'> {
  const changes = new Map<string, 'created' | 'changed' | 'deleted'>();
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, next] = [before.get(name), after.get(name)];
    if (old?.content === next?.content) continue;
    changes.set(name, old === undefined ? 'created' : next === undefined ? 'deleted' : 'changed');
  }
  return changes;
}

/** The disturbance of the pods of a workload, in the words of a plan; undefined when there was none. */
export function disturbanceOf(before: Observed | undefined, after: Observed | undefined): string | undefined {
  const [old, next] = [before?.workload?.replicas ?? 0, after?.workload?.replicas ?? 0];
  if (old === 0) return next === 0 ? undefined : 'starts pods';
  if (next === 0) return 'stops pods';
  if (!equal(before?.workload?.template, after?.workload?.template)) return 'rolls pods';
  return next === old ? undefined : next < old ? 'stops pods' : 'starts pods';
}

function writtenKinds(operators: readonly Operator[]): Map<string, Kind> {
  const kinds = operators.flatMap(({ reconcilers }) =>
    reconcilers.flatMap(({ writes }) => writes.map(({ kind }) => kind)),
  );
  return new Map(kinds.map((kind) => [kindId(kind), kind]));
}

/** A kind that the user may not read, or that is not served, shows nothing. */
async function readable(read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!isApiError(error) || ![401, 403, 404, 405].includes(error.code)) throw error;
  }
}

function nameOf(kind: Kind, object: KubeObject): string {
  return `${kind.kind} ${keyOfObject(object)}`;
}

function observed(kind: Kind, object: KubeObject): Observed {
  const { metadata, status: _status, ...content } = object as KubeObject & { status?: unknown; spec?: object };
  const { uid, labels, annotations, ownerReferences, deletionTimestamp } = metadata;
  // Controllers of Kubernetes number rollouts there.
  const own = Object.entries(annotations ?? {}).filter(([name]) => !name.startsWith('deployment.kubernetes.io/'));
  const { replicas = 1, template } = (content.spec ?? {}) as { replicas?: number; template?: unknown };
  return {
    owner: ownerIn(annotations?.[OWNER_ANNOTATION]),
    writtenAt: writtenAt(metadata),
    content: canonicalJson({ content, uid, labels, own, ownerReferences, isGoing: deletionTimestamp !== undefined }),
    workload: WORKLOADS.has(kindId(kind)) ? { replicas, template } : undefined,
  };
}

/** From `reconciler Kind.group namespace/name`. */
function ownerIn(annotation = ''): string {
  const [, kind = '', key = ''] = annotation.split(' ');
  return key === '' ? '' : `${kind.split('.')[0]} ${key}`;
}
