// The cost of storing a large object is that of walking it: to freeze it, to write it as JSON and to weigh it. Each is done for the parts of the
// object before it is stored, in steps, so that storing the object itself takes moments.
import { freezeDeep, type UnknownObject } from '@capstan/kube';
import { entityTooLarge } from '../errors.ts';
import type { Steps } from '../steps.ts';
import { weightOf } from './weight.ts';

/** By the part; a text is used once. */
const texts = new WeakMap<object, string>();

/**
 * The JSON of an object. The store of Kubernetes takes 1.5 MiB; its encoding of the built-in kinds is shorter than JSON.
 */
const MAX_STORED_BYTES = 2 * 1024 * 1024;

/** Prepares the parts of an object that is about to be stored; with `isWritten`, their JSON is kept. Refuses an object that is too large. */
export function* prepareParts(object: UnknownObject, isWritten: boolean): Steps<void> {
  let size = 0;
  for (const holder of [object, object.metadata]) {
    for (const part of Object.values(holder) as unknown[]) {
      if (typeof part !== 'object' || part === null || part === object.metadata) continue;
      yield;
      freezeDeep(part);
      yield;
      weightOf(part);
      yield;
      const text = JSON.stringify(part);
      size += text.length;
      if (size > MAX_STORED_BYTES) throw entityTooLarge(MAX_STORED_BYTES);
      if (isWritten) texts.set(part, text);
    }
  }
  yield;
}

/** The JSON of an object, from the texts of its parts where they have been prepared. */
export function jsonText(object: UnknownObject): string {
  const { metadata } = object;
  const isPrepared = [object, metadata].some((holder) =>
    Object.values(holder).some((part) => typeof part === 'object' && part !== null && texts.has(part as object)),
  );
  if (!isPrepared) return JSON.stringify(object);
  return fieldsText(object, (name, value) =>
    name === 'metadata' ? fieldsText(metadata, partText) : partText(name, value),
  );
}

function fieldsText(object: object, textOf: (name: string, value: unknown) => string): string {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined);
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${textOf(name, value)}`).join(',')}}`;
}

function partText(_name: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const known = texts.get(value);
  texts.delete(value);
  return known ?? JSON.stringify(value);
}
