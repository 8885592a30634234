// A flag as data: from one declaration come the parser, the type of its value, its default and its line of help. The flags of
// commands and those of operators are the same thing.
import { guardedOr } from '../guard.ts';

export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** Other names, of older versions or of the original project. */
  readonly aliases?: readonly string[];
  /** The placeholder of a string's value in the help. */
  readonly value?: string;
  /** A string that may be given several times. */
  readonly multiple?: boolean;
  /** The permitted values of a string. */
  readonly oneOf?: readonly string[];
  /** Its purpose, in one line; the default and the variable are added to it. */
  readonly help: string;
  /** The value when neither the flag nor the variable is given; written as the user would write it. */
  readonly default?: string | boolean;
  /** The variable of the environment that stands in for the flag. */
  readonly env?: string;
  /** Converts the text to the value; `refuse(…)` reports the permitted form. Default: the text itself. */
  readonly parse?: (text: string) => unknown;
}

export type Flags = Readonly<Record<string, Flag>>;

/** The value of a text that cannot be used. */
export class Refusal {
  /** The permitted form, as in `use a duration, such as 2s`. */
  readonly remedy: string;
  constructor(remedy: string) {
    this.remedy = remedy;
  }
}

export function refuse(remedy: string): Refusal {
  return new Refusal(remedy);
}

type ParsedBy<F extends Flag> = F extends { readonly parse: (text: string) => infer R }
  ? Exclude<R, Refusal>
  : F['type'] extends 'boolean'
    ? boolean
    : F extends { readonly oneOf: readonly (infer Choice)[] }
      ? Choice
      : string;

/** The values of flags: of the type that they are parsed to; undefined only where there is no default. */
export type FlagValues<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends { readonly multiple: true }
    ? readonly ParsedBy<F[Name]>[] | undefined
    : F[Name] extends { readonly default: string | boolean }
      ? ParsedBy<F[Name]>
      : ParsedBy<F[Name]> | undefined;
};

/** The flag that goes by a name or an alias. */
export function findFlag(flags: Flags, name: string): string | undefined {
  if (Object.hasOwn(flags, name)) return name;
  return Object.entries(flags).find(([, { aliases }]) => aliases?.includes(name))?.[0];
}

/** The values of flags when none is given. Throws when a default is not a value: a mistake of the declaration. */
export function flagDefaults<const F extends Flags>(flags: F): FlagValues<F> {
  return evaluateFlags(flags, {}, {}, (place, text, remedy) => {
    throw new TypeError(`the default ${JSON.stringify(text)} of ${place} is not a value; ${remedy}`);
  });
}

/** Texts by the name of the flag, each time that it was given. */
export type GivenFlags = Readonly<Record<string, readonly string[]>>;

/**
 * The values of flags as given, else of their variables, else their defaults. `fail` throws for a text that cannot be used;
 * `place` is the flag as `--NAME`, or the variable.
 */
export function evaluateFlags<const F extends Flags>(
  flags: F,
  given: GivenFlags,
  env: Readonly<Record<string, string | undefined>>,
  fail: (place: string, text: string, remedy: string) => never,
): FlagValues<F> {
  const values = Object.entries(flags).map(([name, flag]) => {
    const [place, texts] = textsOf(name, flag, given[name], env);
    const parsed = texts.map((text) => {
      const value = parseText(flag, text);
      return value instanceof Refusal ? fail(place, text, value.remedy) : value;
    });
    return [name, flag.multiple ? (parsed.length === 0 ? undefined : parsed) : parsed.at(-1)];
  });
  return Object.fromEntries(values) as FlagValues<F>;
}

function textsOf(
  name: string,
  flag: Flag,
  given: readonly string[] | undefined,
  env: Readonly<Record<string, string | undefined>>,
): [place: string, texts: readonly string[]] {
  if (given !== undefined) return [`--${name}`, given];
  const variable = flag.env === undefined ? undefined : env[flag.env];
  if (flag.env !== undefined && variable !== undefined && variable !== '') return [flag.env, [variable]];
  return [`--${name}`, flag.default === undefined ? [] : [String(flag.default)]];
}

function parseText(flag: Flag, text: string): unknown {
  if (flag.oneOf !== undefined && !flag.oneOf.includes(text)) return refuse(`use one of ${flag.oneOf.join(', ')}`);
  const { parse } = flag;
  if (parse !== undefined)
    return guardedOr(
      'its parse',
      () => parse(text),
      ({ message }) => refuse(message),
    );
  if (flag.type === 'string') return text;
  if (text !== 'true' && text !== 'false') return refuse('use true or false');
  return text === 'true';
}
