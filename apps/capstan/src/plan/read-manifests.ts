// Manifests as people keep them: files, folders, URLs, standard input, kustomizations; several documents a file, Lists.
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
export async function readManifests(
  paths: readonly string[],
  io: Io,
  { isRecursive = false }: { isRecursive?: boolean } = {},
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const path of paths) {
    const found: Manifest[] = [];
    for (const { name, text } of await readTexts(path, io, isRecursive)) found.push(...parseManifests(text, name));
    if (found.length === 0) throw CliErrors.NoManifests(path === '-' ? 'standard input' : path);
    manifests.push(...found);
  }
  return manifests;
}

/** Returns the manifests of the kustomization in a folder, built by kubectl or kustomize, whichever is installed. */
export async function readKustomization(folder: string, io: Io): Promise<readonly Manifest[]> {
  const path = resolve(io.cwd, folder);
  for (const [program, ...args] of [
    ['kubectl', 'kustomize', path],
    ['kustomize', 'build', path],
  ] as const) {
    const ran = await io.execute?.(program, args);
    if (ran === undefined) continue;
    if (ran.code !== 0) throw CliErrors.BadKustomization(folder, ran.stderr.trim().replace(/^error: /i, ''));
    const found = parseManifests(ran.stdout, `the kustomization ${folder}`);
    if (found.length === 0) throw CliErrors.NoManifests(`the kustomization ${folder}`);
    return found;
  }
  throw CliErrors.NoKustomize(folder);
}

interface Text {
  readonly name: string;
  readonly text: string;
}

async function readTexts(path: string, io: Io, isRecursive: boolean): Promise<Text[]> {
  if (path === '-') return [{ name: 'standard input', text: await io.files.stdin() }];
  try {
    if (/^https?:\/\//.test(path) && io.fetchText !== undefined)
      return [{ name: path, text: await io.fetchText(path) }];
    const files = (await manifestFiles(path, io, isRecursive)) ?? [path];
    return await Promise.all(files.map(async (name) => ({ name, text: await io.files.read(resolve(io.cwd, name)) })));
  } catch (error) {
    throw CliErrors.Unreadable(path, reasonOf(error));
  }
}

/** Undefined when the path is not a folder. */
async function manifestFiles(path: string, io: Io, isRecursive: boolean): Promise<string[] | undefined> {
  const names = await io.files.list(resolve(io.cwd, path));
  if (names === undefined) return undefined;
  const files: string[] = [];
  for (const name of names) {
    const inside = join(path, name);
    if (/\.(?:ya?ml|json)$/.test(name)) files.push(inside);
    else if (isRecursive) files.push(...((await manifestFiles(inside, io, true)) ?? []));
  }
  return files;
}

/** The manifests in a text of YAML or JSON; empty documents are passed over. */
export function parseManifests(text: string, file: string): Manifest[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    // Read as kubectl does: `yes` and 0644 have their meaning of YAML 1.1, and times stay texts.
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
  const { name, generateName } = isRecord(metadata) ? metadata : {};
  if (name === undefined && typeof generateName === 'string')
    throw CliErrors.BadManifest(
      place,
      'it has a metadata.generateName and no metadata.name, so that its name is not known before it is created; give it a name',
    );
  if (typeof name !== 'string' || name === '') throw CliErrors.BadManifest(place, 'it has no metadata.name');
  // Checked as far as an object of any kind can be.
  return [{ place, object: value as unknown as UnknownObject }];
}

/** Dates and sexagesimal numbers of YAML 1.1: no other Kubernetes tool reads them. */
function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === 'string' || (!('format' in tag && tag.format === 'TIME') && !tag.tag.endsWith(':timestamp')),
  );
}
