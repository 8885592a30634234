// Patches to others' objects: set the differences, record the former values, restore them.
import {
  applyJsonPatch,
  canonicalJson,
  equal,
  formatPointer,
  type Kind,
  type KubeObject,
  parsePointer,
  refOf,
} from '@capstan/kube/cluster';
import { CAUSE_ANNOTATION, ORIGINAL_ANNOTATION_PREFIX } from '../marks.ts';
import { allows, claimantOf, decide, type Permit } from '../ownership/index.ts';
import type { FieldValue, Patch } from '../plan/index.ts';
import type { ChildVerdict } from './child-diff.ts';
import { type DiffInput, describe, memoryAnnotation, originalAnnotation } from './input.ts';
import { type Original, originalOf, partOf, readOriginals, valueAt } from './originals.ts';
import { isPaused, pausedNote } from './pause.ts';
import type { PatchWrite } from './writes.ts';

type Operation = PatchWrite['operations'][number];

/** The fields of one object in all patches of a plan. */
export interface PlannedFields {
  readonly paths: ReadonlySet<string>;
  /** Whether one of them restores the former value. */
  readonly restores: boolean;
}

export function plannedFields(patches: readonly Patch[]): PlannedFields {
  const paths = patches.flatMap(({ set }) => set.map(({ path }) => path));
  return { paths: new Set(paths), restores: patches.some(({ restore: restores }) => restores) };
}

/** Returns the remaining write for one patch, considering all patches of the plan for the object. */
export function patchWrite(patch: Patch, planned: PlannedFields, input: DiffInput): ChildVerdict {
  const { kind, ref } = patch;
  const target = input.observed.object(kind, ref);
  const decision = decide(PATCH, target, claimantOf(input.ownership, input.manager));
  if (target === undefined || !allows(decision, 'update'))
    return { note: { about: 'missing', message: `${describe(kind, ref)} is not there to be patched` } };
  if (isPaused(target)) return { note: pausedNote(kind, ref) };
  const draft = draftOf(target);
  const annotation = originalAnnotation(input.ownership);
  const originals = readOriginals(target, annotation);
  const next: Record<string, Original> = {};
  for (const [path, original] of Object.entries(originals)) {
    if (planned.paths.has(path)) next[path] = original;
    else if (planned.restores) restore(draft, path, original);
  }
  for (const field of patch.set.map(plainField)) {
    if (equal(valueAt(target, field.path), field.value)) continue;
    const claim = patch.restore ? claimOfAnother(target, field.path, annotation) : undefined;
    if (claim !== undefined) return claimed(patch, field.path, claim);
    if (patch.restore) next[field.path] = originalOf(target, field, originals[field.path]);
    if (draft.set(field.path, field.value)) continue;
    return { note: { about: 'missing', message: `${describe(kind, ref)} has no place for ${field.path}` } };
  }
  annotate(draft, annotation, planned.restores && Object.keys(next).length > 0 ? canonicalJson(next) : undefined);
  if (patch.memory !== undefined) annotate(draft, memoryAnnotation(input.ownership), canonicalJson(patch.memory));
  if (!patch.explained) annotate(draft, CAUSE_ANNOTATION, undefined);
  return draft.operations.length === 0 ? {} : { write: writeOf(kind, target, draft, patch.explained, decision.may) };
}

/** The annotation of another owner that has set this field, and will give it back: two would overwrite each other for ever. */
function claimOfAnother(target: KubeObject, path: string, own: string): string | undefined {
  return Object.keys(target.metadata.annotations ?? {}).find((name) => {
    if (name === own || !name.startsWith(ORIGINAL_ANNOTATION_PREFIX)) return false;
    const original = readOriginals(target, name)[path];
    return original !== undefined && equal(valueAt(target, path), original.ours);
  });
}

function claimed({ kind, ref }: Patch, path: string, claim: string): ChildVerdict {
  const message = `${describe(kind, ref)}: ${path} is set to another value already, as its annotation ${claim} records; set it to the same value in both, or give it up in one`;
  return { waitsFor: message, note: { about: 'conflict', message } };
}

/** The value as the server will give it back: without undefined parts. */
function plainField({ path, value }: FieldValue): FieldValue {
  return { path, value: value === undefined ? undefined : (JSON.parse(canonicalJson(value)) as unknown) };
}

/** Restores the fields that are still ours, and removes our annotations. */
export function restoreWrite(kind: Kind, target: KubeObject, input: DiffInput): PatchWrite | undefined {
  const decision = decide(PATCH, target, claimantOf(input.ownership, input.manager));
  if (!allows(decision, 'update')) return undefined;
  const draft = draftOf(target);
  const annotation = originalAnnotation(input.ownership);
  for (const [path, original] of Object.entries(readOriginals(target, annotation))) restore(draft, path, original);
  annotate(draft, annotation, undefined);
  annotate(draft, memoryAnnotation(input.ownership), undefined);
  annotate(draft, CAUSE_ANNOTATION, undefined);
  return writeOf(kind, target, draft, false, decision.may);
}

const PATCH = { mode: 'patch' } as const;

function writeOf(
  kind: Kind,
  target: KubeObject,
  draft: Draft,
  isExplained: boolean,
  may: Permit<'update'>,
): PatchWrite {
  const { uid = '', resourceVersion } = target.metadata;
  // Refuses the patch when the object is no longer the one that it was computed from.
  const guard = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion };
  const causeAt = valueAt(draft.value(), '/metadata/annotations') === undefined ? 'annotations' : 'annotation';
  const operations = [guard, ...draft.operations];
  return { verb: 'patch', may, kind, ref: refOf(target), uid, operations, causeAt: isExplained ? causeAt : undefined };
}

/** A field that another field manager has set since stays theirs. */
function restore(draft: Draft, path: string, { before, ours }: Original): void {
  const current = valueAt(draft.value(), path);
  if (equal(current, ours) && !equal(current, before)) draft.set(path, before);
}

function annotate(draft: Draft, name: string, text: string | undefined): void {
  const path = formatPointer(['metadata', 'annotations', name]);
  if (valueAt(draft.value(), path) !== text) draft.set(path, text);
}

/** An object and the operations that change it, each applied to the result of the ones before. */
interface Draft {
  readonly operations: readonly Operation[];
  value(): unknown;
  /** Sets a field, with the objects that lead to it; undefined removes it. False when a list on the way has no such item. */
  set(path: string, value: unknown): boolean;
}

function draftOf(target: KubeObject): Draft {
  const operations: Operation[] = [];
  let current: unknown = target;
  return {
    operations,
    value: () => current,
    set(path, value) {
      const operation = setOperation(current, path, value);
      if (operation === undefined) return false;
      operations.push(operation);
      current = applyJsonPatch(current, [operation]);
      return true;
    },
  };
}

function setOperation(document: unknown, path: string, value: unknown): Operation | undefined {
  const names = parsePointer(path) ?? [];
  if (value === undefined) return { op: 'remove', path };
  let parent = document;
  for (const [at, name] of names.entries()) {
    const part = partOf(parent, name);
    if (part === undefined) {
      if (Array.isArray(parent)) return undefined;
      // The objects that are missing are created in the same operation.
      const created = names.slice(at + 1).reduceRight<unknown>((below, each) => ({ [each]: below }), value);
      return { op: 'add', path: formatPointer(names.slice(0, at + 1)), value: created };
    }
    parent = part;
  }
  return { op: 'replace', path, value };
}
