// The commands of the program `gimbal` besides discoverers: its own, and Capstan's.
import { PROGRAM_HELP, requestOf } from '@capstan/gimbal';
import { runCommandLine } from '../cli/cli.ts';
import type { Command } from '../cli/command.ts';
import { commandHelp } from '../cli/help.ts';
import type { Io } from '../cli/io.ts';
import { parseCommandLine } from '../cli/parse.ts';
import { report } from '../cli/report.ts';

const OWN: Readonly<Record<'backends' | 'drain' | 'resume' | 'rotate', () => Promise<{ default: Command }>>> = {
  backends: () => import('./backends.ts'),
  drain: () => import('./drain.ts'),
  resume: () => import('./resume.ts'),
  rotate: () => import('./rotate.ts'),
};

/** Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export async function runGimbal(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    return report(error, argv.includes('--verbose') || argv.includes('-v'), { ...io, stderr: underOwnName(argv, io) });
  }
}

/** What helps is `gimbal drain --help`: Capstan has no such command. */
function underOwnName([command = '']: readonly string[], { stderr }: Io): Io['stderr'] {
  return Object.hasOwn(OWN, command)
    ? (text) => stderr(text.replaceAll(`capstan ${command} `, `gimbal ${command} `))
    : stderr;
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [first] = argv;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    io.stdout(PROGRAM_HELP);
    return first === undefined ? 2 : 0;
  }
  const request = requestOf(argv);
  if (request.what === 'capstan')
    return runCommandLine(request.argv, {
      ...io,
      stderr: (text) => io.stderr(text.replaceAll('see capstan --help', 'see gimbal --help')),
    });
  if (request.what === 'rbac') {
    const { runRbac } = await import('@capstan/gimbal/discover');
    return runRbac(request.argv, io);
  }
  const { default: command } = await OWN[request.what]();
  if (request.argv.includes('--help') || request.argv.includes('-h')) {
    io.stdout(commandHelp(command).replaceAll('capstan ', 'gimbal '));
    return 0;
  }
  return command.run(parseCommandLine(request.what, command, request.argv), io);
}
