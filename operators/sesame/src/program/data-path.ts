// The controllers themselves: routes, listeners and xDS in a runtime of their own, which a change of some fields restarts while the
// process, its servers and its heartbeat go on. The configuration comes in as a source, so that an edit is an ordinary wave.
import { hash, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import {
  type Client,
  type Clock,
  type Kind,
  type KubeObject,
  type Logger,
  type Random,
  Service,
  untilAborted,
} from '@capstan/kube';
import {
  createRuntime,
  derivation,
  type EventInput,
  type Leadership,
  operator,
  type Reader,
  type SourceTable,
  sink,
  source,
} from '@capstan/reconcile';
import type { EffectiveConfiguration, Problem } from '../configuration/index.ts';
import { warningAt } from '../configuration/problem.ts';
import { askHostSummaries, askRouteMap, routeMapSinks } from '../explain/route-map-sink.ts';
import { instanceGateways } from '../gateway/graph/instance-gateways.ts';
import type { GatewayKinds } from '../gateway/index.ts';
import { createKeptSnapshot, type KeptSnapshot } from '../kept/kept-snapshot.ts';
import type { ContourLease } from '../kinds/contour.ts';
import type { HostSummary, RouteMap } from '../model/route-map.ts';
import { type IngressComponents, ingressComponents } from '../routes/ingress-components.ts';
import { SETTINGS } from '../routes/pieces.ts';
import { proxyStates } from '../routes/proxy-state.ts';
import { type Surroundings, XdsServing } from '../routes/xds-serving.ts';
import { type Lookup, ROUTE_READS, readLookup } from '../routing/lookup.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { NO_SECRET, tlsSecretProblem } from '../routing/upstream/tls-secret.ts';
import type { Refused, ResourceStore, XdsServer } from '../xds/index.ts';
import type { DataPath, DataPathReport, RunningDataPath } from './controllers.ts';
import { refusalAlerts } from './refusal-alerts.ts';
import { createRefusalMemory } from './refusal-memory.ts';
import { routingSettingsOf } from './routing-settings.ts';
import type { SesameMetrics } from './sesame-metrics.ts';

export interface DataPathOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Who writes statuses; contended for elsewhere. */
  readonly leadership: Leadership;
  readonly namespace: string;
  /** The SesameConfiguration; the refusals of Envoys are kept under its name. Default: they are not kept. */
  readonly configuration?: string;
  readonly watchNamespaces: readonly string[] | undefined;
  /** Contour's objects are served too; see ingressComponents. */
  readonly contour?: ContourLease | undefined;
  /** The address that a wildcard or loopback address of the configuration means on this machine. */
  readonly bindAddress?: string | undefined;
  /** Takes the place of the configured xDS address, for tests. */
  readonly listen?: { readonly address: string; readonly port: number };
  readonly metrics?: SesameMetrics | undefined;
  /** Receives the view of the served resources, for the debug server. */
  show?(view: DataPathView | undefined): void;
  /** Writes an Event about an object. */
  notify?(owner: KubeObject, event: EventInput): void;
  /** The Gateway API in the versions that the cluster serves; v1 by default. */
  readonly gatewayKinds?: GatewayKinds;
  /** Called with the port that was found. */
  onListening?(port: number): void;
  /** The file in which the last snapshot is kept for a restart; none by default. */
  readonly snapshot?: { readonly path: string; readonly program: string } | undefined;
}

/** The resources that are served now, and the connected Envoys. */
export interface DataPathView {
  readonly store: ResourceStore;
  readonly server: XdsServer;
  /** Returns the map of one host, as it is configured, or of all; undefined while it is not known. */
  routeMap(host?: string): Promise<RouteMap | undefined>;
  hosts(): Promise<readonly HostSummary[] | undefined>;
}

export function createDataPath(options: DataPathOptions): DataPath {
  /** All that the routes depend on, except for objects. */
  const keyOf = (configuration: EffectiveConfiguration) =>
    hash(
      'sha256',
      JSON.stringify([
        options.snapshot?.program,
        options.namespace,
        options.watchNamespaces,
        options.contour,
        options.gatewayKinds && Object.values(options.gatewayKinds).map((kind: Kind) => kind.apiVersion),
        configuration,
      ]),
    );
  return {
    start(configuration, onReport) {
      const { client, clock, random, logger, namespace, watchNamespaces } = options;
      const { snapshot } = options;
      const kept = snapshot && createKeptSnapshot({ path: snapshot.path, key: keyOf(configuration), clock, logger });
      const memory =
        options.configuration === undefined
          ? undefined
          : createRefusalMemory({ client, clock, logger, namespace, configuration: options.configuration });
      const parts = dataPathComponents(
        {
          ...options,
          ...(memory && { refused: memory.load }),
          ...(kept && { kept }),
          show: (view) =>
            options.show?.(
              view && {
                ...view,
                routeMap: (host) => askRouteMap(runtime, host),
                hosts: () => askHostSummaries(runtime),
              },
            ),
        },
        configuration,
        onReport,
      );
      const leadership: Leadership = {
        get holds() {
          return options.leadership.holds;
        },
        onChange: (listener) => options.leadership.onChange(listener),
        run: untilAborted,
      };
      const runtime = createRuntime({
        operators: [parts.operator],
        clock,
        random,
        logger,
        leadership: () => leadership,
        // The debug server computes explanations on request.
        deliveryHistory: false,
        serveFirst: true,
        isServing: parts.hasServed,
        ...(options.metrics && { observe: options.metrics.observer }),
        ...(options.notify && {
          notify: (_world: unknown, _operator: unknown, owner: KubeObject, event: EventInput) =>
            options.notify?.(owner, event),
        }),
      });
      // Nothing that is written depends on it.
      runtime.setDigestKey({ id: 'process', bytes: randomBytes(32) });
      runtime.addWorld({ name: '', client, namespace, ...(watchNamespaces && { watchNamespaces }) });
      options.metrics?.proxies(() => proxyStates(runtime));
      const ending = new AbortController();
      const begun = parts.begin({ clock, logger });
      const running = runtime.run(ending.signal);
      return {
        async configure(next) {
          const moved = kept?.move(keyOf(next));
          parts.put(next);
          await runtime.settle();
          await moved;
        },
        async stop() {
          ending.abort();
          options.show?.(undefined);
          options.metrics?.clear();
          await begun;
          // The socket does not wait for lists that are under way.
          await parts.close();
          await running;
          await memory?.close();
        },
        readiness() {
          if (parts.isKept()) return true;
          if (!runtime.isSynced)
            return `waiting for ${
              runtime
                .status()
                .worlds.flatMap(({ waitingFor }) => waitingFor)
                .join(', ') || 'caches'
            }`;
          return parts.isServing() ? true : 'waiting for the xDS server';
        },
      } satisfies RunningDataPath;
    },
  };
}

/** The operator of the controllers, and how its configuration is changed. */
export function dataPathComponents(
  {
    listen,
    onListening,
    bindAddress,
    metrics,
    show,
    gatewayKinds,
    watchNamespaces,
    refused,
    notify,
    contour,
    kept,
  }: Pick<DataPathOptions, 'listen' | 'onListening' | 'bindAddress' | 'metrics' | 'gatewayKinds'> &
    Partial<Pick<DataPathOptions, 'watchNamespaces' | 'notify' | 'contour'>> & {
      refused?(): Promise<Refused>;
      show?(view: Pick<DataPathView, 'server' | 'store'>): void;
      kept?: KeptSnapshot;
    },
  first: EffectiveConfiguration,
  onReport: (report: DataPathReport) => void,
) {
  let current = first;
  let table: SourceTable<EffectiveConfiguration> | undefined;
  const serving = new XdsServing({
    bindAddress,
    listen,
    kept,
    ...(refused && { refused }),
    onListening(server, store) {
      metrics?.server(server);
      show?.({ server, store });
      onListening?.(server.port);
    },
  });
  const configurations = source<EffectiveConfiguration>({
    name: 'configuration',
    async open({ table: opened, signal }) {
      table = opened;
      opened.put('', current);
      opened.complete();
      await untilAborted(signal);
      table = undefined;
    },
  });
  const inForce = (read: Reader): EffectiveConfiguration => read.source(configurations).get('') ?? current;
  const settings = derivation<RoutingSettings>({
    name: 'routing-settings',
    compute: ({ read }) => routingSettingsOf(inForce(read), contour !== undefined),
  });
  // A change of it restarts the controllers.
  const gateways = instanceGateways({
    settings,
    gateway: first.gateway,
    addresses: (read) => addressesOf(read, inForce(read), watchNamespaces)?.ingress ?? [],
    ...(gatewayKinds && { kinds: gatewayKinds }),
  });
  const { kinds, reconcilers, sinks, xds, graph } = ingressComponents({
    settings,
    ...(gateways && { gateways }),
    contour,
    serving,
    loadBalancer: (read) => addressesOf(read, inForce(read), watchNamespaces),
    ...(metrics && { onUpdated: metrics.updated }),
  });
  const explained = gateways?.graph && gateways.kinds && { graph: gateways.graph, kinds: gateways.kinds };
  const alerts = notify && refusalAlerts(xds, notify);
  const reports = sink<DataPathReport>({
    name: 'data-path-report',
    of: derivation<DataPathReport>({
      name: 'data-path-report',
      compute: ({ read }) => reportOf(read, xds, inForce(read)),
    }),
    keys: derivation<readonly string[]>({ name: 'data-path-report-key', compute: () => [''] }),
    reads: ROUTE_READS,
    lease: 'none',
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after !== undefined) onReport(after);
      },
    }),
  });
  return {
    operator: operator({
      name: 'sesame-routes',
      kinds,
      reconcilers,
      sinks: [...sinks, ...routeMapSinks(graph, explained), reports, ...(alerts ? [alerts] : [])],
    }),
    /** Listens before anything is known. */
    begin: (surroundings: Surroundings) => serving.begin(routingSettingsOf(first, contour !== undefined), surroundings),
    close: () => serving.close(),
    isServing: () => serving.isListening && serving.store.isComplete,
    hasServed: () => serving.hasServed(),
    /** The kept snapshot is served. */
    isKept: () => serving.isListening && serving.store.mark !== undefined,
    put(next: EffectiveConfiguration) {
      current = next;
      table?.put('', next);
    },
  };
}

const loadBalancerOf = ({ status }: Service) => status?.loadBalancer?.ingress ?? [];

/** The addresses of Envoy for clients: as configured, else those of its Service. */
export function addressesOf(
  read: Reader,
  { ingress, envoy }: EffectiveConfiguration,
  watchNamespaces: readonly string[] | undefined,
): { ingress?: readonly { ip?: string; hostname?: string }[] } | undefined {
  const { statusAddress = '' } = ingress;
  if (statusAddress !== '')
    return {
      ingress: statusAddress
        .split(',')
        .map((address) => address.trim())
        .map((address) => (isIP(address) === 0 ? { hostname: address } : { ip: address })),
    };
  // Its Service cannot be seen where its namespace is not watched; statuses are written without an address then.
  if (watchNamespaces && !watchNamespaces.includes(envoy.service.namespace)) return undefined;
  const found = read.get(Service, envoy.service, loadBalancerOf) ?? [];
  return found.length === 0 ? undefined : { ingress: found };
}

function reportOf(read: Reader, xds: IngressComponents['xds'], configuration: EffectiveConfiguration): DataPathReport {
  const reports = read.sink(xds).reports();
  const nacks = reports.flatMap(({ row }) =>
    row.rejections.map(({ key, message, origins }) => ({
      object: origins[0] ?? key,
      type: key.split('/')[0] ?? key,
      message: `${row.node}: ${message}`,
    })),
  );
  const { state, error } = read.sink(xds).state(SETTINGS);
  return {
    nacks: nacks.toSorted((left, right) => (left.object < right.object ? -1 : 1)),
    warnings: [
      ...unusableReferences(readLookup(read), configuration),
      ...reports.flatMap(({ row }) => row.patches ?? []),
    ],
    problem: state === 'failed' ? (error?.message ?? 'the xDS server did not start') : undefined,
  };
}

/** Objects that the configuration names: Envoy is configured as if they were there, and uses them when they are. */
function unusableReferences(lookup: Lookup, configuration: EffectiveConfiguration): Problem[] {
  const { envoy, httpproxy, globalExtAuth, rateLimitService, tracing } = configuration;
  const extension = (path: string, [namespace = '', name = '']: readonly (string | undefined)[]) =>
    name === '' || lookup.extensionService(namespace, name)
      ? []
      : [unusable(path, `ExtensionService ${namespace}/${name} does not exist; create it or correct the name`)];
  const certificate = (path: string, ref: { readonly namespace?: string; readonly name?: string } | undefined) => {
    const { namespace = '', name = '' } = ref ?? {};
    if (name === '') return [];
    const secret = lookup.secret(namespace, name);
    const problem = secret ? tlsSecretProblem(secret) : NO_SECRET;
    return problem === undefined ? [] : [unusable(path, `Secret ${namespace}/${name} cannot be used: ${problem}`)];
  };
  return [
    ...certificate('envoy.clientCertificate', envoy.clientCertificate),
    ...certificate('httpproxy.fallbackCertificate', httpproxy.fallbackCertificate),
    ...extension('globalExtAuth.extensionRef', [
      globalExtAuth?.extensionRef?.namespace,
      globalExtAuth?.extensionRef?.name,
    ]),
    ...extension('rateLimitService.extensionService', rateLimitService?.extensionService?.split('/') ?? []),
    ...extension('tracing.extensionService', tracing?.extensionService?.split('/') ?? []),
  ];
}

function unusable(path: string, message: string): Problem {
  return warningAt(path, 'ReferenceNotUsable', 'NotFound', message);
}
