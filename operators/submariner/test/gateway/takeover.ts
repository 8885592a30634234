// A cluster with two gateways and another cluster that sends packets to it, and three ways in which the node of the active gateway
// goes. The roles are observed all the time: two gateways that act at once would be an error of its own.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lease } from '@capstan/kube';
import { readRejected, readRoutes } from '../../src/drivers/routes.ts';
import { GATEWAY_LEASE } from '../../src/gateway/gateway-operator.ts';
import { nodeOf } from '../../src/gateway/role.ts';
import { Gateway, MEMBER_NAMESPACE } from '../../src/kinds/index.ts';
import { configure } from '../../src/local/index.ts';
import { type Capture, routeEverything, startCapture, startTraffic } from '../cables/capture.ts';
import { createUnderlay, type TestGateway, type Underlay } from '../cables/underlay.ts';
import { until } from '../until.ts';
import { type CuttableProxy, createCuttableProxy } from './cuttable-proxy.ts';
import { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess } from './set.ts';

/** A node is killed with everything on it, frozen with everything on it, or cut off from other nodes and the API servers. */
export const TAKEOVER_EVENTS = ['killed', 'frozen', 'cut off'] as const;
export type TakeoverEvent = (typeof TAKEOVER_EVENTS)[number];

export interface TakeoverReport {
  readonly event: TakeoverEvent;
  /** The node that was active before. */
  readonly failed: string;
  /** The time without an answer to packets of the other cluster. */
  readonly outageMs: number;
  /** The time until the other gateway holds the Lease. */
  readonly leaseMs: number;
  readonly sent: number;
  readonly lost: number;
  /** Packets that left in clear, from the event until the failed node is back. */
  readonly clear: number;
  /** Moments in which two gateways were active. */
  readonly conflicts: readonly string[];
  /** Networks that the failed node rejects when it is back, and has given up its cables. */
  readonly rejected: readonly string[];
}

export interface TakeoverStage {
  readonly set: ClusterSet;
  readonly west: TestGateway;
  /** Lets the node of the active gateway go, waits for the other one, and brings the node back. */
  fail(event: TakeoverEvent): Promise<TakeoverReport>;
  close(): Promise<void>;
}

const NODES = ['east1', 'east2'] as const;
const PLACE = { namespace: MEMBER_NAMESPACE };
const LIMIT_MS = 60_000;
/** Four programs and a control plane start at once; that is not measured. */
const START_MS = 180_000;
const INTERVAL_MS = 5;

/** A gateway process on a node, and its connections to the API servers. */
interface Node {
  readonly network: TestGateway;
  readonly proxy: CuttableProxy;
  process: GatewayProcess;
}

export interface TakeoverOptions {
  readonly driver?: string;
  /** Whether the broker and the cluster with two gateways are on a real control plane; false by default. */
  readonly isReal?: boolean;
}

export async function openTakeoverStage({
  driver = 'wireguard',
  isReal = false,
}: TakeoverOptions = {}): Promise<TakeoverStage> {
  const underlay = createUnderlay([...NODES, 'west'], { networkOf: (id) => (id === 'west' ? 2 : 1) });
  const nodes = new Map<string, Node>();
  let set: ClusterSet | undefined;
  let capture: Capture | undefined;
  let roles: RoleObserver | undefined;
  const close = async () => {
    await roles?.stop();
    for (const { process } of nodes.values()) process.signal('SIGCONT');
    for (const { proxy } of nodes.values()) proxy.heal();
    await set?.close();
    for (const { proxy } of nodes.values()) await proxy.close();
    await capture?.stop();
    underlay.close();
  };
  try {
    routeEverything(underlay);
    set = await createClusterSet({ east: [], west: [] }, { driver, real: isReal ? ['broker', 'east'] : [] });
    for (const id of NODES) nodes.set(id, await openNode(set, networkOf(underlay, id)));
    const west = await set.gateway('west', networkOf(underlay, 'west'), { node: 'west' });
    capture = await startCapture(underlay);
    roles = observeRoles(set, nodes);
    const stage = { set, underlay, nodes, west, capture, roles };
    await untilSettled(stage, START_MS);
    return {
      set,
      west: networkOf(underlay, 'west'),
      fail: (event) => fail(stage, event),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Stage {
  readonly set: ClusterSet;
  readonly underlay: Underlay;
  readonly nodes: ReadonlyMap<string, Node>;
  /** The gateway of the other cluster. */
  readonly west: GatewayProcess;
  readonly capture: Capture;
  readonly roles: RoleObserver;
}

async function fail(stage: Stage, event: TakeoverEvent): Promise<TakeoverReport> {
  const { set, underlay, nodes, capture, roles } = stage;
  const failed = await untilSettled(stage);
  const other = NODES.find((id) => id !== failed) ?? '';
  const node = nodes.get(failed);
  if (node === undefined) throw new TypeError(`there is no node ${failed}`);
  const before = capture.count();
  const traffic = startTraffic(networkOf(underlay, 'west'), node.network.address, INTERVAL_MS);
  const answered = (count: number) => {
    const wanted = traffic.received() + count;
    return until(
      `${count} packets are answered`,
      LIMIT_MS,
      () => Promise.resolve(traffic.received() >= wanted),
      logsOf(stage),
    );
  };
  let leaseMs: number;
  let measured: Awaited<ReturnType<typeof traffic.stop>>;
  try {
    await answered(50);
    roles.leaves(failed);
    await goes(underlay, node, event);
    leaseMs = await until(`${other} is active`, LIMIT_MS, async () => (await holderOf(set)) === other, logsOf(stage));
    await answered(50);
  } finally {
    measured = await traffic.stop();
  }
  // The report of the node that has gone is removed by the one that took over.
  await until('one gateway reports itself as active', LIMIT_MS, async () => (await activeIn(set)).join() === other);
  roles.returns(failed);
  await comesBack(set, underlay, node, event);
  const host = node.network.host();
  await until(
    `${failed} gives up its cables`,
    LIMIT_MS,
    async () => (await readRoutes(host)).size === 0,
    logsOf(stage),
  );
  await sendsNothing(node.network, networkOf(underlay, 'west'));
  await untilSettled(stage);
  const rejected = [...(await readRejected(host))].toSorted();
  const { outageMs, sent, lost } = measured;
  const clear = capture.count().clear - before.clear;
  return { event, failed, outageMs, leaseMs, sent, lost, clear, conflicts: roles.conflicts(), rejected };
}

/** Sends packets from a node without cables for a while: none of them may be answered, and the capture counts those in clear. */
async function sendsNothing(from: TestGateway, to: TestGateway): Promise<void> {
  const traffic = [to.address, to.address6].map((address) => startTraffic(from, address, INTERVAL_MS));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  for (const each of traffic) {
    const { received } = await each.stop();
    if (received > 0) throw new Error(`${from.id} has no cable, and ${received} of its packets were answered`);
  }
}

/** Waits until each node has its role and the other cluster is connected; the node that is active. */
async function untilSettled(stage: Stage, limitMs = LIMIT_MS): Promise<string> {
  const { set, underlay } = stage;
  const detail = async () => [await states(set), await logsOf(stage)()];
  let active = '';
  await until(
    'one gateway is active, the other one passive, and the other cluster connected',
    limitMs,
    async () => {
      active = (await activeIn(set)).join();
      const wanted = NODES.map((id) => `${id} ${id === active ? 'active' : 'passive'}`).join();
      if (!NODES.some((id) => id === active) || (await states(set)) !== wanted) return false;
      const [cable, ...more] = await connectionsOf(set, 'west');
      const [here, ...others] = await connectionsOf(set, 'east');
      return (
        more.length + others.length === 0 &&
        cable?.status === 'connected' &&
        here?.status === 'connected' &&
        cable.usingIP === networkOf(underlay, active).local.privateIP
      );
    },
    detail,
  );
  return active;
}

async function openNode(set: ClusterSet, network: TestGateway): Promise<Node> {
  const { hostname: host, port } = new URL(set.brokerURL);
  const proxy = await createCuttableProxy({ host, port: Number(port) });
  return { network, proxy, process: await startOn(set, network, proxy) };
}

/** All that a gateway process exchanges with API servers passes through the proxy of its node. */
function startOn(set: ClusterSet, network: TestGateway, { port }: CuttableProxy): Promise<GatewayProcess> {
  const { port: direct } = new URL(set.brokerURL);
  const through = (text: string) => text.replaceAll(`:${direct}`, `:${port}`);
  const path = join(set.folder, `${network.id}.kubeconfig`);
  writeFileSync(path, through(readFileSync(set.kubeconfig('east'), 'utf8')), { mode: 0o600 });
  return set.gateway('east', network, {
    node: network.id,
    env: { KUBECONFIG: path, BROKER_K8S_APISERVER: through(set.brokerURL) },
  });
}

async function goes(
  underlay: Underlay,
  { network, proxy, process: gateway }: Node,
  event: TakeoverEvent,
): Promise<void> {
  if (event === 'frozen') {
    gateway.signal('SIGSTOP');
    signalAll(network, 'SIGSTOP');
    return;
  }
  setLink(underlay, network, 'down');
  if (event === 'cut off') {
    proxy.cut();
    return;
  }
  await gateway.kill('SIGKILL');
  signalAll(network, 'SIGKILL');
}

async function comesBack(set: ClusterSet, underlay: Underlay, node: Node, event: TakeoverEvent): Promise<void> {
  const { network, proxy, process: gateway } = node;
  if (event === 'frozen') {
    signalAll(network, 'SIGCONT');
    gateway.signal('SIGCONT');
    return;
  }
  setLink(underlay, network, 'up');
  if (event === 'cut off') proxy.heal();
  else node.process = await startOn(set, network, proxy);
}

/** Every process within the namespace of a gateway: daemons, the relay of NAT discovery, pings. */
function signalAll({ namespace }: TestGateway, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  const { stdout } = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  for (const pid of stdout.split(/\s+/).filter(Boolean)) {
    try {
      process.kill(Number(pid), signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The end of a gateway's link that is at the bridge. */
function setLink({ gateways, bridge }: Underlay, network: TestGateway, state: 'up' | 'down'): void {
  configure(bridge, [`link set v${gateways.indexOf(network) + 1} ${state}`]);
}

interface RoleObserver {
  /** A node goes: from now on nothing on it can act, or it must notice by itself that it may not. */
  leaves(node: string): void;
  /** A node is about to come back: its actions and reports count again. */
  returns(node: string): void;
  conflicts(): readonly string[];
  stop(): Promise<void>;
}

const OBSERVE_MS = 25;

/**
 * Finds two gateways that are active at once: in their reports, which are written each second, and in the times at which they
 * logged that they lead. A process that is gone without a word has led until it went.
 */
function observeRoles(set: ClusterSet, nodes: ReadonlyMap<string, Node>): RoleObserver {
  const away = new Set<string>();
  const reported = new Set<string>();
  /** The node of each process, also of those that have ended. */
  const processes = new Map<GatewayProcess, string>();
  const register = () => {
    for (const [node, { process: gateway }] of nodes) processes.set(gateway, node);
  };
  const ended = new AbortController();
  const observe = async () => {
    while (!ended.signal.aborted) {
      register();
      const active = (await activeIn(set)).filter((node) => !away.has(node));
      if (active.length > 1) reported.add(`${active.join(' and ')} reported themselves as active`);
      await new Promise((resolve) => setTimeout(resolve, OBSERVE_MS));
    }
  };
  const observing = observe();
  return {
    leaves(node) {
      register();
      away.add(node);
    },
    returns: (node) => void away.delete(node),
    conflicts() {
      register();
      return [...reported, ...overlaps([...processes].flatMap(([gateway, node]) => spansOf(gateway, node)))];
    },
    async stop() {
      ended.abort();
      await observing;
    },
  };
}

interface Span {
  readonly node: string;
  readonly from: number;
  readonly to: number;
}

/** The times in which a process led. */
export function spansOf(gateway: Pick<GatewayProcess, 'roles' | 'stoppedAt'>, node: string): Span[] {
  const changes = gateway.roles();
  const stops = gateway.stoppedAt();
  return changes.flatMap(({ at, isActive }, index) => {
    if (!isActive) return [];
    const logged = changes[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const stopped = stops.find((time) => time >= at) ?? Number.POSITIVE_INFINITY;
    return [{ node, from: at, to: Math.min(logged, stopped) }];
  });
}

export function overlaps(spans: readonly Span[]): string[] {
  const sorted = spans.toSorted((a, b) => a.from - b.from);
  return sorted.flatMap((each, index) =>
    sorted
      .slice(index + 1)
      .filter(({ from }) => from < each.to)
      .map(({ node, from }) => `${node} led from ${new Date(from).toISOString()} on, while ${each.node} did`),
  );
}

async function holderOf(set: ClusterSet): Promise<string | undefined> {
  const lease = await set.client('east').find(Lease, { ...PLACE, name: GATEWAY_LEASE });
  return nodeOf(lease?.spec?.holderIdentity);
}

async function activeIn(set: ClusterSet): Promise<string[]> {
  const { items } = await set.client('east').list(Gateway, PLACE);
  return items.flatMap(({ metadata, status }) => (status?.haStatus === 'active' ? [metadata.name ?? ''] : []));
}

async function states(set: ClusterSet): Promise<string> {
  const { items } = await set.client('east').list(Gateway, PLACE);
  return items
    .map(({ metadata, status }) => `${metadata.name} ${status?.haStatus}`)
    .toSorted()
    .join();
}

function logsOf({ set, nodes, west }: Pick<Stage, 'set' | 'nodes' | 'west'>): () => Promise<unknown> {
  return async () => [
    await connectionsOf(set, 'west'),
    [...nodes].map(([id, { process: gateway }]) => [id, gateway.log().slice(-2000)]),
    ['west', west.log().slice(-2000)],
  ];
}

function networkOf({ gateways }: Underlay, id: string): TestGateway {
  const found = gateways.find((each) => each.id === id);
  if (found === undefined) throw new TypeError(`there is no network for ${id}`);
  return found;
}
