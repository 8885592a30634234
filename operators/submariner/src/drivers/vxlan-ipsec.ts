// VXLAN inside IPsec: one association a pair however many subnets there are. A tunnel between one transit address a gateway
// carries the packets of a VXLAN link of its own.
import type { Clock } from '@capstan/kube';
import { type Host, ip, lenient } from '../host/index.ts';
import { combinedVtepOf, macOf, transitOf, vtep6Of } from './addresses.ts';
import {
  type Cable,
  type CableDriver,
  type DriverSettings,
  type LocalEnd,
  NO_SETTINGS,
  type WayState,
} from './driver.ts';
import { DriverErrors } from './errors.ts';
import { endsOf, publishedOptions } from './ipsec.ts';
import type { IpsecConnection } from './ipsec-connection.ts';
import type { IpsecDaemon } from './ipsec-daemon.ts';
import { linkRouteStep, ROUTE_TABLE, unlinkRouteStep } from './routes.ts';
import { ensureLink, isReachable, peerSteps, peersOf, removePeerSteps, type VxlanLink } from './vxlan-link.ts';

/** Names begin otherwise than those of the ipsec driver, so that neither takes the other's for its own. */
const PREFIX = 'combined-';
const DEVICE = 'subm-vx-ipsec';
const DEFAULT_ID = 1001;
const DEFAULT_PORT = 4790;
/** What fits into charon’s own device (1400) with the headers of VXLAN around it. */
const MTU = 1350;

export interface VxlanIpsecDriverOptions {
  readonly host: Host;
  readonly daemon: IpsecDaemon;
  readonly local: LocalEnd;
  readonly clock: Clock;
  readonly settings?: DriverSettings;
  readonly release: () => Promise<void>;
}

export function createVxlanIpsecDriver(options: VxlanIpsecDriverOptions): CableDriver {
  const { host, daemon, local, clock, settings = NO_SETTINGS, release } = options;
  /** Cables that carried packets since this process began. */
  const reached = new Set<string>();
  const transit = transitOf(local.privateIP);
  const link = (cableOptions: Readonly<Record<string, string>>): VxlanLink => ({
    device: DEVICE,
    id: Number(cableOptions['vxlanID'] ?? DEFAULT_ID),
    port: DEFAULT_PORT,
    mtu: MTU,
    localIP: transit,
    mac: macOf(local.privateIP),
    vtep: combinedVtepOf(local.privateIP),
  });
  const connectionOf = (cable: Cable): IpsecConnection => ({
    ...endsOf(cable, local),
    name: `${PREFIX}${cable.name}`,
    // Other identities than those of the ipsec driver: charon distinguishes connections between the same hosts by them.
    localID: identityOf(local.privateIP),
    remoteID: identityOf(cable.remotePrivateIP),
    localSubnets: [`${transit}/32`],
    remoteSubnets: [`${transitOf(cable.remotePrivateIP)}/32`],
  });
  const removeParts = async (name: string, privateIP: string | undefined) => {
    reached.delete(name.slice(PREFIX.length));
    if (privateIP !== undefined) {
      await host.apply([
        ...removePeerSteps({ device: DEVICE }, { privateIP, vtep: combinedVtepOf(privateIP) }),
        unlinkRouteStep(transitOf(privateIP)),
      ]);
    }
    await daemon.terminate(name);
  };

  return {
    name: 'vxlan+ipsec',
    async start() {
      await daemon.start();
      await daemon.ensureAddresses([`${transit}/32`]);
      const { vxlanID } = settings();
      return { ...publishedOptions(settings()), ...(vxlanID !== undefined && { vxlanID }) };
    },
    async prepare(cable, signal) {
      await daemon.establish(connectionOf(cable), signal);
      const { remotePrivateIP: privateIP } = cable;
      const isDual = cable.remoteSubnets.some((subnet) => subnet.includes(':'));
      const peer = { privateIP, underlayIP: transitOf(privateIP), vtep: combinedVtepOf(privateIP), isDual };
      await ensureLink(host, link(cable.options));
      const isThere = (await peersOf(host, DEVICE)).get(privateIP) === peer.underlayIP;
      const routes = await host.query('ip', 'route', 'show', `${peer.underlayIP}/32`, 'table', String(ROUTE_TABLE));
      const isWhole = isThere && routes.some(({ dev }) => dev === daemon.device);
      if (isWhole && reached.has(cable.name)) return;
      const own = link(cable.options);
      const steps = [linkRouteStep(peer.underlayIP, daemon.device, transit), ...peerSteps(own, peer)];
      if (!isWhole) await host.apply(steps);
      if (!(await isReachable(host, clock, own, peer, signal)))
        throw DriverErrors.NotEstablished(cable.cluster, 'VXLAN', 'its gateway does not answer inside the tunnel');
      reached.add(cable.name);
    },
    route(cable) {
      const via = combinedVtepOf(cable.remotePrivateIP);
      const mtu = Number(cable.options['mtu'] ?? MTU);
      return { device: DEVICE, via, via6: vtep6Of(via), ...(mtu < MTU && { mtu }) };
    },
    keyOf: (cable) => `${PREFIX}${cable.name}`,
    remove: (cable) => removeParts(`${PREFIX}${cable.name}`, cable.remotePrivateIP),
    removeKey: (key) => removeParts(key, /-(\d+)-(\d+)-(\d+)-(\d+)$/.exec(key)?.slice(1).join('.')),
    async inspect() {
      const peers = await peersOf(host, DEVICE);
      const ways = new Map<string, WayState>();
      for (const [name, state] of await daemon.inspect(PREFIX)) {
        const privateIP = /-(\d+)-(\d+)-(\d+)-(\d+)$/.exec(name)?.slice(1).join('.') ?? '';
        const isWhole = state.state !== 'connected' || peers.has(privateIP);
        ways.set(name, isWhole ? state : { state: 'connecting', message: 'the VXLAN link has no entry for it' });
      }
      return ways;
    },
    isAlive: () => daemon.isAlive(),
    async cleanUp() {
      for (const name of (await daemon.isAlive()) ? (await daemon.inspect(PREFIX)).keys() : [])
        await daemon.terminate(name);
      await host.apply([lenient(ip('link', 'del', DEVICE))]);
      await release();
    },
  };
}

function identityOf(privateIP: string): string {
  return `${privateIP.replaceAll('.', '-')}.vxlan-ipsec`;
}
