// The cluster of a data folder, from outside its process: whether one runs, how to stop it, and the content of the folder.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, silentLogger } from '@capstan/kube/cluster';

/**
 * The process that runs a cluster in the folder; undefined when none does. The lock decides, and not the number in the file,
 * which may be that of another process by now.
 */
export function runningProcess(data: string): number | undefined {
  const lock = join(data, 'lock');
  if (!existsSync(lock) || !isLocked(lock)) return undefined;
  const text = existsSync(`${lock}.pid`) ? readFileSync(`${lock}.pid`, 'utf8').trim() : '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Ends the processes of pods that outlived a cluster which was killed. */
export async function endLeftProcesses(data: string, clock: Clock): Promise<void> {
  const clusters = join(data, 'clusters');
  if (!existsSync(clusters)) return;
  const { endOrphans } = await import('@capstan/node');
  await endOrphans(clusters, clock, silentLogger);
}

function isLocked(lock: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lock, { readOnly: true });
    database.exec('PRAGMA busy_timeout = 0');
    database.prepare('PRAGMA schema_version').get();
    return false;
  } catch (error) {
    return error instanceof Error && 'errcode' in error && [5, 6].includes(Number(error.errcode) & 0xff);
  } finally {
    if (database?.isOpen) database.close();
  }
}

/** Returns the content of a data folder; undefined if it is not one. Nothing in it may be deleted then. */
export function contentOf(data: string): readonly string[] | undefined {
  if (!existsSync(join(data, 'lock'))) return undefined;
  const names = readdirSync(data);
  return names.every((name) => OWN.test(name)) ? names : undefined;
}

/** The file with the path of the user's kubeconfig that has contexts of this cluster. */
export const MERGED = 'merged-kubeconfig';
/** The file with the one-time code of the console. */
export const CONSOLE_CODE = 'console-code';
/** Everything that a cluster writes into its folder. */
const OWN = new RegExp(
  `^(?:lock(?:[.-].*)?|clusters|kubeconfig|pki|demo|up\\.log|up\\.events|${CONSOLE_CODE}|${MERGED})$`,
);
