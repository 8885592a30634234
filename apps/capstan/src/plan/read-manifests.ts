// Manifests as people keep them: files, folders, standard input; several documents a file, Lists.
import { join, resolve } from 'node:path';
import { isRecord, reasonOf, type UnknownObject } from '@capstan/kube';
import { LineCounter, parseAllDocuments, type Tags } from 'yaml';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';

export interface Manifest {
  /** For messages: the file and the line where it begins. */
  readonly place: string;
  readonly object: UnknownObject;
}

/** Everything that the paths of -f hold, in order. Throws when one cannot be read, or is no manifest. */
export async function readManifests(paths: readonly string[], io: Io): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const path of paths) {
    const found: Manifest[] = [];
    for (const { name, text } of await readTexts(path, io)) found.push(...parseManifests(text, name));
    if (found.length === 0) throw CliErrors.NoManifests(path === '-' ? 'standard input' : path);
    manifests.push(...found);
  }
  return manifests;
}

async function readTexts(path: string, io: Io): Promise<{ name: string; text: string }[]> {
  if (path === '-') return [{ name: 'standard input', text: await io.files.stdin() }];
  try {
    const names = await io.files.list(resolve(io.cwd, path));
    const files = names?.filter((name) => /\.(?:ya?ml|json)$/.test(name)).map((name) => join(path, name)) ?? [path];
    return await Promise.all(files.map(async (name) => ({ name, text: await io.files.read(resolve(io.cwd, name)) })));
  } catch (error) {
    throw CliErrors.Unreadable(path, reasonOf(error));
  }
}

/** The manifests in a text of YAML or JSON; empty documents are passed over. */
export function parseManifests(text: string, file: string): Manifest[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    // As kubectl reads it: `yes` and 0644 mean what YAML 1.1 says, and times stay texts.
    version: '1.1',
    customTags: withoutTimes,
  });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const start = document.contents?.range?.[0] ?? 0;
    const [error] = document.errors;
    const place = `${file}, line ${lines.linePos(error?.pos[0] ?? start).line}`;
    if (error !== undefined) throw CliErrors.BadManifest(place, reasonOf(error));
    return flattened(
      valueOf(() => document.toJS() as unknown, place),
      place,
    );
  });
}

function valueOf(read: () => unknown, place: string): unknown {
  try {
    return read();
  } catch (error) {
    throw CliErrors.BadManifest(place, reasonOf(error));
  }
}

function flattened(value: unknown, place: string): Manifest[] {
  if (value === null || value === undefined) return [];
  if (!isRecord(value)) throw CliErrors.BadManifest(place, 'it is not a mapping');
  const { apiVersion, kind, metadata, items } = value;
  if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
    return items.flatMap((item: unknown, index) => flattened(item, `${place}, items[${index}]`));
  }
  for (const [field, found] of Object.entries({ apiVersion, kind })) {
    if (typeof found !== 'string' || found === '') throw CliErrors.BadManifest(place, `it has no ${field}`);
  }
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  if (typeof name !== 'string' || name === '') throw CliErrors.BadManifest(place, 'it has no metadata.name');
  // Checked as far as an object of any kind can be.
  return [{ place, object: value as unknown as UnknownObject }];
}

/** Dates and sexagesimal numbers of YAML 1.1: nobody means them, and no other Kubernetes tool reads them. */
function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' || (!('format' in tag && tag.format === 'TIME') && !tag.tag.endsWith(':timestamp')),
  );
}
