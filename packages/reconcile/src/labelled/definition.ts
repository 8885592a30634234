// Children known by label: objects that have no owner object. Their source lies outside of the cluster, so no owner reference and no
// inventory label names it; a label with a value of the author's choice makes them ours. They come in units that stand and fall together,
// such as a Service with its slices. Only a digest of each existing child is kept: thousands of children cost little memory, and the check
// whether one is as it should be compares two texts.
import type { Client, Clock, Kind, KubeObject, Logger, Random } from '@capstan/kube/cluster';
import type { Permit, Ruled } from '../ownership/index.ts';
import type { Bucket } from '../queue/index.ts';
import type { SinkBatch, SinkContext } from '../sinks/index.ts';

/** The author's part. `V` is the value that a sink delivers, `F` a finding about a unit, `D` the detail that is kept of a child. */
export interface LabelledDefinition<V, F, D> {
  /** For messages. */
  readonly name: string;
  /** Kinds in the order of creation: a tier is written when the one before is as wanted, and removed before it. */
  readonly tiers: readonly (readonly LabelledKind[])[];
  /** Label selectors that find the children; each object is found by one of them. */
  readonly selectors: readonly string[];
  readonly fieldManager: string;
  /** The unit that a child belongs to: `namespace/name`. */
  unitOf(object: KubeObject): string;
  /** Returns a digest of the managed part of an object, either a desired one or one that the server has. */
  digestOf(object: KubeObject): string;
  /** Returns the detail that is kept of a child besides its digest. */
  detailOf(object: KubeObject): D;
  /** Whose the object is that has the name of a child, in words that follow its name; undefined: it is ours. */
  claimOf(object: KubeObject, wanted: KubeObject): string | undefined;
  /** The evidence without which nothing is removed. */
  readonly created: Required<Ruled>;
  /** Returns the merge patch from a child to the desired object. */
  patchTo(wanted: KubeObject, child: LabelledChild<D>): Readonly<Record<string, unknown>>;
  /** The unit of a key that a sink delivers; several keys may have one. */
  unitOfKey(key: string): string;
  /** Returns the finding about a unit, from the values of its keys, in the order of the keys. */
  find(unit: string, values: readonly (readonly [key: string, value: V])[]): F;
  wantedOf(finding: F): Wanted;
}

export interface LabelledKind {
  readonly kind: Kind;
  /** Where the server does not let us list it, there is none of it. False by default. */
  readonly optional?: boolean;
}

/** The desired state of a unit. */
export type Wanted =
  /** Nothing: our existing children go. */
  | { readonly state: 'absent' }
  /** Not known: our existing children stay as they are. */
  | { readonly state: 'kept' }
  | { readonly state: 'present'; readonly children: readonly WantedChild[] };

export interface WantedChild {
  readonly kind: Kind;
  readonly object: KubeObject;
}

/** A child as it is remembered: name, version, and a digest instead of its content. */
export interface LabelledChild<D = unknown> extends KubeObject {
  readonly digest: string;
  readonly unit: string;
  /** Undefined when it belongs to another owner, as the claim reports. */
  readonly update: Permit<'update'> | undefined;
  readonly claim: string | undefined;
  /** Undefined when it is not known that we created it: then it is never removed. */
  readonly removal: Permit<'delete'> | undefined;
  readonly detail: D;
}

/** A reason why a unit is not as it should be. */
export type Obstacle =
  /** Its namespace is not there. `happened`: an attempt was made all the same. */
  | { readonly what: 'namespace'; readonly namespace: string; readonly happened: boolean }
  /** An object that is not ours has the name of a child. */
  | { readonly what: 'taken'; readonly kind: Kind; readonly claim: string }
  /** The server refused a write, or did not answer. */
  | { readonly what: 'refused'; readonly kind: Kind; readonly action: LabelledAction; readonly error: unknown };

export type LabelledAction = 'add' | 'update' | 'delete';

/** Receives the events of units, for metrics, counts and reports. */
export interface LabelledObserver<F, D> {
  /** A unit was compared. */
  compared?(unit: string, finding: F, children: readonly LabelledChild<D>[]): void;
  /** A unit is as it should be, or has an obstacle. */
  settled?(unit: string, finding: F, obstacle: Obstacle | undefined): void;
  /** So many removals are held back now. */
  held?(children: number): void;
  /** `isReady` has become true. */
  ready?(): void;
  wrote?(kind: Kind, action: LabelledAction, unit: string): void;
  failed?(kind: Kind, action: LabelledAction, unit: string): void;
}

export interface LabelledChildrenOptions<V, F, D> {
  definition: LabelledDefinition<V, F, D>;
  /** The client of the cluster that the children are in. */
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** True while the source confirms its picture. Nothing is written while it does not. */
  isLive(): boolean;
  /** Shows when this process may remove. */
  removing: { readonly holds: boolean; onChange(listener: (holds: boolean) => void): void };
  /** Units at a time. */
  threads: number;
  /** The rate limit of writes. */
  bucket: Bucket;
  /** Everything is compared again so often. */
  resyncMs: number;
  /** True: a missing namespace is created. */
  createsNamespaces: boolean;
  observe?: LabelledObserver<F, D>;
}

export interface LabelledChildren<V> {
  /** Opens a sink whose batches are brought into the cluster. */
  open(context: Pick<SinkContext<V, never>, 'current'>): { take(batch: SinkBatch<V>): void };
  /** `isLive` may have changed. */
  stateChanged(): void;
  /** The source was seen as a whole once more, or has been watched for as long. */
  confirmed(): void;
  /** The source has delivered everything that it has. */
  readonly isDelivered: boolean;
  /** The first full comparison is done, and its writes have been tried. */
  readonly isReady: boolean;
  /** When everything was last compared, or the source last confirmed its picture; undefined before. */
  readonly lastSync: number | undefined;
  /** Units that wait or are worked on. */
  readonly queued: number;
  /** Removals that are held back. */
  readonly held: number;
  run(signal: AbortSignal): Promise<void>;
}
