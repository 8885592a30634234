// The commands of the program `crossplane`: its own, and Capstan's. What goes wrong is told in its own words.
import { convertCommand, PROGRAM_HELP, requestOf, START_HELP, systemFiles, xpkgCommand } from '@capstan/crossplane';
import { runCommandLine } from '../cli/cli.ts';
import type { Io } from '../cli/io.ts';
import { runCrossplaneInit } from './init.ts';
import { runCrossplaneStart } from './start.ts';

type Input = Parameters<typeof systemFiles>[0];

/** Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export async function runCrossplane(argv: readonly string[], io: Io, stdin: Input): Promise<number> {
  const request = requestOf(argv);
  const isHelp = request.argv.some((argument) => argument === '--help' || argument === '-h');
  switch (request.what) {
    case 'help':
      io.stdout(PROGRAM_HELP);
      return request.argv.length === 0 ? 2 : 0;
    case 'start':
      if (isHelp) {
        io.stdout(START_HELP);
        return 0;
      }
      return runCrossplaneStart(request.argv, { ...io, stderr: inWordsOfStart(io.stderr) });
    case 'init':
      return runCrossplaneInit(request.argv, io);
    case 'xpkg':
      return xpkgCommand(request.argv, io);
    case 'convert':
      return convertCommand(request.argv, { ...io, files: systemFiles(stdin) });
    case 'capstan':
      return runCommandLine(request.argv, {
        ...io,
        stderr: (text) => io.stderr(text.replaceAll('see capstan --help', 'see crossplane --help')),
      });
  }
}

/** Errors name the flags that were given, not those that they were translated to; logs stay as they are. */
function inWordsOfStart(stderr: Io['stderr']): Io['stderr'] {
  return (text) =>
    stderr(
      text.startsWith('error: ')
        ? text.replaceAll('--crossplane.', '--').replaceAll('capstan run', 'crossplane core start')
        : text,
    );
}
