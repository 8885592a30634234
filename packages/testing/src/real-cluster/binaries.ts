// Where the programs of a real control plane are: in the folder that KUBEBUILDER_ASSETS names, else in the cache that
// `npm run setup:real -- kubernetes` fills. A cache whose build was not finished, or whose files are not as long as when they
// were built, is as good as none.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** In the order in which they are needed: a harness that wants no controllers runs with the first two. */
export const PROGRAMS = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler'] as const;
export type Program = (typeof PROGRAMS)[number];

export interface Binaries {
  readonly folder: string;
  /** Undefined for a program that the folder does not have, as KUBEBUILDER_ASSETS usually lacks the controllers. */
  path(program: Program): string | undefined;
}

export interface BinariesOptions {
  /** Default: of this process. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** The programs of a real control plane, or one line that shows how to get them. */
export function findBinaries({ env = process.env }: BinariesOptions = {}): Binaries | { missing: string } {
  const given = givenFolder(env);
  if (given !== undefined) return binariesIn(given);
  const folder = join(env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'kubernetes');
  if (isComplete(folder)) return binariesIn(folder);
  return {
    missing:
      'no real control plane: `npm run setup:real -- kubernetes` builds one (takes Go), or KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd',
  };
}

/** The folder of KUBEBUILDER_ASSETS, if it has the minimum of a control plane. */
export function givenFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const folder = env['KUBEBUILDER_ASSETS'] ?? '';
  if (folder === '') return undefined;
  return existsSync(join(folder, 'etcd')) && existsSync(join(folder, 'kube-apiserver')) ? folder : undefined;
}

/** Length and digest of each program, as they were built. */
export type BuildRecord = Record<string, { bytes: number; sha256: string }>;

/** Written beside the programs when all of them are there. */
export const BUILD_RECORD = 'build.json';

/** The record of the build in this folder; undefined if the build did not finish. */
export function buildRecord(folder: string): BuildRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(folder, BUILD_RECORD), 'utf8')) as BuildRecord;
    return PROGRAMS.every((program) => record[program] !== undefined) ? record : undefined;
  } catch {
    return undefined;
  }
}

// Digests are checked by setup:real; they would cost every start of a test a second.
function isComplete(folder: string): boolean {
  const record = buildRecord(folder);
  if (record === undefined) return false;
  return PROGRAMS.every(
    (program) => statSync(join(folder, program), { throwIfNoEntry: false })?.size === record[program]?.bytes,
  );
}

function binariesIn(folder: string): Binaries {
  return {
    folder,
    path(program) {
      const path = join(folder, program);
      return existsSync(path) ? path : undefined;
    },
  };
}
