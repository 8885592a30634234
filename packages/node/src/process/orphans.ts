// Processes of ours that outlived a crash: they are found by the records of their starts, and ended, each only if it still is the same
// process.
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type Logger, sleep } from '@capstan/kube';
import { isAlive, type ProcessIdentity } from './identity.ts';
import { sendToGroup } from './launch.ts';

export const RECORD_FILE = 'process.json';

const GRACE_MS = 3000;
const POLL_MS = 50;

/** Ends every process that is recorded somewhere below the folder; resolves when they are gone. */
export async function endOrphans(folder: string, clock: Clock, logger: Logger): Promise<number> {
  const records = await findRecords(folder);
  const ended = await Promise.all(records.map((file) => endOne(file, clock, logger)));
  return ended.filter(Boolean).length;
}

async function findRecords(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true });
    return entries.filter((entry) => entry.endsWith(RECORD_FILE)).map((entry) => join(folder, entry));
  } catch {
    return [];
  }
}

async function endOne(file: string, clock: Clock, logger: Logger): Promise<boolean> {
  const identity = await readRecord(file);
  let wasAlive = false;
  if (identity !== undefined && (await isAlive(identity))) {
    wasAlive = true;
    logger.info('a process of an earlier run is ended', { pid: identity.pid });
    sendToGroup(identity.pid, 'SIGTERM');
    const until = clock.now() + GRACE_MS;
    while (clock.now() < until && (await isAlive(identity))) await sleep(clock, POLL_MS);
    if (await isAlive(identity)) sendToGroup(identity.pid, 'SIGKILL');
    while (await isAlive(identity)) await sleep(clock, POLL_MS);
  }
  await rm(file, { force: true });
  return wasAlive;
}

async function readRecord(file: string): Promise<ProcessIdentity | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    const { pid, startedAt } = value as Partial<ProcessIdentity>;
    return Number.isInteger(pid) && typeof startedAt === 'string' ? { pid: Number(pid), startedAt } : undefined;
  } catch {
    return undefined;
  }
}
