// Where keys and certificates are between two runs: files that no other user may read.
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reasonOf } from '@capstan/kube';
import { ClusterErrors } from '../errors.ts';
import { makePrivateFolder } from './private-folder.ts';

export interface SecretStore {
  /** For messages. */
  where(name: string): string;
  read(name: string): Promise<string | undefined>;
  /** All or nothing: a crash leaves the old text or the new one. */
  write(name: string, text: string): Promise<void>;
}

export function memorySecretStore(): SecretStore {
  const texts = new Map<string, string>();
  return {
    where: (name) => name,
    read: async (name) => texts.get(name),
    async write(name, text) {
      texts.set(name, text);
    },
  };
}

export function fileSecretStore(folder: string): SecretStore {
  const where = (name: string) => join(folder, name);
  return {
    where,
    async read(name) {
      try {
        return await readFile(where(name), 'utf8');
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
        throw ClusterErrors.BadKey(where(name), reasonOf(error));
      }
    },
    write: (name, text) => writeSecretFile(where(name), text),
  };
}

/** Writes a file that only its owner may read, in one step. */
export async function writeSecretFile(path: string, text: string): Promise<void> {
  try {
    await makePrivateFolder(dirname(path));
    const draft = `${path}.new`;
    await writeFile(draft, text, { mode: 0o600 });
    // The mode above counts for new files only.
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (error) {
    throw ClusterErrors.NotWritable(path, reasonOf(error));
  }
}
