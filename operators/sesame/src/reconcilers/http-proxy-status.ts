// The status of an HTTPProxy: its problems in every root that it is part of.
import {
  type ConditionInput,
  type Derived,
  index,
  plan,
  type Reader,
  type Reconciler,
  reconciler,
} from '@capstan/reconcile';
import { isContours } from '../kinds/contour.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import type { Findings, RouteProblem } from '../result.ts';
import type { RouteGraph, ServedRoot } from '../routes/pieces.ts';
import { isServed, proxyView, ROUTE_READS } from '../routing/lookup.ts';
import { type ContourStatuses, isLeftToContour } from './contour-statuses.ts';

/** Where a proxy is included: by HTTP routes or by a TCP proxy. */
export const includers = index(HTTPProxy, 'includes', ({ metadata, spec }) => {
  const own = metadata.namespace ?? '';
  const tcp = spec.tcpproxy?.include ?? spec.tcpproxy?.includes;
  const names = [...(spec.includes ?? []), ...(tcp ? [tcp] : [])];
  return [...new Set(names.map(({ name, namespace }) => `${namespace ? namespace : own}/${name}`))];
});

/** The refusals of Envoys, by origin: `HTTPProxy default/shop`. */
export type Refusals = Readonly<Record<string, readonly string[]>>;

export interface StatusOptions {
  readonly graph: RouteGraph;
  /** Read with the empty key; none by default. */
  readonly refusals?: Derived<Refusals>;
  /** Addresses that clients reach Envoy at, as `status.loadBalancer` has them; none by default. */
  loadBalancer?(read: Reader): { readonly ingress?: readonly object[] } | undefined;
  /** Whose statuses are left to Contour; none by default. */
  readonly contour?: ContourStatuses | undefined;
  /** HTTPProxies, with those of Contour if they are read. */
  readonly kind?: typeof HTTPProxy;
}

export const HTTP_PROXY_STATUS = 'http-proxy-status';

export function httpProxyStatus({
  graph,
  refusals,
  loadBalancer,
  contour,
  kind = HTTPProxy,
}: StatusOptions): Reconciler {
  return reconciler({
    name: HTTP_PROXY_STATUS,
    resource: kind,
    reads: [...ROUTE_READS.filter((read) => read !== HTTPProxy), ...(contour?.reads ?? [])],
    writesStatus: true,
    concurrency: 32,
    reconcile({ object: proxy, read }) {
      const settings = read.derived(graph.settings, '');
      if (!isServed({ metadata: { annotations: proxy.metadata.annotations }, spec: proxy.spec }, settings.ingress))
        return plan({});
      if (isContours(proxy) && isLeftToContour(read, contour)) return plan({});
      const key = `${proxy.metadata.namespace ?? ''}/${proxy.metadata.name ?? ''}`;
      const roots = rootsOf(read, key, proxy.spec.virtualhost !== undefined);
      const found = findingsOf(read, graph, key, roots);
      const refused = refusals ? (read.derived(refusals, '')[`HTTPProxy ${key}`] ?? []) : [];
      const warnings = refused.map(
        (message): RouteProblem => ({ type: 'RouteError', reason: 'RefusedByEnvoy', message }),
      );
      const { status, conditions } = statusOf(
        warnings.length > 0 ? [...found, { errors: [], warnings }] : found,
        roots,
      );
      const addresses = loadBalancer?.(read);
      return plan({ conditions, status: { ...status, ...(addresses && { loadBalancer: addresses }) } });
    },
  });
}

/** Returns the findings about a proxy from every root that it is part of. */
function findingsOf(read: Reader, graph: RouteGraph, key: string, roots: readonly string[]): Findings[] {
  return roots.flatMap(
    (root) => read.derived(graph.roots, root, listedFindings).find(([name]) => name === key)?.[1] ?? [],
  );
}

/** A root is its own; of a part, all roots from which a chain of includes leads here. */
function rootsOf(read: Reader, key: string, isRoot: boolean): string[] {
  if (isRoot) return [key];
  const roots = new Set<string>();
  const seen = new Set([key]);
  const pending = [key];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const { id, isRoot: isTop } of read.by(includers, next, identity)) {
      if (seen.has(id)) continue;
      seen.add(id);
      if (isTop) roots.add(id);
      else pending.push(id);
    }
  }
  return [...roots];
}

function identity(proxy: HTTPProxy): { id: string; isRoot: boolean } {
  const { metadata, spec } = proxyView(proxy);
  return { id: `${metadata.namespace ?? ''}/${metadata.name ?? ''}`, isRoot: spec.virtualhost !== undefined };
}

/** Plain data, so that only a changed problem wakes a reader. */
function listedFindings({ findings }: ServedRoot): ServedRoot['findings'] {
  return findings;
}

const ORPHANED: RouteProblem = {
  type: 'Orphaned',
  reason: 'Orphaned',
  message:
    'spec.virtualhost: it has none, and no HTTPProxy with one includes this one; include it there, or give it a virtualhost',
};

interface ProxyStatus {
  readonly status: { readonly currentStatus: string; readonly description: string };
  readonly conditions: readonly ConditionInput[];
}

/** The status of nearly all of them. */
const VALID = statusWith([], []);

/** Neither a root that is not valid as a whole nor an include that is not valid leads here. */
function orphaned(roots: readonly string[]): RouteProblem {
  if (roots.length === 0) return ORPHANED;
  const names = `HTTPProxy ${roots.toSorted().join(', ')}`;
  const message = `metadata.name: the include of ${names} leads nowhere, because it or that HTTPProxy is not valid; correct the errors of ${names}`;
  return { ...ORPHANED, message };
}

function statusOf(found: readonly Findings[], roots: readonly string[]): ProxyStatus {
  if (found.length === 0) return statusWith([orphaned(roots)], []);
  const errors = unique(found.flatMap((each) => each.errors));
  const warnings = unique(found.flatMap((each) => each.warnings));
  return errors.length + warnings.length === 0 ? VALID : statusWith(errors, warnings);
}

function statusWith(errors: readonly RouteProblem[], warnings: readonly RouteProblem[]): ProxyStatus {
  const orphan = errors.find(({ type }) => type === ORPHANED.type);
  const currentStatus = orphan ? 'orphaned' : errors.length > 0 ? 'invalid' : 'valid';
  const message =
    errors.length === 0
      ? warnings.length === 0
        ? 'Valid HTTPProxy'
        : 'Valid HTTPProxy, but with warnings, see Warnings for details'
      : 'At least one error present, see Errors for details';
  const details = {
    ...(errors.length > 0 && { errors: errors.map(subCondition) }),
    ...(warnings.length > 0 && { warnings: warnings.map(subCondition) }),
  };
  return {
    status: { currentStatus, description: orphan ? orphan.message : message },
    conditions: [
      {
        type: 'Valid',
        status: errors.length > 0 ? 'False' : 'True',
        reason: errors.length > 0 ? 'ErrorPresent' : 'Valid',
        message,
        details,
      },
    ],
  };
}

function unique(problems: readonly RouteProblem[]): RouteProblem[] {
  return [
    ...new Map(problems.map((problem) => [`${problem.type} ${problem.reason} ${problem.message}`, problem])).values(),
  ];
}

function subCondition({ type, reason, message }: RouteProblem) {
  return { type, status: 'True', reason, message };
}
