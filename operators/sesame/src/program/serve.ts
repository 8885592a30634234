// `sesame serve`, composed: the configuration in force as one derivation, and everything that follows it as sinks. The controllers run
// in a runtime of their own (data-path.ts), which is started and stopped by one of these sinks.
import { performance } from 'node:perf_hooks';
import {
  type Client,
  type Clock,
  isForbidden,
  type KubeObject,
  type Logger,
  type OwnerReference,
  type Random,
  type RequestObservation,
  reasonOf,
} from '@capstan/kube';
import {
  compactHeap,
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
import type { InstanceRecord } from '../configuration/instance-record.ts';
import type { Feature } from '../configuration/serve-flags.ts';
import { servedGatewayKinds } from '../gateway/api/served-kinds.ts';
import type { ContourLease } from '../kinds/contour.ts';
import { SesameConfiguration, SesameDeployment } from '../kinds/index.ts';
import { goneInstances } from '../reconcilers/gone-instances.ts';
import { createSesameConfigurationReconciler } from '../reconcilers/sesame-configuration.ts';
import { createAnswers } from './answers.ts';
import { controllersSink, type DataPath } from './controllers.ts';
import { createDataPath, type DataPathView } from './data-path.ts';
import { withoutFeatures } from './features.ts';
import { heartbeatSink, recordDerivation } from './heartbeat.ts';
import { type ConfigurationChoice, type InForce, inForceOf, type Reads } from './in-force.ts';
import { type ExitOptions, exitSink, processSink, readinessSink } from './process.ts';
import { releaseConfiguration } from './release-configuration.ts';
import { createSesameMetrics } from './sesame-metrics.ts';
import { socketsSink } from './sockets.ts';
import { createSwitchingLeadership } from './switching-leadership.ts';

export interface ServeComponents extends Pick<ExitOptions, 'errorMode' | 'changeMode' | 'exit'> {
  readonly choice: ConfigurationChoice;
  readonly pod: string;
  readonly podUid?: string | undefined;
  /** Known when sinks are opened. */
  client(): Client;
  readonly dataPath: DataPath;
  /** The served resources, for the debug server; undefined while there are none. */
  view(): DataPathView | undefined;
  readonly clock: Clock;
  readonly registry: Pick<Registry, 'expose'>;
  readonly signal: AbortSignal;
  /** The address that a wildcard or loopback address of the configuration means on this machine. */
  readonly bindAddress?: string | undefined;
  setLogLevel(level: string): void;
  setKubernetesLogLevel(level: number): void;
  useElection: Parameters<typeof processSink>[0]['useElection'];
  onLockProblem: Parameters<typeof processSink>[0]['onLockProblem'];
}

export interface ServeOperator {
  readonly operator: Operator;
  /** True when it serves; otherwise why not. */
  readiness(): true | string;
}

/** The operator of one replica. Every replica runs all of its sinks; only the status of the resource needs the lease. */
export function createServeOperator(parts: ServeComponents): ServeOperator {
  const { choice, clock, registry, signal, bindAddress } = parts;
  const { namespace, name } = choice;
  let record: InstanceRecord | undefined;
  let latest: InForce | undefined;
  const readiness = () => readinessOf(record);
  const inForce = inForceOf(choice);
  const reads: Reads =
    choice.file === undefined ? [reading(SesameConfiguration, 'inNamespace', { optional: true })] : [];
  const answer = createAnswers({
    readiness,
    registry,
    clock,
    signal,
    configuration: () => latest?.configuration,
    dataPath: parts.view,
  });
  const { sink: sockets, keys: socketKeys } = socketsSink({ inForce, reads, answer, bindAddress });
  const controllers = controllersSink(inForce, reads, parts.dataPath);
  const process = processSink({
    inForce,
    reads,
    resource: `${namespace}/${name}`,
    setLogLevel: parts.setLogLevel,
    setKubernetesLogLevel: parts.setKubernetesLogLevel,
    useElection: parts.useElection,
    onLockProblem: parts.onLockProblem,
    show(next) {
      latest = next;
    },
  });
  const heartbeat = {
    client: parts.client,
    namespace,
    pod: parts.pod,
    podUid: parts.podUid,
    configuration: name,
    inForce,
    reads,
    sockets,
    socketKeys,
    controllers,
    process,
  };
  const records = recordDerivation(heartbeat);
  const own = readinessSink(records, reads, (next) => {
    record = next;
  });
  return {
    readiness,
    operator: operator({
      name: 'sesame-serve',
      kinds: [SesameConfiguration],
      reconcilers: [
        ...(choice.file === undefined ? [createSesameConfigurationReconciler({ namespace, name, inForce })] : []),
        goneInstances,
      ],
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

const VERSION = '0.1.0';

export interface RunServeOptions extends Pick<ExitOptions, 'errorMode' | 'changeMode'> {
  readonly choice: ConfigurationChoice;
  readonly pod: string;
  readonly podUid?: string | undefined;
  readonly identity: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly bindAddress?: string | undefined;
  readonly disabledFeatures?: readonly Feature[];
  /** Serve Contour's objects too, and leave their statuses to the holder of this Lease. */
  readonly contour?: ContourLease | undefined;
  setLogLevel(level: string): void;
  setKubernetesLogLevel?(level: number): void;
  /** Calls back for every request of the client, for metrics. */
  onRequest?(listener: (observation: RequestObservation) => void): void;
  /** Errors that nothing caught, for metrics. */
  uncaught?(): number;
  /** Default: routes, listeners and xDS. */
  readonly dataPath?: DataPath;
  /** Run V8 so that it needs little memory beside the caches; it holds for the whole process. Default false. */
  readonly compactHeap?: boolean;
  /** The file in which the last snapshot is kept for a restart of the container; none by default. */
  readonly snapshotFile?: string | undefined;
}

/**
 * The SesameDeployment that this Sesame belongs to: it outlives all pods of the instance, so that no pod needs its Leases when they are
 * deleted with it. A stand-alone Sesame has none, and neither has one that may not read its configuration.
 */
async function deploymentOf(
  client: Client,
  { namespace, name }: RunServeOptions['choice'],
  signal: AbortSignal,
): Promise<OwnerReference | undefined> {
  try {
    const configuration = await client.find(SesameConfiguration, { namespace, name }, { signal });
    const found = configuration?.metadata.ownerReferences?.find(({ kind }) => kind === SesameDeployment.kind);
    return found && { apiVersion: found.apiVersion, kind: found.kind, name: found.name, uid: found.uid };
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Runs until the signal is aborted, or the configuration asks for an end; resolves to the exit code. */
export async function runServe(options: RunServeOptions): Promise<number> {
  const { client, clock, random, logger, signal, choice, identity } = options;
  const registry = createRegistry();
  const metrics = standardMetrics(registry);
  options.onRequest?.((observation) => metrics.request(observation));
  const leadership = createSwitchingLeadership({
    client,
    clock,
    random,
    logger,
    identity,
    fallback: { namespace: choice.namespace, name: `leader-elect-${choice.name}-fallback` },
    owner: (within) => deploymentOf(client, choice, within),
  });
  const events = createEventRecorder({
    client,
    clock,
    random,
    leadership,
    logger,
    controller: 'projectsesame.io/sesame',
    instance: identity,
  });
  const notify = (owner: KubeObject, event: EventInput) => events.record(owner, event);
  const ending = new AbortController();
  const end = () => ending.abort();
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  let code = 0;
  let view: DataPathView | undefined;
  const dataPath =
    options.dataPath ??
    createDataPath({
      gatewayKinds: await servedGatewayKinds(client, ending.signal),
      client: withoutFeatures(client, options.disabledFeatures ?? []),
      clock,
      random,
      logger,
      leadership,
      namespace: choice.namespace,
      configuration: choice.name,
      watchNamespaces: choice.watchNamespaces,
      contour: options.contour,
      bindAddress: options.bindAddress,
      ...(options.snapshotFile !== undefined && {
        snapshot: { path: options.snapshotFile, program: JSON.stringify([VERSION, options.disabledFeatures ?? []]) },
      }),
      notify,
      metrics: createSesameMetrics(registry, {
        version: VERSION,
        isLeading: () => leadership.holds,
        now: () => clock.now() / 1000,
        uncaught: () => options.uncaught?.() ?? 0,
      }),
      show(next) {
        view = next;
      },
    });
  const { operator: serve, readiness } = createServeOperator({
    ...options,
    client: () => client,
    setKubernetesLogLevel: (level) => options.setKubernetesLogLevel?.(level),
    dataPath,
    view: () => view,
    registry,
    signal: ending.signal,
    useElection: leadership.use,
    onLockProblem: leadership.onProblem,
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
    notify: (_world, _operator, owner, event) => notify(owner, event),
  });
  // The configuration of another namespace is never looked at.
  runtime.addWorld({ name: '', client, namespace: choice.namespace, watchNamespaces: [choice.namespace] });
  observeRuntime(metrics, runtime);
  // While a kept snapshot is served, the caches still fill.
  const isCurrent = () => readiness() === true && view?.store.mark === undefined;
  const heap = options.compactHeap
    ? compactHeap({ clock, startGrowthPercent: START_GROWTH, isAtRest: atRest(isCurrent), signal: ending.signal })
    : Promise.resolve();
  await Promise.all([runtime.run(ending.signal), events.run(ending.signal), heap]);
  if (choice.file === undefined) await release(options);
  return code;
}

/** The last replica that ends in order leaves no finalizer behind; its own Lease is gone by now. */
async function release({ client, clock, logger, choice }: RunServeOptions): Promise<void> {
  const { namespace, name } = choice;
  try {
    await releaseConfiguration({ client, clock, namespace, name, signal: AbortSignal.timeout(RELEASE_MS) });
  } catch (error) {
    const remedy = `if Sesame does not come back, run "sesame config release ${name} --namespace ${namespace}"`;
    logger.warn('the finalizer of the SesameConfiguration may be left', { reason: reasonOf(error), remedy });
  }
}

/** A pod has 30 seconds for its end, and an API server may be gone. */
const RELEASE_MS = 5000;

/** In percent. Envoys wait for the first snapshot: it is not held up by a collection for every few megabytes. */
const START_GROWTH = 50;
/** Above this share of its time the event loop is busy: statuses are written, or Envoys subscribe. */
const BUSY = 0.1;

/** It serves, and has had nothing to do since the last time that it was asked: a collection then delays nothing. */
function atRest(isCurrent: () => boolean): () => boolean {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization < BUSY && isCurrent();
  };
}
