// The effects of an edit on the process itself: the log, its level, the Lease that it contends for, and, in two modes, its end.
import { type Logger } from '@capstan/kube';
import { type Derived, derivation, type Sink, sink } from '@capstan/reconcile';
import { changesBetween, type EffectiveConfiguration, type Problem, problemText } from '../configuration/index.ts';
import type { InstanceRecord } from '../configuration/instance-record.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import type { InForce, Reads } from './in-force.ts';

/** Errors of the configuration that only the running process can find. */
export interface ProcessReport {
  readonly errors: readonly Problem[];
}

export interface ProcessOptions {
  readonly inForce: Derived<InForce>;
  readonly reads: Reads;
  /** `namespace/name` of the resource. */
  readonly resource: string;
  setLogLevel(level: string): void;
  /** The log level of the API client: 0 is silent, 1 logs retries, 6 every request. */
  setKubernetesLogLevel(level: number): void;
  /** The configuration in force, for the debug server. */
  show(inForce: InForce): void;
  useElection(settings: EffectiveConfiguration['leaderElection']): void;
  /** Calls back with the problem of the lock, and with undefined when it is solved. */
  onLockProblem(listener: (problem: Problem | undefined) => void): void;
}

/** Logs the configuration in force and the reason, and follows it. */
export function processSink({
  inForce,
  reads,
  resource,
  setLogLevel,
  setKubernetesLogLevel,
  show,
  useElection,
  onLockProblem,
}: ProcessOptions): Sink<InForce, ProcessReport> {
  return sink<InForce, ProcessReport>({
    name: 'process',
    of: derivation<InForce>({ name: 'process', compute: ({ read }) => read.derived(inForce, '') }),
    keys: derivation<readonly string[]>({ name: 'process-key', compute: () => [''] }),
    reads,
    lease: 'none',
    open({ logger, report }) {
      onLockProblem((problem) => {
        if (problem) logger.error(`SesameConfiguration ${resource}: ${problemText(problem)}`);
        report('', { errors: problem ? [problem] : [] });
      });
      return {
        take({ changes }) {
          for (const { before, after } of changes) {
            if (after === undefined) continue;
            show(after);
            setLogLevel(after.configuration.debug.logLevel);
            setKubernetesLogLevel(after.configuration.debug.kubernetesLogLevel);
            useElection(after.configuration.leaderElection);
            logTransition(before, after, resource, logger);
          }
        },
      };
    },
  });
}

function logTransition(before: InForce | undefined, after: InForce, resource: string, logger: Logger): void {
  for (const problem of after.errors) logger.error(`SesameConfiguration ${resource}: ${problemText(problem)}`);
  for (const problem of after.warnings)
    if (!before?.warnings.some(({ path, message }) => path === problem.path && message === problem.message))
      logger.warn(`SesameConfiguration ${resource}: ${problemText(problem)}`);
  if (after.errors.length > 0 && after.state === 'stopped')
    logger.error(`SesameConfiguration ${resource}: not valid; controllers are stopped until it is corrected`);
  if (after.errors.length > 0 && after.state === 'running')
    logger.error(`SesameConfiguration ${resource}: not valid; the last valid configuration stays in force`);
  if (after.isDeleting && before?.isDeleting !== true)
    logger.warn(`SesameConfiguration ${resource}: is being deleted while in use; defaults are in force`);
  else if (after.source === 'defaults' && before?.source !== 'defaults')
    logger.info(`SesameConfiguration ${resource}: there is none; defaults are in force`);
  if (after.source === 'resource' && after.state === 'running')
    logger.info('the configuration is in force', { generation: after.version?.generation });
}

export interface ExitOptions {
  readonly inForce: Derived<InForce>;
  readonly reads: Reads;
  readonly namespace: string;
  readonly name: string;
  readonly errorMode: 'wait' | 'exit';
  readonly changeMode: 'apply' | 'restart';
  exit(code: number, reason: string): void;
}

interface Exit {
  readonly code: number;
  readonly reason: string;
}

const validOf = ({ metadata, status }: SesameConfiguration) => {
  const condition = status?.conditions?.find(({ type }) => type === 'Valid');
  return condition?.status === 'False' && condition.observedGeneration === metadata.generation;
};

/** The seed's initial implementation: the process ends, and Kubernetes starts it again. */
export function exitSink({
  inForce,
  reads,
  namespace,
  name,
  errorMode,
  changeMode,
  exit,
}: ExitOptions): Sink<Exit | null> {
  return sink<Exit | null>({
    name: 'exit',
    of: derivation<Exit | null>({
      name: 'exit',
      compute({ read }) {
        const { errors, configuration, first, seen } = read.derived(inForce, '');
        if (errorMode === 'exit' && errors.length > 0) {
          // Not before the user can see why.
          const isReported = seen === undefined || read.get(SesameConfiguration, { namespace, name }, validOf) === true;
          return isReported ? { code: 1, reason: 'the configuration is not valid' } : null;
        }
        if (changeMode === 'restart' && changesBetween(first, configuration).length > 0)
          return { code: 0, reason: 'the configuration changed' };
        return null;
      },
    }),
    keys: derivation<readonly string[]>({ name: 'exit-key', compute: () => [''] }),
    reads,
    lease: 'none',
    open: () => ({
      take({ changes }) {
        const wanted = changes.at(-1)?.after;
        if (wanted) exit(wanted.code, wanted.reason);
      },
    }),
  });
}

/** Keeps the report of the process about itself, for its readiness. */
export function readinessSink(
  of: Derived<InstanceRecord>,
  reads: Reads,
  take: (record: InstanceRecord) => void,
): Sink<InstanceRecord> {
  return sink<InstanceRecord>({
    name: 'readiness',
    of,
    keys: derivation<readonly string[]>({ name: 'readiness-key', compute: () => [''] }),
    reads,
    lease: 'none',
    open: () => ({
      take({ changes }) {
        const record = changes.at(-1)?.after;
        if (record !== undefined) take(record);
      },
    }),
  });
}
