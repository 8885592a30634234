// The writes that would make a plan true: plain data, compared by value, carried out by apply/ and shown by `capstan plan`.
import type { Kind, KubeObject, ObjectRef } from '@capstan/kube/cluster';
import type { Claimant, Intent, Permit } from '../ownership/index.ts';
import type { ConditionInput, EventInput, Minter, StatusInput } from '../plan/index.ts';

/** Everything that is still to be done for one key, in the order in which it goes out. Empty once the plan is so. */
export interface WriteSet {
  /** Our finalizer: put on before the first child, taken off after the last. */
  readonly finalizer: 'add' | 'remove' | undefined;
  readonly groups: readonly PendingGroup[];
  /** Children that are no longer planned; only once all groups are done. */
  readonly prune: readonly DeleteWrite[];
  /** How many children there are, planned or not. */
  readonly inventory: number;
  readonly status: StatusWrite | undefined;
  /** Reported along with the next write that is really made, so that a restart repeats none of them. */
  readonly events: readonly EventInput[];
  /** Problems with an object whose status is not the place for them: reported once, with or without a write. */
  readonly alerts: readonly EventInput[];
  /** The error of the reconciler or of the computation of its writes: only the status is written then, and it is tried again. */
  readonly threw: string | undefined;
  /** Obstacles and events: shown in the status and by `capstan status`. */
  readonly notes: readonly Note[];
  /** Objects that are kept for now and removed later; absent if there are none. Shown by `capstan plan`. */
  readonly later?: readonly LaterRemoval[];
}

export interface LaterRemoval extends WriteBase {
  readonly until: string;
}

export interface PendingGroup {
  readonly name: string;
  readonly writes: readonly ChildWrite[];
  readonly quietMs: number;
  readonly quietAtCreation: boolean;
  readonly preflight: boolean;
  readonly open: boolean;
  readonly waitingFor: string | undefined;
}

export type ChildWrite =
  | ApplyWrite
  | CreateWrite
  | MergeWrite
  | MintWrite
  | HoldWrite
  | PurgeWrite
  | ShareWrite
  | WithdrawWrite
  | PatchWrite
  | DeleteWrite;

interface WriteBase {
  readonly kind: Kind;
  readonly ref: ObjectRef;
}

export interface ApplyWrite extends WriteBase {
  readonly verb: 'apply';
  readonly may: Permit<'create' | 'update' | 'takeOver' | 'adopt'>;
  /** The body to send, marks included. */
  readonly body: KubeObject;
  /** Whether the cache has it: if not, the server is asked before a foreign object is overwritten. */
  readonly exists: boolean;
  /** Fields that another field manager has taken since, and that are taken back. */
  readonly taken: readonly string[];
}

export interface CreateWrite extends WriteBase {
  readonly verb: 'create';
  readonly may: Permit<'create'>;
  readonly body: KubeObject;
  /**
   * By default the server is asked for an object of the name before anything is sent. `judged`: it is sent at once, and an object that
   * has the name is shown to the diff. `refused`: it is sent at once, and the refusal is the answer.
   */
  readonly unseen?: 'judged' | 'refused';
}

/** Brings an object that is known by its digest up to date: a merge patch on exactly the version that was judged. */
export interface MergeWrite extends WriteBase {
  readonly verb: 'merge';
  readonly may: Permit<'update'>;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Without the version, which is added when it is sent. */
  readonly patch: Readonly<Record<string, unknown>>;
}

export interface MintWrite extends WriteBase {
  readonly verb: 'mint';
  readonly may: Permit<'create' | 'replace'>;
  readonly minter: Minter;
  readonly inputs: unknown;
  /** Labels and annotations that mark it as ours. */
  readonly marks: KubeObject['metadata'];
  /** The one to replace; created with a precondition when absent. */
  readonly existing: { readonly uid: string; readonly resourceVersion: string } | undefined;
}

/** Records that a user rolled this child back, and from which template, so that it is held after a restart too. */
export interface HoldWrite extends WriteBase {
  readonly verb: 'hold';
  readonly from: string;
}

/** Removes the fields that others have added to an exact child. They are found once more on the object as it is then. */
export interface PurgeWrite extends WriteBase {
  readonly verb: 'purge';
  readonly may: Permit<'update'>;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly paths: readonly string[];
  readonly yields: readonly string[];
}

export interface ShareWrite extends WriteBase {
  readonly verb: 'share';
  readonly may: Permit<'create' | 'update' | 'share'>;
  readonly body: KubeObject;
  /** Each owner that shares in an object has a field manager of its own there. */
  readonly manager: string;
  /** The digest of the existing object: a refused share is tried again when that changes, and not before. */
  readonly seen: string | undefined;
}

/** Gives our fields of a shared object back. */
export interface WithdrawWrite extends WriteBase {
  readonly verb: 'withdraw';
  readonly manager: string;
  /** Ours on the object, to be removed with our fields. */
  readonly annotation: string;
  /** True: the fields stay as they are, and only our marks and our claim to the fields go. */
  readonly keepsFields?: true;
  /** Exactly this object, as it was seen. */
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface PatchWrite extends WriteBase {
  readonly verb: 'patch';
  readonly may: Permit<'update'>;
  readonly uid: string;
  /** JSON patch, guarded by the resourceVersion that it was computed from. */
  readonly operations: readonly { op: string; path: string; value?: unknown }[];
  /** Where the cause is written: as an annotation, with the first annotation, or nowhere when all is given back. */
  readonly causeAt: 'annotation' | 'annotations' | undefined;
}

export interface DeleteWrite extends WriteBase {
  readonly verb: 'delete';
  readonly may: Permit<'delete'>;
  readonly uid: string;
  /** The version of the judged object. One that has changed since is judged again before it is deleted. */
  readonly resourceVersion?: string;
  readonly because: 'pruned' | 'removed';
  readonly intent: Extract<Intent, { mode: 'remove' | 'unplanned' }>;
  readonly claimant: Claimant;
}

export interface StatusWrite {
  readonly input: StatusInput;
  readonly conditions: readonly ConditionInput[];
  readonly generation: number | undefined;
  /** False when only progress fields differ: those may wait a second. */
  readonly isUrgent: boolean;
}

export type Note = {
  readonly about: 'paused' | 'conflict' | 'rolledBack' | 'taken' | 'waiting' | 'away' | 'missing' | 'foreign';
  readonly message: string;
  /** The child that is paused, as `Kind.group namespace/name`; absent where the owner is. */
  readonly child?: string;
};

export const NOTHING: WriteSet = {
  finalizer: undefined,
  groups: [],
  prune: [],
  inventory: 0,
  status: undefined,
  events: [],
  alerts: [],
  threw: undefined,
  notes: [],
};

/** The one set for all owners of which nothing is left to do: thousands of them are kept, and most are settled. */
export function settledOnce(writes: WriteSet): WriteSet {
  const { finalizer, groups, prune, inventory, status, events, alerts, threw, notes, later } = writes;
  const isEmpty =
    finalizer === undefined &&
    status === undefined &&
    threw === undefined &&
    later === undefined &&
    groups.length + prune.length + events.length + alerts.length + notes.length === 0;
  return isEmpty ? (SETTLED[inventory] ?? writes) : writes;
}

/** By how many children there are. */
const SETTLED: readonly WriteSet[] = Array.from({ length: 17 }, (_, inventory) => ({ ...NOTHING, inventory }));

/** Whether anything of the set can or could go out. Events alone do not count: they only accompany writes. */
export function isSettled(writes: WriteSet): boolean {
  return (
    writes.finalizer === undefined &&
    writes.status === undefined &&
    writes.prune.length === 0 &&
    writes.alerts.length === 0 &&
    writes.groups.every((group) => group.writes.length === 0)
  );
}
