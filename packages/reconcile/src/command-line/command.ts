// A command as data: its flags, its help and its function. Those of Capstan are in a table of the application; an operator brings its own.
import type { Flags, FlagValues, GivenFlags } from './flag.ts';
import type { Io } from './io.ts';

export interface Args<F extends Flags = Flags> {
  /** The command as it was typed, with the program: `capstan why`, `gimbal drain`. For messages. */
  readonly command: string;
  readonly flags: FlagValues<F>;
  readonly positionals: readonly string[];
  /** `--crossplane.package-runtime=External` as {crossplane: {'package-runtime': ['External']}}. */
  readonly operatorFlags: OperatorFlags;
}

export type OperatorFlags = Readonly<Record<string, GivenFlags>>;

export interface CommandDefinition<F extends Flags> {
  /** The part after the program's name in the usage line. */
  readonly usage: string;
  /** Two or three sentences, below the usage line. */
  readonly description: string;
  readonly examples: readonly string[];
  readonly options: F;
  /** How many arguments without a flag it takes; 0 by default. */
  readonly positionals?: number;
  /** The possible values, where that is a closed set: for completion. */
  readonly choices?: readonly string[];
  /** Whether flags with an operator's name before a dot are taken. */
  readonly operatorFlags?: boolean;
  /** Resolves to the exit code. */
  run(args: Args<F>, io: Io): Promise<number>;
}

export type Command = CommandDefinition<Flags>;

/** A command that reads its arguments itself, help included. */
export interface ForwardedCommand {
  forward(argv: readonly string[], io: Io): Promise<number>;
}

/** Gives `run` the types of its own flags; a table of commands knows only that there are some. */
export function command<const F extends Flags>(definition: CommandDefinition<F>): Command {
  return definition;
}

export interface CommandEntry {
  /** One line for the list of commands. */
  readonly summary: string;
  /** Not shown in lists. */
  readonly isHidden?: true;
  /** The part after the name in the list: `NAME`, `build|push|inspect`. */
  readonly arguments?: string;
  /** Loads the command when it is used and not before: help and mistakes answer at once. */
  load(): Promise<{ readonly default: Command | ForwardedCommand }>;
}

/** By name: `drain`, or `core init` of two words. */
export type Commands = Readonly<Record<string, CommandEntry>>;

/** Flags that every command has. */
export const COMMON_OPTIONS = {
  help: { type: 'boolean', short: 'h', help: 'Show this help.' },
  verbose: { type: 'boolean', short: 'v', help: 'Print the stack of errors.' },
} as const satisfies Flags;
