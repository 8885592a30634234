// The inputs of a diff.
import type { Kind, KubeObject, ManagedFieldsEntry, ObjectRef } from '@capstan/kube/cluster';
import {
  MEMORY_ANNOTATION,
  MEMORY_ANNOTATION_PREFIX,
  ORIGINAL_ANNOTATION_PREFIX,
  SHARED_ANNOTATION_PREFIX,
} from '../marks.ts';
import type { Ownership } from '../ownership/index.ts';
import { type AppliedChild, type Plan, placeOf, type StatusInput } from '../plan/index.ts';
import type { WriteProblem } from '../read/reader.ts';
import type { ChildBody, KeyedDigest } from './child-body.ts';

/** The reads of the diff. Every method is a tracked read; an unknown value suspends. */
export interface Observed {
  /** A child of ours: woken by changes of its marks and owners, not by its status. */
  child(kind: Kind, ref: ObjectRef): KubeObject | undefined;
  /** Any object that we patch, share, remove or judge by its content, as a whole. */
  object(kind: Kind, ref: ObjectRef): KubeObject | undefined;
  /** Everything in the cluster that carries our inventory label, of the kinds that the reconciler may write. */
  inventory(): readonly Inventoried[];
  /** Others' objects that carry annotations of ours: originals of patched fields, or digests of shared parts. */
  marked(): readonly { kind: Kind; object: KubeObject }[];
  /** The owner's status and finalizers. */
  status(): StatusInput | undefined;
  finalizers(): readonly string[];
  reached(instant: number | string): boolean;
  /** The sink's report about its last attempt for this key. */
  failure(): Failure | undefined;
  /** Why nothing can be known or written of a kind in another world now; undefined when it can. None by default. */
  away?(kind: Kind): string | undefined;
  /** The worlds that hold children, or may, and cannot be checked now. None by default. */
  awayWorlds?(): readonly string[];
}

export interface Inventoried {
  readonly kind: Kind;
  readonly object: KubeObject;
  /** Whether it is deleted when no plan wants it any more; true by default. */
  readonly prunes?: boolean;
}

export type Failure = WriteProblem;

/** The body that was built from a planned child, and its last verdict: kept while neither the plan nor the child changes. */
export interface KnownChild {
  readonly owner: string | undefined;
  readonly isAdopted: boolean;
  readonly digest: string;
  readonly template: string | undefined;
  /** Undefined while the child is as planned: nothing needs it then, and it is as large as the child. */
  body: ChildBody['body'] | undefined;
  checked: { readonly entry: ManagedFieldsEntry; readonly taken: readonly string[] } | undefined;
}

export interface DiffInput {
  /** The digest for children of sensitive kinds; a plain one by default. */
  readonly keyed?: KeyedDigest;
  /** Plans share unchanged parts, so a child that is the same object is the same child. None by default. */
  readonly known?: WeakMap<AppliedChild, KnownChild>;
  readonly plan: Plan;
  readonly ownership: Ownership;
  /** The same for children in other worlds; for reconcilers that have some. */
  readonly elsewhere?: Ownership | undefined;
  readonly manager: string;
  readonly finalizer: string;
  /** False: the reconciler has no right to put a finalizer on its objects. True by default. */
  readonly mayHold?: boolean;
  /** Whether the reconciler holds its objects until release() has run. */
  readonly hasRelease: boolean;
  /** Whether status.observedGeneration is ours to write. */
  readonly isPrimary: boolean;
  readonly hasStatus: boolean;
  /** A foreign kind: the runtime's own reports become events. Default: kinds without a status. */
  readonly isForeign?: boolean;
  readonly observed: Observed;
}

/** Where the values before our first patch are kept on a foreign object. */
export function originalAnnotation(ownership: Ownership): string {
  return `${ORIGINAL_ANNOTATION_PREFIX}${ownership.inventory}`;
}

/** On a shared object: the digest of the fields that this owner shares in it. */
export function sharedAnnotation(ownership: Ownership): string {
  return `${SHARED_ANNOTATION_PREFIX}${ownership.inventory}`;
}

/** On a patched object: the memory of this owner. Each owner has its own, for several may patch one object. */
export function memoryAnnotation(ownership: Pick<Ownership, 'inventory'>): string {
  return `${MEMORY_ANNOTATION_PREFIX}${ownership.inventory}`;
}

/** Returns the memory that was stored with a child, or with an object that this owner patches. */
export function storedMemory(object: KubeObject, ownership: Pick<Ownership, 'inventory'>): unknown {
  const { annotations = {} } = object.metadata;
  const text = annotations[memoryAnnotation(ownership)] ?? annotations[MEMORY_ANNOTATION];
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    // The annotation was changed by another client: nothing is remembered.
    return undefined;
  }
}

/** One object among all kinds and worlds, as a map key. */
export function identity(kind: Kind, ref: { namespace?: string | undefined; name?: string | undefined }): string {
  const world = placeOf(kind);
  return `${world === undefined ? '' : `${world}:`}${kind.group}/${kind.kind}/${ref.namespace ?? ''}/${ref.name}`;
}

/** One object, as people read it. */
export function describe(kind: Kind, ref: ObjectRef): string {
  const world = placeOf(kind);
  const place = world === undefined ? '' : ` in ${world}`;
  return `${kind.kind} ${ref.namespace ? `${ref.namespace}/` : ''}${ref.name}${place}`;
}

/** The same for an object in another world: its children and patches there are known by the identity of the owner's cluster. */
export function inputFor(input: DiffInput, kind: Kind): DiffInput {
  return placeOf(kind) === undefined || input.elsewhere === undefined
    ? input
    : { ...input, ownership: input.elsewhere };
}
