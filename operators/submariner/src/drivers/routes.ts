// The routes of all cables, in a table of their own. A route is replaced as a whole: the moment in which a pair changes its
// driver is the moment in which the kernel takes the new one.
import { type Host, ip, lenient, type Step } from '../host/index.ts';
import { canonicalCidr } from './addresses.ts';
import type { RouteTarget } from './driver.ts';

export const ROUTE_TABLE = 100;
const RULE_PRIORITY = '100';
const METRIC = '100';
const FAMILIES = ['-4', '-6'] as const;
/** These numbers mark our routes, and only such routes are ever removed: to subnets, between gateways, and of the backstop. */
export const ROUTE_PROTOCOL = '144';
const LINK_PROTOCOL = '145';
const BACKSTOP_PROTOCOL = '146';
/** The worst that there is: every route of a cable comes before. */
const BACKSTOP_METRIC = '4294967295';

/** Addresses of this host from which its own packets are sent. */
export interface Sources {
  readonly sourceIP: string | undefined;
  readonly sourceIP6?: string | undefined;
}

export function routeStep(subnet: string, { device, via, via6, mtu }: RouteTarget, sources: Sources): Step {
  const isV6 = subnet.includes(':');
  const hop = isV6 ? via6 : via;
  const source = isV6 ? sources.sourceIP6 : sources.sourceIP;
  const target = { device, ...(hop !== undefined && { via: hop }), ...(mtu !== undefined && { mtu }) };
  return anyRouteStep(subnet, target, source, ROUTE_PROTOCOL);
}

/** A route to an address of another gateway, which packets of a cable pass through. */
export function linkRouteStep(address: string, device: string, source: string): Step {
  return anyRouteStep(hostRoute(address), { device }, source, LINK_PROTOCOL);
}

function anyRouteStep(
  subnet: string,
  { device, via, mtu }: RouteTarget,
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
    ...(mtu === undefined ? [] : ['mtu', String(mtu)]),
  );
}

export function unrouteStep(subnet: string): Step {
  return lenient(ip('route', 'del', subnet, 'table', String(ROUTE_TABLE), 'proto', ROUTE_PROTOCOL));
}

export function hostRoute(address: string): string {
  return `${address}/${address.includes(':') ? 128 : 32}`;
}

export function unlinkRouteStep(address: string): Step {
  return lenient(ip('route', 'del', hostRoute(address), 'table', String(ROUTE_TABLE), 'proto', LINK_PROTOCOL));
}

export interface Route extends RouteTarget {
  readonly subnet: string;
}

/** Our routes as they are on the host: those of cables, and the networks that the backstop rejects in their canonical form. */
export interface RouteTable {
  readonly routes: ReadonlyMap<string, Route>;
  readonly rejected: ReadonlySet<string>;
}

export async function readTable(host: Host): Promise<RouteTable> {
  const found = await Promise.all(
    FAMILIES.map((family) => host.query('ip', family, 'route', 'show', 'table', String(ROUTE_TABLE))),
  );
  const of = (wanted: string) => found.flat().filter(({ protocol }) => String(protocol) === wanted);
  return {
    routes: new Map(
      of(ROUTE_PROTOCOL).map(({ dst, dev, gateway }) => {
        const subnet = String(dst).includes('/') ? String(dst) : hostRoute(String(dst));
        return [subnet, { subnet, device: String(dev), ...(typeof gateway === 'string' && { via: gateway }) }];
      }),
    ),
    rejected: new Set(of(BACKSTOP_PROTOCOL).map(({ dst }) => canonicalCidr(String(dst)))),
  };
}

/** The routes of cables as they are on the host. */
export async function readRoutes(host: Host): Promise<ReadonlyMap<string, Route>> {
  return (await readTable(host)).routes;
}

/** Rejects packets to a network as long as no cable leads there. It names no device, so it stays when devices go. */
export function rejectStep(network: string): Step {
  return backstopStep('replace', network);
}

export function unrejectStep(network: string): Step {
  return lenient(backstopStep('del', network));
}

function backstopStep(verb: 'replace' | 'del', network: string): Step {
  const mark = ['table', String(ROUTE_TABLE), 'metric', BACKSTOP_METRIC, 'proto', BACKSTOP_PROTOCOL];
  return ip('route', verb, 'unreachable', network, ...mark);
}

export async function readRejected(host: Host): Promise<ReadonlySet<string>> {
  return (await readTable(host)).rejected;
}

/** The rule that has our table looked up before the main one. Several callers may add it at once, also of two processes. */
export async function ensureRule(host: Host): Promise<void> {
  for (const family of FAMILIES) {
    const isThere = async () => {
      const rules = await host.query('ip', family, 'rule', 'show', 'pref', RULE_PRIORITY);
      return rules.some(({ table }) => String(table) === String(ROUTE_TABLE));
    };
    if (await isThere()) continue;
    const step = ['rule', 'add', 'pref', RULE_PRIORITY, 'lookup', String(ROUTE_TABLE)];
    // A host without IPv6 has no rules for it.
    if (family === '-6') await host.run([...host.programs.ip, family, ...step]);
    else
      await host.apply([ip(...step)]).catch(async (error: unknown) => {
        if (!(await isThere())) throw error;
      });
  }
}

/** Removes the routes of cables. The backstop and the rule that it needs stay. */
export async function removeCableRoutes(host: Host): Promise<void> {
  const routes = await readRoutes(host);
  const table = ['table', String(ROUTE_TABLE), 'proto', LINK_PROTOCOL];
  await host.apply([...[...routes.keys()].map(unrouteStep), lenient(ip('route', 'flush', ...table))]);
  await host.run([...host.programs.ip, '-6', 'route', 'flush', ...table]);
}

/** Removes our routes, the backstop last, and the rule. */
export async function removeRoutes(host: Host): Promise<void> {
  await removeCableRoutes(host);
  await host.apply([
    ...[...(await readRejected(host))].map(unrejectStep),
    lenient(ip('rule', 'del', 'pref', RULE_PRIORITY, 'lookup', String(ROUTE_TABLE))),
  ]);
  await host.run([...host.programs.ip, '-6', 'rule', 'del', 'pref', RULE_PRIORITY, 'lookup', String(ROUTE_TABLE)]);
}
