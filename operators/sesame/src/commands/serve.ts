import { isAlreadyExists, type Logger, reasonOf } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { parse } from 'yaml';
import { decodeFile, effectiveOfFile, fileProblemText, readConfigurationFile } from '../configuration/file/index.ts';
import { type Effective, parseServeFlags, SERVE_FLAGS } from '../configuration/index.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import { migrate } from '../migrate/index.ts';
import { ServeErrors } from '../serve/errors.ts';
import { runServe } from '../serve/serve.ts';
import type { CommandIo, CommandOptions, SesameCommand } from './command-io.ts';
import { CommandErrors, UsageErrors } from './errors.ts';
import { sesameNamespace } from './namespace.ts';

const options: CommandOptions = Object.fromEntries(
  Object.entries(SERVE_FLAGS).map(([name, { type, short, aliases, value, help }]) => [
    name,
    {
      type: type === 'list' ? 'string' : type,
      help,
      ...(short && { short }),
      ...(aliases && { aliases }),
      ...(value && { value }),
    },
  ]),
);

export const serve: SesameCommand = {
  usage: 'serve [flags]',
  description:
    'Runs the control plane. It uses the SesameConfiguration `sesame` of its namespace, or the one that --sesame-config names; without\n' +
    'one, defaults. An edit takes effect at once, without a restart. Flags beat the resource.',
  examples: ['sesame serve --sesame-config=edge', 'sesame serve --insecure --xds-address=127.0.0.1'],
  options,
  async run({ positionals: argv }, io) {
    const { fields, start, faults } = parseServeFlags(argv, io.env);
    const [fault] = faults;
    if (fault !== undefined)
      throw UsageErrors.BadFlag(fault.flag, faults.map(({ flag, problem }) => `${flag} ${problem}`).join('; '));
    const path = start.get('config-path');
    if (path !== undefined && start.has('sesame-config'))
      throw UsageErrors.Contradiction('--config-path', '--sesame-config', 'give one of them');
    if (start.has('migrate') && path === undefined)
      throw UsageErrors.Missing('serve', '--config-path with --migrate', 'sesame serve -c sesame.yaml --migrate');
    const errorMode = oneOf(start.get('config-error-mode'), '--config-error-mode', ['wait', 'exit'] as const);
    const changeMode = oneOf(start.get('config-change-mode'), '--config-change-mode', ['apply', 'restart'] as const);
    const invalidPolicy = oneOf(start.get('invalid-config-policy'), '--invalid-config-policy', [
      'stop',
      'keep-last-good',
    ] as const);
    const format = oneOf(start.get('log-format'), '--log-format', ['text', 'json'] as const);
    const namespace = sesameNamespace(start.get('namespace'), io.env, await podNamespace(io));
    const watchNamespaces = start
      .get('watch-namespaces')
      ?.split(',')
      .map((name) => name.trim());
    const { logger, setLogLevel } = levelledLogger(io, format);
    const file =
      path === undefined ? undefined : await fileConfiguration(path, io, { namespace, flags: fields, watchNamespaces });
    const { client } = await io.openCluster({
      kubeconfig: start.get('incluster') === 'true' ? undefined : start.get('kubeconfig'),
      context: start.get('context'),
      namespace,
    });
    try {
      const name = start.get('sesame-config') ?? 'sesame';
      if (path !== undefined) {
        logger.warn(`--config-path is deprecated; migrate ${path} with sesame migrate config and use --sesame-config`);
        if (start.get('migrate') === 'true') await createFromFile(path, name, namespace, client, io, logger);
      }
      return await runServe({
        choice: { namespace, name, file, flags: fields, watchNamespaces, invalidPolicy },
        pod: io.env['POD_NAME'] ?? io.identity.replace(/[^a-z0-9-]/gi, '-').toLowerCase(),
        identity: io.identity,
        client,
        clock: io.clock,
        random: Math.random,
        logger,
        signal: io.signal,
        setLogLevel,
        errorMode,
        changeMode,
      });
    } finally {
      await client.close();
    }
  },
};

function oneOf<const V extends string>(value: string | undefined, flag: string, allowed: readonly [V, ...V[]]): V {
  if (value === undefined) return allowed[0];
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw UsageErrors.BadValue(flag, value, `use ${allowed.join(' or ')}`);
  return found;
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

async function podNamespace({ files }: CommandIo): Promise<string | undefined> {
  if (!(await files.exists(NAMESPACE_FILE))) return undefined;
  return new TextDecoder().decode(await files.read(NAMESPACE_FILE)).trim();
}

/** A logger whose level can change while it is used. */
function levelledLogger(
  { stderr, clock }: CommandIo,
  format: 'text' | 'json',
): { logger: Logger; setLogLevel(level: string): void } {
  let isDebug = false;
  const inner = createLogger({ clock, format, level: 'debug', write: stderr });
  const of = (to: Logger): Logger => ({
    ...to,
    debug: (message, fields) => (isDebug ? to.debug(message, fields) : undefined),
    with: (fields) => of(to.with(fields)),
  });
  return {
    logger: of(inner),
    setLogLevel(level) {
      isDebug = level === 'debug';
    },
  };
}

async function fileConfiguration(
  path: string,
  io: CommandIo,
  context: Omit<Parameters<typeof effectiveOfFile>[1], 'path'>,
): Promise<Effective> {
  let bytes: Uint8Array;
  try {
    bytes = await io.files.read(path);
  } catch (error) {
    throw CommandErrors.CannotRead(path, reasonOf(error));
  }
  const decoded = decodeFile(bytes);
  if ('problem' in decoded) throw ServeErrors.InvalidFile(path, [fileProblemText(path, decoded.problem)]);
  const { effective, problems } = effectiveOfFile(readConfigurationFile(decoded.text), { path, ...context });
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0)
    throw ServeErrors.InvalidFile(
      path,
      errors.map((problem) => fileProblemText(path, problem)),
    );
  return effective;
}

/** The seed's migration within Sesame: once, and never over an existing resource. */
async function createFromFile(
  path: string,
  name: string,
  namespace: string,
  client: Awaited<ReturnType<CommandIo['openCluster']>>['client'],
  io: CommandIo,
  logger: Logger,
): Promise<void> {
  const { output, errors } = migrate([{ name: path, bytes: await io.files.read(path) }], {
    to: 'resource',
    name,
    namespace,
  });
  if (output === undefined) throw ServeErrors.InvalidFile(path, errors);
  try {
    await client.create(SesameConfiguration, parse(output) as SesameConfiguration, { signal: io.signal });
    logger.info(
      `SesameConfiguration ${namespace}/${name}: created from ${path}; replace --config-path by --sesame-config=${name}`,
    );
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    logger.info(`SesameConfiguration ${namespace}/${name}: exists already and stays as it is`);
  }
}
