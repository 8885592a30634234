// The operator's own flags: `submariner operator --image=…`, and `--submariner.image=…` of Capstan's commands.
import { DEFAULT_SETTINGS, type Settings } from '../settings.ts';

export const FLAGS: Readonly<Record<string, { readonly value: string; readonly help: string }>> = {
  image: { value: 'IMAGE', help: `The image of gateways; default ${DEFAULT_SETTINGS.image}.` },
};

/** A flag that is not one, or whose value cannot be used. */
export interface FlagFault {
  readonly flag: string;
  /** Undefined when there is no such flag. */
  readonly remedy: string | undefined;
}

/** The settings that flags ask for. */
export function settingsFromFlags(flags: Readonly<Record<string, string>>): Partial<Settings> | { fault: FlagFault } {
  const settings: { -readonly [Name in keyof Settings]?: Settings[Name] } = {};
  for (const [flag, value] of Object.entries(flags)) {
    if (flag !== 'image') return { fault: { flag, remedy: undefined } };
    if (value === '') return { fault: { flag, remedy: 'give the name of an image' } };
    settings.image = value;
  }
  return settings;
}

/** `submariner operator --image X` is `capstan run --operators submariner --submariner.image=X`; other commands are passed on. */
export function programArguments(argv: readonly string[]): string[] {
  const [command, ...rest] = argv;
  if (command !== 'operator') return [...argv];
  const translated: string[] = ['run', '--operators', 'submariner'];
  for (let i = 0; i < rest.length; i++) {
    const argument = rest[i] ?? '';
    const [, name = '', value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (!Object.hasOwn(FLAGS, name)) translated.push(argument);
    else translated.push(`--submariner.${name}=${value ?? rest[++i] ?? ''}`);
  }
  return translated;
}
