import { ConfigMap, Deployment, isNotFound, reasonOf } from '@capstan/kube/cluster';
import { stringify } from 'yaml';
import { type InputFile, migrate } from '../migrate/index.ts';
import { CLUSTER_OPTIONS } from './arguments.ts';
import type { CommandArguments, CommandIo, SesameCommand } from './command-io.ts';
import { CommandErrors, UsageErrors } from './errors.ts';
import { sesameNamespace } from './namespace.ts';

export const migrateConfig: SesameCommand = {
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
  options: {
    ...CLUSTER_OPTIONS,
    filename: { type: 'string', short: 'f', value: 'FILE', isRepeated: true, help: 'A file or manifest; repeatable.' },
    'config-map': { type: 'string', value: 'NAME', help: 'Reads this ConfigMap from the cluster.' },
    deployment: { type: 'string', value: 'NAME', help: 'Reads the flags of this Deployment from the cluster.' },
    output: { type: 'string', short: 'o', value: 'FILE', help: 'Writes the result to a file.' },
    name: { type: 'string', value: 'NAME', help: 'The name of the resource; default sesame.' },
    to: { type: 'string', oneOf: ['resource', 'file'], help: 'What to migrate to; default resource.' },
    full: { type: 'boolean', help: 'Writes every value, defaults too.' },
    lenient: { type: 'boolean', help: 'Drops unknown keys with a warning.' },
    strict: { type: 'boolean', help: 'Warnings give the exit code 2.' },
  },
  async run(args, io) {
    const files = await inputFiles(args, io);
    const given = args.text('namespace') ?? io.env['SESAME_NAMESPACE'];
    const { output, errors, warnings, notes } = migrate(files, {
      to: args.text('to') === 'file' ? 'file' : 'resource',
      name: args.text('name') ?? 'sesame',
      namespace: given,
      isFull: args.isSet('full'),
      isLenient: args.isSet('lenient'),
      env: {},
    });
    for (const line of [...errors, ...warnings, ...notes.map((note) => `note: ${note}`)]) io.stderr(`${line}\n`);
    if (output === undefined) return 1;
    const path = args.text('output');
    if (path === undefined || path === '-') io.stdout(output);
    else await write(io, path, output);
    return warnings.length > 0 && args.isSet('strict') ? 2 : 0;
  },
};

async function inputFiles(args: CommandArguments, io: CommandIo): Promise<InputFile[]> {
  const paths = [...args.positionals, ...args.texts('filename')];
  const files: InputFile[] = [];
  for (const path of paths)
    try {
      const bytes = path === '-' ? await io.files.stdin() : await io.files.read(path);
      files.push({ name: path === '-' ? 'standard input' : path, bytes });
    } catch (error) {
      throw CommandErrors.CannotRead(path, reasonOf(error));
    }
  files.push(...(await liveFiles(args, io)));
  if (files.length > 0) return files;
  throw UsageErrors.Missing('migrate config', 'a file', 'sesame migrate config sesame.yaml');
}

async function liveFiles(args: CommandArguments, io: CommandIo): Promise<InputFile[]> {
  const [configMap, deployment] = [args.text('config-map'), args.text('deployment')];
  if (configMap === undefined && deployment === undefined) return [];
  const { client } = await io.openCluster({ kubeconfig: args.text('kubeconfig'), context: args.text('context') });
  const namespace = sesameNamespace(args.text('namespace'), io.env);
  const manifest = (name: string, object: unknown): InputFile => ({
    name,
    // As blocks, so that lines are those of the file.
    bytes: new TextEncoder().encode(
      stringify(object, { lineWidth: 0, defaultStringType: 'PLAIN', blockQuote: 'literal' }),
    ),
  });
  try {
    const files: InputFile[] = [];
    if (configMap !== undefined) {
      const { data, metadata } = await client.get(ConfigMap, { namespace, name: configMap });
      const { name } = metadata;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: data ?? {} };
      files.push(manifest(`configmap/${configMap}`, object));
    }
    if (deployment !== undefined) {
      const { spec, metadata } = await client.get(Deployment, { namespace, name: deployment });
      const { name } = metadata;
      files.push(
        manifest(`deployment/${deployment}`, {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name, namespace },
          spec,
        }),
      );
    }
    return files;
  } catch (error) {
    if (isNotFound(error) && configMap !== undefined) throw CommandErrors.NoConfigMap(namespace, configMap);
    throw error;
  } finally {
    await client.close();
  }
}

async function write(io: CommandIo, path: string, text: string): Promise<void> {
  try {
    await io.files.write(path, text);
  } catch (error) {
    throw CommandErrors.CannotWrite(path, reasonOf(error));
  }
}
