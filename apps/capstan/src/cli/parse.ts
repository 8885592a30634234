// Flags by node:util's parseArgs. It is run in its lenient mode and its tokens are judged here, because its own messages
// neither name the nearest flag nor accept --flag=false.
import { parseArgs } from 'node:util';
import { nearest } from '../text/nearest.ts';
import { type Args, COMMON_OPTIONS, type Command, type Option, type Options } from './command.ts';
import { UsageErrors } from './errors.ts';

/** Reads what follows the command's name; throws UsageError. */
export function parseCommandLine(name: string, command: Command, argv: readonly string[]): Args {
  const options: Options = { ...command.options, ...COMMON_OPTIONS };
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(Object.entries(options).map(([flag, option]) => [flag, configOf(option)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const flags: Record<string, string | boolean | string[]> = {};
  const operatorFlags: Record<string, Record<string, string>> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name: flag, rawName } = token;
    // Untyped in lenient mode.
    const value: unknown = token.value;
    const text = typeof value === 'string' ? value : undefined;
    const option = options[flag];
    const dot = flag.indexOf('.');
    if (option === undefined && dot > 0 && command.operatorFlags === true && rawName.startsWith('--')) {
      (operatorFlags[flag.slice(0, dot)] ??= {})[flag.slice(dot + 1)] = text ?? 'true';
    } else if (option === undefined) {
      throw UsageErrors.UnknownFlag(rawName, name, nearestFlag(rawName, options));
    } else if (option.type === 'boolean') {
      flags[flag] = truthOf(rawName, text);
    } else {
      const checked = checkedText(rawName, option, text, token.inlineValue === true);
      if (option.multiple) flags[flag] = [...asList(flags[flag]), checked];
      else flags[flag] = checked;
    }
  }
  const extra = positionals[command.positionals ?? 0];
  if (extra !== undefined && flags['help'] !== true) throw UsageErrors.TooMany(name, extra);
  return { flags: flags as Args['flags'], positionals, operatorFlags };
}

function configOf({ type, short, multiple }: Option) {
  return { type, ...(short !== undefined && { short }), ...(multiple && { multiple }) };
}

function nearestFlag(rawName: string, options: Options): string | undefined {
  const found = rawName.startsWith('--') ? nearest(rawName.slice(2), Object.keys(options)) : undefined;
  return found === undefined ? undefined : `--${found}`;
}

function truthOf(flag: string, text: string | undefined): boolean {
  if (text === undefined || text === 'true') return true;
  if (text === 'false') return false;
  throw UsageErrors.NotBoolean(flag, text);
}

function checkedText(flag: string, option: Option, text: string | undefined, isInline: boolean): string {
  // A flag where a value should be is a value that was forgotten; `-` alone is standard input.
  const isForgotten = text === undefined || text === '' || (!isInline && text.length > 1 && text.startsWith('-'));
  if (isForgotten) throw UsageErrors.FlagWithoutValue(flag, option.value ?? 'VALUE');
  if (option.oneOf !== undefined && !option.oneOf.includes(text)) throw UsageErrors.NotOneOf(flag, text, option.oneOf);
  return text;
}

function asList(value: string | boolean | string[] | undefined): string[] {
  return Array.isArray(value) ? value : [];
}
