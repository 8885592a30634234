// One child: the plan compared with the cluster.
import type { KubeObject, ManagedFieldsEntry } from '@capstan/kube/cluster';
import { plainDigest } from '../digest.ts';
import { guarded, secretly } from '../guard.ts';
import { sharingManager } from '../inventory.ts';
import { ADOPTED_ANNOTATION, APPLIED_ANNOTATION, PREVIEWED_ANNOTATION, PREVIEWED_VERSION } from '../marks.ts';
import { allows, appliedEntry, claimantOf, type Decision, decide, type Permit } from '../ownership/index.ts';
import type { AppliedChild, Child, CreatedChild, MintedChild, Minter, SharedChild } from '../plan/index.ts';
import {
  bodyToSend,
  type ChildBody,
  childBody,
  heldFrom,
  marksFor,
  templateHistory,
  templateMark,
  templateProbe,
  withoutPaths,
} from './child-body.ts';
import { describeForeign, exactnessOf } from './exactness.ts';
import { type DiffInput, describe, type KnownChild, sharedAnnotation } from './input.ts';
import { takenFields } from './ownership.ts';
import { isPaused, pausedNote } from './pause.ts';
import type { ChildWrite, Note } from './writes.ts';

/** At most one write, and the facts to report. */
export interface ChildVerdict {
  readonly write?: ChildWrite;
  readonly note?: Note;
  /** The event, besides the write, that must happen before the child is as planned: later groups and pruning wait for it. */
  readonly waitsFor?: string;
  /** Whether the owner must be held, because the child outlives it and carries fields or marks of ours. */
  readonly holds?: true;
}

const SETTLED: ChildVerdict = {};

export function childWrite(child: Child, input: DiffInput): ChildVerdict {
  if (child.how === 'keep') return SETTLED;
  const { kind, ref } = child;
  const check = child.how === 'mint' || child.how === 'share' ? 'object' : 'child';
  const observed = input.observed[check](kind, ref);
  if (observed !== undefined && isPaused(observed)) return { note: pausedNote(kind, ref) };
  if (observed?.metadata.deletionTimestamp !== undefined) return waiting(`${describe(kind, ref)} to be deleted`);
  switch (child.how) {
    case 'apply':
      return applied(child, observed, input);
    case 'createOnly':
      return created(child, observed, input);
    case 'mint':
      return minted(child, observed, input);
    case 'share':
      return shared(child, observed, input);
  }
}

function waiting(waitsFor: string): ChildVerdict {
  return { waitsFor, note: { about: 'waiting', message: waitsFor } };
}

/** Nothing is written over a foreign object. Later parts of the plan wait, and so does pruning. */
function conflict(message: string): ChildVerdict {
  return { waitsFor: message, note: { about: 'conflict', message } };
}

/**
 * Decides about a child that is applied. It is settled if we would send the same body as last time and our fields are still ours. Values
 * are not compared, so a value that a server fills in or normalises is no difference.
 */
function applied(child: AppliedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const { manager } = input;
  const { kind, ref } = child;
  const decision = decide(intentOf(child), observed, claimantOf(input.ownership, manager));
  if ('conflict' in decision) return conflict(`${describe(kind, ref)} ${decision.conflict}`);
  if (allows(decision, 'share')) return { ...sharedInstead(child, input, decision), holds: true };
  if (!allows(decision, 'create', 'update', 'takeOver', 'adopt')) return SETTLED;
  const { may } = decision;
  const isAdopted = may === 'adopt' || observed?.metadata.annotations?.[ADOPTED_ANNOTATION] !== undefined;
  const held = isAdopted ? ({ holds: true } as const) : undefined;
  const known = knownChild(child, input, isAdopted);
  if (observed === undefined) {
    const body = bodyToSend(createdFrom(known, child, input), undefined, child);
    return { write: { verb: 'apply', may, kind, ref, body, exists: false, taken: [] } };
  }
  const entry = appliedEntry(observed, manager);
  if (known.template !== undefined && isRolledBack(observed, known.template, entry)) {
    const from = heldFrom(observed);
    if (from === undefined || from === known.template)
      return { ...heldBack(child, known.template, from !== undefined), ...held };
  }

  const isSame = observed.metadata.annotations?.[APPLIED_ANNOTATION] === known.digest;
  if (isSame && isCheckedAndOurs(known, entry)) return { ...foreignVerdict(child, observed, decision), ...held };
  const sent = createdFrom(known, child, input);
  const body = withoutTakenYields(sent.body, child.yields, entry);
  const taken = isSame ? takenOf(known, body, entry, child.yields) : NONE;
  if (isSame && taken.length === 0) {
    known.body = undefined;
    return { ...foreignVerdict(child, observed, decision), ...held };
  }
  const toSend = bodyToSend({ ...sent, body }, observed, child);
  const write = { verb: 'apply', may, kind, ref, body: toSend, exists: true, taken } as const;
  if (taken.length === 0) return { write, ...held };
  const message = `${describe(kind, ref)}: ${taken.join(', ')} changed by another field manager and taken back`;
  return { write, note: { about: 'taken', message }, ...held };
}

/** Decides about fields that others have added to a child that is as planned otherwise. */
function foreignVerdict(
  { kind, ref, fields, yields }: AppliedChild,
  observed: KubeObject,
  decision: Decision<'create' | 'update' | 'takeOver' | 'adopt'>,
): ChildVerdict {
  if (fields !== 'exact' || !allows(decision, 'update')) return SETTLED;
  const found = exactnessOf(observed, yields);
  if (found === undefined) return SETTLED;
  const { removed, reported } = found;
  const name = describe(kind, ref);
  if (removed.length === 0) {
    const message = `${name}: ${describeForeign(reported)} is not part of the plan and stays; remove it there, or set it on the resource`;
    return { note: { about: 'foreign', message } };
  }
  const { uid = '', resourceVersion = '' } = observed.metadata;
  const paths = removed.map(({ path }) => path);
  const write = {
    verb: 'purge',
    may: decision.may,
    kind,
    ref,
    uid,
    resourceVersion,
    paths,
    yields,
  } as const;
  return {
    write,
    note: { about: 'taken', message: `${name}: ${describeForeign(removed)} is not part of the plan and removed` },
  };
}

function intentOf({ adopts, controls, controllers, object }: AppliedChild) {
  const { ownerReferences = [] } = object.metadata;
  const planned = ownerReferences.filter(({ controller }) => controller).map(({ uid }) => uid);
  return { mode: 'exact', adopts, controls, controllers: [...controllers, ...planned] } as const;
}

/** An existing object without a controller: it gets our fields and stays shared. */
function sharedInstead(
  { kind, ref, object }: AppliedChild,
  input: DiffInput,
  { may }: { readonly may: Permit<'share'> },
): ChildVerdict {
  const { ownerReferences: _owners, ...metadata } = object.metadata;
  const child = { how: 'share', kind, ref, object: { ...object, metadata } } as const;
  return sharedVerdict(child, input.observed.object(kind, ref), input, may);
}

function knownChild(child: AppliedChild, { known, ownership, keyed }: DiffInput, isAdopted: boolean): KnownChild {
  const owner = ownership.object.metadata.uid;
  const remembered = known?.get(child);
  if (remembered !== undefined && remembered.owner === owner && remembered.isAdopted === isAdopted) return remembered;
  const { body, digest, template } = childBody(child, ownership, keyed, isAdopted);
  const fresh: KnownChild = { owner, isAdopted, digest, template, body, checked: undefined };
  known?.set(child, fresh);
  return fresh;
}

function createdFrom(known: KnownChild, child: AppliedChild, { ownership, keyed }: DiffInput): ChildBody {
  const { digest, template } = known;
  known.body ??= childBody(child, ownership, keyed, known.isAdopted).body;
  return { body: known.body, digest, template };
}

const NONE: readonly string[] = [];

/** Whether this very entry was checked before, and holds everything that we sent. */
function isCheckedAndOurs({ checked }: KnownChild, entry: ManagedFieldsEntry | undefined): boolean {
  return entry !== undefined && checked?.entry === entry && checked.taken.length === 0;
}

function takenOf(
  known: KnownChild,
  body: KubeObject,
  entry: ManagedFieldsEntry | undefined,
  yields: readonly string[],
): readonly string[] {
  const isWhole = entry !== undefined && body === known.body;
  if (isWhole && known.checked?.entry === entry) return known.checked.taken;
  const taken = takenFields(body, entry, yields);
  if (isWhole) known.checked = { entry, taken: taken.length === 0 ? NONE : taken };
  return taken;
}

/** A rollback is written down, so that it is held after a restart too. */
function heldBack({ kind, ref }: AppliedChild, from: string, isWrittenDown: boolean): ChildVerdict {
  const message = `${describe(kind, ref)} was rolled back to an earlier template by a user; it is left so until the inputs change`;
  const verdict = { waitsFor: message, note: { about: 'rolledBack', message } } as const;
  return isWrittenDown ? verdict : { ...verdict, write: { verb: 'hold', kind, ref, from } };
}

/** A template that is not the planned one, that we applied before, and that another field manager restored. */
function isRolledBack(observed: KubeObject, planned: string, entry: ManagedFieldsEntry | undefined): boolean {
  const live = templateMark(observed);
  const history = templateHistory(observed);
  if (live === undefined || live === planned || !history.includes(live)) return false;
  // Rolled back from a template that is not wanted any more: the inputs have changed since, and they count.
  if (history[0] !== live && history[0] !== planned) return false;
  return entry !== undefined && takenFields(templateProbe(live), entry).length > 0;
}

/** Yielded fields are sent while they are ours, and not taken back when they no longer are. */
function withoutTakenYields(
  body: KubeObject,
  yields: readonly string[],
  entry: ManagedFieldsEntry | undefined,
): KubeObject {
  if (yields.length === 0) return body;
  const taken = takenFields(body, entry, [], Number.POSITIVE_INFINITY);
  const isBelow = (path: string, above: string) => above === '.' || path === above || path.startsWith(`${above}.`);
  const lost = yields.flatMap((path) =>
    taken.some((above) => isBelow(path, above)) ? [path] : taken.filter((below) => isBelow(below, path)),
  );
  // Items of lists cannot be left out one by one: the list goes as a whole.
  return withoutPaths(
    body,
    lost.map((path) => path.split('[')[0] ?? path),
  );
}

function created(child: CreatedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const { ownership, manager } = input;
  const decision = decide({ mode: 'createOnly' }, observed, claimantOf(ownership, manager));
  if (!allows(decision, 'create')) return SETTLED;
  const body = child.owned ? merged(child.object, marksFor(ownership, child.ref)) : child.object;
  return { write: { verb: 'create', may: decision.may, kind: child.kind, ref: child.ref, body } };
}

function minted(child: MintedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const { kind, ref, minter, inputs, adopts, controllers } = child;
  const time = { reached: (instant: number | string) => input.observed.reached(instant) };
  const serves = () => observed !== undefined && (isPreviewed(observed, inputs) || isValid(child, observed, time));
  const intent = { mode: 'mint', adopts, controllers, isValid: serves } as const;
  const decision = decide(intent, observed, claimantOf(input.ownership, input.manager));
  if ('conflict' in decision) return conflict(`${describe(kind, ref)} ${decision.conflict}`);
  if (!allows(decision, 'create', 'replace')) return SETTLED;
  const { uid = '', resourceVersion = '' } = observed?.metadata ?? {};
  const existing = observed === undefined ? undefined : { uid, resourceVersion };
  const marks = marksFor(input.ownership, ref);
  return { write: { verb: 'mint', may: decision.may, kind, ref, minter, inputs, marks, existing } };
}

/** Asks the minter, whose errors do not reveal the content of a Secret. */
function isValid(
  { kind, minter, inputs }: MintedChild,
  observed: KubeObject,
  time: Parameters<Minter['valid']>[2],
): boolean {
  const what = `valid of the minter ${minter.name}`;
  return guarded(what, () => {
    try {
      return minter.valid(observed, inputs as never, time);
    } catch (error) {
      throw kind.sensitive ? secretly(error) : error;
    }
  });
}

/** In a preview a minted value has no content that a minter could find valid; it counts as valid for its inputs. */
function isPreviewed({ metadata }: KubeObject, inputs: unknown): boolean {
  return (
    metadata.resourceVersion === PREVIEWED_VERSION &&
    metadata.annotations?.[PREVIEWED_ANNOTATION] === plainDigest(inputs)
  );
}

/** Fields of others are never forced: a field that another manager took from a shared object stays theirs, and is reported. */
function shared(child: SharedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const decision = decide({ mode: 'shared' }, observed, claimantOf(input.ownership, input.manager));
  if ('conflict' in decision) return conflict(`${describe(child.kind, child.ref)} ${decision.conflict}`);
  return sharedVerdict(child, observed, input, decision.may);
}

function sharedVerdict(
  { kind, ref, object }: SharedChild,
  observed: KubeObject | undefined,
  input: DiffInput,
  may: Permit<'create' | 'update' | 'share'>,
): ChildVerdict {
  const annotation = sharedAnnotation(input.ownership);
  const manager = sharingManager(input.manager, input.ownership.inventory);
  const digest = plainDigest(object);
  if (observed?.metadata.annotations?.[annotation] !== digest) {
    const body = merged(object, { annotations: { [annotation]: digest } });
    return { write: { verb: 'share', may, kind, ref, body, manager, seen: seenOf(observed) } };
  }
  const taken = takenFields(object, appliedEntry(observed, manager));
  if (taken.length === 0) return SETTLED;
  return {
    note: { about: 'taken', message: `${describe(kind, ref)}: ${taken.join(', ')} now set by another field manager` },
  };
}

/** Returns the parts of an object that could change the owners of its fields. */
function seenOf(observed: KubeObject | undefined): string | undefined {
  if (observed === undefined) return undefined;
  const { metadata, status: _status, ...content } = observed as KubeObject & { status?: unknown };
  const { labels, annotations, ownerReferences, finalizers, uid } = metadata;
  return plainDigest(uid, labels, annotations, ownerReferences, finalizers, content);
}

function merged(object: KubeObject, marks: KubeObject['metadata']): KubeObject {
  const { metadata } = object;
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(marks.ownerReferences
        ? { ownerReferences: [...(metadata.ownerReferences ?? []), ...marks.ownerReferences] }
        : {}),
      ...(marks.labels ? { labels: { ...metadata.labels, ...marks.labels } } : {}),
      annotations: { ...metadata.annotations, ...marks.annotations },
    },
  };
}
