import { type Kind, type KubeObject, keyOf, kindId, type ObjectRef } from '@capstan/kube/cluster';
import { PAUSED_ANNOTATION } from '../marks.ts';
import { describe } from './input.ts';
import type { Note } from './writes.ts';

/** Whether the object is annotated to be left alone. */
export function isPaused(object: KubeObject): boolean {
  return object.metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}

export function pausedNote(kind: Kind, ref: ObjectRef): Note {
  return {
    about: 'paused',
    message: `${describe(kind, ref)} is left alone: it has the annotation ${PAUSED_ANNOTATION}`,
    child: `${kindId(kind)} ${keyOf(ref)}`,
  };
}
