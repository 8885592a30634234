// The shared parts of the tests of diffs: an owner, objects as a server would show them, and helpers to inspect them. Only *.test.ts import
// it.
import { ConfigMap, type KubeObject, keyOf, keyOfObject, kindId, type ManagedFieldsEntry } from '@capstan/kube';
import { inventoryId, inventoryOf } from '../inventory.ts';
import type { Ownership } from '../ownership/index.ts';
import { plan } from '../plan/index.ts';
import type { DiffInput, Observed } from './input.ts';

export const MANAGER = 'capstan.test.web';
export const FINALIZER = 'capstan.dev/web';

export function ownershipOf(name = 'owner', metadata: KubeObject['metadata'] = {}): Ownership {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'default', name, uid: `uid-${name}`, generation: 3, ...metadata },
  };
  const owner = { world: '', reconciler: 'test.web', kind: ConfigMap, key: `default/${name}` };
  return { inventory: inventoryId(owner), owner, object };
}

export const OWNED = ownershipOf();

export interface Scene extends Partial<Omit<DiffInput, 'observed'>> {
  /** Everything that is there. */
  objects?: readonly KubeObject[];
  status?: ReturnType<Observed['status']>;
  finalizers?: readonly string[];
  failure?: ReturnType<Observed['failure']>;
  /** Milliseconds since the epoch. */
  now?: number;
}

export function inputOf({ objects = [], status, finalizers = [], failure, now = 0, ...given }: Scene = {}): DiffInput {
  const ownership = given.ownership ?? OWNED;
  const find = (kind: { group: string; kind: string }, key: string) =>
    objects.find((object) => object.kind === kind.kind && keyOfObject(object) === key);
  const listed = objects.map((object) => ({ kind: kindOf(object), object }));
  return {
    plan: plan(),
    ownership,
    manager: MANAGER,
    finalizer: FINALIZER,
    hasRelease: false,
    isPrimary: true,
    hasStatus: true,
    observed: {
      child: (kind, ref) => find(kind, keyOf(ref)),
      object: (kind, ref) => find(kind, keyOf(ref)),
      inventory: () => listed.filter(({ object }) => inventoryOf(object) === ownership.inventory),
      marked: () =>
        listed.filter(({ object }) =>
          Object.keys(object.metadata.annotations ?? {}).some((name) => name.endsWith(`/${ownership.inventory}`)),
        ),
      status: () => status,
      finalizers: () => finalizers,
      reached: (instant) => (typeof instant === 'number' ? instant : Date.parse(instant)) <= now,
      failure: () => failure,
    },
    ...given,
  };
}

/** Returns an applied object as a server shows it. */
export function live<T extends KubeObject>(body: T, extra: KubeObject['metadata'] = {}, manager = MANAGER): T {
  return {
    ...body,
    metadata: {
      uid: `uid-of-${body.metadata.name}`,
      resourceVersion: '7',
      ...body.metadata,
      ...extra,
      managedFields: [entryFor(body, manager)],
    },
  };
}

/** An object of another client. */
export function theirs<T extends KubeObject>(object: T): T {
  const { metadata } = object;
  return { ...object, metadata: { uid: `uid-of-${metadata.name}`, resourceVersion: '7', ...metadata } };
}

/** The entry that server-side apply makes for a body: lists of things with a name are maps, other lists atomic. */
export function entryFor(body: KubeObject, manager = MANAGER): ManagedFieldsEntry {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = body as KubeObject & Record<string, unknown>;
  const { name: _name, namespace: _namespace, uid: _uid, ...mutable } = metadata;
  return { manager, operation: 'Apply', fieldsType: 'FieldsV1', fieldsV1: fieldSet({ ...rest, metadata: mutable }) };
}

function fieldSet(value: unknown): Record<string, unknown> {
  if (Array.isArray(value)) {
    const isMap = value.every((item) => typeof (item as { name?: unknown } | null)?.name === 'string');
    if (!isMap) return {};
    return Object.fromEntries(
      value.map((item) => [`k:{"name":"${(item as { name: string }).name}"}`, { '.': {}, ...fieldSet(item) }]),
    );
  }
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [`f:${name}`, fieldSet(part)]));
}

/** The entry without some of its fields, which another client has taken: paths like `f:spec/f:replicas`. */
export function without(entry: ManagedFieldsEntry, ...paths: readonly string[]): ManagedFieldsEntry {
  return paths.reduce((left, path) => ({ ...left, fieldsV1: lessOf(left.fieldsV1 ?? {}, path.split('/')) }), entry);
}

/** Removes a field as the server does: parents that become empty go too. */
function lessOf(set: Record<string, unknown>, [name = '', ...below]: readonly string[]): Record<string, unknown> {
  const part = set[name] as Record<string, unknown> | undefined;
  if (part === undefined) throw new Error(`there is no ${name} to take`);
  const { [name]: _taken, ...others } = set;
  const less = below.length === 0 ? {} : lessOf(part, below);
  return Object.keys(less).length === 0 ? others : { ...set, [name]: less };
}

function kindOf(object: KubeObject) {
  const [group = ''] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [''];
  const scope = object.metadata.namespace === undefined ? 'Cluster' : 'Namespaced';
  return {
    group,
    version: object.apiVersion.split('/').at(-1) ?? '',
    kind: object.kind,
    plural: `${object.kind.toLowerCase()}s`,
    scope,
    apiVersion: object.apiVersion,
  } as const;
}

/** Returns the remaining writes in few words. */
export function verbsOf(
  writes: readonly { verb: string; kind: { group: string; kind: string }; ref: { name: string } }[],
) {
  return writes.map(({ verb, kind, ref }) => `${verb} ${kindId(kind)} ${ref.name}`);
}
