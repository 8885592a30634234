// A way in by Routes of OpenShift. Which host a Route gets is the router's choice and known only afterwards, from the status:
// until then the gateway is left out of the configuration, so that no proxy starts with an address that means nothing. A
// domain that was known once is kept while a Route is being created again; only another domain counts as a change.
import type { Reader } from '@capstan/reconcile';
import type { GatewayConfig } from '../configuration/schema.ts';
import { SNI_PORT } from '../configuration/schema.ts';
import { OpenShiftRoute, VirtualKafkaCluster } from '../kinds/index.ts';
import type { Warning } from '../resolution/problem.ts';
import { type ClusterWay, ROUTE_PORT, type RouteDomains, routeName } from './cluster-fragment.ts';
import type { NamespacedRef } from './keys.ts';

export interface RouteWay {
  /** Absent while no host is known. */
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

/** Hosts in a stable order, and why a router refused, if one did. */
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

/** The domains of the configuration that is in force, by ingress. */
const knownDomainsOf = ({ status }: VirtualKafkaCluster): Record<string, RouteDomains> => {
  const { ways = [] } = (status?.memory?.lastGood ?? {}) as { ways?: ClusterWay[] };
  return Object.fromEntries(ways.flatMap(({ ingress, domains }) => (domains ? [[ingress, domains]] : [])));
};
