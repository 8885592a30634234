// The interface between a cable driver and the gateway engine. A driver prepares a path for packets and reports its state. The engine's
// routes select the packets for that path, so that a pair moves from one driver to another by replacing one route.
import type { DriverName } from '../policy/driver-names.ts';

export interface CableDriver {
  readonly name: DriverName;
  /** Starts the driver, or adopts the state of an earlier process of this gateway. Returns the values that the other ends need. */
  start(): Promise<Readonly<Record<string, string>>>;
  /** Prepares the path of a cable. Nothing on the host changes if it is already correct. Resolves when packets can pass. */
  prepare(cable: Cable, signal?: AbortSignal): Promise<void>;
  /** Returns the target for the routes of a prepared cable. */
  route(cable: Cable): RouteTarget;
  /** Returns networks besides the subnets of the cable that must be reached through its tunnel only. */
  guards?(cable: Cable): readonly string[];
  /** Removes the path of one cable, and no part of any other. */
  remove(cable: Cable): Promise<void>;
  /** Returns the state of every path on the host by `keyOf`, including those that another process created. */
  inspect(): Promise<ReadonlyMap<string, WayState>>;
  /** Returns the name by which a cable's path is found on the host. */
  keyOf(cable: Cable): string;
  /** Removes a path on the host that belongs to no cable. */
  removeKey(key: string): Promise<void>;
  /** Returns whether all its daemons run. If not, the engine restarts the driver. */
  isAlive(): Promise<boolean>;
  /** Removes everything that it created on the host. */
  cleanUp(): Promise<void>;
  /** Does periodic work, such as replacing a key. Called about once a second while the driver is up. */
  tend?(): Promise<Tended>;
}

export interface Tended {
  /** The values that the other ends need from now on, if they changed. */
  readonly config?: Readonly<Record<string, string>>;
  /** Work is in progress: call again after this many milliseconds. */
  readonly soonMs?: number;
}

/** Returns the present options of one driver of this gateway. The options of a cable are complete without them. */
export type DriverSettings = () => Readonly<Record<string, string>>;

export const NO_SETTINGS: DriverSettings = () => ({});

/** One cable from this gateway to the gateway of another cluster. */
export interface Cable {
  /** The name in the Endpoint: `submariner-cable-west-172-31-99-2`. */
  readonly name: string;
  readonly cluster: string;
  /** The address to which packets are sent: the private or the public one. */
  readonly remoteIP: string;
  /** The public address, if NAT discovery may choose between the two. */
  readonly remotePublicIP?: string;
  /** The UDP port on which the other gateway answers NAT discovery. */
  readonly remoteDiscoveryPort?: number;
  readonly remotePrivateIP: string;
  readonly remoteSubnets: readonly string[];
  /** The values that the other end published for this driver. */
  readonly remoteConfig: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, string>>;
  readonly usingNAT: boolean;
  /** Whether this end opens the connection, waits for the other, or either does. */
  readonly role: 'client' | 'server' | 'either';
}

/** This gateway's end of all its cables. */
export interface LocalEnd {
  readonly privateIP: string;
  readonly subnets: readonly string[];
  /** An address of the host within its own subnets. The host sends its own packets from it. */
  readonly sourceIP: string | undefined;
  /** The same for IPv6 subnets. */
  readonly sourceIP6?: string;
  /** The address by which other gateways reach it, if NAT lies between and it differs. */
  readonly publicIP?: string;
}

export interface RouteTarget {
  readonly device: string;
  readonly via?: string;
  /** The next hop of IPv6 subnets. */
  readonly via6?: string;
  /** The MTU of packets on this route, if it is less than that of the device. */
  readonly mtu?: number;
}

export interface WayState {
  readonly state: 'connected' | 'connecting' | 'error';
  readonly message?: string;
  readonly bytesIn?: number;
  readonly bytesOut?: number;
}
