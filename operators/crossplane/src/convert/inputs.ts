// The files that a conversion reads, and where each is written.
import { basename, join, relative, resolve } from 'node:path';
import { CodedError, reasonOf } from '@capstan/kube';
import { ConvertErrors } from './errors.ts';
import type { ConvertIo } from './io.ts';

export interface InputFile {
  /** As the user would call it. */
  readonly name: string;
  /** Undefined for standard input. */
  readonly path: string | undefined;
  /** The path below the named folder, which -o DIR mirrors. */
  readonly within: string;
  /** Whether it was found in a folder that was named. */
  readonly isInFolder: boolean;
  readonly text: string;
}

export const STDIN = '-';
const MANIFEST = /\.(?:ya?ml|json)$/;

/** Everything that the paths hold, folders with all that is below them, each file once. */
export async function readInputs(paths: readonly string[], io: ConvertIo): Promise<InputFile[]> {
  const found = new Map<string, InputFile>();
  for (const path of paths) {
    const files = path === STDIN ? [await readStdin(io)] : await readPath(path, io);
    if (files.length === 0) throw ConvertErrors.NoManifests(path);
    for (const file of files) {
      const key = file.path ?? STDIN;
      if (!found.has(key)) found.set(key, file);
    }
  }
  return [...found.values()];
}

async function readStdin(io: ConvertIo): Promise<InputFile> {
  return {
    name: 'standard input',
    path: undefined,
    within: 'stdin.yaml',
    isInFolder: false,
    text: await io.files.stdin(),
  };
}

async function readPath(path: string, io: ConvertIo): Promise<InputFile[]> {
  try {
    const root = resolve(io.cwd, path);
    const names = await below(root, io);
    if (names === undefined)
      return [{ name: path, path: root, within: basename(path), isInFolder: false, text: await io.files.read(root) }];
    const manifests = names.filter((name) => MANIFEST.test(name));
    return await Promise.all(
      manifests.map(async (file) => ({
        name: join(path, relative(root, file)),
        path: file,
        within: relative(root, file),
        isInFolder: true,
        text: await io.files.read(file),
      })),
    );
  } catch (error) {
    // The error already reports that the file is not text.
    if (error instanceof CodedError) throw error;
    throw ConvertErrors.Unreadable(path, reasonOf(error));
  }
}

/** All files below a folder, hidden ones left out; undefined when it is none. */
async function below(path: string, io: ConvertIo): Promise<string[] | undefined> {
  const names = await io.files.list(path);
  if (names === undefined) return undefined;
  const files: string[] = [];
  for (const name of names) {
    if (name.startsWith('.')) continue;
    const inner = join(path, name);
    files.push(...((await below(inner, io)) ?? [inner]));
  }
  return files;
}
