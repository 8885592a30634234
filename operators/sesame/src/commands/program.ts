// The program `sesame`: its own commands by name; every other is Capstan's. What takes long to load is imported when it is used.
import type { CommandIo, SesameCommand } from './command-io.ts';

export type { CommandIo } from './command-io.ts';

interface Entry {
  readonly summary: string;
  load(): Promise<SesameCommand>;
}

/** Commands by their words. */
export const SESAME_COMMANDS: Readonly<Record<string, Entry>> = {
  serve: { summary: 'Runs the control plane.', load: async () => (await import('./serve.ts')).serve },
  'migrate config': {
    summary: 'Migrates the configuration file to a SesameConfiguration, and back.',
    load: async () => (await import('./migrate-config.ts')).migrateConfig,
  },
  'config show': {
    summary: 'Prints the configuration in force, with the origin of each value.',
    load: async () => (await import('./config-show.ts')).configShow,
  },
  bootstrap: { summary: 'Writes Envoy’s bootstrap.', load: async () => (await import('./bootstrap.ts')).bootstrap },
  certgen: {
    summary: 'Creates certificates for Envoy and Sesame.',
    load: async () => (await import('./certgen.ts')).certgen,
  },
  cli: {
    summary: 'Prints what a running Sesame serves to Envoys.',
    load: async () => (await import('./xds-cli.ts')).xdsCli,
  },
  'envoy shutdown-manager': {
    summary: 'Holds the end of Envoy’s container until its connections are closed.',
    load: async () => (await import('./envoy-shutdown.ts')).shutdownManager,
  },
  'envoy shutdown': {
    summary: 'Drains Envoy.',
    load: async () => (await import('./envoy-shutdown.ts')).shutdown,
  },
};

export type SesameRequest =
  | { readonly what: 'help'; readonly code: number }
  | { readonly what: 'command'; readonly name: string; readonly argv: readonly string[] }
  /** Arguments for Capstan's command line. */
  | { readonly what: 'capstan'; readonly argv: readonly string[] };

/** What the arguments ask for. */
export function sesameRequest(argv: readonly string[]): SesameRequest {
  const [first, second = ''] = argv;
  if (first === undefined) return { what: 'help', code: 2 };
  if (first === 'help' || first === '--help' || first === '-h') return { what: 'help', code: 0 };
  for (const [name, length] of [
    [`${first} ${second}`, 2],
    [first, 1],
  ] as const)
    if (Object.hasOwn(SESAME_COMMANDS, name)) return { what: 'command', name, argv: argv.slice(length) };
  if (first === 'operator')
    return { what: 'capstan', argv: ['run', '--operators', 'sesame', ...operatorFlags(argv.slice(1))] };
  return { what: 'capstan', argv };
}

const OPERATOR_FLAGS = ['image', 'envoy-image', 'cluster-domain'];

/** `--image=X` of `sesame operator` is `--sesame.image=X` of `capstan run`. */
function operatorFlags(argv: readonly string[]): string[] {
  const translated: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    const [, name = '', value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (OPERATOR_FLAGS.includes(name)) translated.push(`--sesame.${name}=${value ?? argv[++index] ?? ''}`);
    else translated.push(argument);
  }
  return translated;
}

/** Runs one of the program's own commands. Never throws: what goes wrong is a sentence on stderr and an exit code. */
export async function runSesameCommand(name: string, argv: readonly string[], io: CommandIo): Promise<number> {
  const command = await SESAME_COMMANDS[name]?.load();
  const { helpOf } = await import('./arguments.ts');
  const { isUsageError, UsageErrors } = await import('./errors.ts');
  try {
    if (command === undefined) throw UsageErrors.UnknownCommand(name);
    if (argv.includes('--help') || argv.includes('-h')) {
      io.stdout(helpOf(name, command));
      return 0;
    }
    return await command.run(await argumentsOf(name, command, argv, io), io);
  } catch (error) {
    if (io.signal.aborted) return 130;
    const message = error instanceof Error ? error.message : String(error);
    io.stderr(`error: ${message}\n`);
    return isUsageError(error) ? 2 : 1;
  }
}

async function argumentsOf(name: string, command: SesameCommand, argv: readonly string[], io: CommandIo) {
  const { parseArguments: parse } = await import('./arguments.ts');
  // These two read the flags of serve themselves, which know what was given from what was not.
  if (name === 'serve') return { ...parse(name, { options: {} }, [], {}), positionals: argv };
  if (name !== 'config show') return parse(name, command, argv, io.env);
  const { splitServeFlags } = await import('./config-show.ts');
  const { own, serve } = splitServeFlags(argv);
  return { ...parse(name, command, own, io.env), positionals: serve };
}

/** What `sesame --help` prints. */
export function sesameHelp(): string {
  const width = Math.max(...Object.keys(SESAME_COMMANDS).map((name) => name.length));
  const lines = Object.entries(SESAME_COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Sesame is an ingress controller: it programs Envoy over xDS.

Usage: sesame COMMAND [flags]

Commands:
${lines.join('\n')}
  ${'operator'.padEnd(width)}  Runs the operator for SesameDeployments.

sesame COMMAND --help shows its flags. Commands of Capstan (plan, why, status, crds, rbac) work too.
`;
}
