// Metrics of the ingress under the names that users of the original project know, with Sesame's prefix. Where that has a summary, this
// is a histogram: quantiles are computed by the query.
import { type Kind, kindId } from '@capstan/kube';
import type { Registry, RuntimeObserver } from '@capstan/reconcile';
import { RESOURCE_TYPES } from '../envoy/index.ts';
import type { ProxyState } from '../routes/proxy-state.ts';
import { REFUSAL_REASONS, type XdsServer } from '../xds/index.ts';

export interface SesameMetrics {
  /** The observer of the runtime that computes routes. */
  readonly observer: RuntimeObserver;
  /** Where the states of HTTPProxies are found at each scrape. */
  proxies(find: () => readonly ProxyState[]): void;
  /** The served resources were brought up to date within this time. */
  updated(ms: number): void;
  /** The server that is asked at each scrape; undefined while there is none. */
  server(server: XdsServer | undefined): void;
  /** The controllers stop: their last counts are not shown any more. */
  clear(): void;
}

export interface SesameMetricsOptions {
  readonly version: string;
  /** Gauges of HTTPProxies are shown by the leader alone, so that their sum over all replicas is right. */
  isLeading(): boolean;
  /** Seconds since the epoch. */
  now(): number;
  /** Errors that nothing caught; default: they are not counted. */
  uncaught?(): number;
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createSesameMetrics(registry: Registry, options: SesameMetricsOptions): SesameMetrics {
  const { version, isLeading, now } = options;
  let findProxies: () => readonly ProxyState[] = () => [];
  let found: readonly ProxyState[] | undefined;
  const cached = new Map<string, number>();
  let server: XdsServer | undefined;

  /** Several metrics of one scrape ask for them. */
  const proxies = () => {
    if (!isLeading()) return [];
    if (found === undefined) queueMicrotask(() => (found = undefined));
    found ??= findProxies();
    return found;
  };
  registry.gauge({
    name: 'sesame_build_info',
    help: 'The build of Sesame; its value is 1.',
    labels: ['branch', 'revision', 'version'],
    collect: () => [[{ branch: '', revision: '', version }, 1]],
  });
  registry.counter({
    name: 'sesame_uncaught_errors_total',
    help: 'Errors that were not handled where they occurred. Each is a bug, and the log has its stack.',
    collect: () => [[{}, options.uncaught?.() ?? 0]],
  });
  const gauge = (suffix: string, help: string, isCounted: (state: ProxyState) => boolean) =>
    registry.gauge({
      name: `sesame_httpproxy${suffix}`,
      help,
      labels: ['namespace'],
      collect: () =>
        counted(
          proxies(),
          isCounted,
          ({ namespace }) => namespace,
          (namespace) => ({ namespace }),
        ),
    });
  gauge('', 'HTTPProxies that are served.', () => true);
  gauge('_root', 'HTTPProxies with a host.', ({ vhost }) => vhost !== undefined);
  gauge('_orphaned', 'HTTPProxies that no root includes.', ({ status }) => status === 'orphaned');
  const byHost = (status: 'valid' | 'invalid', help: string) =>
    registry.gauge({
      name: `sesame_httpproxy_${status}`,
      help,
      labels: ['namespace', 'vhost'],
      collect: () =>
        counted(
          proxies(),
          (state) => state.status === status,
          ({ namespace, vhost = '' }) => `${namespace}/${vhost}`,
          (key) => ({ namespace: key.slice(0, key.indexOf('/')), vhost: key.slice(key.indexOf('/') + 1) }),
        ),
    });
  byHost('valid', 'HTTPProxies without an error.');
  byHost('invalid', 'HTTPProxies with an error.');
  registry.gauge({
    name: 'sesame_dag_cache_object',
    help: 'Objects in the caches that routes are computed from.',
    labels: ['kind'],
    collect: () => [...cached].map(([kind, count]) => [{ kind }, count] as const),
  });
  const rebuilds = registry.counter({ name: 'sesame_dagrebuild_total', help: 'Evaluations of what is served.' });
  const rebuiltAt = registry.gauge({ name: 'sesame_dagrebuild_timestamp', help: 'Time of the last evaluation.' });
  const rebuildSeconds = registry.histogram({
    name: 'sesame_dagrebuild_seconds',
    help: 'Duration of evaluations, each of what has changed.',
    buckets: SECONDS,
  });
  const updateSeconds = registry.histogram({
    name: 'sesame_cachehandler_onupdate_duration_seconds',
    help: 'Duration of updates of what is served to Envoys.',
    buckets: SECONDS,
  });
  const operations = registry.counter({
    name: 'sesame_eventhandler_operation_total',
    help: 'Changes of objects that arrived.',
    labels: ['op', 'kind'],
  });
  const statusCounters = Object.fromEntries(
    (
      [
        ['total', 'sesame_status_update_total', 'Updates of statuses.'],
        ['success', 'sesame_status_update_success_total', 'Updates of statuses that were written.'],
        ['failed', 'sesame_status_update_failed_total', 'Updates of statuses that failed; they are tried again.'],
        ['conflict', 'sesame_status_update_conflict_total', 'Always 0: statuses are applied, which cannot conflict.'],
        ['noop', 'sesame_status_update_noop_total', 'Updates of statuses that had nothing to write.'],
      ] as const
    ).map(([key, name, help]) => [key, registry.counter({ name, help, labels: ['kind'] })]),
  ) as Record<'total' | 'success' | 'failed' | 'conflict' | 'noop', ReturnType<typeof registry.counter<'kind'>>>;
  const statusSeconds = registry.histogram({
    name: 'sesame_status_update_duration_seconds',
    help: 'Duration of updates of statuses.',
    labels: ['kind', 'error'],
    buckets: SECONDS,
  });
  xdsMetrics(registry, () => server);

  const statusObserver = (kind: string): ReturnType<NonNullable<RuntimeObserver['sink']>> => {
    for (const counter of Object.values(statusCounters)) counter.of({ kind }).inc(0);
    let written = 0;
    return {
      wrote: () => void (written += 1),
      workers: {
        started: () => undefined,
        finished({ result, ms }) {
          const isError = result === 'error';
          statusCounters.total.of({ kind }).inc();
          statusSeconds.of({ kind, error: String(isError) }).observe(ms / 1000);
          if (isError) statusCounters.failed.of({ kind }).inc();
          else if (written > 0) {
            written -= 1;
            statusCounters.success.of({ kind }).inc();
          } else statusCounters.noop.of({ kind }).inc();
        },
      },
    };
  };

  return {
    observer: {
      wave({ changes, ms }) {
        if (changes.length === 0) return;
        rebuilds.of().inc();
        rebuiltAt.of().set(now());
        rebuildSeconds.of().observe(ms / 1000);
      },
      sink: ({ reconciler }) => statusObserver(reconciler.resource.kind),
      informer(_world, kind) {
        const name = nameOf(kind);
        let isListed = false;
        return {
          listed({ objects, isStreamed }) {
            cached.set(name, objects);
            // The batch that ends a streamed list is reported after it: its objects are counted already.
            isListed = isStreamed;
          },
          received({ counts: { ADDED = 0, MODIFIED = 0, DELETED = 0 } }) {
            if (!isListed) cached.set(name, (cached.get(name) ?? 0) + ADDED - DELETED);
            isListed = false;
            for (const [op, count] of [
              ['add', ADDED],
              ['update', MODIFIED],
              ['delete', DELETED],
            ] as const)
              if (count > 0) operations.of({ op, kind: name }).inc(count);
          },
        };
      },
    },
    proxies(find) {
      findProxies = find;
    },
    updated: (ms) => updateSeconds.of().observe(ms / 1000),
    server(next) {
      server = next;
    },
    clear() {
      findProxies = () => [];
      cached.clear();
      server = undefined;
    },
  };
}

/** The resources that Envoys were sent, and their refusals. */
function xdsMetrics(registry: Registry, server: () => XdsServer | undefined): void {
  registry.gauge({
    name: 'sesame_xds_clients',
    help: 'Envoys that are connected.',
    collect: () => [[{}, server()?.statistics().nodes ?? 0]],
  });
  registry.gauge({
    name: 'sesame_xds_kept_snapshot',
    help: 'Whether the kept snapshot of an earlier process is served, while caches fill.',
    collect: () => [[{}, server()?.statistics().isKept ? 1 : 0]],
  });
  registry.gauge({
    name: 'sesame_xds_streams',
    help: 'Streams that are open.',
    collect: () => [[{}, server()?.statistics().streams ?? 0]],
  });
  registry.counter({
    name: 'sesame_xds_responses_total',
    help: 'Responses sent, by the type of their resources.',
    labels: ['type'],
    collect: () => RESOURCE_TYPES.map((type) => [{ type }, server()?.statistics().responses[type] ?? 0] as const),
  });
  registry.counter({
    name: 'sesame_xds_response_bytes_total',
    help: 'Bytes sent, by the type of their resources.',
    labels: ['type'],
    collect: () => RESOURCE_TYPES.map((type) => [{ type }, server()?.statistics().bytes[type] ?? 0] as const),
  });
  registry.counter({
    name: 'sesame_xds_ended_streams_total',
    help: 'Streams that the server ended because of their client, or because of an error of its own (error).',
    labels: ['reason'],
    collect: () => REFUSAL_REASONS.map((reason) => [{ reason }, server()?.statistics().refused[reason] ?? 0] as const),
  });
  registry.counter({
    name: 'sesame_xds_overdue_resources_total',
    help: 'Resources that were sent although their Envoy had not answered in time what they waited for.',
    collect: () => [[{}, server()?.statistics().overdue ?? 0]],
  });
  registry.gauge({
    name: 'sesame_xds_refused_resources',
    help: 'Resources that an Envoy refuses now; the last accepted version of each stays in force.',
    labels: ['node'],
    collect: () => (server()?.reports() ?? []).map(({ node, rejections }) => [{ node }, rejections.length] as const),
  });
}

function nameOf(kind: Kind): string {
  return kindId(kind).split('.')[0] ?? kind.kind;
}

function counted<L extends string>(
  states: Iterable<ProxyState>,
  isCounted: (state: ProxyState) => boolean,
  keyOf: (state: ProxyState) => string,
  labelsOf: (key: string) => Readonly<Record<L, string>>,
): (readonly [Readonly<Record<L, string>>, number])[] {
  const counts = new Map<string, number>();
  for (const state of states) if (isCounted(state)) counts.set(keyOf(state), (counts.get(keyOf(state)) ?? 0) + 1);
  return [...counts].map(([key, count]) => [labelsOf(key), count] as const);
}
