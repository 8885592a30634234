import { spawnSync } from 'node:child_process';
import { globSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** The home of a Java development kit that is new enough: JAVA_HOME, then the one on the PATH, then where systems put them. */
export function findJdk(atLeast: number): string | undefined {
  return [...new Set(candidates())].find((home) => versionOf(home) >= atLeast);
}

function* candidates(): Iterable<string> {
  const { JAVA_HOME = '', PATH = '' } = process.env;
  if (JAVA_HOME !== '') yield JAVA_HOME;
  for (const folder of PATH.split(delimiter)) {
    const found = realOf(join(folder, 'javac'));
    if (found !== undefined) yield dirname(dirname(found));
  }
  for (const place of PLACES) yield* globSync(place).toSorted();
}

const PLACES = [
  '/usr/lib/jvm/*',
  '/opt/*jdk*',
  '/Library/Java/JavaVirtualMachines/*/Contents/Home',
  join(homedir(), '.sdkman/candidates/java/*'),
  join(homedir(), '.jdks/*'),
];

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** 0 where there is none that runs. */
function versionOf(home: string): number {
  const { stdout } = spawnSync(join(home, 'bin', 'javac'), ['-version'], { encoding: 'utf8' });
  return Number(/^javac (\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}
