// Patches to others' objects: set what differs, remember what was there before, give it back.
import { equal, type Kind, type KubeObject, refOf } from '@capstan/kube';
import { MEMORY_ANNOTATION, PAUSED_ANNOTATION } from '../marks.ts';
import type { FieldValue, Patch } from '../plan/index.ts';
import type { ChildVerdict } from './child-diff.ts';
import { type DiffInput, describe, originalAnnotation } from './input.ts';
import type { PatchWrite } from './writes.ts';

type Operation = PatchWrite['operations'][number];

/** Values before our first patch, by path; `undefined` (absent in JSON) means that the field was not there. */
type Originals = Record<string, { before?: unknown; ours: unknown }>;

export function patchWrite(patch: Patch, input: DiffInput): ChildVerdict {
  const { kind, ref } = patch;
  const target = input.observed.object(kind, ref);
  if (target === undefined)
    return { note: { about: 'missing', message: `${describe(kind, ref)} is not there to be patched` } };
  if (target.metadata.annotations?.[PAUSED_ANNOTATION] === 'true') {
    return {
      note: {
        about: 'paused',
        message: `${describe(kind, ref)} is left alone: it has the annotation ${PAUSED_ANNOTATION}`,
      },
    };
  }
  const operations: Operation[] = [];
  const annotation = originalAnnotation(input.ownership);
  const originals = readOriginals(target, annotation);
  const nextOriginals: Originals = { ...originals };
  for (const { path, value } of patch.set) {
    const current = valueAt(target, path);
    if (equal(current, value)) continue;
    operations.push(setOperation(path, current, value));
    const known = originals[path];
    nextOriginals[path] = { ours: value, ...(known === undefined ? present(current) : present(known.before)) };
  }
  for (const path of Object.keys(originals)) {
    if (patch.set.some((field) => field.path === path)) continue;
    operations.push(...restoreOperation(target, path, originals[path]));
    delete nextOriginals[path];
  }
  if (patch.restore && !equal(originals, nextOriginals))
    operations.push(...annotate(target, annotation, JSON.stringify(nextOriginals)));
  const memory = patch.memory === undefined ? undefined : JSON.stringify(patch.memory);
  if (memory !== undefined && target.metadata.annotations?.[MEMORY_ANNOTATION] !== memory) {
    operations.push(...annotate(target, MEMORY_ANNOTATION, memory, operations));
  }
  if (operations.length === 0) return {};
  return { write: { verb: 'patch', kind, ref, operations: [guard(target), ...operations] } };
}

/** Puts back what is still ours, and removes our annotation. */
export function restoreWrite(kind: Kind, target: KubeObject, annotation: string): PatchWrite {
  const originals = readOriginals(target, annotation);
  const operations = Object.keys(originals).flatMap((path) => restoreOperation(target, path, originals[path]));
  return {
    verb: 'patch',
    kind,
    ref: refOf(target),
    operations: [guard(target), ...operations, { op: 'remove', path: `/metadata/annotations/${escape(annotation)}` }],
  };
}

/** Refuses the patch when the object is no longer the one that it was computed from. */
function guard(target: KubeObject): Operation {
  return { op: 'test', path: '/metadata/resourceVersion', value: target.metadata.resourceVersion };
}

function setOperation(path: string, current: unknown, value: unknown): Operation {
  if (value === undefined) return { op: 'remove', path };
  return { op: current === undefined ? 'add' : 'replace', path, value };
}

function restoreOperation(target: KubeObject, path: string, original: Originals[string] | undefined): Operation[] {
  if (original === undefined) return [];
  const current = valueAt(target, path);
  // Somebody else has set it since: theirs stays.
  if (!equal(current, original.ours) || equal(current, original.before)) return [];
  return [setOperation(path, current, original.before)];
}

function readOriginals(target: KubeObject, annotation: string): Originals {
  const text = target.metadata.annotations?.[annotation];
  if (text === undefined) return {};
  try {
    return JSON.parse(text) as Originals;
  } catch {
    return {};
  }
}

function present(before: unknown): { before?: unknown } {
  return before === undefined ? {} : { before };
}

function annotate(target: KubeObject, name: string, value: string, earlier: readonly Operation[] = []): Operation[] {
  const path = `/metadata/annotations/${escape(name)}`;
  const hasAnnotations =
    target.metadata.annotations !== undefined ||
    earlier.some((operation) => operation.path === '/metadata/annotations');
  if (hasAnnotations) return [{ op: 'add', path, value }];
  return [{ op: 'add', path: '/metadata/annotations', value: { [name]: value } }];
}

function escape(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The value at a JSON pointer, or undefined. */
export function valueAt(object: unknown, pointer: FieldValue['path']): unknown {
  let value = object;
  for (const segment of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[segment.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return value;
}
