// IP addresses and CIDRs, as Kubernetes allows them in rules: no zones, no IPv4 addresses inside IPv6 ones, no leading zeros.
import { goQuote } from '../../schema/go-text.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import type { Cidr, Ip } from '../values.ts';

const IP = 'net.IP';
const CIDR = 'net.CIDR';

function parseIp(text: string): Ip {
  const problem = (reason: string): CelError =>
    new CelError(
      `IP Address ${goQuote(text)} parse error during conversion from string: ParseAddr(${goQuote(text)}): ${reason}`,
    );
  const [address = '', ...zone] = text.split('%');
  if (zone.length > 0 && ipv6Bits(address) !== undefined) {
    throw new CelError(`IP address ${goQuote(text)} with zone value is not allowed`);
  }
  const four = ipv4Bits(text);
  if (four !== undefined) return { kind: 'ip', family: 4, bits: four };
  const six = ipv6Bits(text);
  if (six === undefined) throw problem(/[.:]/.test(text) ? 'unexpected character' : 'unable to parse IP');
  if (six >> 32n === 0xffffn) throw new CelError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  return { kind: 'ip', family: 6, bits: six };
}

function ipv4Bits(text: string): bigint | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1);
  if (!parts || parts.some((part) => Number(part) > 255 || (part.length > 1 && part.startsWith('0')))) return undefined;
  return parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function ipv6Bits(text: string): bigint | undefined {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const four = dotted ? ipv4Bits(dotted[2] ?? '') : undefined;
  if (dotted && four === undefined) return undefined;
  const hex = (bits: bigint): string => bits.toString(16);
  const groups = dotted ? `${dotted[1]}${hex((four ?? 0n) >> 16n)}:${hex((four ?? 0n) & 0xffffn)}` : text;
  const halves = groups.split('::');
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...left, ...Array.from({ length: missing }, () => '0'), ...right];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return all.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

/** Returns the canonical text, in which the longest run of zeros of an IPv6 address is omitted. https://www.rfc-editor.org/rfc/rfc5952 */
export function ipText({ family, bits }: Ip): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => Number((bits >> BigInt(112 - 16 * index)) & 0xffffn));
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.start < 0) return hex.join(':');
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`;
}

function parseCidr(text: string): Cidr {
  const problem = (reason: string): CelError =>
    new CelError(
      `network address parse error during conversion from string: netip.ParsePrefix(${goQuote(text)}): ${reason}`,
    );
  const slash = text.lastIndexOf('/');
  if (slash < 0) throw problem("no '/'");
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  const four = ipv4Bits(address);
  const six = four === undefined ? ipv6Bits(address) : undefined;
  const value = four ?? six;
  if (value === undefined) throw problem(`ParseAddr(${goQuote(address)}): unable to parse IP`);
  if (!/^(0|[1-9]\d*)$/.test(bits)) throw problem(`bad bits after slash: ${goQuote(bits)}`);
  if (Number(bits) > (four === undefined ? 128 : 32)) throw problem('prefix length out of range');
  if (six !== undefined && six >> 32n === 0xffffn) {
    throw new CelError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  }
  return { kind: 'cidr', ip: { kind: 'ip', family: four === undefined ? 6 : 4, bits: value }, prefix: Number(bits) };
}

const network = (ip: Ip, prefix: number): bigint => {
  const rest = BigInt((ip.family === 4 ? 32 : 128) - prefix);
  return (ip.bits >> rest) << rest;
};
const containsIp = (cidr: Cidr, ip: Ip): boolean =>
  cidr.ip.family === ip.family && network(cidr.ip, cidr.prefix) === network(ip, cidr.prefix);
const containsCidr = (cidr: Cidr, other: Cidr): boolean =>
  other.prefix >= cidr.prefix && containsIp(cidr, { ...other.ip, bits: network(other.ip, other.prefix) });

function succeeds(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

const within = (four: string, six: string): ((ip: Ip) => boolean) => {
  const ranges = [parseCidr(four), parseCidr(six)];
  return (ip) => ranges.some((range) => containsIp(range, ip));
};
const isLoopback = within('127.0.0.0/8', '::1/128');
const isLinkLocalUnicast = within('169.254.0.0/16', 'fe80::/10');
const isLinkLocalMulticast = within('224.0.0.0/24', 'ff02::/16');
const isMulticast = within('224.0.0.0/4', 'ff00::/8');
const isUnspecified = ({ bits }: Ip): boolean => bits === 0n;
const isBroadcast = ({ family, bits }: Ip): boolean => family === 4 && bits === 0xffff_ffffn;

export const addresses: readonly Overload[] = [
  func('ip', `(string) -> ${IP}`, 'string_to_ip', parseIp),
  func('isIP', '(string) -> bool', 'is_ip', (text: string) => succeeds(() => parseIp(text))),
  func('ip.isCanonical', '(string) -> bool', 'ip_is_canonical', (text: string) => ipText(parseIp(text)) === text),
  func('string', `(${IP}) -> string`, 'ip_to_string', ipText),
  method('family', `(${IP}) -> int`, 'ip_family', ({ family }: Ip) => BigInt(family)),
  method('isUnspecified', `(${IP}) -> bool`, 'ip_is_unspecified', isUnspecified),
  method('isLoopback', `(${IP}) -> bool`, 'ip_is_loopback', isLoopback),
  method('isLinkLocalMulticast', `(${IP}) -> bool`, 'ip_is_link_local_multicast', isLinkLocalMulticast),
  method('isLinkLocalUnicast', `(${IP}) -> bool`, 'ip_is_link_local_unicast', isLinkLocalUnicast),
  // Private addresses count as global, as in Go.
  method('isGlobalUnicast', `(${IP}) -> bool`, 'ip_is_global_unicast', (ip: Ip) => {
    return ![isUnspecified, isBroadcast, isLoopback, isMulticast, isLinkLocalUnicast].some((is) => is(ip));
  }),
  func('cidr', `(string) -> ${CIDR}`, 'string_to_cidr', parseCidr),
  func('isCIDR', '(string) -> bool', 'is_cidr', (text: string) => succeeds(() => parseCidr(text))),
  func('string', `(${CIDR}) -> string`, 'cidr_to_string', ({ ip, prefix }: Cidr) => `${ipText(ip)}/${prefix}`),
  method('containsIP', `(${CIDR}, string) -> bool`, 'cidr_contains_ip_string', (cidr: Cidr, text: string) =>
    containsIp(cidr, parseIp(text)),
  ),
  method('containsIP', `(${CIDR}, ${IP}) -> bool`, 'cidr_contains_ip_ip', containsIp),
  method('containsCIDR', `(${CIDR}, string) -> bool`, 'cidr_contains_cidr_string', (cidr: Cidr, text: string) =>
    containsCidr(cidr, parseCidr(text)),
  ),
  method('containsCIDR', `(${CIDR}, ${CIDR}) -> bool`, 'cidr_contains_cidr', containsCidr),
  method('ip', `(${CIDR}) -> ${IP}`, 'cidr_ip', ({ ip }: Cidr) => ip),
  method('prefixLength', `(${CIDR}) -> int`, 'cidr_prefix_length', ({ prefix }: Cidr) => BigInt(prefix)),
  method('masked', `(${CIDR}) -> ${CIDR}`, 'cidr_masked', ({ ip, prefix }: Cidr) => ({
    kind: 'cidr',
    ip: { ...ip, bits: network(ip, prefix) },
    prefix,
  })),
];
