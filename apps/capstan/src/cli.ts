// The command line: from arguments to an exit code. 0: done; 1: error; 2: the command was not understood; 3: with --exit-code,
// something differs or is not healthy; 130: interrupted.
//
// Modules that load slowly (the client, the runtime, even the errors) are imported where they are needed: help answers at once.
import type { Args, Command, ForwardedCommand } from '@capstan/reconcile/command-line';
import { generalHelp, pasteable } from './cli/help.ts';
import type { Io } from './cli/io.ts';
import { COMMANDS } from './command-table.ts';

/** Runs one command. Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  return reported(argv, io, () => dispatch(argv, io));
}

/** Runs a function that may throw; resolves to an exit code in any case. */
export async function reported(argv: readonly string[], io: Io, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    const { report } = await import('./cli/report.ts');
    const isVerbose = argv.some((argument) => argument === '--verbose' || argument === '-v');
    return report(error, isVerbose, io);
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined || first === '--help' || first === '-h') {
    io.stdout(pasteable(generalHelp(), io.env));
    return first === undefined ? 2 : 0;
  }
  if (first === COMPLETE) {
    const { printCompletion } = await import('./completion/print-completion.ts');
    return printCompletion(rest, COMMANDS, io);
  }
  if (first === 'help') return dispatch(rest.length === 0 ? ['--help'] : [rest[0] ?? '', '--help'], io);
  return runCapstanCommand('capstan', argv, io);
}

/** The command by which the scripts of shells request completions. */
export const COMPLETE = '__complete';

/** Runs a command of Capstan's own under the name of a program that has others too. Throws UsageError. */
export async function runCapstanCommand(
  program: string,
  argv: readonly string[],
  io: Io,
  others: readonly string[] = [],
): Promise<number> {
  const [first = '', ...rest] = argv;
  const name = first === '--version' ? 'version' : first;
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) {
    const { UsageErrors, nearest } = await import('@capstan/reconcile/command-line');
    if (name.startsWith('-')) throw UsageErrors.FlagFirst(program, name);
    const known = [...others, ...Object.keys(COMMANDS)];
    const words = others.some((other) => other.includes(' ')) ? [argv.slice(0, 2).join(' '), name] : [name];
    const near = words.map((text) => nearest(text, known)).find((found) => found !== undefined);
    throw UsageErrors.UnknownCommand(program, name, near);
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
    io.stdout(pasteable(commandHelp(program, command, await operatorSections(name, command, asked, io)), io.env));
    return 0;
  }
  return command.run(parseCommandLine(`${program} ${name}`, command, argv, io.env), io);
}

/** The flags of the operators: of all where the command runs them, else of those that the command line names. */
async function operatorSections(name: string, command: Command, args: Args, io: Io): Promise<string[]> {
  const isNamed = args.flags['operator'] !== undefined || args.flags['operators'] !== undefined;
  if (command.operatorFlags !== true || !(isNamed || RUNS_OPERATORS.has(name))) return [];
  const { operatorFlagHelp } = await import('./cli/load-operators.ts');
  return operatorFlagHelp(args as never, io);
}

const RUNS_OPERATORS: ReadonlySet<string> = new Set(['run', 'up', 'install']);
