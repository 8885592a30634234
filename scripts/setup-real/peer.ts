import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A real thing that tests and benchmarks run against: each has a file of its own here and a line in ../setup-real.ts. */
export interface Peer {
  readonly what: string;
  /** About, in MB. */
  readonly size: number;
  /** What is fetched, with its version: a cache that was built from another is created again. */
  readonly version: string;
  /** Brings it into the folder, which is empty; false when that did not succeed, after it has said why on stderr. */
  fetch(folder: string): boolean | Promise<boolean>;
  /** What this machine lacks to fetch it, and how to get that, in one line; default: nothing. */
  lacks?(): string | undefined;
  /** A folder that takes the place of the cache, because a user has the peer already; default: none. */
  elsewhere?(): string | undefined;
  /** Looks closer than the stamp does before setup:real leaves a cache as it is; default: the stamp is enough. */
  isWhole?(folder: string): boolean | Promise<boolean>;
}

/** The cache folder that all clones share: CAPSTAN_REAL, by default ~/.cache/capstan/real. */
export function cacheFolder(): string {
  return process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
}

/** The peer's folder, whether it is there or not. */
export function folderOf(name: string, peer: Peer): string {
  return peer.elsewhere?.() ?? join(cacheFolder(), name);
}

/** Whether the peer is there as a whole and in the version that is wanted. */
export function isThere(name: string, peer: Peer): boolean {
  if (peer.elsewhere?.() !== undefined) return true;
  const stamp = join(cacheFolder(), name, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === peer.version;
}

/** As isThere, and what is there has not been damaged since. */
export async function isThereAndWhole(name: string, peer: Peer): Promise<boolean> {
  if (!isThere(name, peer)) return false;
  if (peer.elsewhere?.() !== undefined || (await peer.isWhole?.(join(cacheFolder(), name))) !== false) return true;
  console.log(`${name}: what is in ${join(cacheFolder(), name)} is damaged, and is fetched again`);
  return false;
}

/**
 * Fetches into a folder beside the final one, which takes its place only when it is complete: a fetch that was interrupted
 * leaves nothing that could be taken for the whole.
 */
export async function bring(name: string, peer: Peer): Promise<boolean> {
  const final = join(cacheFolder(), name);
  const partial = `${final}.partial-${process.pid}`;
  try {
    mkdirSync(partial, { recursive: true });
    if (!(await peer.fetch(partial))) return false;
    writeFileSync(join(partial, STAMP), peer.version);
    rmSync(final, { recursive: true, force: true });
    renameSync(partial, final);
    return true;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

const STAMP = '.complete';
