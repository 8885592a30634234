// Names of objects in sentences of the server, so that the page can link them.
import { describe, type ObjectPlace } from './routes.ts';

export type TextPart = string | { readonly text: string; readonly place: ObjectPlace };

/** The places by the name that a sentence has for them. */
export function namedPlaces(places: Iterable<ObjectPlace>): ReadonlyMap<string, ObjectPlace> {
  return new Map([...places].map(({ world, kind, key }) => [describe({ world, kind, key }), { world, kind, key }]));
}

/** A kind, and a key that may be followed by the end of a sentence. */
const NAME = /\b[A-Z][A-Za-z0-9]* [a-z0-9](?:[a-z0-9./-]*[a-z0-9])?/g;

/** Splits a sentence at the names of known objects. */
export function linkedText(text: string, known: ReadonlyMap<string, ObjectPlace>): readonly TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const { 0: name, index } of text.matchAll(NAME)) {
    const place = known.get(name);
    if (place === undefined) continue;
    if (index > end) parts.push(text.slice(end, index));
    parts.push({ text: name, place });
    end = index + name.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
