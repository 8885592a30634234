// The objects that operators write, at one moment, and their changes between two moments.
import {
  type Client,
  canonicalJson,
  equal,
  isApiError,
  isRecord,
  type Kind,
  type KubeObject,
  keyOf,
  keyOfObject,
  kindId,
  type ManagedFieldsEntry,
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
  readonly workload:
    | { readonly uid: string | undefined; readonly replicas: number; readonly template: unknown }
    | undefined;
}

const LEASE = 'Lease.coordination.k8s.io';
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
        for (const object of items.filter(isWritten)) found.set(nameOf(kind, object), observed(kind, object));
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

/** Controllers of Kubernetes copy labels of ours from a Service to its endpoints: an operator has written only where it is a field manager. */
function isWritten({ metadata: { managedFields = [] } }: KubeObject): boolean {
  return managedFields.some(isOperators);
}

function isOperators({ manager, subresource }: ManagedFieldsEntry): boolean {
  return subresource !== 'status' && manager?.startsWith(FIELD_MANAGER_PREFIX) === true;
}

export interface ObservedStatus {
  /** Without times, which move by themselves. */
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

/** Compares by value: a status without times. An instant in a message counts as well. */
export function statusText(status: unknown): string {
  return canonicalJson(untimed(status));
}

function untimed(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(INSTANT, 'TIME');
  if (Array.isArray(value)) return value.map(untimed);
  if (!isRecord(value)) return value;
  const { lastTransitionTime: _time, ...rest } = value;
  return Object.fromEntries(Object.entries(rest).map(([name, part]) => [name, untimed(part)]));
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** The content of a status that nothing has written to. */
export const EMPTY = statusText({});

function observedStatus({ metadata, ...object }: KubeObject): ObservedStatus {
  const { status = {} } = object as { status?: object };
  const writers = metadata.managedFields?.filter(({ subresource }) => subresource === 'status') ?? [];
  return {
    content: statusText(status),
    isOurs: writers.every(({ manager }) => manager?.startsWith(FIELD_MANAGER_PREFIX)),
  };
}

function writtenAt({ managedFields = [] }: KubeObject['metadata']): number | undefined {
  const times = managedFields.filter(isOperators).flatMap(({ time }) => (time === undefined ? [] : [Date.parse(time)]));
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
  // Another object may have taken the name.
  if (next === 0 || before?.workload?.uid !== after?.workload?.uid) return 'stops pods';
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
  const { metadata, status: _status, ...all } = object as KubeObject & { status?: unknown; spec?: object };
  // A Lease is renewed all the time.
  const content = kindId(kind) === LEASE ? {} : all;
  const { uid, labels, annotations, ownerReferences, deletionTimestamp } = metadata;
  // Controllers of Kubernetes number rollouts there.
  const own = Object.entries(annotations ?? {}).filter(([name]) => !name.startsWith('deployment.kubernetes.io/'));
  const { replicas = 1, template } = (all.spec ?? {}) as { replicas?: number; template?: unknown };
  return {
    owner: ownerIn(annotations?.[OWNER_ANNOTATION]),
    writtenAt: writtenAt(metadata),
    content: canonicalJson({ content, uid, labels, own, ownerReferences, isGoing: deletionTimestamp !== undefined }),
    workload: WORKLOADS.has(kindId(kind)) ? { uid, replicas, template } : undefined,
  };
}

/** From `reconciler Kind.group namespace/name`. */
function ownerIn(annotation = ''): string {
  const [, kind = '', key = ''] = annotation.split(' ');
  return key === '' ? '' : `${kind.split('.')[0]} ${key}`;
}
