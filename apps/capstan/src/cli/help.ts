import { COMMON_OPTIONS, type Command, type Option, type Options } from './command.ts';
import { COMMANDS } from './commands.ts';

/** What `capstan --help` prints. */
export function generalHelp(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Capstan turns declared configuration into running network infrastructure.

Usage: capstan COMMAND [flags]

Commands:
${lines.join('\n')}

Examples:
  capstan run --operator ./my-operator.ts     run an operator in the cluster of the current context
  capstan plan -f change.yaml                 what would this change do?
  capstan why deployment/my-proxy -n edge     why did this change?

capstan COMMAND --help tells more about one of them.
`;
}

/** What `capstan COMMAND --help` prints. */
export function commandHelp({ usage, description, examples, options }: Command): string {
  const parts = [`Usage: capstan ${usage}`, description];
  if (examples.length > 0) parts.push(`Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
  parts.push(`Flags:\n${flagLines({ ...options, ...COMMON_OPTIONS }).join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}

function flagLines(options: Options): string[] {
  const rows = Object.entries(options).map(([name, option]) => [flagOf(name, option), option.help] as const);
  const width = Math.min(36, Math.max(...rows.map(([flag]) => flag.length)));
  return rows.map(([flag, help]) =>
    flag.length > width ? `${flag}\n${' '.repeat(width + 2)}${help}` : `${flag.padEnd(width)}  ${help}`,
  );
}

function flagOf(name: string, { type, short, value = 'VALUE', oneOf }: Option): string {
  const shown = type === 'boolean' ? '' : ` ${oneOf?.join('|') ?? value}`;
  return `  ${short === undefined ? '    ' : `-${short}, `}--${name}${shown}`;
}
