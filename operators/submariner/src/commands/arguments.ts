// The arguments of subctl: the flags in the design's tables, and those of the present subctl.
import { parseArgs } from 'node:util';
import { nearest, REPORT_FORMATS } from '@capstan/reconcile/command-line';
import { CommandErrors } from './errors.ts';
import type { Flags } from './io.ts';

export interface FlagDefinition {
  readonly value?: string;
  readonly help: string;
  /** The flag may be repeated and its value may contain commas. */
  readonly many?: boolean;
  readonly short?: string;
}

export const CLUSTER_FLAGS: Readonly<Record<string, FlagDefinition>> = {
  kubeconfig: {
    value: 'PATHS',
    many: true,
    help: 'Absolute path(s) to the kubeconfig file(s); default $HOME/.kube/config.',
  },
  kubecontext: { value: 'NAME', help: 'Kubeconfig context to use.' },
  context: { value: 'NAME', help: 'The same as --kubecontext.' },
  namespace: { value: 'NAME', short: 'n', help: 'Where Submariner’s objects are; found by itself by default.' },
};

export const OUTPUT_FLAG: Readonly<Record<string, FlagDefinition>> = {
  output: { value: 'FORMAT', short: 'o', help: `${REPORT_FORMATS.join(', ')}; default table.` },
};

export function parseFlags(
  command: string,
  definitions: Readonly<Record<string, FlagDefinition>>,
  argv: readonly string[],
): Flags {
  const options = Object.fromEntries(
    Object.entries(definitions).map(([name, { value, short, many }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short !== undefined && { short }),
        ...(many && { multiple: true }),
      },
    ]),
  );
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: true, allowNegative: true, strict: true });
  } catch (error) {
    const [problem = ''] = (error instanceof Error ? error.message : '').split(/\. |\n/);
    const unknown = /^Unknown option '(-[^']*)'/.exec(problem)?.[1];
    if (unknown !== undefined)
      throw CommandErrors.UnknownFlag(unknown, command, nearest(unknown.replace(/^-+/, ''), Object.keys(definitions)));
    throw CommandErrors.Usage(problem, command);
  }
  const { values, positionals } = parsed;
  return {
    positionals,
    isSet: (name) => values[name] === true,
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    list(name) {
      const given = values[name];
      const texts = Array.isArray(given) ? given : given === undefined ? [] : [given];
      return texts.flatMap((text) => String(text).split(',')).filter((text) => text !== '');
    },
  };
}

/** Returns the paths of kubeconfig files: separated by commas or colons, or from repeated flags. */
export function kubeconfigPaths(flags: Flags): string[] {
  return flags
    .list('kubeconfig')
    .flatMap((each) => each.split(':'))
    .filter((path) => path !== '');
}

/** Returns the context. --kubecontext and --context are synonyms. Two different names are refused. */
export function contextOf(flags: Flags): string | undefined {
  const [one, other] = [flags.text('kubecontext'), flags.text('context')];
  if (one !== undefined && other !== undefined && one !== other)
    throw CommandErrors.Usage(
      `--kubecontext ${one} and --context ${other} contradict each other; give one of them`,
      '',
    );
  return one ?? other;
}

export function flagLines(definitions: Readonly<Record<string, FlagDefinition>>): string {
  const rows = Object.entries(definitions).map(([name, { value, help, short }]) => {
    const flag = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
    return `  ${flag.padEnd(36)} ${help}\n`;
  });
  return rows.join('');
}
