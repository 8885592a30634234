import {
  type Client,
  isAlreadyExists,
  type Logger,
  type RequestObservation,
  reasonOf,
  systemClock,
} from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import {
  commandHelp,
  type Flag,
  type Flags,
  type ForwardedCommand,
  type Io,
  openCluster,
  UsageErrors,
} from '@capstan/reconcile/command-line';
import { parse } from 'yaml';
import { decodeFile, effectiveOfFile, fileProblemText, readConfigurationFile } from '../configuration/file/index.ts';
import { type Effective, FEATURES, parseServeFlags, SERVE_FLAGS } from '../configuration/index.ts';
import { contourLease } from '../kinds/contour.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import { migrate } from '../migrate/index.ts';
import { ServeErrors } from '../program/errors.ts';
import { keepServing } from '../program/last-resort.ts';
import { runServe } from '../program/serve.ts';
import { BIND_VARIABLE } from '../xds/index.ts';
import { CommandErrors } from './errors.ts';
import { machineFiles } from './machine-files.ts';
import { sesameNamespace } from './namespace.ts';
import { SesameUsage } from './usage.ts';

const options: Flags = Object.fromEntries(
  Object.entries(SERVE_FLAGS).map(([name, { type, short, aliases, value, variable, help }]) => [
    name,
    {
      type: type === 'boolean' ? type : 'string',
      help,
      ...(short && { short }),
      ...(aliases && { aliases }),
      ...(value && { value }),
      ...(variable && { env: variable }),
    } satisfies Flag,
  ]),
);

const HELP = {
  usage: 'serve [flags]',
  description:
    'Runs the control plane. It uses the SesameConfiguration `sesame` of its namespace, or the one that --sesame-config names; without\n' +
    'one, defaults. An edit takes effect at once, without a restart. Flags beat the resource.',
  examples: ['sesame serve --sesame-config=edge', 'sesame serve --insecure --xds-address=127.0.0.1'],
  options,
};

/** It reads its flags itself: a given flag beats the resource, and an absent one does not, whatever its default. */
export default {
  async forward(argv, io) {
    if (!argv.includes('--help') && !argv.includes('-h')) return serve(argv, io);
    io.stdout(commandHelp('sesame', { ...HELP, run: () => Promise.resolve(0) }));
    return 0;
  },
} satisfies ForwardedCommand;

async function serve(argv: readonly string[], io: Io): Promise<number> {
  const { fields, start, faults } = parseServeFlags(argv, io.env);
  if (faults.length > 0) throw SesameUsage.BadFlags(faults.map(({ flag, problem }) => `${flag} ${problem}`));
  const path = start.get('config-path');
  if (path !== undefined && start.has('sesame-config'))
    throw SesameUsage.Contradiction('--config-path', '--sesame-config', 'give one of them');
  if (start.has('migrate') && path === undefined)
    throw UsageErrors.Missing('sesame serve', '--config-path with --migrate', 'sesame serve -c sesame.yaml --migrate');
  const contour = start.get('contour-compat') === 'true' ? contourLease(start.get('contour-lease')) : undefined;
  if (start.has('contour-lease') && !contour)
    throw UsageErrors.Missing('sesame serve', '--contour-compat with --contour-lease', 'sesame serve --contour-compat');
  const errorMode = oneOf(start.get('config-error-mode'), '--config-error-mode', ['wait', 'exit'] as const);
  const changeMode = oneOf(start.get('config-change-mode'), '--config-change-mode', ['apply', 'restart'] as const);
  const invalidPolicy = oneOf(start.get('invalid-config-policy'), '--invalid-config-policy', [
    'stop',
    'keep-last-good',
  ] as const);
  const format = oneOf(start.get('log-format'), '--log-format', ['text', 'json'] as const);
  const namespace = sesameNamespace(start.get('namespace'), io.env, await podNamespace(io));
  const watchNamespaces = namesOf(start.get('watch-namespaces'));
  if (contour && watchNamespaces && !watchNamespaces.includes(contour.namespace))
    throw UsageErrors.BadValue(
      '--watch-namespaces',
      watchNamespaces.join(','),
      `add ${contour.namespace}, where the Lease of Contour is, or name another by --contour-lease`,
    );
  const { logger, setLogLevel } = levelledLogger(io, format);
  const requests = clientLog(logger);
  const file =
    path === undefined ? undefined : await fileConfiguration(path, io, { namespace, flags: fields, watchNamespaces });
  const kubeconfig = start.get('incluster') === 'true' ? undefined : start.get('kubeconfig');
  const where = { kubeconfig, context: start.get('context'), namespace };
  const { client } = await openCluster(where, io, { logger: requests.logger, observe: requests.observe });
  const clock = io.clock ?? systemClock;
  const uncaught = keepServing(process, { clock, logger });
  try {
    const name = start.get('sesame-config') ?? 'sesame';
    if (path !== undefined) {
      logger.warn(`--config-path is deprecated; migrate ${path} with sesame migrate config and use --sesame-config`);
      if (start.get('migrate') === 'true') await createFromFile(path, name, namespace, client, io, logger);
    }
    return await runServe({
      choice: { namespace, name, file, flags: fields, watchNamespaces, invalidPolicy },
      pod: io.env['POD_NAME'] ?? io.identity.replace(/[^a-z0-9-]/gi, '-').toLowerCase(),
      podUid: io.env['POD_UID'],
      identity: io.identity,
      client,
      clock,
      random: Math.random,
      logger,
      signal: io.signal,
      uncaught: () => uncaught.count,
      bindAddress: io.env[BIND_VARIABLE],
      setLogLevel,
      setKubernetesLogLevel: requests.setLevel,
      onRequest: requests.onRequest,
      compactHeap: true,
      errorMode,
      changeMode,
      contour,
      snapshotFile: start.get('snapshot-file'),
      // Other names were refused with the flags.
      disabledFeatures: FEATURES.filter((feature) => namesOf(start.get('disable-feature'))?.includes(feature)),
    });
  } finally {
    uncaught.close();
    await client.close();
  }
}

/** Names that are separated by commas; undefined when there is none. */
function namesOf(text: string | undefined): string[] | undefined {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.length > 0 ? names : undefined;
}

function oneOf<const V extends string>(value: string | undefined, flag: string, allowed: readonly [V, ...V[]]): V {
  if (value === undefined) return allowed[0];
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw UsageErrors.BadValue(flag, value, `use ${allowed.join(' or ')}`);
  return found;
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

async function podNamespace(io: Io): Promise<string | undefined> {
  const files = machineFiles(io);
  if (!(await files.exists(NAMESPACE_FILE))) return undefined;
  return new TextDecoder().decode(await files.read(NAMESPACE_FILE)).trim();
}

/** A logger whose level can change while it is used. */
function levelledLogger(
  { stderr, clock = systemClock }: Io,
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

/** The log of the API client, as far as `debug.kubernetesLogLevel` asks for it: from 1 its retries, from 6 every request. */
export function clientLog(to: Logger) {
  let level = 0;
  const listeners: ((observation: RequestObservation) => void)[] = [];
  const from =
    (least: number, write: Logger['info']): Logger['info'] =>
    (message, fields) =>
      level >= least ? write(message, fields) : undefined;
  const logger: Logger = {
    debug: from(4, to.info),
    info: from(2, to.info),
    warn: from(1, to.warn),
    error: from(0, to.error),
    with: () => logger,
  };
  return {
    logger,
    setLevel(next: number) {
      level = next;
    },
    onRequest: (listener: (observation: RequestObservation) => void) => void listeners.push(listener),
    observe(observation: RequestObservation) {
      for (const listener of listeners) listener(observation);
      const { method, host, code, seconds, retry } = observation;
      if (level >= 6) to.info('request', { method, host, code, ms: Math.round(seconds * 1000), retry });
    },
  };
}

async function fileConfiguration(
  path: string,
  io: Io,
  context: Omit<Parameters<typeof effectiveOfFile>[1], 'path'>,
): Promise<Effective> {
  let bytes: Uint8Array;
  try {
    bytes = await machineFiles(io).read(path);
  } catch (error) {
    throw CommandErrors.CannotRead(path, reasonOf(error));
  }
  const decoded = decodeFile(bytes);
  if (!decoded.isOk) throw ServeErrors.InvalidFile(path, [fileProblemText(path, decoded.problem)]);
  const { effective, problems } = effectiveOfFile(readConfigurationFile(decoded.value), { path, ...context });
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
  client: Client,
  io: Io,
  logger: Logger,
): Promise<void> {
  const { output, errors } = migrate([{ name: path, bytes: await machineFiles(io).read(path) }], {
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
    logger.info(`SesameConfiguration ${namespace}/${name}: exists already and is not changed`);
  }
}
