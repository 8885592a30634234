// Files of this machine: Capstan's own io reads texts; commands of Sesame read bytes (an encoding is checked) and write.
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { reasonOf } from '@capstan/kube/values';
import type { Io } from '@capstan/reconcile/command-line';
import { CommandErrors } from './errors.ts';

export interface MachineFiles {
  read(path: string): Promise<Uint8Array>;
  stdin(): Promise<Uint8Array>;
  /** Creates parent folders; `mode` is that of the file. Rejects with a sentence. */
  write(path: string, text: string, mode?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  remove(path: string): Promise<void>;
}

/** Relative paths are relative to the io's folder. */
export function machineFiles({ cwd, files }: Io): MachineFiles {
  const at = (path: string) => resolve(cwd, path);
  return {
    read: (path) => readFile(at(path)),
    stdin: async () => new TextEncoder().encode(await files.stdin()),
    async write(path, text, mode = 0o644) {
      try {
        await mkdir(dirname(at(path)), { recursive: true });
        await writeFile(at(path), text, { mode });
        // An existing file keeps its mode otherwise.
        await chmod(at(path), mode);
      } catch (error) {
        throw CommandErrors.CannotWrite(path, reasonOf(error));
      }
    },
    exists: (path) =>
      stat(at(path)).then(
        () => true,
        () => false,
      ),
    remove: (path) => rm(at(path), { force: true }),
  };
}
