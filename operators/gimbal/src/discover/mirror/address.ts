import { BlockList, isIP, isIPv4 } from 'node:net';

/** Returns the problem of an endpoint's address, in kube-apiserver's words, or undefined. */
export function addressProblem(address: string): string | undefined {
  const family = isIP(address);
  if (family === 0) return 'is not an IP address';
  const type = isIPv4(address) ? 'ipv4' : 'ipv6';
  if (OF_LOCAL_PODS.check(address, type)) return undefined;
  return REFUSED.find(({ list }) => list.check(address, type))?.what;
}

export function addressTypeOf(address: string): 'IPv4' | 'IPv6' {
  return isIPv4(address) ? 'IPv4' : 'IPv6';
}

function blocks(...subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, isIPv4(net) ? 'ipv4' : 'ipv6');
  return list;
}

// Pods and Services of an embedded cluster have these addresses. Its server accepts them; every other server refuses them itself.
const OF_LOCAL_PODS = blocks(['127.64.0.0', 11], ['127.96.0.0', 12]);

const REFUSED = [
  { what: 'is unspecified', list: blocks(['0.0.0.0', 32], ['::', 128]) },
  { what: 'is a loopback address', list: blocks(['127.0.0.0', 8], ['::1', 128]) },
  { what: 'is a link-local address', list: blocks(['169.254.0.0', 16], ['fe80::', 10]) },
  { what: 'is a multicast address', list: blocks(['224.0.0.0', 4], ['ff00::', 8]) },
];
