// An ingress by Routes of OpenShift. The router chooses the host of a Route and reports it in the status. Until then the gateway is left
// out of the configuration, so that no proxy starts with a meaningless address. A known domain is kept while a Route is being recreated.
// Only another domain is a change.
import type { Reader } from '@capstan/reconcile';
import type { GatewayConfig } from '../configuration/schema.ts';
import { SNI_PORT } from '../configuration/schema.ts';
import { OpenShiftRoute, VirtualKafkaCluster } from '../kinds/index.ts';
import type { Warning } from '../resolution/problem.ts';
import { type ClusterWay, ROUTE_PORT, type RouteDomains, routeName } from './cluster-fragment.ts';
import type { NamespacedRef } from './keys.ts';

export interface RouteWay {
  /** Absent while the host is unknown. */
  readonly config?: Omit<GatewayConfig, 'name' | 'tls'>;
  readonly way: ClusterWay;
  readonly warnings: readonly Warning[];
}

export function resolveRouteWay(
  read: Reader,
  ref: NamespacedRef,
  ingress: string,
  nodeIds: readonly number[],
  path: string,
): RouteWay {
  const known = read.get(VirtualKafkaCluster, ref, knownDomainsOf)?.[ingress];
  const warnings: Warning[] = [];
  const domainOf = (suffix: string | number, kept: string | undefined) => {
    const name = routeName(ref.name, suffix);
    const state = read.get(OpenShiftRoute, { namespace: ref.namespace, name }, routeStateOf);
    const domains = (state?.hosts ?? [])
      .filter((host) => host.startsWith(`${name}.`))
      .map((host) => host.slice(name.length + 1));
    const domain = kept !== undefined && domains.includes(kept) ? kept : (domains[0] ?? kept);
    if (state?.refusal !== undefined && domains.length === 0)
      warnings.push({
        reason: 'RouteNotAdmitted',
        path,
        message: `the router does not admit route/${name} in namespace ${ref.namespace}: ${state.refusal}; clients cannot get in by it until it does`,
      });
    else if (domain === undefined)
      warnings.push({
        reason: 'RoutePending',
        path,
        message: `route/${name} in namespace ${ref.namespace} has no host yet; the gateway is added when the router gives it one`,
      });
    return domain;
  };
  const bootstrap = domainOf('bootstrap', known?.bootstrap);
  const [first] = nodeIds;
  const nodes = first === undefined ? undefined : domainOf(first, known?.nodes);
  const way = { ingress, type: 'Route', protocol: 'TLS', nodeIds } as const;
  if (bootstrap === undefined || nodes === undefined) return { way, warnings };
  return {
    config: {
      sniHostIdentifiesNode: {
        bootstrapAddress: `$(virtualClusterName)-bootstrap.${bootstrap}:${SNI_PORT}`,
        advertisedBrokerAddressPattern: `$(virtualClusterName)-$(nodeId).${nodes}:${ROUTE_PORT}`,
      },
    },
    way: {
      ...way,
      bootstrapServer: `${routeName(ref.name, 'bootstrap')}.${bootstrap}:${ROUTE_PORT}`,
      domains: { bootstrap, nodes },
    },
    warnings,
  };
}

/** Returns the hosts in a stable order, and the reason if a router refused the Route. */
const routeStateOf = ({ status }: OpenShiftRoute) => {
  const ingresses = status?.ingress ?? [];
  const refused = ingresses.flatMap(({ conditions = [] }) =>
    conditions.filter(({ type, status: is }) => type === 'Admitted' && is === 'False'),
  );
  const [first] = refused;
  return {
    hosts: ingresses
      .filter(({ conditions = [] }) => !conditions.some((condition) => refused.includes(condition)))
      .flatMap(({ host }) => (host ? [host] : []))
      .toSorted(),
    refusal: first && (first.message || first.reason || 'it gives no reason'),
  };
};

/** Returns the domains of the configuration in force, by ingress. */
const knownDomainsOf = ({ status }: VirtualKafkaCluster): Record<string, RouteDomains> => {
  const { ways = [] } = (status?.memory?.lastGood ?? {}) as { ways?: ClusterWay[] };
  return Object.fromEntries(ways.flatMap(({ ingress, domains }) => (domains ? [[ingress, domains]] : [])));
};
