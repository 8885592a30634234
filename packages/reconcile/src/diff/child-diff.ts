// One child: what is planned against what is there.
import type { KubeObject } from '@capstan/kube';
import { plainDigest } from '../digest.ts';
import { inventoryOf } from '../inventory.ts';
import { APPLIED_ANNOTATION, PAUSED_ANNOTATION } from '../marks.ts';
import type { AppliedChild, Child, CreatedChild, MintedChild, SharedChild } from '../plan/index.ts';
import {
  bodyToSend,
  childBody,
  heldFrom,
  marksFor,
  type Ownership,
  templateHistory,
  templateMark,
  withoutPaths,
} from './child-body.ts';
import { type DiffInput, describe, sharedAnnotation } from './input.ts';
import { appliedEntry, takenFields } from './ownership.ts';
import type { ChildWrite, Note } from './writes.ts';

/** At most one write, and what is worth telling. */
export interface ChildVerdict {
  readonly write?: ChildWrite;
  readonly note?: Note;
}

const SETTLED: ChildVerdict = {};

export function childWrite(child: Child, input: DiffInput): ChildVerdict {
  if (child.how === 'keep') return SETTLED;
  const look = child.how === 'mint' || child.how === 'share' ? 'object' : 'child';
  const observed = input.observed[look](child.kind, child.ref);
  if (observed?.metadata.annotations?.[PAUSED_ANNOTATION] === 'true') {
    return {
      note: {
        about: 'paused',
        message: `${describe(child.kind, child.ref)} is left alone: it has the annotation ${PAUSED_ANNOTATION}`,
      },
    };
  }
  switch (child.how) {
    case 'apply':
      return applied(child, observed, input);
    case 'createOnly':
      return created(child, observed, input.ownership);
    case 'mint':
      return minted(child, observed, input);
    case 'share':
      return shared(child, observed, input);
  }
}

/**
 * Settled means: what we sent is what we would send, and our fields are still ours. Values are not compared, so what a
 * server fills in or normalises is no difference.
 */
function applied(child: AppliedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const { ownership, manager } = input;
  const made = childBody(child, ownership);
  const { kind, ref } = child;
  if (observed === undefined) {
    return { write: { verb: 'apply', kind, ref, body: bodyToSend(made, undefined), exists: false, taken: [] } };
  }
  const claim = strangerClaim(observed, ownership, manager);
  if (claim !== undefined) return { note: { about: 'conflict', message: `${describe(kind, ref)} ${claim}` } };
  if (observed.metadata.deletionTimestamp !== undefined) return SETTLED;

  const rolledBack = rolledBackFrom(observed, made.template, manager);
  if (rolledBack && made.template !== undefined) {
    const held = heldFrom(observed);
    const note: Note = {
      about: 'rolledBack',
      message: `${describe(kind, ref)} was rolled back to an earlier template by somebody else; it is left so until the inputs change`,
    };
    if (held === undefined) return { write: { verb: 'hold', kind, ref, from: made.template }, note };
    if (held === made.template) return { note };
  }

  const entry = appliedEntry(observed, manager);
  const body = withoutTakenYields(made.body, child.yields, observed, manager);
  const isSame = observed.metadata.annotations?.[APPLIED_ANNOTATION] === made.digest;
  const taken = isSame || entry !== undefined ? takenFields(body, entry, child.yields) : [];
  if (isSame && taken.length === 0) return SETTLED;
  const toSend = bodyToSend({ ...made, body }, observed);
  const reported = isSame ? taken : [];
  return {
    write: { verb: 'apply', kind, ref, body: toSend, exists: true, taken: reported },
    ...(reported.length > 0
      ? {
          note: {
            about: 'taken' as const,
            message: `${describe(kind, ref)}: ${reported.join(', ')} changed by somebody else and taken back`,
          },
        }
      : {}),
  };
}

/** A template that is not the planned one, that we applied before, and that somebody else put there. */
function rolledBackFrom(observed: KubeObject, planned: string | undefined, manager: string): boolean {
  if (planned === undefined) return false;
  const live = templateMark(observed);
  if (live === undefined || live === planned || !templateHistory(observed).includes(live)) return false;
  const entry = appliedEntry(observed, manager);
  const mark = (observed as unknown as { spec: { template: { metadata: { annotations: object } } } }).spec.template
    .metadata.annotations;
  const probe = { spec: { template: { metadata: { annotations: mark } } }, metadata: {} } as unknown as KubeObject;
  return takenFields(probe, entry).some((path) => path.includes('template'));
}

/** A yielded field is sent while we own it, or while nobody does because the object has just been made. */
function withoutTakenYields(
  body: KubeObject,
  yields: readonly string[],
  observed: KubeObject,
  manager: string,
): KubeObject {
  if (yields.length === 0) return body;
  const entry = appliedEntry(observed, manager);
  const lost = new Set(takenFields(body, entry));
  return withoutPaths(
    body,
    yields.filter((path) => lost.has(path)),
  );
}

/** Why an existing object is not ours to apply, or undefined when it is. */
export function strangerClaim(observed: KubeObject, ownership: Ownership, manager: string): string | undefined {
  const inventory = inventoryOf(observed);
  if (inventory === ownership.inventory) return undefined;
  if (inventory !== undefined)
    return 'belongs to another owner of this control plane: give one of the two another name';
  const controller = observed.metadata.ownerReferences?.find((reference) => reference.controller);
  if (controller?.uid === ownership.object.metadata.uid && controller !== undefined) return undefined;
  if (controller !== undefined) return `is controlled by ${controller.kind} ${controller.name}: rename one of the two`;
  if (appliedEntry(observed, manager) !== undefined) return undefined;
  return 'exists already and was not made for this resource: remove or rename it';
}

function created(child: CreatedChild, observed: KubeObject | undefined, ownership: Ownership): ChildVerdict {
  if (observed !== undefined) return SETTLED;
  const body = child.owned ? merged(child.object, marksFor(ownership, child.ref)) : child.object;
  return { write: { verb: 'create', kind: child.kind, ref: child.ref, body } };
}

function minted(child: MintedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const { kind, ref, minter, inputs } = child;
  const marks = marksFor(input.ownership, ref);
  if (observed === undefined) return { write: { verb: 'mint', kind, ref, minter, inputs, marks, existing: undefined } };
  const inventory = inventoryOf(observed);
  // One that somebody brought along is used while it is valid and never replaced.
  const isOurs = inventory === input.ownership.inventory;
  const time = { reached: (instant: number | string) => input.observed.reached(instant) };
  if (minter.valid(observed as never, inputs as never, time)) return SETTLED;
  if (!isOurs) {
    return {
      note: {
        about: 'conflict',
        message: `${describe(kind, ref)} does not serve its purpose and was not made by this control plane: replace or remove it`,
      },
    };
  }
  const { uid = '', resourceVersion = '' } = observed.metadata;
  return { write: { verb: 'mint', kind, ref, minter, inputs, marks, existing: { uid, resourceVersion } } };
}

function shared(child: SharedChild, observed: KubeObject | undefined, input: DiffInput): ChildVerdict {
  const { kind, ref, object } = child;
  const digest = plainDigest(object);
  const body = merged(object, { annotations: { [sharedAnnotation(input.ownership)]: digest } });
  if (observed === undefined) return { write: { verb: 'share', kind, ref, body } };
  const isSame = observed.metadata.annotations?.[sharedAnnotation(input.ownership)] === digest;
  const taken = takenFields(object, appliedEntry(observed, input.manager));
  // Others' fields are never forced: what somebody took from a shared object stays theirs, and is told.
  if (isSame) {
    return taken.length === 0
      ? SETTLED
      : { note: { about: 'taken', message: `${describe(kind, ref)}: ${taken.join(', ')} now set by somebody else` } };
  }
  return { write: { verb: 'share', kind, ref, body } };
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
