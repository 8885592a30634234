// The metrics of a discoverer: the fifteen of the original Gimbal under their names, and additional ones below them.
import { type Clock, type Kind, refOfKey } from '@capstan/kube/cluster';
import type { LabelledAction } from '@capstan/reconcile/contract';
import { createRegistry, type Registry } from '@capstan/reconcile/metrics';
import { processMetrics } from '@capstan/reconcile/process-metrics';
import type { ProblemType } from '../mirror/problem.ts';
import type { Census, Tally } from './census.ts';

export interface MetricsOptions {
  backend: string;
  type: 'kubernetes' | 'openstack';
  version: string;
  clock: Clock;
}

/** The values that are read when the metrics are scraped. */
export interface Observed {
  readonly census: Census;
  readonly queued: () => number;
  readonly isLive: () => boolean;
  readonly isReady: () => boolean;
  readonly lastSync: () => number | undefined;
  readonly held: () => number;
  readonly problems: () => Iterable<{ readonly type: ProblemType }>;
  readonly holdsLease: () => boolean;
}

export interface DiscovererMetrics {
  readonly registry: Registry;
  wrote(kind: Kind, action: LabelledAction, key: string): void;
  failed(kind: Kind, action: LabelledAction, key: string): void;
  /** From here on the state of the discoverer is shown. */
  attach(observed: Observed): void;
  problem(type: ProblemType): void;
  /** A call to the remote side; `path` without ids. */
  called(path: string, ms: number, isOk: boolean): void;
  /** A part of a cycle could not be done. */
  cycleFailed(errortype: CycleError): void;
  cycled(seconds: number): void;
}

export type CycleError =
  | 'ListProjects'
  | 'ListLoadBalancers'
  | 'ListPools'
  | 'ListServicesInNamespace'
  | 'ListEndpointsInNamespace';

export function createMetrics({ backend, type, version, clock }: MetricsOptions): DiscovererMetrics {
  const registry = createRegistry();
  const own = { backendname: backend, backendtype: type };
  const OBJECT = ['namespace', 'backendname', 'name', 'backendtype'] as const;
  const ERROR = [...OBJECT, 'errortype'] as const;
  const OWN = ['backendname', 'backendtype'] as const;
  const NAMESPACE = ['backendname', 'namespace', 'backendtype'] as const;
  const SERVICE = [...NAMESPACE, 'servicename'] as const;
  let observed: Observed | undefined;

  const gauge = (name: string, help: string, value: (of: Observed) => number | undefined) =>
    registry.gauge({
      name,
      help,
      labels: OWN,
      *collect() {
        const shown = observed && value(observed);
        if (shown !== undefined) yield [own, shown] as const;
      },
    });
  const byNamespace = (name: string, help: string, isCounted: (tally: Tally) => boolean) =>
    registry.gauge({
      name,
      help,
      labels: NAMESPACE,
      *collect() {
        const sums = new Map<string, number>();
        for (const tally of observed?.census.tallies() ?? []) {
          sums.set(tally.namespace, (sums.get(tally.namespace) ?? 0) + (isCounted(tally) ? 1 : 0));
        }
        for (const [namespace, sum] of sums) yield [{ ...own, namespace }, sum] as const;
      },
    });
  const byService = (name: string, help: string, count: (tally: Tally) => number) =>
    registry.gauge({
      name,
      help,
      labels: SERVICE,
      *collect() {
        for (const tally of observed?.census.tallies() ?? []) {
          yield [{ ...own, namespace: tally.namespace, servicename: tally.name }, count(tally)] as const;
        }
      },
    });

  const serviceAt = registry.gauge({
    name: 'gimbal_service_event_timestamp',
    help: 'When a Service was last written here, in seconds since the epoch.',
    labels: OBJECT,
  });
  const endpointsAt = registry.gauge({
    name: 'gimbal_endpoints_event_timestamp',
    help: 'When the endpoints of a Service were last written here, in seconds since the epoch.',
    labels: OBJECT,
  });
  const serviceErrors = registry.counter({
    name: 'gimbal_service_error_total',
    help: 'Writes of Services that did not succeed.',
    labels: ERROR,
  });
  const endpointsErrors = registry.counter({
    name: 'gimbal_endpoints_error_total',
    help: 'Writes of endpoints that did not succeed.',
    labels: ERROR,
  });
  gauge('gimbal_queuesize', 'Services that wait to be worked on.', ({ queued }) => queued());
  const latency = registry.histogram({
    name: 'gimbal_discoverer_api_latency_milliseconds',
    help: 'How long calls to the remote side take; ids are left out of paths.',
    labels: [...OWN, 'path'],
    buckets: [20, 50, 100, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 120_000],
  });
  const cycles = registry.histogram({
    name: 'gimbal_discoverer_cycle_duration_seconds',
    help: 'How long it takes to read the whole remote side.',
    labels: OWN,
    buckets: [60, 120, 180, 240, 300, 360, 420, 480, 540, 600],
  });
  const cycleErrors = registry.counter({
    name: 'gimbal_discoverer_error_total',
    help: 'Parts of a cycle that could not be done.',
    labels: [...OWN, 'errortype'],
  });
  byNamespace('gimbal_discoverer_upstream_services_total', 'Services on the remote side.', (of) => of.isUpstream);
  byNamespace('gimbal_discoverer_replicated_services_total', 'Services that are here.', (of) => of.isReplicated);
  byNamespace(
    'gimbal_discoverer_invalid_services_total',
    'Services that cannot be brought here.',
    (of) => of.isInvalid,
  );
  byService('gimbal_discoverer_upstream_endpoints_total', 'Addresses there.', (of) => of.upstreamEndpoints);
  byService('gimbal_discoverer_replicated_endpoints_total', 'Addresses here.', (of) => of.replicatedEndpoints);
  byService('gimbal_discoverer_invalid_endpoints_total', 'Addresses that cannot be used.', (of) => of.invalidEndpoints);
  registry
    .gauge({
      name: 'gimbal_discoverer_info',
      help: 'Which discoverer this is.',
      labels: ['backendname', 'version', 'backendtype'],
    })
    .of({ ...own, version })
    .set(1);

  // Additional metrics that the original Gimbal does not have.
  const apiErrors = registry.counter({
    name: 'gimbal_discoverer_api_error_total',
    help: 'Calls to the remote side that were not answered, or not with success.',
    labels: [...OWN, 'path'],
  });
  const writes = registry.counter({
    name: 'gimbal_discoverer_writes_total',
    help: 'Writes to this cluster that succeeded.',
    labels: [...OWN, 'kind', 'action'],
  });
  const problems = registry.counter({
    name: 'gimbal_discoverer_problem_total',
    help: 'Problems that came up, or happened again, by type.',
    labels: [...OWN, 'type'],
  });
  registry.gauge({
    name: 'gimbal_discoverer_problems',
    help: 'Problems that there are now, by type.',
    labels: [...OWN, 'type'],
    *collect() {
      const sums = new Map<string, number>();
      for (const { type: of } of observed?.problems() ?? []) sums.set(of, (sums.get(of) ?? 0) + 1);
      for (const [of, sum] of sums) yield [{ ...own, type: of }, sum] as const;
    },
  });
  gauge('gimbal_discoverer_up', 'Whether the remote side answers: 1 or 0.', ({ isLive }) => Number(isLive()));
  gauge('gimbal_discoverer_synced', 'Whether the first comparison is complete: 1 or 0.', (of) => Number(of.isReady()));
  gauge('gimbal_discoverer_leader', 'Whether this one may remove: 1 or 0.', (of) => Number(of.holdsLease()));
  gauge('gimbal_discoverer_deletions_held', 'Objects whose removal is held back.', ({ held }) => held());
  gauge(
    'gimbal_discoverer_last_sync_timestamp_seconds',
    'When both sides were last known to agree, in seconds since the epoch.',
    ({ lastSync }) => seconds(lastSync()),
  );
  processMetrics(registry);

  const labelsOf = (key: string) => {
    const { namespace = '', name } = refOfKey(key);
    return { ...own, namespace, name };
  };

  return {
    registry,
    attach(given) {
      observed = given;
    },
    wrote({ kind }, action, key) {
      writes.of({ ...own, kind, action }).inc();
      const at = kind === 'Service' ? serviceAt : endpointsAt;
      // The series of a service ends with it; otherwise a scrape would grow for ever.
      if (kind === 'Service' && action === 'delete') {
        serviceAt.remove(labelsOf(key));
        endpointsAt.remove(labelsOf(key));
      } else at.of(labelsOf(key)).set(clock.now() / 1000);
    },
    failed({ kind }, action, key) {
      (kind === 'Service' ? serviceErrors : endpointsErrors).of({ ...labelsOf(key), errortype: action }).inc();
    },
    problem: (of) => problems.of({ ...own, type: of }).inc(),
    called(path, ms, isOk) {
      latency.of({ ...own, path }).observe(ms);
      if (!isOk) apiErrors.of({ ...own, path }).inc();
    },
    cycleFailed: (errortype) => cycleErrors.of({ ...own, errortype }).inc(),
    cycled: (took) => cycles.of(own).observe(took),
  };
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
