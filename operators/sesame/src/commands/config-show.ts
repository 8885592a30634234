import { isNotFound, reasonOf } from '@capstan/kube/cluster';
import {
  command,
  commandHelp,
  type Flags,
  type ForwardedCommand,
  formatReport,
  type Io,
  objectName,
  openCluster,
  parseCommandLine,
  REPORT_OUTPUT,
  table,
} from '@capstan/reconcile/command-line';
import { type Effective, effectiveConfiguration, originText } from '../configuration/effective.ts';
import { LEAVES, valueAt } from '../configuration/fields.ts';
import { decodeFile, effectiveOfFile, fileProblemText, readConfigurationFile } from '../configuration/file/index.ts';
import { problemText } from '../configuration/problem.ts';
import { parseServeFlags } from '../configuration/serve-flags.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import { CommandErrors } from './errors.ts';
import { machineFiles } from './machine-files.ts';
import { sesameNamespace } from './namespace.ts';
import { SesameUsage } from './usage.ts';

const OPTIONS = {
  origin: { type: 'boolean', help: 'Prints where each value comes from.' },
  output: {
    ...REPORT_OUTPUT,
    default: 'yaml',
    help: 'How to print it; table has one value in a line, wide also its origin.',
  },
} as const satisfies Flags;

const HELP = {
  usage: 'config show [--origin] [-o FORMAT] [flags of sesame serve]',
  description:
    'Prints the configuration that `sesame serve` with the same flags would use. With --origin each value has the place that it comes\n' +
    'from: default, resource NAME, file PATH, flag --NAME or environment NAME. Exit code 1 when it is not valid.',
  examples: ['sesame config show --origin', 'sesame config show -c sesame.yaml --xds-port=9001 --origin'],
  options: OPTIONS,
};

/** Accepts all flags of `sesame serve`: the answer is the configuration of a serve with these flags. */
export default {
  async forward(argv, io) {
    const { own, serve } = splitServeFlags(argv);
    const shown = command({
      ...HELP,
      async run({ flags }) {
        const { effective, name, problems, isValid } = await load(serve, io);
        for (const problem of problems) io.stderr(`${problem}\n`);
        const rows = originRows(effective);
        // With --origin alone it is a table: values and origins are not a document of YAML that Sesame could read.
        const isPlainOrigin = flags.origin === true && !own.some((argument) => /^(-o|--output)/.test(argument));
        io.stdout(
          await formatReport(isPlainOrigin ? 'wide' : flags.output, {
            value: flags.origin ? rows : effective.value,
            text: (isWide) => originTable(rows, isWide || flags.origin === true),
            names: () =>
              name === undefined ? [] : [objectName(`${SesameConfiguration.kind}.${SesameConfiguration.group}`, name)],
          }),
        );
        return isValid ? 0 : 1;
      },
    });
    if (argv.includes('--help') || argv.includes('-h')) {
      io.stdout(commandHelp('sesame', shown));
      return 0;
    }
    return shown.run(parseCommandLine('sesame config show', shown, own, io.env), io);
  },
} satisfies ForwardedCommand;

interface Loaded {
  readonly effective: Effective;
  /** The name of the resource; undefined for a file. */
  readonly name: string | undefined;
  readonly problems: readonly string[];
  readonly isValid: boolean;
}

/** `argv` holds the flags of serve. */
async function load(argv: readonly string[], io: Io): Promise<Loaded> {
  const { fields, start, faults } = parseServeFlags(argv, io.env);
  if (faults.length > 0) throw SesameUsage.BadFlags(faults.map(({ flag, problem }) => `${flag} ${problem}`));
  const path = start.get('config-path');
  if (path !== undefined && start.has('sesame-config'))
    throw SesameUsage.Contradiction('--config-path', '--sesame-config', 'give one of them');
  const watchNamespaces = start.get('watch-namespaces')?.split(',');
  const namespace = sesameNamespace(start.get('namespace'), io.env);
  if (path !== undefined) {
    const decoded = decodeFile(await readConfiguration(path, io));
    const content = readConfigurationFile(decoded.isOk ? decoded.value : '');
    const { effective, problems } = effectiveOfFile(content, { path, namespace, flags: fields, watchNamespaces });
    const all = decoded.isOk ? problems : [decoded.problem, ...problems];
    return {
      effective,
      name: undefined,
      problems: all.map((problem) => fileProblemText(path, problem)),
      isValid: all.every(({ severity }) => severity !== 'error'),
    };
  }
  const name = start.get('sesame-config') ?? 'sesame';
  const where = { kubeconfig: start.get('kubeconfig'), context: start.get('context'), namespace };
  const { client } = await openCluster(where, io);
  try {
    const object = await client
      .get(SesameConfiguration, { namespace, name }, { signal: io.signal })
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    const effective = effectiveConfiguration({
      given: object?.spec,
      source: { from: 'resource', name },
      flags: fields,
      watchNamespaces,
      namespace,
    });
    const missing =
      object === undefined ? [`SesameConfiguration ${namespace}/${name}: there is none; defaults are used`] : [];
    const problems = [...effective.errors, ...effective.warnings].map(
      (problem) => `${problem.severity}: ${problemText(problem)}`,
    );
    return { effective, name, problems: [...missing, ...problems], isValid: effective.errors.length === 0 };
  } finally {
    await client.close();
  }
}

async function readConfiguration(path: string, io: Io): Promise<Uint8Array> {
  try {
    return await machineFiles(io).read(path);
  } catch (error) {
    throw CommandErrors.CannotRead(path, reasonOf(error));
  }
}

interface OriginRow {
  readonly path: string;
  readonly value: unknown;
  readonly origin: string;
}

function originRows({ value, origins }: Effective): OriginRow[] {
  return LEAVES.flatMap((path) => {
    const origin = origins.get(path);
    return origin === undefined ? [] : [{ path, value: valueAt(value, path), origin: originText(origin) }];
  });
}

function originTable(rows: readonly OriginRow[], isWide: boolean): string {
  const cells = rows.map(({ path, origin, value }) => [path, ...(isWide ? [origin] : []), JSON.stringify(value) ?? '']);
  return table(['FIELD', ...(isWide ? ['ORIGIN'] : []), 'VALUE'], cells);
}

/** Splits the arguments: `config show`’s own, and those of serve, which it gets as positionals. */
function splitServeFlags(argv: readonly string[]): { own: string[]; serve: string[] } {
  const own: string[] = [];
  const serve: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    if (/^(--origin(=.*)?|--output=.*|-o=.*)$/s.test(argument)) own.push(argument);
    else if (argument === '-o' || argument === '--output') own.push(argument, argv[++index] ?? '');
    else serve.push(argument);
  }
  return { own, serve };
}
