import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A real thing that tests and benchmarks run against: each has a file of its own here and a line in ../setup-real.ts. */
export interface Peer {
  readonly what: string;
  /** About, in MB. */
  readonly size: number;
  /** What is fetched, with its version: a cache that was made from another is made again. */
  readonly version: string;
  /** Brings it into the folder, which is empty; false when that did not succeed, after it has said why on stderr. */
  fetch(folder: string): boolean | Promise<boolean>;
}

/** The cache folder that all clones share: CAPSTAN_REAL, by default ~/.cache/capstan/real. */
export function cacheFolder(): string {
  return process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
}

/** Whether the peer is there as a whole and in the version that is wanted. */
export function isThere(name: string, { version }: Peer): boolean {
  const stamp = join(cacheFolder(), name, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === version;
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
