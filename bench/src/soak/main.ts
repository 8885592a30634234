import { existsSync } from 'node:fs';
import { parseSoak, SOAK_USAGE } from './options.ts';
import { soak } from './soak.ts';

const options = parseSoak(process.argv.slice(2));
const print = (line: string) => process.stdout.write(`${line}\n`);
if (typeof options === 'string') {
  process.stderr.write(`${options}\n\n${SOAK_USAGE}`);
  process.exitCode = 2;
} else if (!existsSync('/proc/self/fd')) {
  process.stderr.write('a soak reads /proc, which only Linux has\n');
  process.exitCode = 1;
} else {
  const stopping = new AbortController();
  // A soak that is interrupted ends its programs first. A second signal ends it at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const problems = await soak(options, print, stopping.signal);
  if (stopping.signal.aborted) print('interrupted: the time was not complete');
  print(
    problems.length === 0
      ? `sound: ${options.minutes} minutes (plots in ${options.out})`
      : `${problems.length} problems:`,
  );
  for (const problem of problems) print(`  ${problem}`);
  process.exitCode = stopping.signal.aborted ? 130 : problems.length === 0 ? 0 : 1;
}
