// Addresses that both ends derive from the private address of a gateway, so that nothing has to be exchanged. Upstream uses 240/8 to 243/8
// (intra-cluster VTEPs, cable VTEPs, Globalnet, ClustersetIP). We use 244/8 to 246/8 and fd53:7562::/32.
import { isIPv4, isIPv6 } from 'node:net';

/** Returns the address of a gateway on its VXLAN link. */
export function vtepOf(privateIP: string): string {
  return inNetwork(241, privateIP);
}

/** Returns the address of a gateway inside the IPsec tunnel of a combined cable. */
export function transitOf(privateIP: string): string {
  return inNetwork(244, privateIP);
}

/** Returns the address of a gateway on the VXLAN link of a combined cable. */
export function combinedVtepOf(privateIP: string): string {
  return inNetwork(245, privateIP);
}

/** Returns the IPv6 address on a VXLAN link for an IPv4 one. It is the next hop of IPv6 subnets. */
export function vtep6Of(vtep: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = vtep.split('.').map(Number);
  const group = (high: number, low: number) => (high * 256 + low).toString(16);
  return `fd53:7562::${group(a, b)}:${group(c, d)}`;
}

/** Returns the MAC address of a gateway's VXLAN link. It must be unique, or the kernel drops packets without an error. */
export function macOf(privateIP: string): string {
  const octets = privateIP.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return ['02', ...octets, '00'].join(':');
}

/** Returns the private address of the gateway with this MAC address, or undefined if it is not one of ours. */
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

/** Returns the highest address of a subnet except its broadcast address. */
export function lastAddressOf(cidr: string): string {
  const { base, bits, family } = parseCidr(cidr);
  const size = 1n << BigInt(widthOf(family) - bits);
  return formatAddress(base + (size > 2n ? size - 2n : size - 1n), family);
}

/** Returns the first host address of a subnet, with the length of the subnet: 10.1.0.1/16. */
export function firstAddressOf(cidr: string): string {
  const { base, bits, family } = parseCidr(cidr);
  return `${formatAddress(bits < widthOf(family) ? base + 1n : base, family)}/${bits}`;
}

/** Returns the first and the last address of a subnet as numbers. */
export function rangeOf(cidr: string): { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint } {
  const { base, bits, family } = parseCidr(cidr);
  return { family, first: base, last: base + (1n << BigInt(widthOf(family) - bits)) - 1n };
}

export function contains(cidr: string, address: string): boolean {
  const { base, bits, family } = parseCidr(cidr);
  if (!isAddress(address) || familyOf(address) !== family) return false;
  const value = parseAddress(address);
  return value >= base && value < base + (1n << BigInt(widthOf(family) - bits));
}

export function overlaps(one: string, other: string): boolean {
  const [a, b] = [rangeOf(one), rangeOf(other)];
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

/** Returns the canonical form of a subnet: without bits beyond its length, and IPv6 in its short form. */
export function canonicalCidr(cidr: string): string {
  const { base, bits, family } = parseCidr(cidr);
  return `${formatAddress(base, family)}/${bits}`;
}

/** Returns whether a text is a subnet of IPv4 or IPv6. */
export function isCidr(text: string): boolean {
  return isIPv4Cidr(text) || isIPv6Cidr(text);
}

export function isIPv4Cidr(text: string): boolean {
  const [address = '', length = '', ...more] = text.split('/');
  return more.length === 0 && isIPv4(address) && /^\d{1,2}$/.test(length) && Number(length) <= 32;
}

export function isIPv6Cidr(text: string): boolean {
  const [address = '', length = '', ...more] = text.split('/');
  return more.length === 0 && isIPv6(address) && /^\d{1,3}$/.test(length) && Number(length) <= 128;
}

interface Cidr {
  readonly family: 4 | 6;
  readonly base: bigint;
  readonly bits: number;
}

function parseCidr(cidr: string): Cidr {
  const [address = '', length] = cidr.split('/');
  const family = familyOf(address);
  const bits = length === undefined ? widthOf(family) : Number(length);
  const shift = BigInt(widthOf(family) - bits);
  return { base: (parseAddress(address) >> shift) << shift, bits, family };
}

function widthOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

function isAddress(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}

function familyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

function parseAddress(text: string): bigint {
  if (!text.includes(':')) return text.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
  const [head = '', tail] = text.split('::');
  const groups = (part: string) =>
    part
      .split(':')
      .filter((group) => group !== '')
      .flatMap(groupValues);
  const [first, last] = [groups(head), tail === undefined ? [] : groups(tail)];
  const missing = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: missing }, () => 0), ...last].reduce(
    (sum, group) => (sum << 16n) + BigInt(group),
    0n,
  );
}

/** Returns the values of a group. The last group of an IPv6 address may be an IPv4 address, which counts for two. */
function groupValues(group: string): number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

function formatAddress(value: bigint, family: 4 | 6): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - index * 16)) & 0xffffn).toString(16));
  // URL shortens the first longest run of zeros, as RFC 5952 requires.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
