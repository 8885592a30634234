// Programs of others that Capstan runs beside itself, or is tested with: each is fetched into a cache folder that all checkouts and
// installations of a user share.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Takes a line of progress, without its end. */
export type Report = (line: string) => void;

export interface Peer {
  readonly what: string;
  /** About, in MB. */
  readonly size: number;
  /** Name and version of the content: a cache that was built from another is created again. */
  readonly version: string;
  /** Brings it into the folder, which is empty; false when that did not succeed, after the reason was reported. */
  fetch(folder: string, report: Report): boolean | Promise<boolean>;
  /** Names the programs that this machine lacks to fetch it, and how to get them, in one line; default: none. */
  lacks?(): string | undefined;
  /** A folder that takes the place of the cache, because a user has the peer already; default: none. */
  elsewhere?(): string | undefined;
  /** Looks closer than the stamp does before a cache is left as it is; default: the stamp is enough. */
  isWhole?(folder: string): boolean | Promise<boolean>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The cache folder: CAPSTAN_REAL, by default ~/.cache/capstan/real. */
export function cacheFolder(env: Env = process.env): string {
  return env['CAPSTAN_REAL'] ?? join(env['HOME'] ?? homedir(), '.cache', 'capstan', 'real');
}

/** The peer's folder, whether it is there or not. */
export function folderOf(name: string, peer: Peer, env?: Env): string {
  return peer.elsewhere?.() ?? join(cacheFolder(env), name);
}

/** Whether the peer is there as a whole and in the version that is wanted. */
export function isThere(name: string, peer: Peer, env?: Env): boolean {
  if (peer.elsewhere?.() !== undefined) return true;
  const stamp = join(cacheFolder(env), name, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === peer.version;
}

/** As isThere, and the files have not been damaged since. */
export async function isThereAndWhole(name: string, peer: Peer, report: Report, env?: Env): Promise<boolean> {
  if (!isThere(name, peer, env)) return false;
  const folder = join(cacheFolder(env), name);
  if (peer.elsewhere?.() !== undefined || (await peer.isWhole?.(folder)) !== false) return true;
  report(`${name}: what is in ${folder} is damaged, and is fetched again`);
  return false;
}

/**
 * Fetches into a folder beside the final one, which takes its place only when it is complete: a fetch that was interrupted
 * leaves nothing that could be taken for the whole.
 */
export async function bring(name: string, peer: Peer, report: Report, env?: Env): Promise<boolean> {
  const final = join(cacheFolder(env), name);
  const partial = `${final}.partial-${process.pid}`;
  try {
    mkdirSync(partial, { recursive: true });
    if (!(await peer.fetch(partial, report))) return false;
    writeFileSync(join(partial, STAMP), peer.version);
    rmSync(final, { recursive: true, force: true });
    renameSync(partial, final);
    return true;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

const STAMP = '.complete';
