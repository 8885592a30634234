// Arguments of a command. Knows `--flag=value`, `--flag value`, `-f value` and `--flag=false`; a flag of a wrong name names the nearest.

import { nearest } from '../configuration/file/nearest.ts';
import type { CommandArguments, CommandOption, CommandOptions, SesameCommand } from './command-io.ts';
import { UsageErrors } from './errors.ts';

export function parseArguments(
  name: string,
  { options, positionals: maximum = 0 }: Pick<SesameCommand, 'options' | 'positionals'>,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): CommandArguments {
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    const [, dashes, written = '', inline] = /^(--?)([^=-][^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
    if (dashes === undefined) {
      if (positionals.push(argument) > maximum) throw UsageErrors.TooMany(name, argument);
      continue;
    }
    const found = optionNamed(options, dashes, written);
    if (found === undefined)
      throw UsageErrors.UnknownFlag(name, dashes + written, nearest(written, Object.keys(options)));
    const [flag, option] = found;
    const value = inline ?? (option.type === 'boolean' ? 'true' : argv[++index]);
    if (value === undefined) throw UsageErrors.NoValue(dashes + written, option.value ?? 'VALUE');
    check(dashes + written, option, value);
    values.set(flag, option.isRepeated === true ? [...(values.get(flag) ?? []), value] : [value]);
  }
  for (const [flag, { variable }] of Object.entries(options)) {
    const value = variable === undefined ? undefined : env[variable];
    if (value !== undefined && value !== '' && !values.has(flag)) values.set(flag, [value]);
  }
  return {
    positionals,
    text: (flag) => values.get(flag)?.at(-1),
    texts: (flag) => values.get(flag) ?? [],
    isSet: (flag) => values.get(flag)?.at(-1) === 'true',
    integer: (flag) => (values.has(flag) ? Number(values.get(flag)?.at(-1)) : undefined),
  };
}

function optionNamed(options: CommandOptions, dashes: string, written: string): [string, CommandOption] | undefined {
  return Object.entries(options).find(([name, { short, aliases }]) =>
    dashes === '-' ? short === written : name === written || aliases?.includes(written),
  );
}

function check(flag: string, { type, oneOf }: CommandOption, value: string): void {
  if (type === 'boolean' && value !== 'true' && value !== 'false')
    throw UsageErrors.BadValue(flag, value, 'use true or false');
  if (type === 'integer' && !/^-?[0-9]+$/.test(value)) throw UsageErrors.BadValue(flag, value, 'use a whole number');
  if (oneOf !== undefined && !oneOf.includes(value))
    throw UsageErrors.BadValue(flag, value, `use ${oneOf.join(' or ')}`);
}

/** What `sesame COMMAND --help` prints. */
export function helpOf(name: string, { usage, description, examples, options }: SesameCommand): string {
  const rows = Object.entries(options).map(([flag, option]) => [flagText(flag, option), option.help] as const);
  const width = Math.min(38, Math.max(0, ...rows.map(([flag]) => flag.length)));
  const lines = rows.map(([flag, help]) =>
    flag.length > width ? `${flag}\n${' '.repeat(width + 2)}${help}` : `${flag.padEnd(width)}  ${help}`,
  );
  const parts = [`Usage: sesame ${usage === '' ? name : usage}`, description];
  if (examples.length > 0) parts.push(`Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
  if (lines.length > 0) parts.push(`Flags:\n${lines.join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}

function flagText(name: string, { type, short, value = 'VALUE', oneOf }: CommandOption): string {
  const shown =
    type === 'boolean' ? '' : ` ${oneOf?.join('|') ?? (type === 'integer' && value === 'VALUE' ? 'NUMBER' : value)}`;
  return `  ${short === undefined ? '    ' : `-${short}, `}--${name}${shown}`;
}

/** Flags of commands that talk to a cluster. */
export const CLUSTER_OPTIONS = {
  kubeconfig: { type: 'string', value: 'FILE', help: 'The kubeconfig; default $KUBECONFIG, else ~/.kube/config.' },
  context: { type: 'string', value: 'NAME', help: 'The context in it; default its current one.' },
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME',
    help: 'The namespace of Sesame; default $SESAME_NAMESPACE, else projectsesame.',
  },
  incluster: { type: 'boolean', help: 'Uses the ServiceAccount of the pod.' },
} as const satisfies CommandOptions;
