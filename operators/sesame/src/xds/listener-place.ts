// Where the listeners of one client are. On a machine whose pods share one network (the local node), each pod has an address of its own: a
// wildcard or loopback address of the configuration means that one there. A pod keeps the ports that its template declares until another
// pod takes its place: its probes and the endpoints of its Service name them.
import { isIP } from 'node:net';
import type { Envoy } from '../envoy/index.ts';

/** The environment variable with the address that this pod binds. */
export const BIND_VARIABLE = 'SESAME_BIND_ADDRESS';

/** In the metadata of Envoy's node: the address that its listeners bind. */
const BIND_METADATA = 'projectsesame.io/bind-address';

/** In the metadata of Envoy's node: ports by the names of listeners. */
const PORTS_METADATA = 'projectsesame.io/listener-ports';

export interface ListenerPlace {
  /** In the place of a wildcard or loopback address; default: as configured. */
  readonly address?: string | undefined;
  /** By the names of listeners; others have the configured port. */
  readonly ports?: Readonly<Record<string, number>> | undefined;
}

/** Writes a place into the metadata of Envoy's node; undefined when everything is as configured. */
export function placeMetadata({ address, ports = {} }: ListenerPlace): Record<string, unknown> | undefined {
  const metadata = {
    ...(address && { [BIND_METADATA]: address }),
    ...(Object.keys(ports).length > 0 && { [PORTS_METADATA]: ports }),
  };
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

/** Reads the place that a client names, which may be any value: entries that are no address and no port are ignored. */
export function placeOf(metadata: Readonly<Record<string, unknown>> | undefined): ListenerPlace | undefined {
  const address = metadata?.[BIND_METADATA];
  const given = metadata?.[PORTS_METADATA];
  const ports = Object.entries(typeof given === 'object' && given !== null ? given : {}).filter(
    (entry): entry is [string, number] => entry[0].length <= LONGEST_NAME && isPort(entry[1]),
  );
  const place: ListenerPlace = {
    ...(typeof address === 'string' && isIP(address) !== 0 && { address }),
    ...(ports.length > 0 && ports.length <= MOST_PORTS && { ports: Object.fromEntries(ports.toSorted(byName)) }),
  };
  return Object.keys(place).length > 0 ? place : undefined;
}

/** Far more than there are listeners. Each different place costs memory. */
const MOST_PORTS = 64;

const LONGEST_NAME = 256;

const byName = ([one]: readonly [string, number], [other]: readonly [string, number]) => (one < other ? -1 : 1);

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 65_535;
}

/** The listener at its place: the same value when it is there already. */
export function placed(listener: Envoy.Listener, place: ListenerPlace): Envoy.Listener {
  const socket = listener.address?.socket_address;
  if (socket === undefined) return listener;
  const address = boundAddress(socket.address ?? '', place.address);
  const { name = '' } = listener;
  const port = place.ports && Object.hasOwn(place.ports, name) ? place.ports[name] : socket.port_value;
  if (address === socket.address && port === socket.port_value) return listener;
  const compat = address === socket.address ? socket.ipv4_compat : undefined;
  const { protocol } = socket;
  return { ...listener, address: { socket_address: { protocol, address, port_value: port, ipv4_compat: compat } } };
}

const SHARED: ReadonlySet<string> = new Set(['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost']);

export function boundAddress(address: string, bindAddress: string | undefined): string {
  return bindAddress !== undefined && bindAddress !== '' && SHARED.has(address) ? bindAddress : address;
}
