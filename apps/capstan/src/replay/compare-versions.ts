// The same recording in two versions: the other one replays it as a program of its own and prints its results.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type OpenedRecording, type Operator, replayHistory } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';

export interface VersionReport {
  readonly path: string;
  readonly compared: number;
  readonly differing: number;
  readonly differences: readonly {
    readonly wave: number;
    readonly name: string;
    readonly key: string;
    readonly how: string;
  }[];
}

const MOST = 50;

export async function compareVersions(options: {
  recording: OpenedRecording;
  file: string;
  /** A checkout, an unpacked package, or a tarball. */
  path: string;
  key: string | undefined;
  /** Modules of operators, as the command was given them. */
  modules: readonly string[];
  operators: readonly Operator[];
  io: Io;
}): Promise<VersionReport> {
  const { recording, file, path, key, modules, operators, io } = options;
  const mine = new Map<string, string>();
  replayHistory(recording, {
    operators,
    compares: false,
    onResult: ({ wave, name, key: of, digest }) => void mine.set(`${wave}\u0000${name}\u0000${of}`, digest),
  });
  const [program, args] = await programOf(path);
  const ran = await io.execute?.(program, [
    ...args,
    'replay',
    file,
    '--results',
    ...(key === undefined ? [] : ['--key', key]),
    ...modules.flatMap((module) => ['--operator', module]),
  ]);
  if (ran === undefined || (ran.code !== 0 && ran.code !== DIFFERS))
    throw CliErrors.NoReplay(path, ran?.stderr.trim() ?? 'it cannot be started');
  const theirs = new Map<string, string>();
  for (const line of ran.stdout.split('\n')) {
    if (!line.startsWith('{')) continue;
    const {
      wave,
      name,
      key: of,
      digest,
    } = JSON.parse(line) as { wave: number; name: string; key: string; digest: string };
    theirs.set(`${wave}\u0000${name}\u0000${of}`, digest);
  }
  const differences: VersionReport['differences'][number][] = [];
  let differing = 0;
  for (const id of new Set([...mine.keys(), ...theirs.keys()])) {
    if (mine.get(id) === theirs.get(id)) continue;
    differing++;
    const [wave, name = '', of = ''] = id.split('\u0000');
    const how = !mine.has(id) ? 'only in the other version' : !theirs.has(id) ? 'only in this version' : 'changed';
    if (differences.length < MOST) differences.push({ wave: Number(wave), name, key: of, how });
  }
  return { path, compared: mine.size, differing, differences };
}

const DIFFERS = 3;

/** How Capstan is started there. */
async function programOf(path: string): Promise<[string, readonly string[]]> {
  if (/\.(tgz|tar\.gz)$/.test(path)) return ['npx', ['--yes', path]];
  const places: [string, string, readonly string[]][] = [
    ['scripts/run.mjs', process.execPath, [join(path, 'apps/capstan/src/main.ts')]],
    ['dist/main.js', process.execPath, [join(path, 'dist/main.js')]],
    ['package/dist/main.js', process.execPath, [join(path, 'package/dist/main.js')]],
  ];
  for (const [file, program, args] of places)
    if (
      await access(join(path, file)).then(
        () => true,
        () => false,
      )
    )
      return [program, args];
  throw CliErrors.NoReplay(path, 'it is neither a checkout nor a package of Capstan');
}
