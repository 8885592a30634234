// The page of one Sesame: listeners, hosts, routes and endpoints from the route map, and the acknowledgements of Envoys. It also answers
// which route a request takes, and why it takes no other.
import { type Derived, derivation, type Reader, type Report, report } from '@capstan/reconcile';
import {
  type ExplainedRequest,
  type ExplainedService,
  type Explanation,
  explanationKey,
  explanations,
  requestView,
  shownService,
} from '../explain/explain.ts';
import type { ExplainedGateways } from '../explain/explain-gateways.ts';
import { hostSummaries, objectText, routeMaps } from '../explain/route-map.ts';
import type { HostSummary, MappedListener, MappedRoute, RouteMap } from '../model/route-map.ts';
import type { RouteGraph } from '../routes/pieces.ts';
import { fits, type RequestView } from '../routing/request-match.ts';
import { readAcknowledgements } from './acknowledgements.ts';

export interface IngressReport {
  readonly instance: string;
  readonly listeners: readonly { readonly name: string; readonly address: string; readonly hosts: number }[];
  readonly hosts: readonly ReportedHost[];
  readonly hostCount: number;
  readonly brokenCount: number;
}

interface ReportedHost {
  readonly host: string;
  readonly isServed: boolean;
  /** Ids of the objects that define the host. */
  readonly from: readonly string[];
  readonly problems: readonly string[];
  readonly routeCount: number;
  readonly listeners: readonly {
    readonly name: string;
    readonly address: string;
    readonly filters: readonly string[];
    readonly routes: readonly ReportedRoute[];
  }[];
}

interface ReportedRoute {
  readonly match: string;
  readonly from?: string;
  readonly field?: string;
  readonly answer?: string;
  readonly services: readonly ExplainedService[];
  readonly isUnconditional: boolean;
}

export interface IngressReportOptions {
  /** `NAMESPACE/NAME` of its SesameConfiguration. */
  readonly instance: string;
  readonly graph: RouteGraph;
  readonly gateways?: ExplainedGateways | undefined;
}

const MAX_HOSTS = 500;
/** Above that, routes are given for one host at a time. */
const MAX_HOSTS_WITH_ROUTES = 60;
const MAX_SKIPPED = 50;

export function ingressReports({ instance, graph, gateways }: IngressReportOptions): Report[] {
  const maps = routeMaps(graph, gateways);
  const summaries = hostSummaries(graph, gateways);
  return [
    report({
      name: `ingress/${instance}`,
      title: `Ingress ${instance}`,
      of: derivation<IngressReport | undefined>({
        name: 'ingress-report',
        compute({ key, read }) {
          if (key !== '' && !key.startsWith('?')) return undefined;
          return ingressReport(instance, new URLSearchParams(key), read, { maps, summaries });
        },
      }),
      complete: async (body, context) => ({ ...body, ...(await readAcknowledgements(instance, context)) }),
    }),
    report({
      name: `explain/${instance}`,
      title: `Request to ${instance}`,
      isQuestion: true,
      of: explainedRequests(explanations(graph, gateways), maps),
    }),
  ];
}

interface Sources {
  readonly maps: Derived<RouteMap>;
  readonly summaries: Derived<readonly HostSummary[]>;
}

function ingressReport(instance: string, query: URLSearchParams, read: Reader, { maps, summaries }: Sources) {
  const all = read.derived(summaries, '');
  const wanted = query.get('host')?.toLowerCase();
  // Hosts with problems come first; the order among the others is by name.
  const sorted = all.toSorted((a, b) => Number(b.problems.length > 0) - Number(a.problems.length > 0));
  const after = query.get('after');
  const start = after === null ? 0 : sorted.findIndex(({ host }) => host === after) + 1;
  const chosen =
    wanted === undefined ? sorted.slice(start, start + MAX_HOSTS) : all.filter(({ host }) => host === wanted);
  const hasRoutes = wanted !== undefined || all.length <= MAX_HOSTS_WITH_ROUTES;
  const addresses = new Map<string, string>();
  const hosts = chosen.map((summary) => {
    const { listeners } = hasRoutes ? read.derived(maps, summary.host) : { listeners: [] };
    for (const { name, address } of listeners) addresses.set(name, address);
    return hostOf(summary, listeners);
  });
  const names = [...new Set(all.flatMap(({ listeners }) => listeners))];
  return {
    instance,
    listeners: names.map((name) => ({
      name,
      address: addresses.get(name) ?? '',
      hosts: all.filter(({ listeners }) => listeners.includes(name)).length,
    })),
    hosts,
    hostCount: all.length,
    brokenCount: all.filter(({ problems }) => problems.length > 0).length,
  };
}

function hostOf(
  { host, listeners: served, origins, problems }: HostSummary,
  listeners: readonly MappedListener[],
): ReportedHost {
  const found = listeners.flatMap(({ name, address, hosts }) =>
    hosts
      .filter((one) => one.host === host)
      .map(({ filters, routes }) => ({ name, address, filters, routes: routes.map(routeOf) })),
  );
  return {
    host,
    isServed: served.length > 0,
    from: [...new Set(origins.map(idOf))],
    problems,
    routeCount: found.reduce((sum, { routes }) => sum + routes.length, 0),
    listeners: found,
  };
}

const GROUPS: Readonly<Record<string, string>> = {
  HTTPProxy: 'projectsesame.io',
  Ingress: 'networking.k8s.io',
};

/** The id of an object as the console has it: `Kind.group namespace/name`. */
function idOf({ kind, namespace, name }: HostSummary['origins'][number]): string {
  return `${kind}.${GROUPS[kind] ?? 'gateway.networking.k8s.io'} ${namespace}/${name}`;
}

function routeOf({ text, origin, answer, clusters, match }: MappedRoute): ReportedRoute {
  return {
    match: text,
    ...(origin && { from: objectText(origin), field: origin.path }),
    ...(answer !== undefined && { answer }),
    services: clusters.filter(({ isMirror }) => !isMirror).map(shownService),
    isUnconditional: match === undefined || (match.headers.length === 0 && match.query.length === 0),
  };
}

/** Keys are requests as JSON. */
function explainedRequests(explained: Derived<Explanation>, maps: Derived<RouteMap>) {
  return derivation({
    name: 'explained-request',
    compute({ key, read }) {
      const request = JSON.parse(key) as ExplainedRequest;
      // A request that is asked about is known whole.
      const asked = explanationKey({ ...request, method: request.method ?? 'GET' });
      const { listeners, servedAs, ...answer } = read.derived(explained, asked);
      const mapped = servedAs === undefined ? [] : read.derived(maps, servedAs).listeners;
      const view = requestView(asked);
      return {
        ...answer,
        ...(servedAs !== undefined && { servedAs }),
        listeners: listeners.map((listener) => ({
          ...listener,
          skipped: mapped
            .filter(({ name }) => listener.name === name || listener.name.startsWith(`${name}, `))
            .flatMap(({ hosts }) => hosts.flatMap(({ routes }) => routes))
            .flatMap((route) => skippedOf(route, view))
            .slice(0, MAX_SKIPPED),
        })),
      };
    },
  });
}

function skippedOf({ text, origin, match }: MappedRoute, view: RequestView) {
  if (match === undefined || fits(match, view) !== 'no') return [];
  const isPath = fits({ ...match, headers: [], query: [] }, view) === 'no';
  const isHeader = fits({ ...match, query: [] }, view) === 'no';
  const reason = isPath
    ? 'the path does not match'
    : isHeader
      ? 'the method or a header does not match'
      : 'a query parameter does not match';
  return [{ match: text, ...(origin && { from: objectText(origin), field: origin.path }), reason }];
}
