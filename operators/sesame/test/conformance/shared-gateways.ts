// Sesame with one Envoy for all Gateways of a controller: each Gateway has an address of its own on loopback.
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { type Clock, systemClock } from '@capstan/kube';
import { derivation, type Operator, operator } from '@capstan/reconcile';
import type { Gateway } from '../../src/gateway/api/objects.ts';
import {
  type GatewayKinds,
  gatewayComponents,
  gatewayKinds,
  type Placement,
  type Publication,
} from '../../src/gateway/index.ts';
import { ingressComponents } from '../../src/routes/ingress-components.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import type { XdsServer } from '../../src/xds/index.ts';
import { CONTROLLER } from '../gateway/controller.ts';

export interface SharedGateways {
  readonly operator: Operator;
  /** Settles when the xDS server listens. */
  readonly server: Promise<XdsServer>;
}

export function sharedGateways(
  settings: RoutingSettings,
  options: { clock?: Clock; kinds?: GatewayKinds; placement?: Placement } = {},
): SharedGateways {
  const kinds = options.kinds ?? gatewayKinds();
  const value = derivation<RoutingSettings>({ name: 'test-settings', compute: () => settings });
  const wanted = derivation<readonly { type?: string | undefined; value?: string | undefined }[]>({
    name: 'wanted-addresses',
    compute({ key, read }) {
      const at = key.indexOf('/');
      return read.get(kinds.Gateway, { namespace: key.slice(0, at), name: key.slice(at + 1) }, addressesOf) ?? [];
    },
  });
  const placements = derivation<Placement | undefined>({
    name: 'placements',
    compute({ key, read }) {
      if (options.placement) return options.placement;
      const [given] = read
        .derived(wanted, key)
        .flatMap(({ value: address }) => (address && isUsable(address) ? [address] : []));
      return { address: given ?? addressOf(key), prefix: `${key}/` };
    },
  });
  const publications = derivation<Publication>({
    name: 'publications',
    compute({ key, read }) {
      const given = read.derived(wanted, key).flatMap(({ value: address }) => (address ? [address] : []));
      const unusable = given.filter((address) => !isUsable(address));
      return { addresses: [{ type: 'IPAddress', value: read.derived(placements, key)?.address }], unusable };
    },
  });
  const gateways = gatewayComponents({
    settings: value,
    kinds,
    selects: (read, _key, className, { lookup }) => lookup(read).gatewayClass(className)?.controllerName === CONTROLLER,
    placements,
    publications,
    classes: { isOurs: (_read, controllerName) => controllerName === CONTROLLER },
  });
  let listening: (server: XdsServer) => void = () => undefined;
  const server = new Promise<XdsServer>((resolve) => {
    listening = resolve;
  });
  const parts = ingressComponents({
    settings: value,
    gateways,
    clock: options.clock ?? systemClock,
    listen: { address: '127.0.0.1', port: 0 },
    onListening: (each) => listening(each),
  });
  return {
    operator: operator({
      name: 'sesame',
      kinds: parts.kinds,
      reconcilers: parts.reconcilers,
      sinks: parts.sinks,
    }),
    server,
  };
}

const addressesOf = ({ spec }: Gateway) => spec.addresses ?? [];

/** Stable, and different for all practical purposes. */
export function addressOf(key: string): string {
  const [one = 0, two = 0, three = 0] = createHash('sha256').update(key).digest();
  return `127.${112 + (one % 8)}.${two}.${1 + (three % 254)}`;
}

function isUsable(address: string): boolean {
  return isIP(address) === 4 && address.startsWith('127.');
}
