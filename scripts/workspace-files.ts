import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The root of the checkout. */
export const root = dirname(import.meta.dirname);

/** Returns every file of the repository, from the root: the files that git tracks, else (in an unpacked archive) all files. */
export function filesOfWorkspace(): string[] {
  const git = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const files =
    git.status === 0
      ? git.stdout.split('\0').filter((file) => file !== '')
      : globSync('**/*', { cwd: root, withFileTypes: true, exclude: (entry) => IGNORED.has(entry.name) })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  return files.filter((file) => existsSync(join(root, file))).toSorted();
}

const IGNORED: ReadonlySet<string> = new Set(['node_modules', '.git', '.capstan', 'coverage']);

/** A package.json, as far as it is checked here. */
export interface Manifest {
  name?: string;
  scripts?: Record<string, string>;
  exports?: Record<string, unknown>;
  publishConfig?: { readonly exports?: Record<string, unknown> };
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export function readManifest(file: string): Manifest {
  // npm would have refused to install from a package.json of another form.
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as Manifest;
}
