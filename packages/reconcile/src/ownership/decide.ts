// The one place that decides whether an object may be created, updated, taken over, replaced, given back or deleted. Every
// write of a plan carries the permit that this function gave; nothing else can make one. The rule behind the table: no
// operator deletes or replaces an object that it did not create, unless docs/decisions/0034-ownership.md names the case.
import type { KubeObject } from '@capstan/kube/cluster';
import { isMarked, type Provenance } from './provenance.ts';
import { type Claimant, type Standing, standingOf } from './standing.ts';

/** The intent of a plan for an object. */
export type Intent =
  | Exact
  | Mint
  | Removal
  | Labelled
  /** Our fields in an object that others use too. */
  | { readonly mode: 'shared' }
  /** It stays as it is. */
  | { readonly mode: 'keep' }
  /** There is one, and its content is not ours to change. */
  | { readonly mode: 'createOnly' }
  /** Fields of an object of another owner. */
  | { readonly mode: 'patch' }
  /** It carries our label, and no plan wants it any more. */
  | { readonly mode: 'unplanned' };

export type Mode = Intent['mode'];

interface Exact {
  readonly mode: 'exact';
  /** How an existing object is met that does not name the owner: see AppliedChild. */
  readonly adopts: Adoption;
  /** False: the object names another controller, and refers to the owner beside it. */
  readonly controls: boolean;
  /** Uids that may control the object besides the owner: the plan names them. */
  readonly controllers: readonly string[];
}

/** Conflict; taken over if it refers to the owner; kept as planned and given back; or updated as a shared object. */
export type Adoption = false | 'referring' | true | 'shared';

interface Mint {
  readonly mode: 'mint';
  readonly adopts: false | 'referring';
  readonly controllers: readonly string[];
  /** Whether the content that is there still serves. Asked only where the answer counts. */
  isValid(): boolean;
}

interface Removal {
  readonly mode: 'remove';
  readonly uid: string;
  readonly provenance?: Provenance | undefined;
}

/** A child without an owner object, known by a label. */
interface Labelled {
  readonly mode: 'labelled';
  /** Whose an existing object is, in words that follow its name; undefined: it is ours. */
  claimOf(object: KubeObject): string | undefined;
}

export type Action =
  | 'create'
  | 'update'
  /** Becomes ours, because it was created for this owner. */
  | 'takeOver'
  /** Kept as planned and marked, so that it is given back and never deleted. */
  | 'adopt'
  /** Our fields are laid over it; it stays the object of its owner. */
  | 'share'
  | 'replace'
  | 'giveBack'
  | 'delete'
  | 'leave';

declare const granted: unique symbol;

/** An action that decide() allowed. There is no other way to obtain one. */
export type Permit<A extends Action = Action> = A & { readonly [granted]: true };

export type Decision<A extends Action = Action> =
  | { readonly may: Permit<A> }
  /** The words that follow the name of the object in a message. */
  | { readonly conflict: string };

type ActionOf<M extends Mode> = {
  readonly exact: 'create' | 'update' | 'takeOver' | 'adopt' | 'share';
  readonly shared: 'create' | 'update';
  readonly keep: 'leave';
  readonly createOnly: 'create' | 'leave';
  readonly mint: 'create' | 'replace' | 'leave';
  readonly patch: 'update' | 'leave';
  readonly remove: 'delete' | 'leave';
  readonly labelled: 'create' | 'update';
  readonly unplanned: 'delete' | 'giveBack' | 'leave';
}[M];

export function decide<I extends Intent>(
  intent: I,
  observed: KubeObject | undefined,
  claimant: Claimant,
): Decision<ActionOf<I['mode']>>;
export function decide(intent: Intent, observed: KubeObject | undefined, claimant: Claimant): Decision {
  switch (intent.mode) {
    case 'exact':
      return exact(intent, standingOf(observed, claimant, intent.controllers));
    case 'shared':
      return shared(standingOf(observed, claimant));
    case 'keep':
      return may('leave');
    case 'createOnly':
      return may(observed === undefined ? 'create' : 'leave');
    case 'mint':
      return minted(intent, standingOf(observed, claimant, intent.controllers));
    case 'patch':
      return may(observed === undefined ? 'leave' : 'update');
    case 'remove':
      return removal(intent, observed, claimant);
    case 'labelled':
      return labelled(intent, observed, claimant);
    case 'unplanned':
      return unplanned(standingOf(observed, claimant));
  }
}

/** Whether the decision is one of these actions. */
export function allows<A extends Action, B extends A>(
  decision: Decision<A>,
  ...actions: readonly B[]
): decision is { readonly may: Permit<B> } {
  return 'may' in decision && (actions as readonly string[]).includes(decision.may);
}

function exact({ adopts, controls }: Exact, standing: Standing): Decision {
  switch (standing.is) {
    case 'absent':
      return may('create');
    case 'own':
    case 'adopted':
      return may('update');
    case 'named':
      return may('takeOver');
    case 'referring':
      return adopts !== false || !controls ? may('takeOver') : { conflict: NOT_FOR_THIS };
    case 'free':
      if (adopts === 'shared') return may('share');
      return adopts === true ? may('adopt') : { conflict: NOT_FOR_THIS };
    case 'others':
      return { conflict: standing.claim };
  }
}

/** An owner of ours may share an object that another owner of ours has; an object of another controller is left alone. */
function shared(standing: Standing): Decision {
  if (standing.is === 'absent') return may('create');
  if (standing.is === 'others' && standing.isControlled) return { conflict: standing.claim };
  return may('update');
}

function minted({ adopts, isValid }: Mint, standing: Standing): Decision {
  switch (standing.is) {
    case 'absent':
      return may('create');
    case 'own':
      return may(isValid() ? 'leave' : 'replace');
    case 'referring':
    case 'named':
      if (isValid()) return may('leave');
      return adopts === 'referring' ? may('replace') : { conflict: NOT_MINTED };
    case 'others':
      // It would go with its owner.
      if (standing.by === 'owner') return { conflict: standing.claim };
      return isValid() ? may('leave') : { conflict: NOT_MINTED };
    case 'adopted':
    case 'free':
      // One that a user provided is used while it is valid and never replaced.
      return isValid() ? may('leave') : { conflict: NOT_MINTED };
  }
}

function removal({ uid, provenance }: Removal, observed: KubeObject | undefined, claimant: Claimant): Decision {
  // Gone is gone: one that has taken the name since stays.
  if (observed === undefined || observed.metadata.uid !== uid) return may('leave');
  const standing = standingOf(observed, claimant);
  if (standing.is === 'own') return may('delete');
  if (provenance !== undefined && isProven(observed, provenance, standing)) return may('delete');
  return { conflict: standing.is === 'others' ? standing.claim : NOT_CREATED };
}

function labelled({ claimOf }: Labelled, observed: KubeObject | undefined, claimant: Claimant): Decision {
  if (observed === undefined) return may('create');
  const standing = standingOf(observed, claimant);
  // Labels are copied from objects elsewhere, and one of them may be an inventory label: only a controller counts.
  const isControlled = standing.is === 'others' && standing.isControlled;
  const claim = isControlled ? standing.claim : claimOf(observed);
  return claim === undefined ? may('update') : { conflict: claim };
}

function isProven(observed: KubeObject, provenance: Provenance, standing: Standing): boolean {
  if ('controllers' in provenance) {
    const controller = observed.metadata.ownerReferences?.find((reference) => reference.controller);
    return controller !== undefined && provenance.controllers.includes(controller.uid);
  }
  if (standing.is === 'others' && standing.isControlled) return false;
  return 'managers' in provenance ? isMarked(observed, provenance) : (provenance.applies?.(observed) ?? true);
}

function unplanned(standing: Standing): Decision {
  if (standing.is === 'own') return may('delete');
  return may(standing.is === 'adopted' ? 'giveBack' : 'leave');
}

const NOT_FOR_THIS = 'exists already and was not created for this resource; remove or rename it';
const NOT_MINTED = 'does not fit its purpose and was not created by this control plane; replace or remove it';
const NOT_CREATED = 'was not created by this operator, so it is not removed; remove it by hand if it is not needed';

function may(action: Action): Decision {
  return { may: action as Permit };
}
