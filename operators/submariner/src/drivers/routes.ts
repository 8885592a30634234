// The routes of all cables, in a separate table. A route is replaced as a whole: a pair changes its driver at the moment when the kernel
// applies the new route.
import { type Host, ip, lenient, type Step } from '../host/index.ts';
import { canonicalCidr } from './addresses.ts';
import type { RouteTarget } from './driver.ts';

export const ROUTE_TABLE = 100;
const RULE_PRIORITY = '100';
const METRIC = '100';
const FAMILIES = ['-4', '-6'] as const;
/** These numbers mark our routes: to subnets, between gateways, and of the backstop. Only routes with them are ever removed. */
export const ROUTE_PROTOCOL = '144';
const LINK_PROTOCOL = '145';
const BACKSTOP_PROTOCOL = '146';
/** The worst metric: every route of a cable has precedence. */
const BACKSTOP_METRIC = '4294967295';

/** Addresses of this host for packets that it sends itself. */
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

/** Returns a route to an address of another gateway that packets of a cable pass through. */
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

/** Our routes on the host: those of cables, and the networks that the backstop rejects, in canonical form. */
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

/** Reads the routes of cables from the host. */
export async function readRoutes(host: Host): Promise<ReadonlyMap<string, Route>> {
  return (await readTable(host)).routes;
}

/** Rejects packets to a network while no cable leads there. The route names no device, so it stays when devices are deleted. */
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

/** Adds the rule by which our table is searched before the main one. Several callers, also of two processes, may add it at once. */
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
