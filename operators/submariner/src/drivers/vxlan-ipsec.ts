// VXLAN inside IPsec: one association for each pair, for any number of subnets. If the kernels of both ends encrypt, IPsec in transport
// mode protects the packets of a VXLAN link between the gateways. Otherwise a tunnel between one transit address of each gateway carries
// them: charon's own ESP has no transport mode, and behind NAT the two ends see different addresses.
import type { Clock } from '@capstan/kube';
import { type Host, ip, lenient, type Step } from '../host/index.ts';
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
import { hostRoute, linkRouteStep, ROUTE_TABLE, unlinkRouteStep } from './routes.ts';
import { ensureLink, isReachable, peerSteps, peersOf, removePeerSteps, type VxlanLink } from './vxlan-link.ts';

/** The prefix differs from that of the ipsec driver, so that neither driver adopts connections of the other. */
const PREFIX = 'combined-';
const DEVICE = 'subm-vx-ipsec';
const TRANSPORT_DEVICE = 'subm-vx-esp';
/** The key in an Endpoint that shows that this end supports transport mode. */
const TRANSPORT = 'transport';
const DEFAULT_ID = 1001;
const DEFAULT_PORT = 4790;
/** Differs from the port in tunnels, since all unencrypted packets to it are dropped. */
const TRANSPORT_PORT = 4791;
/** Fits into charon’s own device (1400) with the headers of VXLAN. */
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
  /** Cables that have carried packets since this process started. */
  const reached = new Set<string>();
  const transit = transitOf(local.privateIP);
  const mayTransport = () => daemon.usesKernel && local.publicIP === undefined;
  /** Both ends get the same result, since each knows the options that the other published. */
  const isTransport = ({ remoteConfig }: Cable) => mayTransport() && remoteConfig[TRANSPORT] === 'true';
  const deviceOf = (cable: Cable) => (isTransport(cable) ? TRANSPORT_DEVICE : DEVICE);
  const linkOf = (cable: Cable): VxlanLink => ({
    device: deviceOf(cable),
    id: Number(cable.options['vxlanID'] ?? DEFAULT_ID),
    port: isTransport(cable) ? TRANSPORT_PORT : DEFAULT_PORT,
    mtu: MTU,
    mac: macOf(local.privateIP),
    vtep: combinedVtepOf(local.privateIP),
    ...(isTransport(cable) ? { localIP: local.privateIP, sourcePort: TRANSPORT_PORT } : { localIP: transit }),
  });
  const connectionOf = (cable: Cable): IpsecConnection => ({
    ...endsOf(cable, local),
    name: `${PREFIX}${cable.name}`,
    // charon tells connections between the same hosts apart by identity, so use other identities than the ipsec driver.
    localID: identityOf(local.privateIP),
    remoteID: identityOf(cable.remotePrivateIP),
    ...(isTransport(cable)
      ? {
          mode: 'transport' as const,
          localSubnets: [`${local.privateIP}/32[udp/${TRANSPORT_PORT}]`],
          remoteSubnets: [`${cable.remoteIP}/32[udp/${TRANSPORT_PORT}]`],
        }
      : { localSubnets: [`${transit}/32`], remoteSubnets: [`${transitOf(cable.remotePrivateIP)}/32`] }),
  });
  const leadsInto = async (address: string, device: string) => {
    const routes = await host.query('ip', 'route', 'show', `${address}/32`, 'table', String(ROUTE_TABLE));
    return routes.some(({ dev }) => dev === device);
  };
  const removeParts = async (name: string, privateIP: string | undefined) => {
    reached.delete(name.slice(PREFIX.length));
    if (privateIP !== undefined) {
      await host.apply([
        ...[DEVICE, TRANSPORT_DEVICE].flatMap((device) =>
          removePeerSteps({ device }, { privateIP, vtep: combinedVtepOf(privateIP) }),
        ),
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
      // Block unencrypted packets before the first link of transport mode is created.
      if (mayTransport()) await host.apply(blockSteps('update'));
      const { vxlanID } = settings();
      return {
        ...publishedOptions(settings()),
        ...(vxlanID !== undefined && { vxlanID }),
        ...(mayTransport() && { [TRANSPORT]: 'true' }),
      };
    },
    async prepare(cable, signal) {
      await daemon.establish(connectionOf(cable), signal);
      const { remotePrivateIP: privateIP } = cable;
      const isDual = cable.remoteSubnets.some((subnet) => subnet.includes(':'));
      const own = linkOf(cable);
      const underlayIP = isTransport(cable) ? cable.remoteIP : transitOf(privateIP);
      const peer = { privateIP, underlayIP, vtep: combinedVtepOf(privateIP), isDual };
      await ensureLink(host, own);
      const isThere = (await peersOf(host, own.device)).get(privateIP) === underlayIP;
      const isWhole = isThere && (isTransport(cable) || (await leadsInto(underlayIP, daemon.device)));
      if (isWhole && reached.has(cable.name)) return;
      const other = { device: own.device === DEVICE ? TRANSPORT_DEVICE : DEVICE };
      const isMoved = (await peersOf(host, other.device)).has(privateIP);
      const steps = [
        ...(isMoved ? removePeerSteps(other, peer) : []),
        ...(isTransport(cable) ? [] : [linkRouteStep(underlayIP, daemon.device, transit)]),
        ...peerSteps(own, peer),
      ];
      if (!isWhole) await host.apply(steps);
      if (!(await isReachable(host, clock, own, peer, signal)))
        throw DriverErrors.NotEstablished(cable.cluster, 'VXLAN', 'its gateway does not answer inside the tunnel');
      reached.add(cable.name);
    },
    route(cable) {
      const via = combinedVtepOf(cable.remotePrivateIP);
      const mtu = Number(cable.options['mtu'] ?? MTU);
      return { device: deviceOf(cable), via, via6: vtep6Of(via), ...(mtu < MTU && { mtu }) };
    },
    // Only the tunnel encrypts packets of the VXLAN link to this address.
    guards: ({ remotePrivateIP }) => [
      hostRoute(transitOf(remotePrivateIP)),
      hostRoute(combinedVtepOf(remotePrivateIP)),
    ],
    keyOf: (cable) => `${PREFIX}${cable.name}`,
    remove: (cable) => removeParts(`${PREFIX}${cable.name}`, cable.remotePrivateIP),
    removeKey: (key) => removeParts(key, /-(\d+)-(\d+)-(\d+)-(\d+)$/.exec(key)?.slice(1).join('.')),
    async inspect() {
      const peers = new Set<string>();
      for (const device of [DEVICE, TRANSPORT_DEVICE])
        for (const privateIP of (await peersOf(host, device)).keys()) peers.add(privateIP);
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
      await host.apply([
        ...[DEVICE, TRANSPORT_DEVICE].map((device) => lenient(ip('link', 'del', device))),
        ...blockSteps('delete').map(lenient),
      ]);
      await release();
    },
  };
}

/**
 * Drops packets of the link on both ends that no association encrypts. Without this they would leave in clear text, for example after the
 * other end ended its association. The policies of associations have precedence.
 */
function blockSteps(verb: 'update' | 'delete'): Step[] {
  const selector = ['src', '0.0.0.0/0', 'dst', '0.0.0.0/0', 'proto', 'udp', 'dport', String(TRANSPORT_PORT)];
  const action = verb === 'update' ? ['action', 'block', 'priority', BLOCK_PRIORITY] : [];
  return ['in', 'out'].map((direction) => ip('xfrm', 'policy', verb, 'dir', direction, ...selector, ...action));
}

/** A greater number has less precedence. charon's priorities are below a million. */
const BLOCK_PRIORITY = '2000000000';

function identityOf(privateIP: string): string {
  return `${privateIP.replaceAll('.', '-')}.vxlan-ipsec`;
}
