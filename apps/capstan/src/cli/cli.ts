// The command line: from arguments to an exit code. 0: done; 1: it did not work; 2: the command was not understood (or,
// where a command says so, there are differences); 130: interrupted.
//
// What takes long to load (the client, the runtime, even the errors) is imported where it is needed: help answers at once.
import type { Args, Command, ForwardedCommand } from '@capstan/reconcile/command-line';
import { COMMANDS } from './commands.ts';
import { generalHelp } from './help.ts';
import type { Io } from './io.ts';

/** Runs one command. Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  return reported(argv, io, () => dispatch(argv, io));
}

/** Runs what may throw; resolves to an exit code in any case. */
export async function reported(argv: readonly string[], io: Io, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    const { report } = await import('./report.ts');
    const isVerbose = argv.some((argument) => argument === '--verbose' || argument === '-v');
    return report(error, isVerbose, io);
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined || first === '--help' || first === '-h') {
    io.stdout(generalHelp());
    return first === undefined ? 2 : 0;
  }
  if (first === 'help') return dispatch(rest.length === 0 ? ['--help'] : [rest[0] ?? '', '--help'], io);
  return runCapstanCommand('capstan', argv, io);
}

/** Runs a command of Capstan's own under the name of a program that has them too. Throws UsageError. */
export async function runCapstanCommand(program: string, argv: readonly string[], io: Io): Promise<number> {
  const [first = '', ...rest] = argv;
  const name = first === '--version' ? 'version' : first;
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) {
    const { UsageErrors, nearest } = await import('@capstan/reconcile/command-line');
    if (name.startsWith('-')) throw UsageErrors.FlagFirst(program, name);
    throw UsageErrors.UnknownCommand(program, name, nearest(name, Object.keys(COMMANDS)));
  }
  const { default: command } = await entry.load();
  return runCommand(program, name, command, rest, io);
}

/** Runs one command, or prints its help. Throws UsageError. */
export async function runCommand(
  program: string,
  name: string,
  command: Command | ForwardedCommand,
  argv: readonly string[],
  io: Io,
): Promise<number> {
  if ('forward' in command) return command.forward(argv, io);
  const { commandHelp, parseCommandLine } = await import('@capstan/reconcile/command-line');
  if (argv.includes('--help') || argv.includes('-h')) {
    const asked = parseCommandLine(`${program} ${name}`, command, argv, io.env);
    io.stdout(commandHelp(program, command, await operatorSections(command, asked, io)));
    return 0;
  }
  return command.run(parseCommandLine(`${program} ${name}`, command, argv, io.env), io);
}

/** The flags of the operators that the command line names, which are loaded for that: not of all. */
async function operatorSections(command: Command, args: Args, io: Io): Promise<string[]> {
  const isNamed = args.flags['operator'] !== undefined || args.flags['operators'] !== undefined;
  if (command.operatorFlags !== true || !isNamed) return [];
  const { operatorFlagHelp } = await import('./load-operators.ts');
  return operatorFlagHelp(args as never, io);
}
