// A discoverer: one backend's services, from its source into this cluster, for as long as the signal allows. This file only
// puts the parts together; each has a file of its own.
import {
  type Client,
  type Clock,
  type Kind,
  type Logger,
  type ObjectRef,
  parseTime,
  type Random,
  type UnknownObject,
} from '@capstan/kube/cluster';
import { createLabelledChildren, createStatusReport } from '@capstan/reconcile/contract';
import { alwaysLeader, createLeaderElection } from '@capstan/reconcile/leadership';
import { createRedactor, type Redactor } from '@capstan/reconcile/logging';
import { createBucket } from '@capstan/reconcile/queue';
import { WRITE_LIMITS } from '../write-limits.ts';
import type { Finding } from './mirror/mirror.ts';
import { type MirrorDetail, mirrorsOf } from './mirror/mirrors.ts';
import { problemOf } from './mirror/obstacle.ts';
import type { Problem } from './mirror/problem.ts';
import type { RemoteReceiver, RemoteSide } from './remote-side.ts';
import { createCensus } from './report/census.ts';
import type { DiscovererMetrics } from './report/metrics.ts';
import { createProblemLog } from './report/problem-log.ts';
import {
  composeStatus,
  type DiscoveryStatus,
  discoveryOf,
  isWorthWriting,
  rememberedProblems,
  STATUS_MANAGER,
} from './report/status.ts';

export interface DiscovererOptions<V = never> {
  backend: string;
  /** The client of this cluster. */
  client: Client;
  remote: RemoteSide<V>;
  clock: Clock;
  random: Random;
  logger: Logger;
  version: string;
  /** Unique to this process: who holds the lease. */
  identity: string;
  /** Only its holder removes; undefined: this is the only discoverer. */
  lease?: Required<ObjectRef> | undefined;
  /** The object whose status reports the discovery. If undefined, only metrics report it. */
  status?: { readonly kind: Kind<UnknownObject>; readonly ref: ObjectRef } | undefined;
  /** Reported in the status: which credentials are in use, as the operator names them. */
  credentials?: string | undefined;
  metrics?: DiscovererMetrics | undefined;
  redactor?: Redactor;
  settings: DiscovererSettings;
}

export interface DiscovererSettings {
  readonly threads: number;
  /** Writes a second, in the long run. */
  readonly qps: number;
  readonly burst: number;
  readonly resyncMs: number;
  readonly writeEndpoints: boolean;
  readonly createNamespaces: boolean;
}

export const DEFAULT_SETTINGS: DiscovererSettings = {
  threads: 2,
  ...WRITE_LIMITS,
  resyncMs: 30 * 60_000,
  writeEndpoints: false,
  createNamespaces: false,
};

export interface Discoverer {
  /** The first full comparison is complete. */
  readonly isReady: boolean;
  /** Keys that wait or are worked on. */
  readonly queued: number;
  readonly isLive: boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** Patient: removals can wait, and a lease that is renewed often is a write each time. */
const LEASE_TIMES = { leaseMs: 30_000, renewMs: 20_000, retryMs: 5_000 };

export function createDiscoverer<V>(options: DiscovererOptions<V>): Discoverer {
  const { backend, client, remote, clock, random, logger, metrics, settings } = options;
  const redactor = options.redactor ?? createRedactor();
  const common = { client, clock, random, logger };
  const census = createCensus();
  const problems = createProblemLog({ clock, ...(metrics && { observe: metrics.problem }) });
  const { lease, identity } = options;
  const leadership =
    lease === undefined ? alwaysLeader : createLeaderElection({ ...common, lease, identity, times: LEASE_TIMES });
  const children = createLabelledChildren<V, Finding, MirrorDetail>({
    definition: mirrorsOf({ backend, writeEndpoints: settings.writeEndpoints, remote }),
    ...common,
    isLive: () => remote.isLive,
    removing: leadership,
    threads: settings.threads,
    bucket: createBucket(clock, settings.qps, settings.burst),
    resyncMs: settings.resyncMs,
    createsNamespaces: settings.createNamespaces,
    observe: {
      compared(unit, finding, mirrored) {
        census.take(unit, finding, mirrored);
        status?.poke();
      },
      settled(unit, finding, obstacle) {
        const found = finding.state === 'absent' ? [] : finding.problems;
        const { problem, happened } = problemOf(unit, obstacle);
        problems.set(unit, problem === undefined ? found : [...found, problem], happened);
      },
      held: showHeld,
      ready: () => status?.poke(),
      ...(metrics && { wrote: metrics.wrote, failed: metrics.failed }),
    },
  });
  metrics?.attach({
    census,
    queued: () => children.queued,
    isLive: () => remote.isLive,
    isReady: () => children.isReady,
    lastSync: () => children.lastSync,
    held: () => children.held,
    problems: () => problems.list(),
    holdsLease: () => leadership.holds,
  });
  /** The last report of an earlier process. It holds until there is a newer report. */
  let before: DiscoveryStatus | undefined;
  const status =
    options.status &&
    createStatusReport<DiscoveryStatus>({
      ...options.status,
      client,
      clock,
      logger,
      field: 'discovery',
      fieldManager: STATUS_MANAGER,
      parse: discoveryOf,
      isWorthWriting,
      compose() {
        // Only the holder of the lease reports. Before the first comparison there is nothing to report but a failure.
        if (!leadership.holds || (!children.isReady && remote.failure === undefined)) return undefined;
        return composeStatus(
          {
            synced: children.isReady && remote.isLive,
            lastSync: children.lastSync ?? (before?.lastSync === undefined ? undefined : parseTime(before.lastSync)),
            version: options.version,
            identity: remote.identity ?? before?.identity,
            credentials: options.credentials,
            counts: children.isReady ? census.counts : (before?.counts ?? census.counts),
            problems: problems.list(),
          },
          redactor,
        );
      },
    });

  function showHeld(held: number): void {
    const problem: Problem = {
      type: 'MassDeletionHeld',
      message: `the remote side no longer has most of what was discovered: ${held} objects are kept until two further cycles confirm it; check that it is the right cluster and that the rights there are still complete`,
    };
    problems.set('guard', held > 0 ? [problem] : []);
  }

  /** Reports the state of the remote side, and then acts on it. */
  const receiver: RemoteReceiver<V> = {
    client,
    open: children.open,
    stateChanged() {
      problems.set('remote', remote.failure === undefined ? [] : [remote.failure]);
      problems.set('source', remote.problems());
      children.stateChanged();
      status?.poke();
    },
    confirmed() {
      problems.set('source', remote.problems());
      children.confirmed();
      status?.poke();
    },
  };

  return {
    get isReady() {
      return children.isReady;
    },
    get queued() {
      return children.queued;
    },
    get isLive() {
      return remote.isLive;
    },
    async run(signal) {
      // The lease is given back when nothing is written any more.
      const leading = new AbortController();
      const led = leadership.run(leading.signal);
      try {
        if (status !== undefined) {
          problems.onChange(status.poke);
          leadership.onChange(status.poke);
          // Continue from the status that was written before a restart. If it cannot be read, it is written again.
          before = await status.read(signal).catch((error: unknown) => {
            logger.warn('the status of the backend could not be read', { error });
            return undefined;
          });
          problems.remember(rememberedProblems(before));
        }
        await Promise.all([remote.run(receiver, signal), children.run(signal), status?.run(signal)]);
      } finally {
        leading.abort();
        await led;
      }
    },
  };
}
