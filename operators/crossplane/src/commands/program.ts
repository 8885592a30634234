// The program `crossplane`, in terms of Capstan's commands: `crossplane core start --package-runtime External` is
// `capstan run --operators crossplane --crossplane.package-runtime=External`.
import { FLAGS } from './flags.ts';

/** Flags of upstream's that Capstan's own commands have under another name. */
const TRANSLATED: Readonly<Record<string, (value: string) => string>> = {
  'leader-election': (value) => `--leader-elect=${value}`,
  'metrics-port': (value) => `--metrics-address=:${value}`,
  'health-probe-port': (value) => `--health-address=:${value}`,
  debug: (value) => `--log-level=${value === 'false' ? 'info' : 'debug'}`,
};
const SHORT: Readonly<Record<string, string>> = { '-d': '--debug', '-n': '--namespace' };
const TRUTHS = new Set(['leader-election', 'debug']);

/** The arguments for `capstan run`, from what follows `core start`. */
export function startArguments(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): string[] {
  const translated: string[] = ['run', '--operators', 'crossplane'];
  let namespace = env['POD_NAMESPACE'] || 'crossplane-system';
  for (let i = 0; i < argv.length; i++) {
    const argument = SHORT[argv[i] ?? ''] ?? argv[i] ?? '';
    const [, name = '', inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    const known = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
    const translate = Object.hasOwn(TRANSLATED, name) ? TRANSLATED[name] : undefined;
    if (known === undefined && translate === undefined) {
      translated.push(argument);
      continue;
    }
    const isTruth = known === undefined ? TRUTHS.has(name) : known.value === undefined;
    const value = inline ?? (isTruth ? 'true' : (argv[++i] ?? ''));
    if (name === 'namespace') namespace = value;
    translated.push(translate === undefined ? `--crossplane.${name}=${value}` : translate(value));
  }
  // All that it touches and that is in a namespace is in this one: Roles there are enough for it.
  const isNarrowed = translated.some((argument) => /^--watch-namespaces(=|$)/.test(argument));
  return [...translated, '--namespace', namespace, ...(isNarrowed ? [] : ['--watch-namespaces', namespace])];
}

/** What the program is asked to do. */
export type Request =
  | { readonly what: 'start' | 'init' | 'xpkg' | 'convert' | 'help'; readonly argv: readonly string[] }
  | { readonly what: 'capstan'; readonly argv: readonly string[] };

const HELP = new Set(['--help', '-h', 'help']);

/** Reads the command line; what is not the program's own (`why`, `plan`, `version`) is Capstan's. */
export function requestOf(argv: readonly string[]): Request {
  const [first, second, ...rest] = argv;
  if (first === undefined || HELP.has(first)) return { what: 'help', argv };
  if (first === 'core' && (second === undefined || HELP.has(second))) return { what: 'help', argv: argv.slice(1) };
  if (first === 'core' && (second === 'start' || second === 'init')) return { what: second, argv: rest };
  if (first === 'xpkg') return { what: 'xpkg', argv: argv.slice(1) };
  if (first === 'convert') return { what: 'convert', argv: argv.slice(1) };
  if (first === 'beta' && second === 'convert') return { what: 'convert', argv: rest };
  return { what: 'capstan', argv };
}
