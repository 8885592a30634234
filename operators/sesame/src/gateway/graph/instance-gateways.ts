// The Gateway that one Sesame serves: the one that its configuration names, or the oldest of its controller's classes.
import { isIP } from 'node:net';
import { type Derived, derivation, type Reader } from '@capstan/reconcile';
import type { RoutingSettings } from '../../routing/settings.ts';
import { type Gateway, type GatewayKinds, gatewayKinds } from '../api/objects.ts';
import type { Placement } from '../envoy/port-listener.ts';
import { containerPort } from '../provisioning/container-ports.ts';
import type { Publication } from '../reconcilers/gateway-status.ts';
import type { GatewayReads } from '../routes/gateway-reads.ts';
import { type GatewayComponents, gatewayComponents } from './gateway-components.ts';

export interface InstanceGatewayOptions {
  readonly settings: Derived<RoutingSettings>;
  /** The choice of the configuration; a function where it can change without a restart. */
  readonly gateway: GatewayChoice | ((read: Reader) => GatewayChoice);
  /** Where clients reach Envoy, as `status.loadBalancer` of its Service has it. */
  addresses(read: Reader): readonly { readonly ip?: string; readonly hostname?: string }[];
  readonly kinds?: GatewayKinds;
}

export interface GatewayChoice {
  readonly controllerName?: string | undefined;
  readonly gatewayRef?: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined;
}

/** Undefined when the configuration names neither. */
export function instanceGateways(options: InstanceGatewayOptions): GatewayComponents | undefined {
  const { settings, addresses, gateway, kinds = gatewayKinds() } = options;
  const chosen = (read: Reader) => choiceOf(typeof gateway === 'function' ? gateway(read) : gateway);
  const isFixed = typeof gateway !== 'function';
  if (isFixed && !isChosen(choiceOf(gateway))) return undefined;
  const placements = derivation<Placement | undefined>({
    name: 'gateway-placement',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const ports = read.get(kinds.Gateway, { namespace: key.slice(0, at), name: key.slice(at + 1) }, portsOf) ?? [];
      return {
        address: read.derived(settings, '').envoy.http.address,
        ports: Object.fromEntries(ports.map((port) => [port, containerPort(port)])),
      };
    },
  });
  const publications = derivation<Publication>({
    name: 'gateway-publication',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const wanted = read.get(kinds.Gateway, { namespace: key.slice(0, at), name: key.slice(at + 1) }, wantedOf) ?? [];
      const found = addresses(read).flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
      return {
        addresses: found.map((value) => ({ type: isIP(value) === 0 ? 'Hostname' : 'IPAddress', value })),
        unusable: found.length === 0 ? [] : wanted.filter((each) => !found.includes(each)),
        waitingFor: "Waiting for an address of Envoy's Service",
      };
    },
  });
  return gatewayComponents({
    settings,
    kinds,
    placements,
    publications,
    selects(read, key, className, reads) {
      const { named, controllerName } = chosen(read);
      return named !== undefined ? key === named : key === oldestOf(read, reads, controllerName, className);
    },
    // A controller of its own accepts its classes; otherwise the operator, which made this instance, does.
    ...((!isFixed || choiceOf(gateway).named === undefined) && {
      classes: {
        isOurs(read: Reader, name: string) {
          const { named, controllerName } = chosen(read);
          return named === undefined && name === controllerName;
        },
      },
    }),
  });
}

interface Chosen {
  /** NAMESPACE/NAME */
  readonly named: string | undefined;
  /** Empty: none. */
  readonly controllerName: string;
}

function choiceOf({ controllerName = '', gatewayRef }: GatewayChoice): Chosen {
  return { named: gatewayRef?.name ? `${gatewayRef.namespace ?? ''}/${gatewayRef.name}` : undefined, controllerName };
}

function isChosen({ named, controllerName }: Chosen): boolean {
  return named !== undefined || controllerName !== '';
}

const portsOf = ({ spec }: Gateway) => [...new Set(spec.listeners.map(({ port }) => port))];
const wantedOf = ({ spec }: Gateway) => (spec.addresses ?? []).flatMap(({ value }) => value ?? []);

interface Candidate {
  readonly key: string;
  readonly created: string;
  readonly className: string;
}

const candidateOf = ({ metadata, spec }: Gateway): Candidate => ({
  key: `${metadata.namespace ?? ''}/${metadata.name ?? ''}`,
  created: metadata.creationTimestamp ?? '',
  className: spec.gatewayClassName,
});

/** One Envoy has one set of ports: of several Gateways it serves the oldest. The operator gives each an Envoy of its own. */
function oldestOf(
  read: Reader,
  { kinds, lookup }: GatewayReads,
  controllerName: string,
  className: string,
): string | undefined {
  if (controllerName === '') return undefined;
  const { gatewayClass } = lookup(read);
  if (gatewayClass(className)?.controllerName !== controllerName) return undefined;
  const [oldest] = read
    .list(kinds.Gateway, {}, candidateOf)
    .filter((each) => gatewayClass(each.className)?.controllerName === controllerName)
    .toSorted((left, right) => (`${left.created} ${left.key}` < `${right.created} ${right.key}` ? -1 : 1));
  return oldest?.key;
}
