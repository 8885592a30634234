import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { reasonOf } from '@capstan/kube';
import type { SourceFile } from '../build.ts';
import { XpkgErrors } from '../errors.ts';

/** The YAML files in a folder and the folders in it, by their paths from it; empty ones are passed over. */
export async function yamlFilesIn(
  root: string,
  { ignore = [], without }: { ignore?: readonly string[]; without?: string | undefined },
): Promise<SourceFile[]> {
  const ignored = ignore.map(globOf);
  const files: SourceFile[] = [];
  async function walk(folder: string): Promise<void> {
    for (const entry of await entriesOf(folder)) {
      const path = join(folder, entry.name);
      const name = relative(root, path).split(sep).join('/');
      if (path === without) continue;
      // Folders are not followed through links: a ring of them has no end.
      if (entry.isDirectory()) await walk(path);
      else if (/\.ya?ml$/.test(name) && !ignored.some((glob) => glob.test(name))) {
        const bytes = await read(path);
        if (bytes.length > 0) files.push({ name, bytes });
      }
    }
  }
  await walk(root);
  return files;
}

export function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    throw XpkgErrors.Unreadable(folder, reasonOf(error));
  }
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw XpkgErrors.Unreadable(path, reasonOf(error));
  }
}

/** `*` and `?` within one name; neither crosses a slash. */
export function globOf(pattern: string): RegExp {
  const text = pattern.replace(/^\.\//, '').replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${text.replace(/\*+/g, '[^/]*').replace(/\?/g, '[^/]')}$`);
}
