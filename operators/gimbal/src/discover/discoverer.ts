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
import { alwaysLeader, createLeaderElection } from '@capstan/reconcile/leadership';
import { createRedactor, type Redactor } from '@capstan/reconcile/logging';
import { createBucket } from '@capstan/reconcile/queue';
import { WRITE_LIMITS } from '../write-limits.ts';
import { createCensus } from './report/census.ts';
import type { DiscovererMetrics } from './report/metrics.ts';
import { createProblemLog } from './report/problem-log.ts';
import { composeStatus, type DiscoveryStatus, rememberedProblems } from './report/status.ts';
import { createStatusWriter } from './report/status-writer.ts';
import { createDeletionGuard } from './sync/deletion-guard.ts';
import { createLocalCluster } from './sync/local-cluster.ts';
import type { Source } from './sync/source.ts';
import { createSynchroniser } from './sync/synchroniser.ts';

export interface DiscovererOptions {
  backend: string;
  /** Of this cluster. */
  client: Client;
  source: Source;
  clock: Clock;
  random: Random;
  logger: Logger;
  version: string;
  /** Unique to this process: who holds the lease. */
  identity: string;
  /** Only its holder removes; undefined: this is the only discoverer. */
  lease?: Required<ObjectRef> | undefined;
  /** The object whose status reports what was discovered; undefined: only metrics report it. */
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

export function createDiscoverer(options: DiscovererOptions): Discoverer {
  const { backend, client, source, clock, random, logger, metrics, settings } = options;
  const redactor = options.redactor ?? createRedactor();
  const common = { client, clock, random, logger };
  const census = createCensus();
  const problems = createProblemLog({ clock, ...(metrics && { observe: metrics.problem }) });
  const local = createLocalCluster({ ...common, backend, writeEndpoints: settings.writeEndpoints });
  const guard = createDeletionGuard({ clock, owned: () => local.size });
  const { lease, identity } = options;
  const leadership =
    lease === undefined ? alwaysLeader : createLeaderElection({ ...common, lease, identity, times: LEASE_TIMES });
  const synchroniser = createSynchroniser({
    ...settings,
    backend,
    source,
    local,
    leadership,
    guard,
    problems,
    census,
    clock,
    random,
    logger,
    bucket: createBucket(clock, settings.qps, settings.burst),
    ...(metrics && { observe: metrics }),
  });
  metrics?.attach({
    census,
    queued: () => synchroniser.queued,
    isLive: () => source.isLive,
    isReady: () => synchroniser.isReady,
    lastSync: () => synchroniser.lastSync,
    held: () => guard.held,
    problems: () => problems.list(),
    holdsLease: () => leadership.holds,
  });
  /** What was reported before this process started; it holds until there is a newer report. */
  let before: DiscoveryStatus | undefined;
  const status =
    options.status &&
    createStatusWriter({
      ...options.status,
      client,
      clock,
      logger,
      // Before the first comparison there is nothing to say, unless it cannot be created.
      isSpeaker: () => leadership.holds && (synchroniser.isReady || source.failure !== undefined),
      compose: () =>
        composeStatus(
          {
            synced: synchroniser.isReady && source.isLive,
            lastSync:
              synchroniser.lastSync ?? (before?.lastSync === undefined ? undefined : parseTime(before.lastSync)),
            version: options.version,
            identity: source.identity ?? before?.identity,
            credentials: options.credentials,
            counts: synchroniser.isReady ? census.counts : (before?.counts ?? census.counts),
            problems: problems.list(),
          },
          redactor,
        ),
    });

  return {
    get isReady() {
      return synchroniser.isReady;
    },
    get queued() {
      return synchroniser.queued;
    },
    get isLive() {
      return source.isLive;
    },
    async run(signal) {
      // The lease is given back when nothing is written any more.
      const leading = new AbortController();
      const led = leadership.run(leading.signal);
      try {
        if (status !== undefined) {
          problems.onChange(status.poke);
          leadership.onChange(status.poke);
          source.subscribe({ changed: status.poke, state: status.poke, cycle: status.poke });
          local.subscribe({ changed: status.poke, synced: status.poke, namespaceAppeared() {} });
          // What was written before a restart is gone on from; when it cannot be read, it is written again.
          before = await status.read(signal).catch((error: unknown) => {
            logger.warn('the status of the backend could not be read', { error });
            return undefined;
          });
          problems.remember(rememberedProblems(before));
        }
        await Promise.all([local.run(signal), source.run(signal), synchroniser.run(signal), status?.run(signal)]);
      } finally {
        leading.abort();
        await led;
      }
    },
  };
}
