// The command line: from arguments to an exit code. 0: done; 1: it did not work; 2: the command was not understood (or,
// where a command says so, there are differences); 130: interrupted.
//
// What takes long to load (the client, the runtime, even the errors) is imported where it is needed: help answers at once.
import { nearest } from '../text/nearest.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, generalHelp } from './help.ts';
import type { Io } from './io.ts';

/** Runs one command. Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    const { report } = await import('./report.ts');
    return report(
      error,
      argv.some((argument) => argument === '--verbose' || argument === '-v'),
      io,
    );
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined || first === '--help' || first === '-h') {
    io.stdout(generalHelp());
    return first === undefined ? 2 : 0;
  }
  if (first === 'help') return dispatch(rest.length === 0 ? ['--help'] : [rest[0] ?? '', '--help'], io);
  const name = first === '--version' ? 'version' : first;
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) {
    const { UsageErrors } = await import('./errors.ts');
    if (name.startsWith('-')) throw UsageErrors.FlagFirst(name);
    throw UsageErrors.UnknownCommand(name, nearest(name, Object.keys(COMMANDS)));
  }
  const { default: command } = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout(commandHelp(command));
    return 0;
  }
  const { parseCommandLine } = await import('./parse.ts');
  return command.run(parseCommandLine(name, command, rest), io);
}
