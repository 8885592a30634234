// The definitions of operator authors. Nothing here runs anything.
import { type Kind, type KubeObject, kindId, type LabelSelector, type ObjectRef } from '@capstan/kube/cluster';
import type { Digest } from './digest.ts';
import { parsePath } from './field-path.ts';
import type { Marked, Standing } from './ownership/index.ts';
import type { Plan } from './plan/index.ts';
import type { Derived, Reader } from './read/reader.ts';

/** The one argument of a reconciler. */
export interface Context<T extends KubeObject = KubeObject, M = unknown> {
  /** A tracked view: spec, generation and deletionTimestamp always count; labels, annotations and status once read. */
  readonly object: T;
  readonly read: Reader;
  readonly digest: Digest;
  readonly memory: Memory<M>;
  /** How an object of a declared kind stands to the object that is reconciled: `own`, `free`, `others`, … */
  standing(kind: Kind, ref: ObjectRef): Standing['is'];
}

/**
 * The role of a cluster for an operator. `local` is the one that the operator runs in; `broker` is one other; `member` and `remote` are
 * many. Caches, RBAC and leases follow per role. A world that is the only one of its role has the role's name.
 */
export type Role = string;

export const LOCAL: Role = 'local';

/** The memory of earlier plans. Reading it never wakes a reconciler. */
export interface Memory<M = unknown> {
  /** The memory of the last plan, from `status.memory`. */
  readonly own: M | undefined;
  /** The memory that was stored on a child or a patched object. */
  of(kind: Kind, ref: ObjectRef): unknown;
}

export interface ReconcilerDefinition<T extends KubeObject, M = unknown> {
  /** kebab-case, named after its one duty; unique within the operator. Part of the field manager: renaming it orphans fields. */
  name: string;
  resource: Kind<T>;
  /** The role of the worlds whose objects it reconciles; `local` by default. */
  in?: Role;
  /** Every kind that it reads besides its own; reading any other throws. */
  reads?: readonly (Kind | ReadDeclaration)[];
  /** Every kind that it writes, by the actions of its plans; a kind alone is one that it applies. Writing anything else throws. */
  writes?: readonly (Kind | WriteDeclaration)[];
  reconcile(context: Context<T, M>): Plan;
  /** Runs instead of reconcile once the object is being deleted and held by our finalizer; ends in released(). */
  release?(context: Context<T, M>): Plan;
  /**
   * Name of the finalizer; `capstan.dev/<name>` by default. False: its objects are never held, so that it needs no right to patch
   * them. Plans may then hold nothing that would be left behind: a child that the garbage collector cannot reach, a patch to be undone.
   */
  finalizer?: string | false;
  /** Whether status.observedGeneration is its to write; by default the first reconciler of a kind in its operator is primary. */
  primary?: boolean;
  /** Whether it writes the status of its resource; if not, its role does not allow it. Default: where there is one. */
  writesStatus?: boolean;
  /**
   * Whether it runs: a derivation or fold, read with the empty key in its own world. While it is false, or not known yet,
   * nothing is evaluated or written, and kinds that only parts like this need are not watched. Always on by default.
   */
  enabled?: Derived<boolean>;
  /** How many keys are written at the same time; DEFAULT_CONCURRENCY by default. */
  concurrency?: number;
}

/** A key that is written mostly waits, for the server and for the caches to take in the write. */
export const DEFAULT_CONCURRENCY = 32;

export interface Reconciler extends ReconcilerDefinition<KubeObject> {
  readonly reads: readonly ReadDeclaration[];
  readonly writes: readonly WriteDeclaration[];
}

/**
 * The reach of a read: RBAC rules and caches follow from it.
 * `referenced`: single objects by name; metadata is watched, content is fetched for objects that something reads.
 * `owned`: only objects that carry our inventory label are cached; a get of any other is absent.
 * `inNamespace`: all objects of the operator's own namespace. `everywhere`: all objects (of the watched namespaces).
 */
export type Reach = 'referenced' | 'owned' | 'inNamespace' | 'everywhere';

export interface ReadDeclaration {
  readonly kind: Kind;
  readonly reach: Reach;
  /** The role of the worlds that it is read in; by default that of the reconciler's own. */
  readonly in?: Role;
  /** The kind may not be installed: that is no failure, and `read.access(kind)` reports it. */
  readonly optional?: boolean;
  /**
   * The paths of the fields that are read, besides metadata: the cache keeps those that any reader of the kind declares. Lists are
   * passed through: `spec.containers.image`. Annotations of others count as fields: `metadata.annotations[example.com/key]`.
   * Without it the whole object is needed.
   */
  readonly fields?: readonly string[];
  /** Only objects with such labels are checked; of all others this reader needs nothing but that they are there. */
  readonly labels?: LabelSelector;
  /** The only namespaces in which it is read; all by default. Rules are Roles there, and no others are watched. */
  readonly namespaces?: readonly string[];
  /** The only names that are read, by `get`; all by default. Rules hold for these names alone, and no others are watched. */
  readonly names?: readonly string[];
}

/**
 * A function of a plan that writes objects. `apply`, `createOnly` and `mint` make children; `share`, `patch` and `remove` concern
 * objects that others have too. The verbs of the rules follow from it.
 */
export type WriteMode = 'apply' | 'createOnly' | 'mint' | 'share' | 'patch' | 'remove';

/** A rule of a role that an operator writes for another account. */
export interface GrantedRule {
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[] | undefined;
}

/** The most that written roles hold: rules for namespaced resources, and for those of the cluster scope. */
export interface Grants {
  readonly namespaced?: readonly GrantedRule[];
  readonly cluster?: readonly GrantedRule[];
}

/**
 * A ClusterRole that the administrator chooses. The operator's account is bound to it, so that the API server lets the operator grant
 * the rules of this role to others, and no rule beyond them.
 */
export interface Bound {
  readonly role: string;
  /** ClusterRoles that the installation brings for it; none where the administrator has written the role. */
  readonly roles?: readonly KubeObject[];
}

/** An account that a user names in a resource, for the workloads with a label of this resource's name. The default account needs no name. */
export interface NamedAccount {
  readonly kind: Kind;
  /** The field with the name, as in `['spec', 'pod', 'serviceAccountName']`. */
  readonly field: readonly string[];
  /** The label of a workload that holds the name of its resource. */
  readonly label: string;
  /** A label that all of these workloads have, and no others. */
  readonly mark: { readonly label: string; readonly value: string };
}

/** Powers of pods over their node: its privileges and networks, its folders, its ports. */
export type PodPower = 'privileges' | 'hostPaths' | 'hostPorts';

export interface WriteDeclaration {
  readonly kind: Kind;
  /** The role of the worlds that it is written in; by default that of the reconciler's own. */
  readonly in?: Role;
  /** The actions of plans on objects of the kind; any other action is an error on the resource. `keep` needs no declaration. */
  readonly by: readonly WriteMode[];
  /** Whether children that are no longer planned are deleted; true by default. False: they stay, or the garbage collector removes them. */
  readonly prunes?: boolean;
  /** The only namespaces in which it is written; all by default. Rules are Roles there, and no others are watched. */
  readonly namespaces?: readonly string[];
  /**
   * Every rule that a written Role or ClusterRole may hold. The operator gets these rights itself, since Kubernetes lets no account grant
   * rights that it does not hold: this bounds its grants, and neither `escalate` nor `bind` is needed.
   */
  readonly grants?: Grants;
  /** For ClusterRoles whose rules cannot be known beforehand: the role that bounds them. `capstan rbac --explain` reports it. */
  readonly bound?: Bound;
  /**
   * For workloads: the accounts that their pods run under, as a regular expression for names, or the field of a resource that names the account.
   * An admission policy refuses others. Without it pods may run under any account of their namespace.
   */
  readonly podAccounts?: string | NamedAccount;
  /** For workloads: the powers over their node that pods may have. An admission policy refuses others. Default: none. */
  readonly podPowers?: readonly PodPower[];
  /**
   * For workloads: the names of those of another program that the operator takes over as they are, in any namespace. An admission policy lets
   * it change them although they are not marked as its own.
   */
  readonly adopts?: readonly string[];
  /** For removals of objects that another program of the operator created: the evidence by which they are known. */
  readonly createdBy?: Marked;
}

const CHILD_MODES: ReadonlySet<WriteMode> = new Set(['apply', 'createOnly', 'mint']);

/** Whether it makes objects that are its own. */
export function makesChildren({ by }: Pick<WriteDeclaration, 'by'>): boolean {
  return by.some((mode) => CHILD_MODES.has(mode));
}

/** Whether it concerns objects that are not its own, so that all of the kind are cached. */
export function concernsOthers({ by }: Pick<WriteDeclaration, 'by'>): boolean {
  return by.some((mode) => !CHILD_MODES.has(mode));
}

/** Declares a read with a reach other than the kind's usual one (Secrets and ConfigMaps `referenced`, the rest `everywhere`). */
export function reading(
  kind: Kind,
  reach: Reach,
  options: Pick<ReadDeclaration, 'in' | 'optional' | 'fields' | 'labels' | 'namespaces' | 'names'> = {},
): ReadDeclaration {
  // A path that is not one is a mistake of the author: it is reported where it is written.
  for (const path of options.fields ?? []) parsePath(path);
  return { kind, reach, ...options };
}

/** Declares a write by the actions of plans: `writing(Secret, 'mint')`, `writing(Service, ['apply', 'remove'])`. */
export function writing(
  kind: Kind,
  by: WriteMode | readonly WriteMode[],
  options: Omit<WriteDeclaration, 'kind' | 'by'> = {},
): WriteDeclaration {
  return { kind, by: typeof by === 'string' ? [by] : by, ...options };
}

export function reconciler<T extends KubeObject, M = unknown>(definition: ReconcilerDefinition<T, M>): Reconciler {
  return {
    ...(definition as unknown as ReconcilerDefinition<KubeObject>),
    reads: readDeclarations(definition.reads ?? []),
    writes: (definition.writes ?? []).map((write) => ('by' in write ? write : writing(write, 'apply'))),
  };
}

export function readDeclarations(reads: readonly (Kind | ReadDeclaration)[]): readonly ReadDeclaration[] {
  return reads.map((read) => ('reach' in read ? read : { kind: read, reach: usualReach(read) }));
}

/** The finalizer that holds an object of it until the infrastructure behind the object is gone. */
export function finalizerOf({ finalizer, name }: Pick<Reconciler, 'finalizer' | 'name'>): string {
  return finalizer || `capstan.dev/${name}`;
}

/** The role in which a reconciler's own objects are, and by default everything that it reads and writes. */

export function roleOf(part: { readonly in?: Role }): Role {
  return part.in ?? LOCAL;
}

/** Whether it makes or patches objects in clusters other than that of their owner. */
export function writesElsewhere(reconciler: Reconciler): boolean {
  return reconciler.writes.some((write) => (write.in ?? roleOf(reconciler)) !== roleOf(reconciler));
}

/** The pattern of names of operators, reconcilers and sinks: field managers, labels, leases and flags are built from them. */
export const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

function usualReach(kind: Kind): Reach {
  return REFERENCED.has(kindId(kind)) ? 'referenced' : 'everywhere';
}

/** Content that is large or secret is fetched when something reads it, not hoarded. */
const REFERENCED = new Set(['Secret', 'ConfigMap']);
