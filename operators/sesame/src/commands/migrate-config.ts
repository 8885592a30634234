import { reasonOf } from '@capstan/kube/values';
import { command, type Flags, type FlagValues, type Io, UsageErrors } from '@capstan/reconcile/command-line';
import { type InputFile, migrate } from '../migrate/index.ts';
import { CommandErrors } from './errors.ts';
import { machineFiles } from './machine-files.ts';
import { SESAME_CLUSTER_OPTIONS } from './namespace.ts';

const OPTIONS = {
  ...SESAME_CLUSTER_OPTIONS,
  filename: { type: 'string', short: 'f', value: 'FILE', multiple: true, help: 'A file or manifest; repeatable.' },
  'config-map': { type: 'string', value: 'NAME', help: 'Reads this ConfigMap from the cluster.' },
  deployment: { type: 'string', value: 'NAME', help: 'Reads the flags of this Deployment from the cluster.' },
  output: { type: 'string', short: 'o', value: 'FILE', help: 'Writes the result to a file.' },
  name: { type: 'string', value: 'NAME', default: 'sesame', help: 'The name of the resource.' },
  to: { type: 'string', oneOf: ['resource', 'file'], default: 'resource', help: 'What to migrate to.' },
  full: { type: 'boolean', help: 'Writes every value, defaults too.' },
  lenient: { type: 'boolean', help: 'Drops unknown keys with a warning.' },
  strict: { type: 'boolean', help: 'Warnings give the exit code 2.' },
} as const satisfies Flags;

export default command({
  usage: 'migrate config [FILE|-] [-f FILE] [-o FILE] [--to resource|file]',
  description:
    'Migrates a configuration file to a SesameConfiguration with the same meaning, and back with --to file. Takes the file itself, a\n' +
    'ConfigMap that holds it, or one in the cluster, and the Deployment’s manifest for its flags. The result is on stdout, the report\n' +
    'on stderr. Exit code: 0 done, 1 errors, 2 warnings with --strict.',
  examples: [
    'sesame migrate config sesame.yaml > configuration.yaml',
    'sesame migrate config -f configmap.yaml -f deployment.yaml --strict',
    'sesame migrate config --config-map sesame -n projectsesame',
    'sesame migrate config configuration.yaml --to file',
  ],
  positionals: 1,
  options: OPTIONS,
  async run({ command: name, flags, positionals }, io) {
    const files = await inputFiles(name, positionals, flags, io);
    const { output, errors, warnings, notes } = migrate(files, {
      to: flags.to,
      name: flags.name,
      namespace: flags.namespace ?? io.env['SESAME_NAMESPACE'],
      isFull: flags.full === true,
      isLenient: flags.lenient === true,
      env: {},
    });
    for (const line of [...errors, ...warnings, ...notes.map((note) => `note: ${note}`)]) io.stderr(`${line}\n`);
    if (output === undefined) return 1;
    const path = flags.output ?? '-';
    if (path === '-') io.stdout(output);
    else await machineFiles(io).write(path, output);
    return warnings.length > 0 && flags.strict === true ? 2 : 0;
  },
});

async function inputFiles(
  command: string,
  positionals: readonly string[],
  flags: FlagValues<typeof OPTIONS>,
  io: Io,
): Promise<InputFile[]> {
  const machine = machineFiles(io);
  const files: InputFile[] = [];
  for (const path of [...positionals, ...(flags.filename ?? [])])
    try {
      const bytes = path === '-' ? await machine.stdin() : await machine.read(path);
      files.push({ name: path === '-' ? 'standard input' : path, bytes });
    } catch (error) {
      throw CommandErrors.CannotRead(path, reasonOf(error));
    }
  if (flags['config-map'] !== undefined || flags.deployment !== undefined) {
    // A client takes long to load, and most migrations need none.
    const { liveFiles } = await import('./live-inputs.ts');
    files.push(...(await liveFiles(flags, io)));
  }
  if (files.length > 0) return files;
  throw UsageErrors.Missing(command, 'a file', 'sesame migrate config sesame.yaml');
}
