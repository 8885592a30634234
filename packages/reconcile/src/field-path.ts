import { DefinitionErrors } from './errors.ts';

/** The names on a path; one in brackets may hold dots: `metadata.annotations[example.com/key]`. */
export function parsePath(path: string): readonly string[] {
  if (!PATH.test(path)) throw DefinitionErrors.BadFieldPath(path);
  return [...path.matchAll(/([^.[\]]+)|\[([^[\]]+)\]/g)].map(([, name, key]) => name ?? key ?? '');
}

const PATH = /^[^.[\]]+(?:\.[^.[\]]+|\[[^[\]]+\])*$/;
