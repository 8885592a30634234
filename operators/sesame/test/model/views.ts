// The effect of a policy on the model and on Envoy's messages: the fields in which a case differs from a plain one.
import { hostRoutes } from '../../src/gateway/envoy/host-routes.ts';
import type { Route } from '../../src/model/route.ts';
import { mergeHost } from '../../src/routing/assembly/piece.ts';
import { clusterMessage } from '../../src/routing/envoy/cluster-message.ts';
import { clustersOf, routeMessage, virtualHostMessage } from '../../src/routing/envoy/route-message.ts';
import { chainFragment, hostChain } from '../../src/routing/listener/filter-chain.ts';
import type { HostContribution } from '../../src/routing/proxy/translate-root.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';

export interface View {
  /** The routes and the host, for the translation. */
  readonly routes: readonly Route[];
  readonly host: HostContribution | undefined;
  readonly model: object;
  readonly message: object;
}

export function hostView(parts: readonly HostContribution[], settings: RoutingSettings): View {
  const host = mergeHost('a.test', parts);
  if (!host) return { routes: [], host, model: {}, message: {} };
  const { plain, secure, policies, rateLimits } = host;
  const routes = secure && secure.routes.length > 0 ? secure.routes : plain;
  return {
    routes,
    host,
    model: plainValue({
      routes,
      policies,
      rateLimits,
      isPlain: plain.map(({ action }) => action.kind),
      chain: secure && hostChain(host, secure, settings),
    }),
    message: plainValue({
      ...messageOf(routes, host),
      plain: secure && plain.map((route) => routeMessage(route)),
      chain: secure && chainOf(host, settings),
      fallback: secure?.tls?.fallback?.name,
      ...(secure?.tcp && { clusters: secure.tcp.map(({ cluster }) => clusterMessage(cluster)) }),
    }),
  };
}

/** The messages that are translated from routes and the policies of their host. */
export function messageOf(routes: readonly Route[], host?: HostContribution): object {
  const { routes: _routes, ...fields } = host ? virtualHostMessage({ ...host, routes: [] }) : {};
  return plainValue({
    routes: routes.map((route) => routeMessage(route)),
    clusters: routes.flatMap((route) => clustersOf(route).map((cluster) => clusterMessage(cluster))),
    host: fields,
  });
}

function chainOf(host: HostContribution, settings: RoutingSettings): object | undefined {
  return host.secure && chainFragment(hostChain(host, host.secure, settings)).value;
}

export function routesView(routes: readonly Route[]): View {
  // The order and the choice of routes is part of it.
  hostRoutes('routes', 'a.test', routes);
  return { routes, host: undefined, model: plainValue({ routes }), message: messageOf(routes) };
}

/** Scripts are longer, and their start contains the configured values. */
const MOST = 160;

/** As YAML has it: without fields that are not set, without bytes, and with the start of long texts. */
export function plainValue<Value extends object>(value: Value): Value {
  const isBytes = (part: unknown): boolean =>
    part instanceof Uint8Array ||
    (typeof part === 'object' && part !== null && 'type' in part && part.type === 'Buffer');
  return JSON.parse(
    JSON.stringify(value, function (this: Record<string, unknown>, name, part: unknown) {
      if (isBytes(this[name])) return 'BYTES';
      return typeof part === 'string' && part.length > MOST ? `${part.slice(0, MOST).trim()}…` : part;
    }),
  ) as Value;
}

/** The fields of the second value that differ from those of the first; null for one that it has not. */
export function difference(before: unknown, after: unknown): unknown {
  if (JSON.stringify(before) === JSON.stringify(after)) return undefined;
  if (Array.isArray(before) && Array.isArray(after) && before.length === 1 && after.length === 1)
    return [difference(before[0], after[0])];
  if (!isFields(before) || !isFields(after)) return after;
  // A choice of another kind is shown whole.
  if (before['kind'] !== after['kind']) return after;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const found = names.flatMap((name) => {
    const each = name in after ? difference(before[name], after[name]) : null;
    return each === undefined ? [] : [[name, each] as const];
  });
  return Object.fromEntries(found);
}

export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
