// Plain VXLAN, for private links: nothing is encrypted or negotiated. Each set of options has its own link, so that another vxlanID for one
// pair does not affect the others.
import { createHash } from 'node:crypto';
import type { Clock } from '@capstan/kube';
import { type Host, ip, lenient } from '../host/index.ts';
import { macOf, vtep6Of, vtepOf } from './addresses.ts';
import { type CableDriver, type DriverSettings, type LocalEnd, NO_SETTINGS, type WayState } from './driver.ts';
import { DriverErrors } from './errors.ts';
import {
  ensureLink,
  isReachable,
  peerSteps,
  peersOf,
  removePeerSteps,
  underlayMtu,
  type VxlanLink,
} from './vxlan-link.ts';

const DEFAULT_ID = 1000;
const DEFAULT_PORT = 4789;
/** Outer IP, UDP and VXLAN headers and the inner Ethernet header. */
const OVERHEAD = 50;
const DEVICE = 'vxlan-tunnel';
/** The prefix of links with other options than the default ones. */
const OTHER_DEVICES = 'subm-vx-';

export interface VxlanDriverOptions {
  readonly host: Host;
  readonly local: LocalEnd;
  readonly clock: Clock;
  readonly settings?: DriverSettings;
}

export function createVxlanDriver({ host, local, clock, settings = NO_SETTINGS }: VxlanDriverOptions): CableDriver {
  let mtu = 1450;
  /** Paths that have carried packets since this process started. */
  const reached = new Set<string>();
  const clusters = new Map<string, { readonly cluster: string; readonly privateIP: string }>();

  const linkOf = (options: Readonly<Record<string, string>>): VxlanLink => {
    const id = Number(options['vxlanID'] ?? DEFAULT_ID);
    const port = Number(options['port'] ?? DEFAULT_PORT);
    const isDefault = id === DEFAULT_ID && port === DEFAULT_PORT;
    const suffix = createHash('sha256').update(`${id}:${port}`).digest('hex').slice(0, 7);
    return {
      device: isDefault ? DEVICE : `${OTHER_DEVICES}${suffix}`,
      id,
      port,
      mtu,
      localIP: local.privateIP,
      mac: macOf(local.privateIP),
      vtep: vtepOf(local.privateIP),
    };
  };

  const devices = async () => {
    const links = await host.query('ip', 'link', 'show', 'type', 'vxlan');
    return links
      .map(({ ifname }) => String(ifname))
      .filter((name) => name === DEVICE || name.startsWith(OTHER_DEVICES));
  };

  return {
    name: 'vxlan',
    async start() {
      const probe = `subm-probe${process.pid % 10_000}`;
      const { code, stderr } = await host.run([
        ...host.programs.ip,
        ...`link add ${probe} type vxlan id 16777215 dstport 65535`.split(' '),
      ]);
      await host.apply([lenient(ip('link', 'del', probe))]);
      if (code !== 0) {
        const remedy = 'load the kernel module vxlan and give the gateway CAP_NET_ADMIN';
        throw DriverErrors.NotAvailable('vxlan', stderr.trim() || 'no VXLAN links here', remedy);
      }
      mtu = (await underlayMtu(host, local.privateIP)) - OVERHEAD;
      const { vxlanID, port } = settings();
      return { ...(vxlanID !== undefined && { vxlanID }), ...(port !== undefined && { port }) };
    },
    async prepare(cable, signal) {
      const link = linkOf(cable.options);
      const vtep = vtepOf(cable.remotePrivateIP);
      const place = `${link.device} ${vtep}`;
      const other = clusters.get(place);
      if (other !== undefined && other.privateIP !== cable.remotePrivateIP)
        throw DriverErrors.AddressCollision(cable.cluster, other.cluster, vtep);
      clusters.set(place, { cluster: cable.cluster, privateIP: cable.remotePrivateIP });
      await ensureLink(host, link);
      const peers = await peersOf(host, link.device);
      if (peers.get(cable.remotePrivateIP) === cable.remoteIP && reached.has(keyOf(link.device, cable.remotePrivateIP)))
        return;
      const isDual = cable.remoteSubnets.some((subnet) => subnet.includes(':'));
      const peer = { privateIP: cable.remotePrivateIP, underlayIP: cable.remoteIP, vtep, isDual };
      if (peers.get(peer.privateIP) !== peer.underlayIP || isDual) await host.apply(peerSteps(link, peer));
      if (!(await isReachable(host, clock, link, peer, signal)))
        throw DriverErrors.NotEstablished(cable.cluster, 'VXLAN', 'its gateway does not answer on the link');
      reached.add(keyOf(link.device, cable.remotePrivateIP));
    },
    route(cable) {
      const via = vtepOf(cable.remotePrivateIP);
      // Set the MTU on the route, since other cables share the link.
      const own = Number(cable.options['mtu'] ?? mtu);
      return {
        device: linkOf(cable.options).device,
        via,
        via6: vtep6Of(via),
        ...(own < mtu && { mtu: own }),
      };
    },
    keyOf: (cable) => keyOf(linkOf(cable.options).device, cable.remotePrivateIP),
    remove: (cable) => removeKey(keyOf(linkOf(cable.options).device, cable.remotePrivateIP)),
    removeKey,
    async inspect() {
      const ways = new Map<string, WayState>();
      for (const device of await devices())
        for (const privateIP of (await peersOf(host, device)).keys())
          ways.set(keyOf(device, privateIP), stateOf(reached.has(keyOf(device, privateIP))));
      return ways;
    },
    isAlive: () => Promise.resolve(true),
    async cleanUp() {
      await host.apply((await devices()).map((device) => lenient(ip('link', 'del', device))));
      clusters.clear();
      reached.clear();
    },
  };

  async function removeKey(key: string): Promise<void> {
    const [device = '', privateIP = ''] = key.split(' ');
    const vtep = vtepOf(privateIP);
    clusters.delete(`${device} ${vtep}`);
    reached.delete(key);
    await host.apply(removePeerSteps({ device }, { privateIP, vtep }));
    // Delete a link without peers. The default link stays for the next peer.
    if (device !== DEVICE && (await peersOf(host, device)).size === 0)
      await host.apply([lenient(ip('link', 'del', device))]);
  }
}

/** VXLAN has no state. Only the health check shows whether packets pass. */
function stateOf(isReached: boolean): WayState {
  return isReached ? { state: 'connected' } : { state: 'connecting', message: 'waiting for an answer on the link' };
}

function keyOf(device: string, privateIP: string): string {
  return `${device} ${privateIP}`;
}
