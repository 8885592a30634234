// An operator's own program, created from its declaration: one command that runs it with its own flags, the commands that it
// brings, and all of Capstan's.
import type { Operator } from '@capstan/reconcile';
import type { Command, Commands, Flag, Flags, FlagValues } from '@capstan/reconcile/command-line';
import { COMPLETE, reported, runCapstanCommand, runCommand } from '../cli.ts';
import { COMMANDS } from '../command-table.ts';
import type { RUN_FLAGS } from '../run/run-operators.ts';
import { pasteable } from './help.ts';
import type { Io } from './io.ts';

export interface Program {
  /** As it is typed. */
  readonly name: string;
  /** Loads the module of the operator, whose default export it is. */
  load(): Promise<{ readonly default: Operator }>;
  /** Commands that the program's own file runs before it comes here: for the list in its help. */
  readonly besides?: Readonly<Record<string, { readonly summary: string; readonly arguments?: string }>>;
}

/** Runs one command of the program. Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export function runProgram(program: Program, argv: readonly string[], io: Io): Promise<number> {
  return reported(argv, io, () => dispatch(program, argv, io));
}

const HELP = new Set(['--help', '-h', 'help']);

async function dispatch(program: Program, argv: readonly string[], io: Io): Promise<number> {
  const { default: operator } = await program.load();
  const commands = await commandsOf(operator);
  const [first, second] = argv;
  if (first === COMPLETE) {
    const { printCompletion } = await import('../completion/print-completion.ts');
    return printCompletion(argv.slice(1), { ...commands, ...COMMANDS }, io);
  }
  const names = [...Object.keys(commands), ...Object.keys(program.besides ?? {})];
  const isGroup = names.some((name) => name.startsWith(`${first} `)) && (second === undefined || HELP.has(second));
  if (first === undefined || HELP.has(first) || isGroup) {
    const shown = isGroup
      ? Object.fromEntries(Object.entries(commands).filter(([name]) => name.startsWith(`${first} `)))
      : { ...commands, ...program.besides };
    io.stdout(pasteable(await programHelp(program, operator, shown), io.env));
    return first === undefined || (isGroup && second === undefined) ? 2 : 0;
  }
  for (const words of [2, 1]) {
    const name = argv.slice(0, words).join(' ');
    const entry = argv.length >= words && Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (entry === undefined) continue;
    const { default: command } = await entry.load();
    return runCommand(program.name, name, command, argv.slice(words), io);
  }
  return runCapstanCommand(program.name, argv, io, names);
}

async function programHelp(
  program: Program,
  { description }: Operator,
  commands: NonNullable<Program['besides']>,
): Promise<string> {
  const { commandLines } = await import('@capstan/reconcile/command-line');
  return `Usage: ${program.name} COMMAND [flags]

${description ?? ''}

Commands:
${commandLines(commands).join('\n')}

Every other command is Capstan's: ${program.name} why, ${program.name} plan, ${program.name} status, …
${program.name} COMMAND --help shows more about one of them.
`;
}

/** The command that runs the operator, and those that it brings. */
export async function commandsOf(operator: Operator): Promise<Commands> {
  const name = operator.program?.run ?? 'operator';
  const load = async () => ({ default: await runCommandOf(name, operator) });
  return { [name]: { summary: 'Run the operator in a cluster', load }, ...operator.commands };
}

/** `capstan run` for one operator, whose flags need no name before them. */
async function runCommandOf(name: string, operator: Operator): Promise<Command> {
  const { RUN_FLAGS: runFlags, runOperators } = await import('../run/run-operators.ts');
  const { flags = {}, program = {} } = operator;
  const own: Flags = { ...flags, ...program.flags };
  return {
    usage: `${name} [flags]`,
    description:
      `${operator.description ?? ''}\nRuns until it is stopped (SIGTERM or Ctrl-C). Logs go to stderr.`.trim(),
    examples: [],
    // A flag of the operator hides one of `capstan run` with the same name.
    options: { ...own, ...Object.fromEntries(Object.entries(runFlags).filter(([flag]) => !(flag in own))) },
    async run({ flags: values }, io) {
      const { configured, parseFlags, runFlagsOf } = await import('@capstan/reconcile/command-line');
      const ready = configured(operator, values, io.env);
      const derived = Object.entries(runFlagsOf(operator, values)).filter(([, value]) => value !== undefined);
      const texts = Object.fromEntries(derived.map(([flag, value]) => [flag, [String(value)]]));
      const run: Record<string, unknown> = parseFlags(runFlags, texts);
      for (const [flag, { default: byDefault }] of Object.entries<Flag>(runFlags)) {
        if (flag in own || values[flag] === undefined) continue;
        // A flag with a default does not record whether the user set it.
        if (!(flag in texts) || byDefault === undefined) run[flag] = values[flag];
      }
      return runOperators([ready], run as FlagValues<typeof RUN_FLAGS>, io);
    },
  };
}
