// `sesame serve`, composed: the configuration in force as one derivation, and everything that follows it as sinks. The controllers run
// in a runtime of their own (data-path.ts), which is started and stopped by one of these sinks.
import type { Client, Clock, KubeObject, Logger, Random } from '@capstan/kube';
import {
  createEventRecorder,
  createRegistry,
  createRuntime,
  type EventInput,
  type Operator,
  observeRuntime,
  operator,
  type Registry,
  reading,
  runtimeObserver,
  standardMetrics,
} from '@capstan/reconcile';
import { SesameConfiguration } from '../kinds/index.ts';
import { createSesameConfigurationReconciler } from '../reconcilers/sesame-configuration.ts';
import { createAnswers } from './answers.ts';
import { controllersSink, type DataPath } from './controllers.ts';
import { createDataPath } from './data-path.ts';
import { heartbeatSink, recordDerivation } from './heartbeat.ts';
import { type ConfigurationChoice, type InForce, inForceOf, type Reads } from './in-force.ts';
import type { InstanceRecord } from './instance-record.ts';
import { type ExitOptions, exitSink, processSink, readinessSink } from './process.ts';
import { socketsSink } from './sockets.ts';
import { createSwitchingLeadership } from './switching-leadership.ts';

export interface ServeParts extends Pick<ExitOptions, 'errorMode' | 'changeMode' | 'exit'> {
  readonly choice: ConfigurationChoice;
  readonly pod: string;
  /** Known when sinks are opened. */
  client(): Client;
  readonly dataPath: DataPath;
  readonly clock: Clock;
  readonly registry: Pick<Registry, 'expose'>;
  readonly signal: AbortSignal;
  setLogLevel(level: string): void;
  useElection: Parameters<typeof processSink>[0]['useElection'];
}

export interface ServeOperator {
  readonly operator: Operator;
  /** True when it serves; otherwise why not. */
  readiness(): true | string;
}

/** The operator of one replica. Every replica runs all of its sinks; only the status of the resource needs the lease. */
export function createServeOperator(parts: ServeParts): ServeOperator {
  const { choice, clock, registry, signal } = parts;
  const { namespace, name } = choice;
  let record: InstanceRecord | undefined;
  let latest: InForce | undefined;
  const readiness = () => readinessOf(record);
  const inForce = inForceOf(choice);
  const reads: Reads =
    choice.file === undefined ? [reading(SesameConfiguration, 'inNamespace', { optional: true })] : [];
  const answer = createAnswers({ readiness, registry, clock, signal, configuration: () => latest?.configuration });
  const { sink: sockets, keys: socketKeys } = socketsSink({ inForce, reads, answer });
  const controllers = controllersSink(inForce, reads, parts.dataPath);
  const heartbeat = {
    client: parts.client,
    namespace,
    pod: parts.pod,
    configuration: name,
    inForce,
    reads,
    sockets,
    socketKeys,
    controllers,
  };
  const records = recordDerivation(heartbeat);
  const process = processSink({
    inForce,
    reads,
    resource: `${namespace}/${name}`,
    setLogLevel: parts.setLogLevel,
    useElection: parts.useElection,
    show(next) {
      latest = next;
    },
  });
  const own = readinessSink(records, reads, (next) => {
    record = next;
  });
  return {
    readiness,
    operator: operator({
      name: 'sesame-serve',
      kinds: [SesameConfiguration],
      reconcilers: choice.file === undefined ? [createSesameConfigurationReconciler({ namespace, name, inForce })] : [],
      sinks: [
        process,
        sockets,
        controllers,
        own,
        heartbeatSink(records, heartbeat),
        exitSink({ inForce, reads, namespace, name, ...parts }),
      ],
    }),
  };
}

function readinessOf(record: InstanceRecord | undefined): true | string {
  if (record === undefined) return 'the configuration is not known yet';
  if (record.state === 'Running') return true;
  return record.problem ?? record.state.toLowerCase();
}

export interface RunServeOptions extends Pick<ExitOptions, 'errorMode' | 'changeMode'> {
  readonly choice: ConfigurationChoice;
  readonly pod: string;
  readonly identity: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  setLogLevel(level: string): void;
  /** Default: routes, listeners and xDS. */
  readonly dataPath?: DataPath;
}

/** Runs until the signal is aborted, or the configuration asks for an end; resolves to the exit code. */
export async function runServe(options: RunServeOptions): Promise<number> {
  const { client, clock, random, logger, signal, choice, identity } = options;
  const registry = createRegistry();
  const metrics = standardMetrics(registry);
  const leadership = createSwitchingLeadership({ client, clock, random, logger, identity });
  const events = createEventRecorder({
    client,
    clock,
    random,
    leadership,
    logger,
    controller: 'projectsesame.io/sesame',
    instance: identity,
  });
  const tell = (owner: KubeObject, event: EventInput) => events.record(owner, event);
  const ending = new AbortController();
  const end = () => ending.abort();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  let code = 0;
  const dataPath =
    options.dataPath ??
    createDataPath({
      client,
      clock,
      random,
      logger,
      leadership,
      namespace: choice.namespace,
      watchNamespaces: choice.watchNamespaces,
      tell,
    });
  const { operator: serve } = createServeOperator({
    ...options,
    client: () => client,
    dataPath,
    registry,
    signal: ending.signal,
    useElection: leadership.use,
    exit(wanted, reason) {
      logger.warn('ending', { reason });
      code = wanted;
      end();
    },
  });
  const runtime = createRuntime({
    operators: [serve],
    clock,
    random,
    logger,
    leadership: () => leadership,
    observe: runtimeObserver(metrics),
    tell: (_world, _operator, owner, event) => tell(owner, event),
  });
  // The configuration of another namespace is never looked at.
  runtime.addWorld({ name: '', client, namespace: choice.namespace, watchNamespaces: [choice.namespace] });
  observeRuntime(metrics, runtime);
  await Promise.all([runtime.run(ending.signal), events.run(ending.signal)]);
  return code;
}
