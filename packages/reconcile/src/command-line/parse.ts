// Flags by node:util's parseArgs. It is run in its lenient mode and its tokens are judged here, because its own messages
// neither name the nearest flag nor accept --flag=false.
import { parseArgs } from 'node:util';
import { type Args, COMMON_OPTIONS, type Command } from './command.ts';
import { UsageErrors } from './errors.ts';
import { evaluateFlags, type Flag, type Flags, type FlagValues, findFlag, type GivenFlags } from './flag.ts';
import { nearest } from './nearest.ts';

/** The values of flags from their texts, the environment and their defaults; throws UsageError. */
export function parseFlags<const F extends Flags>(flags: F, given: GivenFlags, env: Environment = {}): FlagValues<F> {
  return evaluateFlags(flags, given, env, (place, text, remedy) => {
    throw UsageErrors.BadValue(place, text, remedy);
  });
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Parses the arguments after the command's name; throws UsageError. `name` is the command with its program: `capstan why`. */
export function parseCommandLine(name: string, command: Command, argv: readonly string[], env: Environment = {}): Args {
  const options: Flags = { ...command.options, ...COMMON_OPTIONS };
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(Object.entries(options).flatMap(configsOf)),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given: Record<string, string[]> = {};
  const operatorFlags: Record<string, Record<string, string[]>> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { rawName } = token;
    // Untyped in lenient mode.
    const value: unknown = token.value;
    const text = typeof value === 'string' ? value : undefined;
    const flag = findFlag(options, token.name);
    const dot = token.name.indexOf('.');
    if (flag === undefined && dot > 0 && command.operatorFlags === true && rawName.startsWith('--')) {
      const ofOperator = (operatorFlags[token.name.slice(0, dot)] ??= {});
      (ofOperator[token.name.slice(dot + 1)] ??= []).push(text ?? 'true');
    } else if (flag === undefined) {
      throw UsageErrors.UnknownFlag(rawName, name, nearestFlag(rawName, options));
    } else {
      (given[flag] ??= []).push(checkedText(rawName, options[flag] as Flag, text, token.inlineValue === true));
    }
  }
  const flags = parseFlags(options, given, env);
  const extra = positionals[command.positionals ?? 0];
  if (extra !== undefined && (flags['help'] as unknown) !== true) throw UsageErrors.TooMany(name, extra);
  return { command: name, flags, positionals, operatorFlags };
}

function configsOf([name, { type, short, aliases = [] }]: [string, Flag]): [string, { type: Flag['type'] }][] {
  return [
    [name, { type, ...(short !== undefined && { short }) }],
    ...aliases.map((alias) => [alias, { type }] as [string, { type: Flag['type'] }]),
  ];
}

function nearestFlag(rawName: string, options: Flags): string | undefined {
  const found = rawName.startsWith('--') ? nearest(rawName.slice(2), Object.keys(options)) : undefined;
  return found === undefined ? undefined : `--${found}`;
}

/** Returns the text; an invalid one is refused under the name that was typed. */
function checkedText(flag: string, option: Flag, text: string | undefined, isInline: boolean): string {
  if (option.type === 'boolean') {
    if (text !== undefined && text !== 'true' && text !== 'false') throw UsageErrors.NotBoolean(flag, text);
    return text ?? 'true';
  }
  // A flag where a value should be is a value that was forgotten; `-` alone is standard input.
  const isForgotten = text === undefined || text === '' || (!isInline && text.length > 1 && text.startsWith('-'));
  if (isForgotten) throw UsageErrors.FlagWithoutValue(flag, option.value ?? 'VALUE');
  if (option.oneOf !== undefined && !option.oneOf.includes(text)) throw UsageErrors.NotOneOf(flag, text, option.oneOf);
  return text;
}
