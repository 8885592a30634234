// A command as data: its flags, its help and what it does. The table of all commands is commands.ts.
import type { Io } from './io.ts';

export interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** Of a string: what stands for its value in the help. */
  readonly value?: string;
  /** Of a string: may be given several times. */
  readonly multiple?: boolean;
  /** Of a string: the values that it can have. */
  readonly oneOf?: readonly string[];
  /** What it is for, and its default. One line. */
  readonly help: string;
}

export type Options = Readonly<Record<string, Option>>;

/** The values of flags as they were given; what was not given is undefined. */
export type Values<O extends Options> = {
  readonly [Name in keyof O]: O[Name]['type'] extends 'boolean'
    ? boolean | undefined
    : O[Name] extends { readonly multiple: true }
      ? readonly string[] | undefined
      : string | undefined;
};

export interface Args<O extends Options = Options> {
  readonly flags: Values<O>;
  readonly positionals: readonly string[];
  /** `--crossplane.package-runtime=External` as {crossplane: {'package-runtime': 'External'}}. */
  readonly operatorFlags: OperatorFlags;
}

export type OperatorFlags = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface CommandDefinition<O extends Options> {
  /** What follows `capstan` in the usage line. */
  readonly usage: string;
  /** Two or three sentences, below the usage line. */
  readonly description: string;
  readonly examples: readonly string[];
  readonly options: O;
  /** How many arguments without a flag it takes; 0 by default. */
  readonly positionals?: number;
  /** Whether flags with an operator's name before a dot are taken. */
  readonly operatorFlags?: boolean;
  /** Resolves to the exit code. */
  run(args: Args<O>, io: Io): Promise<number>;
}

export type Command = CommandDefinition<Options>;

/** Gives `run` the types of its own options; the table of commands knows only that there are some. */
export function command<const O extends Options>(definition: CommandDefinition<O>): Command {
  return definition;
}

/** Flags that every command has. */
export const COMMON_OPTIONS = {
  help: { type: 'boolean', short: 'h', help: 'Show this help.' },
  verbose: { type: 'boolean', short: 'v', help: 'Print the stack of errors.' },
} as const satisfies Options;
