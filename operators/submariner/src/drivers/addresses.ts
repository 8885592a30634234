// Addresses that both ends derive from the private address of a gateway, so that nothing has to be exchanged. 240/8 to 243/8
// are upstream's (intra-cluster VTEPs, cable VTEPs, Globalnet, ClustersetIP); 244/8 and 245/8 are ours.

/** The address of a gateway on its VXLAN link. */
export function vtepOf(privateIP: string): string {
  return inNetwork(241, privateIP);
}

/** Its address inside the IPsec tunnel of a combined cable. */
export function transitOf(privateIP: string): string {
  return inNetwork(244, privateIP);
}

/** Its address on the VXLAN link of a combined cable. */
export function combinedVtepOf(privateIP: string): string {
  return inNetwork(245, privateIP);
}

/** The MAC address of its VXLAN link: no two gateways have the same, or the kernel drops packets without a word. */
export function macOf(privateIP: string): string {
  const octets = privateIP.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return ['02', ...octets, '00'].join(':');
}

/** The gateway that has this MAC address; undefined when it is none of ours. */
export function privateIPOfMac(mac: string): string | undefined {
  const [first, ...rest] = mac.split(':');
  if (first !== '02' || rest.length !== 5 || rest[4] !== '00') return undefined;
  return rest
    .slice(0, 4)
    .map((octet) => Number.parseInt(octet, 16))
    .join('.');
}

function inNetwork(first: number, privateIP: string): string {
  return [first, ...privateIP.split('.').slice(1)].join('.');
}

/** The highest address of an IPv4 subnet that is not its broadcast address. */
export function lastAddressOf(cidr: string): string {
  const { base, bits } = parseCidr(cidr);
  const size = 2 ** (32 - bits);
  return formatAddress(base + Math.max(0, size - (size > 2 ? 2 : 1)));
}

export function contains(cidr: string, address: string): boolean {
  const { base, bits } = parseCidr(cidr);
  const value = parseAddress(address);
  return value >= base && value < base + 2 ** (32 - bits);
}

export function overlaps(one: string, other: string): boolean {
  const [a, b] = [parseCidr(one), parseCidr(other)];
  return a.base < b.base + 2 ** (32 - b.bits) && b.base < a.base + 2 ** (32 - a.bits);
}

export function isIPv4Cidr(text: string): boolean {
  return /^(\d{1,3}\.){3}\d{1,3}\/\d{1,2}$/.test(text);
}

function parseCidr(cidr: string): { base: number; bits: number } {
  const [address = '', length = '32'] = cidr.split('/');
  const bits = Number(length);
  const size = 2 ** (32 - bits);
  return { base: Math.floor(parseAddress(address) / size) * size, bits };
}

function parseAddress(text: string): number {
  return text.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
