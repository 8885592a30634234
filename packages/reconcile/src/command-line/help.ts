// Help from declarations: of a command, of the flags of an operator, of a program's list of commands.
import { COMMON_OPTIONS, type Command, type CommandEntry } from './command.ts';
import type { Flag, Flags } from './flag.ts';

/** Returns the text of `PROGRAM COMMAND --help`. `more` are sections after its own flags. */
export function commandHelp(
  program: string,
  { usage, description, examples, options }: Command,
  more: readonly string[] = [],
): string {
  const parts = [`Usage: ${program} ${usage}`, description];
  if (examples.length > 0) parts.push(`Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
  parts.push(`Flags:\n${flagLines({ ...options, ...COMMON_OPTIONS }).join('\n')}`, ...more);
  return `${parts.join('\n\n')}\n`;
}

/** A line for each flag; `prefix` is put before their names. */
export function flagLines(flags: Flags, prefix = ''): string[] {
  // Under an operator's name before a dot there are no short forms.
  const rows = Object.entries(flags).map(([name, { short, ...flag }]) => {
    const shown = { ...flag, ...(prefix === '' && short !== undefined && { short }) };
    return [flagOf(prefix + name, shown), helpOf(flag)] as const;
  });
  const width = Math.min(36, Math.max(...rows.map(([flag]) => flag.length)));
  return rows.flatMap(([flag, help]) => {
    const [first = '', ...rest] = wrapped(help, LINE - width - 2);
    const indented = rest.map((line) => `${' '.repeat(width + 2)}${line}`);
    if (flag.length > width) return [flag, ...[first, ...rest].map((line) => `${' '.repeat(width + 2)}${line}`)];
    return [`${flag.padEnd(width)}  ${first}`, ...indented];
  });
}

/** A line for each command, in the order of the table. */
export function commandLines(
  commands: Readonly<Record<string, Pick<CommandEntry, 'summary' | 'arguments'>>>,
): string[] {
  const rows = Object.entries(commands).map(([name, entry]) => {
    const shown = entry.arguments === undefined ? name : `${name} ${entry.arguments}`;
    return [shown, entry.summary] as const;
  });
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
}

const LINE = 128;

function flagOf(name: string, { type, short, value = 'VALUE', oneOf }: Flag): string {
  const shown = type === 'boolean' ? '' : ` ${oneOf?.join('|') ?? value}`;
  return `  ${short === undefined ? '    ' : `-${short}, `}--${name}${shown}`;
}

function helpOf({ help, aliases = [], default: byDefault, env }: Flag): string {
  const withDefault = byDefault === undefined ? help : `${help.replace(/\.$/, '')}; default ${String(byDefault)}.`;
  const others = [...aliases.map((alias) => `--${alias}`), ...(env === undefined ? [] : [`${env} in the environment`])];
  return others.length === 0 ? withDefault : `${withDefault} Also ${others.join(', ')}.`;
}

/** Lines of at most `width` characters, broken between words. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
