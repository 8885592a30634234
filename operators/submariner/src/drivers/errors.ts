import { catalogue } from '@capstan/kube';

export const DriverErrors = catalogue('submariner', {
  NotAvailable: (driver: string, reason: string, remedy: string) => ({
    message: `cable driver "${driver}" is not available: ${reason}`,
    remedy,
  }),
  AddressCollision: (cluster: string, other: string, address: string) => ({
    message: `cluster "${cluster}": the tunnel address ${address} of its gateway is that of cluster "${other}" too, as their private addresses differ in the first number only`,
    remedy: 'use another driver for one of them, or give one gateway another private address',
  }),
  NotEstablished: (cluster: string, driver: string, reason: string) => ({
    message: `cluster "${cluster}": the ${driver} connection is not established (${reason})`,
    remedy: 'check the pre-shared key, the addresses and the ports of both ends',
  }),
  NotProtected: (networks: readonly string[]) => ({
    message: `packets to ${networks.join(', ')} could leave in clear: the host does not take a route that rejects them`,
    remedy: 'check that the gateway has CAP_NET_ADMIN and that the host has the IP family of these networks',
  }),
  NoPublicKey: (cluster: string) => ({
    message: `cluster "${cluster}": its Endpoint has no WireGuard key (publicKey)`,
    remedy: 'wait until its gateway has published one, or enable wireguard there',
  }),
  NoPreSharedKey: (problem: string) => ({
    message: `pre-shared key: ${problem}`,
    remedy: 'mount a Secret with at least 16 random bytes under psk and name it in ceIPSecPSKSecret',
  }),
});
