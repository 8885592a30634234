// Real cables between network namespaces: peers and handshakes of WireGuard, tunnels of IPsec. Needs root on Linux and the
// programs of `npm run setup:real -- cables`; without them it is left out.
import { randomBytes } from 'node:crypto';
import { systemClock } from '@capstan/kube';
import {
  type Cable,
  createDrivers,
  createIpsecDaemon,
  newPrivateKey,
  publicKeyOf,
  userspaceDevice,
} from '@capstan/submariner/gateway';
import { createUnderlay, skip, type TestGateway } from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';

const SIZES = {
  full: { peers: 200, handshakes: 20, tunnels: 100, rounds: 3 },
  tiny: { peers: 5, handshakes: 2, tunnels: 2, rounds: 1 },
};

export const cables: Part = {
  name: 'cables',
  summary: 'WireGuard peers, handshakes and IPsec tunnels between network namespaces',
  async measure(scale) {
    if (skip !== false) return [result({ name: 'cables', unit: '', rounds: [0], note: `left out: ${skip}` })];
    const { peers, handshakes, tunnels, rounds } = SIZES[scale];
    const full = scale === 'full';
    const times = { peers: [] as number[], handshakes: [] as number[], tunnels: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      const measured = await wireguard(peers, handshakes);
      times.peers.push(measured.peers);
      times.handshakes.push(measured.handshakes);
      times.tunnels.push(await ipsec(tunnels));
    }
    const figure = (name: string, values: readonly number[], below: number): Result =>
      result({ name, unit: 'ms', rounds: values, ...(full && { below }) });
    return [
      figure(`${peers} WireGuard peers configured`, times.peers, 200),
      figure(`${handshakes} real WireGuard handshakes`, times.handshakes, 1000),
      figure(`${tunnels} IPsec tunnels, opened at the same time`, times.tunnels, 5000),
    ];
  },
};

const PSK = randomBytes(32);
const KEYS = () => Promise.resolve([{ id: 'bench', bytes: PSK }]);

async function wireguard(peers: number, handshakes: number): Promise<{ peers: number; handshakes: number }> {
  const underlay = createUnderlay(['hub', ...Array.from({ length: handshakes }, (_, index) => `g${index}`)]);
  const opened = underlay.gateways.map((gateway) => {
    const options = { host: gateway.host(), local: gateway.local, clock: systemClock, keys: KEYS };
    const driver = createDrivers({ ...options, names: ['wireguard'], wireguardDevice: gateway.wireguardDevice }).get(
      'wireguard',
    );
    if (driver === undefined) throw new Error('there is no WireGuard driver');
    return { gateway, driver };
  });
  try {
    const [hub, ...others] = await Promise.all(
      opened.map(async (each) => ({ ...each, config: await each.driver.start() })),
    );
    if (hub === undefined) throw new Error('there is no hub');
    const begin = performance.now();
    await Promise.all(
      others.flatMap((other) => [
        hub.driver.prepare(cableOf(other.gateway, other.config)),
        other.driver.prepare(cableOf(hub.gateway, hub.config)),
      ]),
    );
    const shaken = performance.now() - begin;
    const changes = Array.from({ length: peers }, (_, index) => ({
      publicKey: publicKeyOf(newPrivateKey()),
      endpoint: `172.31.99.250:${5000 + index}`,
      allowedIPs: [`10.200.${index}.0/24`],
      keepalive: 0,
      presharedKey: PSK.toString('base64'),
    }));
    const device = userspaceDevice(hub.gateway.wireguardDevice);
    const start = performance.now();
    await device.configure({ peers: changes });
    const configured = performance.now() - start;
    if ((await device.read()).peers.size !== peers + others.length) throw new Error('a peer is missing');
    return { peers: configured, handshakes: shaken };
  } finally {
    await Promise.all(opened.map(({ driver }) => driver.cleanUp()));
    underlay.close();
  }
}

async function ipsec(tunnels: number): Promise<number> {
  const underlay = createUnderlay(['a', 'b']);
  const daemons = underlay.gateways.map((gateway) =>
    createIpsecDaemon({ host: gateway.host(), clock: systemClock, keys: KEYS }),
  );
  try {
    await Promise.all(daemons.map((daemon) => daemon.start()));
    const address = (side: number, index: number) => `244.${side}.${index >> 8}.${index & 255}/32`;
    const indexes = Array.from({ length: tunnels }, (_, index) => index);
    for (const [side, daemon] of daemons.entries())
      await daemon.ensureAddresses(indexes.map((index) => address(side, index)));
    const begin = performance.now();
    await Promise.all(
      daemons.flatMap((daemon, side) =>
        indexes.map((index) => {
          const other = 1 - side;
          const [here, there] = [underlay.gateways[side], underlay.gateways[other]];
          return daemon.establish({
            name: `bench-${index}`,
            cluster: `cluster-${index}`,
            localIP: here?.local.privateIP ?? '',
            remoteIP: there?.local.privateIP ?? '',
            localID: `side${side}-${index}.bench`,
            remoteID: `side${other}-${index}.bench`,
            localSubnets: [address(side, index)],
            remoteSubnets: [address(other, index)],
            options: {},
            remotePort: 4500,
            usingNAT: false,
            role: 'either',
          });
        }),
      ),
    );
    return performance.now() - begin;
  } finally {
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    underlay.close();
  }
}

function cableOf(to: TestGateway, config: Readonly<Record<string, string>>): Cable {
  return {
    name: `submariner-cable-${to.id}`,
    cluster: to.id,
    remoteIP: to.local.privateIP,
    remotePrivateIP: to.local.privateIP,
    remoteSubnets: to.local.subnets,
    remoteConfig: config,
    options: {},
    usingNAT: false,
    role: 'either',
  };
}
