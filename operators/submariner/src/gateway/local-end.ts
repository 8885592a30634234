// This gateway's own addresses: the one that it sends from, and those within its pod network, which answer health checks.
import { contains, firstAddressOf, isIPv4Cidr, isIPv6Cidr } from '../drivers/addresses.ts';
import type { LocalEnd } from '../drivers/driver.ts';
import { type Host, ip } from '../host/index.ts';
import type { GatewayConfiguration } from './configuration.ts';

export async function localEnd(configuration: GatewayConfiguration, host: Host | undefined): Promise<LocalEnd> {
  const { clusterCIDRs, serviceCIDRs, clusterID } = configuration;
  const subnets = [...serviceCIDRs, ...clusterCIDRs];
  if (host === undefined) return { privateIP: simulatedAddress(configuration), subnets, sourceIP: undefined };
  const links = await host.query('ip', 'addr', 'show');
  const addresses = links.flatMap(({ ifname, addr_info: list }) =>
    Array.isArray(list)
      ? list.map((each: { local?: string }) => ({ device: String(ifname), address: each.local ?? '' }))
      : [],
  );
  const within = (cidrs: readonly string[]) =>
    addresses.find(({ address, device }) => device !== 'lo' && cidrs.some((cidr) => contains(cidr, address)))?.address;
  const sourceIP6 = within(clusterCIDRs.filter(isIPv6Cidr));
  const [route] = await host.query('ip', '-4', 'route', 'show', 'default');
  const isOwn = (address: string) => subnets.some((cidr) => contains(cidr, address));
  const outside = addresses.filter(
    ({ device, address }) =>
      device !== 'lo' && !address.includes(':') && !isOwn(address) && !/^24[0-9]\./.test(address),
  );
  const chosen = outside.find(({ device }) => device === route?.['dev']) ?? outside[0];
  if (chosen === undefined)
    throw new Error(`gateway of ${clusterID}: the host has no IPv4 address outside the cluster`);
  return {
    privateIP: chosen.address,
    subnets,
    sourceIP: within(clusterCIDRs.filter(isIPv4Cidr)),
    ...(sourceIP6 !== undefined && { sourceIP6 }),
    ...(configuration.publicIP !== undefined && { publicIP: configuration.publicIP }),
  };
}

/** Where no pod runs, something must answer health checks all the same. */
export async function ensurePodNetwork({ clusterCIDRs }: GatewayConfiguration, host: Host): Promise<void> {
  if ((await host.query('ip', 'link', 'show', 'dev', POD_BRIDGE)).length > 0) return;
  await host.apply([
    ip('link', 'add', POD_BRIDGE, 'type', 'bridge'),
    ...clusterCIDRs.map((cidr) =>
      ip('addr', 'add', firstAddressOf(cidr), 'dev', POD_BRIDGE, ...(isIPv6Cidr(cidr) ? ['nodad'] : [])),
    ),
    ip('link', 'set', POD_BRIDGE, 'up'),
  ]);
}

const POD_BRIDGE = 'cni0';

/** Simulated gateways need addresses that differ; nothing is sent to them. */
function simulatedAddress({ clusterID, nodeName }: GatewayConfiguration): string {
  const sum = `${clusterID} ${nodeName}`
    .split('')
    .reduce((total, letter) => (total * 31 + letter.charCodeAt(0)) % 65_000, 7);
  return `192.0.${Math.floor(sum / 250) % 250}.${(sum % 250) + 1}`;
}
