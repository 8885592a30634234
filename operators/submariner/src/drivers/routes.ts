// The routes of all cables, in a table of their own. A route is replaced as a whole: the moment in which a pair changes its
// driver is the moment in which the kernel takes the new one.
import { type Host, ip, lenient, type Step } from '../host/index.ts';
import type { RouteTarget } from './driver.ts';

export const ROUTE_TABLE = 100;
const RULE_PRIORITY = '100';
const METRIC = '100';
/** By these numbers our routes are told from all others, and only they are ever removed: to subnets, and between gateways. */
export const ROUTE_PROTOCOL = '144';
const LINK_PROTOCOL = '145';

export function routeStep(subnet: string, { device, via }: RouteTarget, source: string | undefined): Step {
  return anyRouteStep(subnet, { device, ...(via !== undefined && { via }) }, source, ROUTE_PROTOCOL);
}

/** A route to an address of another gateway, which packets of a cable pass through. */
export function linkRouteStep(address: string, device: string, source: string): Step {
  return anyRouteStep(`${address}/32`, { device }, source, LINK_PROTOCOL);
}

function anyRouteStep(
  subnet: string,
  { device, via }: RouteTarget,
  source: string | undefined,
  protocol: string,
): Step {
  return ip(
    'route',
    'replace',
    subnet,
    ...(via === undefined ? [] : ['via', via]),
    'dev',
    device,
    ...(via === undefined ? [] : ['onlink']),
    'table',
    String(ROUTE_TABLE),
    'metric',
    METRIC,
    'proto',
    protocol,
    ...(source === undefined ? [] : ['src', source]),
  );
}

export function unrouteStep(subnet: string): Step {
  return lenient(ip('route', 'del', subnet, 'table', String(ROUTE_TABLE), 'proto', ROUTE_PROTOCOL));
}

export function unlinkRouteStep(address: string): Step {
  return lenient(ip('route', 'del', `${address}/32`, 'table', String(ROUTE_TABLE), 'proto', LINK_PROTOCOL));
}

export interface Route extends RouteTarget {
  readonly subnet: string;
}

/** Our routes as they are on the host. */
export async function readRoutes(host: Host): Promise<Map<string, Route>> {
  const routes = await host.query('ip', '-4', 'route', 'show', 'table', String(ROUTE_TABLE), 'proto', ROUTE_PROTOCOL);
  return new Map(
    routes.map(({ dst, dev, gateway }) => {
      const subnet = String(dst).includes('/') ? String(dst) : `${String(dst)}/32`;
      return [subnet, { subnet, device: String(dev), ...(typeof gateway === 'string' && { via: gateway }) }];
    }),
  );
}

/** The rule that has our table looked up before the main one. */
export async function ensureRule(host: Host): Promise<void> {
  const rules = await host.query('ip', 'rule', 'show', 'pref', RULE_PRIORITY);
  if (rules.some(({ table }) => String(table) === String(ROUTE_TABLE))) return;
  await host.apply([ip('rule', 'add', 'pref', RULE_PRIORITY, 'lookup', String(ROUTE_TABLE))]);
}

/** Removes our routes and the rule. */
export async function removeRoutes(host: Host): Promise<void> {
  const routes = await readRoutes(host);
  await host.apply([
    ...[...routes.keys()].map(unrouteStep),
    lenient(ip('route', 'flush', 'table', String(ROUTE_TABLE), 'proto', LINK_PROTOCOL)),
    lenient(ip('rule', 'del', 'pref', RULE_PRIORITY, 'lookup', String(ROUTE_TABLE))),
  ]);
}
