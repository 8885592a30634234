// Children: objects that a plan wants to exist. Five ways to want one.
import { type Clock, type Kind, type KubeObject, keyOf, type ObjectRef } from '@capstan/kube/cluster';
import { DefinitionErrors } from '../errors.ts';
import type { Adoption } from '../ownership/index.ts';
import { inWorld } from './place.ts';

export type Child = AppliedChild | CreatedChild | MintedChild | SharedChild | KeptChild;

interface ChildBase {
  readonly kind: Kind;
  readonly ref: ObjectRef;
}

/** Ours wholly: applied by server-side apply, forced where another manager took a field, pruned when no longer planned. */
export interface AppliedChild extends ChildBase {
  readonly how: 'apply';
  readonly object: KubeObject;
  /** Paths of fields that others may take for good (`spec.replicas` under an autoscaler): sent only while they are ours. */
  readonly yields: readonly string[];
  /** Remembered as an annotation on the child, written in the same request. */
  readonly memory: unknown;
  /**
   * Whether our owner reference is the controller's. False where the object itself names another controller (a revision that
   * takes turns with others) and must stay one child of ours all the same.
   */
  readonly controls: boolean;
  /**
   * How an existing object is met that was not created for this owner and that nothing controls. False: it is a conflict.
   * `referring`: it is taken over if it names the owner in an owner reference, because another operator made it for the same
   * resource. True: it is kept as planned, and given back instead of deleted. `shared`: it is treated as a shared child.
   * The object of another controller is a conflict in any case.
   */
  readonly adopts: Adoption;
  /** Uids of other objects of ours that may control an existing one, because an upstream operator created it for them. */
  readonly controllers: readonly string[];
  /**
   * `exact`: fields that other field managers add are removed, or reported. `shared`: they stay. In either case these stay: metadata, the
   * status, yielded fields, replicas that the plan does not name, and fields that Kubernetes itself sets.
   */
  readonly fields: 'exact' | 'shared';
}

/** Created when absent and never changed after that; pruned when no longer planned. */
export interface CreatedChild extends ChildBase {
  readonly how: 'createOnly';
  readonly object: KubeObject;
  /** False: not ours once it is there; neither owned nor pruned. True by default. */
  readonly owned: boolean;
}

/** A value that cannot be computed (keys, certificates): created once, off the event loop, and again when no longer valid. */
export interface MintedChild extends ChildBase {
  readonly how: 'mint';
  readonly minter: Minter;
  /** Plain data that `valid` and `make` are given: no secrets. */
  readonly inputs: unknown;
  /** Whether one that is not ours and no longer valid is replaced, if it names the owner in an owner reference. */
  readonly adopts: false | 'referring';
  /** As for an applied child. */
  readonly controllers: readonly string[];
}

/** An object that others use too: our fields are applied and withdrawn, never forced, and the object is never deleted by us. */
export interface SharedChild extends ChildBase {
  readonly how: 'share';
  readonly object: KubeObject;
}

/** Stays as it is: neither changed nor pruned. */
export interface KeptChild extends ChildBase {
  readonly how: 'keep';
  /** For previews: the condition for its removal, as in `the new one is ready`. */
  readonly until?: string;
}

/** How a minted child comes to be. A module-level constant, so that plans compare equal. */
export interface Minter<I = never, T extends KubeObject = KubeObject> {
  readonly name: string;
  /**
   * Whether the existing object still serves. Time comes in by `reached`, which wakes when the instant comes: renewal needs nothing else.
   */
  valid(existing: T, inputs: I, time: { reached(instant: number | string): boolean }): boolean;
  /**
   * Whether `make` changes nothing outside. Previews then call it too, to show the effects of the content. The content of a preview is
   * never written or shown. False by default.
   */
  readonly readOnly?: true;
  /** One `make` may last so long; 60,000 by default. */
  readonly timeoutMs?: number;
  /** Creates or renews it. Never compared, printed or logged. */
  make(inputs: I, existing: T | undefined, context: MintContext): Promise<T>;
}

export interface MintContext {
  /** The clock for the times in the created object. */
  readonly clock: Clock;
  /** Aborted when the lease is lost or the program ends. */
  readonly signal: AbortSignal;
}

export interface ApplyChildOptions {
  yields?: readonly string[];
  memory?: unknown;
  /** True by default. */
  controls?: boolean;
  /** False by default. */
  adopts?: Adoption;
  /** None by default. */
  controllers?: readonly string[];
  /** `exact` by default; `shared` where an object that was there before may be adopted, because its fields are the user's. */
  fields?: 'exact' | 'shared';
  /** The name of the world to write it in; that of the owner by default. */
  in?: string;
}

/** One for all: there is a child for nearly every object. */
const NONE: readonly never[] = [];

/** A child that is ours wholly. */
export function apply<T extends KubeObject>(
  kind: Kind<T>,
  object: ChildObject<T>,
  options: ApplyChildOptions = {},
): AppliedChild {
  return {
    how: 'apply',
    kind: inWorld(kind, options.in),
    ref: checkedRef(kind, object.metadata),
    object: identified(kind, object),
    yields: checkedYields(kind, object.metadata, options.yields ?? NONE),
    memory: options.memory,
    controls: options.controls ?? true,
    adopts: options.adopts ?? false,
    controllers: options.controllers ?? NONE,
    fields: options.fields ?? (options.adopts === true || options.adopts === 'shared' ? 'shared' : 'exact'),
  };
}

export function createOnly<T extends KubeObject>(
  kind: Kind<T>,
  object: ChildObject<T>,
  options: { owned?: boolean; in?: string } = {},
): CreatedChild {
  return {
    how: 'createOnly',
    kind: inWorld(kind, options.in),
    ref: checkedRef(kind, object.metadata),
    object: identified(kind, object),
    owned: options.owned ?? true,
  };
}

export function mint<I, T extends KubeObject>(
  kind: Kind<T>,
  ref: ObjectRef,
  minter: Minter<I, T>,
  inputs: I,
  options: { in?: string /** False by default. */; adopts?: false | 'referring'; controllers?: readonly string[] } = {},
): MintedChild {
  const { adopts = false, controllers = [] } = options;
  const common = { kind: inWorld(kind, options.in), ref: checkedRef(kind, ref) };
  return { how: 'mint', ...common, minter, inputs, adopts, controllers };
}

export function share<T extends KubeObject>(
  kind: Kind<T>,
  object: ChildObject<T>,
  options: { in?: string } = {},
): SharedChild {
  return {
    how: 'share',
    kind: inWorld(kind, options.in),
    ref: checkedRef(kind, object.metadata),
    object: identified(kind, object),
  };
}

export function keep(kind: Kind, ref: ObjectRef, options: { in?: string; until?: string } = {}): KeptChild {
  const { until } = options;
  return { how: 'keep', kind: inWorld(kind, options.in), ref: checkedRef(kind, ref), ...(until && { until }) };
}

/** A child as a reconciler writes it: apiVersion and kind follow from the Kind. */
export type ChildObject<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'status'> & {
  apiVersion?: string;
  kind?: string;
};

function checkedYields(kind: Kind, { name }: KubeObject['metadata'], yields: readonly string[]): readonly string[] {
  const wrong = yields.find((path) => path.includes('['));
  if (wrong !== undefined) throw DefinitionErrors.YieldsListItem(`${kind.kind} ${name}`, wrong);
  return yields;
}

/** apiVersion and kind follow from the Kind; a status is never ours to apply. */
function identified(kind: Kind, object: object): KubeObject {
  const { status: _status, ...content } = object as { status?: unknown };
  return { ...content, apiVersion: kind.apiVersion, kind: kind.kind } as KubeObject;
}

/** A name, and a namespace exactly if the kind has them. */
function checkedRef(kind: Kind, { name, namespace }: KubeObject['metadata']): ObjectRef {
  if (!name) throw DefinitionErrors.NoName(kind.kind);
  if (kind.scope === 'Namespaced' && !namespace) throw DefinitionErrors.NoNamespace(kind.kind, name);
  if (kind.scope === 'Cluster' && namespace) throw DefinitionErrors.HasNamespace(kind.kind, keyOf({ namespace, name }));
  return namespace ? { namespace, name } : { name };
}
