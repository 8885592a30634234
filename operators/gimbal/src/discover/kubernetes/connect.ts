// From a mounted Secret to a connection. The kubeconfig came from a Secret, so it must be complete in itself: it may not run
// programs or read files in the discoverer's pod.
import {
  type Clock,
  type Connection,
  connectKubeconfig,
  isConfigError,
  type Logger,
  reasonOf,
} from '@capstan/kube/cluster';
import { DiscoverErrors, isCode } from '../errors.ts';
import type { Problem } from '../mirror/problem.ts';

/** Keys of the Secret that may hold the kubeconfig; the first that is there counts. */
export const KUBECONFIG_KEYS = ['config', 'kubeconfig', 'value'] as const;

export interface CredentialFiles {
  /** Rejects with an error whose `code` is ENOENT when there is no such file. */
  read(path: string): Promise<string>;
}

export interface RemoteOptions {
  files: CredentialFiles;
  /** A folder with a file for each key, or one file. */
  place: { readonly folder: string } | { readonly file: string };
  /** Instead of the address in the kubeconfig. */
  endpoint?: string | undefined;
  clock: Clock;
  logger: Logger;
}

export async function connectRemote({ files, place, endpoint, clock, logger }: RemoteOptions): Promise<Connection> {
  const { text, name } = 'file' in place ? await readOne(files, place.file) : await readKubeconfig(files, place.folder);
  return connectKubeconfig(text, {
    name,
    clock,
    logger,
    ...(endpoint !== undefined && { server: endpoint }),
    // Events must not wait behind a queue of requests, of which a discoverer makes few.
    transport: { connections: 8 },
  });
}

async function readKubeconfig(files: CredentialFiles, folder: string): Promise<{ text: string; name: string }> {
  for (const key of KUBECONFIG_KEYS) {
    const text = await readKey(files, folder, key);
    if (text !== undefined) return { text, name: `${folder}/${key}` };
  }
  throw DiscoverErrors.KeyMissing(folder, KUBECONFIG_KEYS);
}

async function readOne(files: CredentialFiles, file: string): Promise<{ text: string; name: string }> {
  try {
    return { text: await files.read(file), name: file };
  } catch (cause) {
    throw DiscoverErrors.SecretMissing(file, cause);
  }
}

/** The file of a key; undefined when the Secret does not have it. */
export async function readKey(files: CredentialFiles, folder: string, key: string): Promise<string | undefined> {
  try {
    return await files.read(`${folder}/${key}`);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
      return undefined;
    throw DiscoverErrors.SecretMissing(folder, cause);
  }
}

/** Returns the problem to report when the remote side could not be opened. */
export function openingProblem(error: unknown): Problem {
  const message = reasonOf(error);
  if (isCode(error, 'SecretMissing', 'KeyMissing')) return { type: 'SecretMissing', message };
  if (isCode(error, 'HalfCredential', 'BadKey') || isConfigError(error)) return { type: 'SecretInvalid', message };
  if (isCode(error, 'AuthRefused')) return { type: 'AuthFailed', message };
  return { type: 'Unreachable', message };
}
