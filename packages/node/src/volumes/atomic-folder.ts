// A folder of files that changes all at once. The files lie in a folder with a time for a name, `..data` points to it, and each visible
// name points through `..data`. A change writes a new folder and switches `..data` to it in one step, so that a reader sees the old files
// or the new ones and never a mixture. Kubelets do the same, and programs that watch their configuration rely on it.
import { chmod, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface FileContent {
  content: Buffer;
  /** Default 0644. */
  mode?: number;
}

/** Makes the folder hold these files (by relative path); true when something changed. */
export async function writeAtomically(
  folder: string,
  files: ReadonlyMap<string, FileContent>,
  stamp: string,
): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const current = await readlink(join(folder, '..data')).catch(() => undefined);
  if (current !== undefined && (await holds(join(folder, current), files))) return false;
  const name = await freshName(folder, stamp);
  for (const [path, { content, mode = 0o644 }] of files) {
    const target = join(folder, name, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    await chmod(target, mode);
  }
  await mkdir(join(folder, name), { recursive: true });
  await rm(join(folder, '..data_tmp'), { force: true });
  await symlink(name, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  await showNames(folder, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)));
  if (current !== undefined) await rm(join(folder, current), { recursive: true, force: true });
  return true;
}

async function holds(folder: string, files: ReadonlyMap<string, FileContent>): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  if (entries.filter((entry) => entry.isFile()).length !== files.size) return false;
  for (const [path, { content }] of files) {
    const existing = await readFile(join(folder, path)).catch(() => undefined);
    if (existing === undefined || !existing.equals(content)) return false;
  }
  return true;
}

async function freshName(folder: string, stamp: string): Promise<string> {
  const taken = new Set(await readdir(folder));
  let name = `..${stamp}`;
  for (let number = 1; taken.has(name); number++) name = `..${stamp}.${number}`;
  return name;
}

async function showNames(folder: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    await symlink(join('..data', name), join(folder, name)).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
  }
  for (const name of await readdir(folder)) {
    if (!name.startsWith('..') && !names.has(name)) await rm(join(folder, name), { force: true });
  }
}
