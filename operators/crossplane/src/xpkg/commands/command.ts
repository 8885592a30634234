// Commands of `crossplane xpkg` as data, and the parts of the machine that they need.
import { parseArgs } from 'node:util';
import { CodedError, errorMakers } from '@capstan/kube';

/** The parts of the machine that a command needs. The `Io` of Capstan's command line fits. */
export interface XpkgIo {
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

export interface XpkgFlag {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** Several, separated by commas or given again. */
  readonly list?: boolean;
  readonly value?: string;
  readonly oneOf?: readonly string[];
  readonly help: string;
}

export interface XpkgCommand {
  readonly usage: string;
  readonly summary: string;
  readonly flags: Readonly<Record<string, XpkgFlag>>;
  /** How many arguments it takes: at least, at most. */
  readonly positionals: readonly [number, number];
  run(args: XpkgArgs, io: XpkgIo): Promise<number>;
}

export interface XpkgArgs {
  text(flag: string): string | undefined;
  list(flag: string): readonly string[];
  is(flag: string): boolean;
  readonly positionals: readonly string[];
}

/** The command was not understood; nothing has been done. */
export class XpkgUsageError extends CodedError {}

export const XpkgUsageErrors = errorMakers(
  {
    UnknownCommand: (name: string, known: readonly string[]) => ({
      message: name === '' ? 'crossplane xpkg needs a command' : `crossplane xpkg has no command "${name}"`,
      remedy: `use one of ${known.join(', ')}`,
    }),
    UnknownFlag: (flag: string, command: string) => ({
      message: `crossplane xpkg ${command} has no flag ${flag}`,
      remedy: `see crossplane xpkg ${command} --help`,
    }),
    NoValue: (flag: string) => ({ message: `${flag} needs a value`, remedy: `write ${flag} VALUE` }),
    NotOneOf: (flag: string, value: string, allowed: readonly string[]) => ({
      message: `${flag} cannot be ${JSON.stringify(value)}`,
      remedy: `use one of ${allowed.join(', ')}`,
    }),
    Arguments: (command: string, usage: string) => ({
      message: `crossplane xpkg ${command} was given too few or too many arguments`,
      remedy: `write crossplane xpkg ${usage}`,
    }),
    Together: (one: string, other: string) => ({
      message: `${one} and ${other} do not go together`,
      remedy: 'give one of them',
    }),
  },
  (key, text, options) => new XpkgUsageError(`xpkg/${key}`, text, options),
);

const HELP: XpkgFlag = { type: 'boolean', short: 'h', help: 'Show this help.' };

/** Parses the arguments after the command's name; throws XpkgUsageError. */
export function parseXpkgArgs(name: string, command: XpkgCommand, argv: readonly string[]): XpkgArgs {
  const flags: Record<string, XpkgFlag> = { ...command.flags, help: HELP };
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(flags).map(([flag, { type, short }]) => [flag, { type, ...(short !== undefined && { short }) }]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = flags[token.name];
    if (flag === undefined) throw XpkgUsageErrors.UnknownFlag(token.rawName, name);
    const value = typeof token.value === 'string' ? token.value : undefined;
    if (flag.type === 'boolean') {
      if (value !== undefined && value !== 'true' && value !== 'false')
        throw XpkgUsageErrors.NotOneOf(token.rawName, value, ['true', 'false']);
      values.set(token.name, [value ?? 'true']);
    } else {
      // A flag where a value should be is a value that was forgotten.
      if (value === undefined || value === '' || (token.inlineValue !== true && /^-./.test(value)))
        throw XpkgUsageErrors.NoValue(token.rawName);
      if (flag.oneOf !== undefined && !flag.oneOf.includes(value))
        throw XpkgUsageErrors.NotOneOf(token.rawName, value, flag.oneOf);
      const more = flag.list
        ? value
            .split(',')
            .map((each) => each.trim())
            .filter((each) => each !== '')
        : [value];
      values.set(token.name, flag.list ? [...(values.get(token.name) ?? []), ...more] : more);
    }
  }
  const args: XpkgArgs = {
    text: (flag) => values.get(flag)?.[0],
    list: (flag) => values.get(flag) ?? [],
    is: (flag) => values.get(flag)?.[0] === 'true',
    positionals,
  };
  const [least, most] = command.positionals;
  if (!args.is('help') && (positionals.length < least || positionals.length > most))
    throw XpkgUsageErrors.Arguments(name, command.usage);
  return args;
}

/** Returns the text of `crossplane xpkg COMMAND --help`. */
export function xpkgCommandHelp({ usage, summary, flags }: XpkgCommand): string {
  const rows = Object.entries({ ...flags, help: HELP }).map(([name, { type, short, value, oneOf, help }]) => {
    const shown = type === 'boolean' ? '' : ` ${oneOf?.join('|') ?? value ?? 'VALUE'}`;
    return [`  ${short === undefined ? '    ' : `-${short}, `}--${name}${shown}`, help] as const;
  });
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return `Usage: crossplane xpkg ${usage}\n\n${summary}\n\nFlags:\n${rows.map(([flag, help]) => `${flag.padEnd(width)}  ${help}`).join('\n')}\n`;
}
