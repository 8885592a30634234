// A VXLAN link and its peers, as steps. Each peer has one unicast entry: upstream's all-zero entries send every packet for one peer to all
// of them.

import { type Clock, sleep } from '@capstan/kube';
import { bridge, type Host, ip, lenient, markLinkStep, restoreLinkName, type Step } from '../host/index.ts';
import { macOf, privateIPOfMac, vtep6Of } from './addresses.ts';
import { looseReversePath } from './reverse-path.ts';
import { linkRouteStep, unlinkRouteStep } from './routes.ts';

export interface VxlanLink {
  readonly device: string;
  readonly id: number;
  readonly port: number;
  /** The only source port. By default the kernel chooses it. */
  readonly sourcePort?: number;
  readonly mtu: number;
  /** The underlay address that it sends from. */
  readonly localIP: string;
  readonly mac: string;
  /** Its own address on the link. */
  readonly vtep: string;
}

export interface VxlanPeer {
  readonly privateIP: string;
  /** The underlay address to which its packets are sent. */
  readonly underlayIP: string;
  readonly vtep: string;
  /** Whether it has IPv6 subnets. */
  readonly isDual?: boolean;
}

export function linkSteps({ device, id, port, sourcePort, mtu, localIP, mac, vtep }: VxlanLink): Step[] {
  const kind = `type vxlan id ${id} local ${localIP} dstport ${port} nolearning`;
  // The range excludes its end.
  const range = sourcePort === undefined ? [] : ['srcport', String(sourcePort), String(sourcePort + 1)];
  return [
    ip(...`link add ${device} mtu ${mtu} address ${mac} ${kind}`.split(' '), ...range),
    // Add no route to the network, since several links may have addresses of it.
    ip('addr', 'add', `${vtep}/32`, 'dev', device),
    // This works only if the host has IPv6.
    lenient(ip('addr', 'add', `${vtep6Of(vtep)}/128`, 'dev', device, 'nodad')),
    ip('link', 'set', device, 'up'),
    markLinkStep(device),
    ...looseReversePath(device),
  ];
}

export function peerSteps(link: Pick<VxlanLink, 'device' | 'vtep'>, peer: VxlanPeer): Step[] {
  const { device } = link;
  const { privateIP, underlayIP, vtep, isDual = false } = peer;
  const mac = macOf(privateIP);
  const vtep6 = vtep6Of(vtep);
  return [
    bridge('fdb', 'replace', mac, 'dev', device, 'dst', underlayIP, 'self', 'permanent'),
    ip('neigh', 'replace', vtep, 'lladdr', mac, 'dev', device, 'nud', 'permanent'),
    linkRouteStep(vtep, device, link.vtep),
    ...(isDual
      ? [
          ip('neigh', 'replace', vtep6, 'lladdr', mac, 'dev', device, 'nud', 'permanent'),
          linkRouteStep(vtep6, device, vtep6Of(link.vtep)),
        ]
      : []),
  ];
}

export function removePeerSteps(
  { device }: Pick<VxlanLink, 'device'>,
  { privateIP, vtep }: Omit<VxlanPeer, 'underlayIP'>,
): Step[] {
  return [
    lenient(bridge('fdb', 'del', macOf(privateIP), 'dev', device, 'self')),
    lenient(ip('neigh', 'del', vtep, 'dev', device)),
    unlinkRouteStep(vtep),
    lenient(ip('neigh', 'del', vtep6Of(vtep), 'dev', device)),
    unlinkRouteStep(vtep6Of(vtep)),
  ];
}

/** Creates or corrects a link. A correct link and its peers are not changed. */
export async function ensureLink(host: Host, link: VxlanLink): Promise<void> {
  const read = async () => (await host.query('ip', '-d', 'link', 'show', 'dev', link.device))[0];
  let found = await read();
  // A second link with the same id and port cannot be created beside a renamed one.
  if (found === undefined && (await restoreLinkName(host, link.device))) found = await read();
  if (found !== undefined && isAsWanted(found, link)) return;
  const removal = found === undefined ? [] : [lenient(ip('link', 'del', link.device))];
  await host.apply([...removal, ...linkSteps(link)]).catch(async (error: unknown) => {
    // Another cable may have created it meanwhile.
    const now = await read();
    if (now === undefined || !isAsWanted(now, link)) throw error;
  });
}

/**
 * Waits until the other end answers on the link. Returns false if it did not in time. VXLAN negotiates nothing: without this check, traffic
 * would move to a path that the other end does not have yet.
 */
export async function isReachable(
  host: Host,
  clock: Clock,
  { vtep }: Pick<VxlanLink, 'vtep'>,
  peer: Pick<VxlanPeer, 'vtep'>,
  signal?: AbortSignal,
): Promise<boolean> {
  const begin = clock.now();
  for (;;) {
    signal?.throwIfAborted();
    const flags = ['-n', '-q', '-c', '5', '-i', '0.02', '-W', '0.2', '-w', '1', '-I', vtep, peer.vtep];
    const { code, stdout } = await host.run([...host.programs.ping, ...flags]);
    // Without the ping program nothing can be checked.
    if (code === 127 || / [1-9]\d* received/.test(stdout)) return true;
    if (clock.now() - begin > REACHABLE_MS) return false;
    await sleep(clock, 20);
  }
}

const REACHABLE_MS = 10_000;

/** Returns the private addresses of the gateways for which a link has entries. */
export async function peersOf(host: Host, device: string): Promise<Map<string, string>> {
  const entries = await host.query('bridge', 'fdb', 'show', 'dev', device);
  const peers = new Map<string, string>();
  for (const { mac, dst } of entries) {
    const privateIP = typeof mac === 'string' && typeof dst === 'string' ? privateIPOfMac(mac) : undefined;
    if (privateIP !== undefined) peers.set(privateIP, String(dst));
  }
  return peers;
}

/** Returns the MTU of the interface with this address, or 1500 if there is none. */
export async function underlayMtu(host: Host, address: string): Promise<number> {
  const [found] = await host.query('ip', 'addr', 'show', 'to', `${address}/32`);
  return typeof found?.['mtu'] === 'number' ? found['mtu'] : 1500;
}

function isAsWanted(found: Readonly<Record<string, unknown>>, link: VxlanLink): boolean {
  const info = found['linkinfo'] as { info_kind?: unknown; info_data?: Record<string, unknown> } | undefined;
  const data = info?.info_data ?? {};
  return (
    info?.info_kind === 'vxlan' &&
    data['id'] === link.id &&
    data['port'] === link.port &&
    data['local'] === link.localIP &&
    found['address'] === link.mac &&
    found['mtu'] === link.mtu &&
    Array.isArray(found['flags']) &&
    found['flags'].includes('UP')
  );
}
