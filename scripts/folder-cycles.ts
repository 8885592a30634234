// Dependencies between sibling folders go one way, at every depth of a part of the workspace. Types may go both ways: where two
// folders describe each other, nothing is loaded in a circle.
import { posix } from 'node:path';

/** Folders that import one another, directly or through others, as `FOLDER: a -> b (FILE), b -> a (FILE)`. */
export function folderCycles(files: ReadonlyMap<string, string>): string[] {
  const imports = new Map([...files].map(([file, text]) => [file, targetsOf(file, text)]));
  const parents = new Set([...files.keys()].flatMap(foldersAbove));
  return [...parents].toSorted().flatMap((parent) => cyclesIn(parent, imports));
}

/** Relative specifiers from which a module takes more than types. */
export function importsOfValues(text: string): string[] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([^;'"]*?)\s*from '(\.[^']+)'/gm);
  const taken = [...statements].flatMap(([, isType, names = '', specifier = '']) => {
    const listed = /^\{(.*)\}$/s
      .exec(names)?.[1]
      ?.split(',')
      .filter((name) => name.trim() !== '');
    const isTypesOnly = isType !== undefined || listed?.every((name) => name.trim().startsWith('type ')) === true;
    return isTypesOnly ? [] : [specifier];
  });
  const dynamic = [...text.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, specifier = '']) => specifier);
  return [...taken, ...dynamic];
}

function targetsOf(file: string, text: string): string[] {
  return importsOfValues(text).map((specifier) => posix.join(posix.dirname(file), specifier));
}

function foldersAbove(file: string): string[] {
  const parts = file.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function cyclesIn(parent: string, imports: ReadonlyMap<string, readonly string[]>): string[] {
  /** By folder: the folders that it imports, each with a file that does. */
  const edges = new Map<string, Map<string, string>>();
  for (const [file, targets] of imports) {
    const from = folderIn(parent, file);
    if (from === undefined) continue;
    for (const target of targets) {
      const to = folderIn(parent, target);
      if (to === undefined || to === from) continue;
      const known = edges.get(from) ?? new Map<string, string>();
      edges.set(from, known);
      if (!known.has(to)) known.set(to, file.slice(parent.length + 1));
    }
  }
  const reached = new Map([...edges.keys()].map((folder) => [folder, reach(folder, edges)]));
  const within = [...edges].flatMap(([from, targets]) =>
    [...targets].flatMap(([to, file]) => (reached.get(to)?.has(from) ? [`${from} -> ${to} (${file})`] : [])),
  );
  return within.length === 0 ? [] : [`${parent}: ${within.toSorted().join(', ')}`];
}

/** The folder directly under the parent that a file is in; undefined for a file beside the folders, or elsewhere. */
function folderIn(parent: string, file: string): string | undefined {
  if (!file.startsWith(`${parent}/`)) return undefined;
  const [folder, ...rest] = file.slice(parent.length + 1).split('/');
  return rest.length === 0 ? undefined : folder;
}

function reach(start: string, edges: ReadonlyMap<string, ReadonlyMap<string, string>>): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [start];
  for (let folder = left.pop(); folder !== undefined; folder = left.pop())
    for (const next of edges.get(folder)?.keys() ?? [])
      if (!found.has(next)) {
        found.add(next);
        left.push(next);
      }
  return found;
}
