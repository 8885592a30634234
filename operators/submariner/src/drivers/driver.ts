// What a cable driver is to the gateway engine: it prepares a way for packets and reports on it. Which packets take that way is
// decided by routes, which the engine keeps; so a pair moves from one driver to another by one route that is replaced.
import type { DriverName } from '../policy/driver-names.ts';

export interface CableDriver {
  readonly name: DriverName;
  /** Starts it, or adopts what an earlier process of this gateway left; what the other ends must know. */
  start(): Promise<Readonly<Record<string, string>>>;
  /** Prepares the way: nothing on the host changes when it is there as it should be. Resolves when packets can pass. */
  prepare(cable: Cable, signal?: AbortSignal): Promise<void>;
  /** Where the routes of a prepared cable lead. */
  route(cable: Cable): RouteTarget;
  /** Networks besides the subnets of the cable that must be reached through its tunnel only. */
  guards?(cable: Cable): readonly string[];
  /** Removes the way of one cable, and nothing of any other. */
  remove(cable: Cable): Promise<void>;
  /** The state of every way that is there on the host, by `keyOf`; also of ways that another process created. */
  inspect(): Promise<ReadonlyMap<string, WayState>>;
  /** Under what name a cable's way is found on the host. */
  keyOf(cable: Cable): string;
  /** Removes a way that is found on the host and belongs to no cable. */
  removeKey(key: string): Promise<void>;
  /** Whether everything that must run for it runs; false makes the engine start it again. */
  isAlive(): Promise<boolean>;
  /** Removes everything that it created on the host. */
  cleanUp(): Promise<void>;
  /** Work that comes with time, such as a new key; called about once a second while the driver is up. */
  tend?(): Promise<Tended>;
}

export interface Tended {
  /** What the other ends must know from now on, where that changed. */
  readonly config?: Readonly<Record<string, string>>;
  /** Something is under way: it should be called again after so many milliseconds. */
  readonly soonMs?: number;
}

/** The options of one driver as this gateway has them now; those of a cable are complete without them. */
export type DriverSettings = () => Readonly<Record<string, string>>;

export const NO_SETTINGS: DriverSettings = () => ({});

/** One cable of this gateway, to the gateway of another cluster. */
export interface Cable {
  /** As in the Endpoint: `submariner-cable-west-172-31-99-2`. */
  readonly name: string;
  readonly cluster: string;
  /** Where packets to it are sent: its private or its public address. */
  readonly remoteIP: string;
  /** Its public address, where NAT discovery may choose between the two. */
  readonly remotePublicIP?: string;
  /** The UDP port on which it answers NAT discovery. */
  readonly remoteDiscoveryPort?: number;
  readonly remotePrivateIP: string;
  readonly remoteSubnets: readonly string[];
  /** What the other end published for this driver. */
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
  /** An address of the host within its own subnets, from which packets of the host itself are sent. */
  readonly sourceIP: string | undefined;
  /** The same for IPv6 subnets. */
  readonly sourceIP6?: string;
  /** The address by which others may reach it, where that is another one: NAT lies between. */
  readonly publicIP?: string;
}

export interface RouteTarget {
  readonly device: string;
  readonly via?: string;
  /** The next hop of IPv6 subnets. */
  readonly via6?: string;
  /** Of packets on this route, where it is less than that of the device. */
  readonly mtu?: number;
}

export interface WayState {
  readonly state: 'connected' | 'connecting' | 'error';
  readonly message?: string;
  readonly bytesIn?: number;
  readonly bytesOut?: number;
}
