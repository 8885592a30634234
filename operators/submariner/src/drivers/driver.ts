// What a cable driver is to the gateway engine: it makes a way for packets and reports on it. Which packets take that way is
// decided by routes, which the engine keeps; so a pair moves from one driver to another by one route that is replaced.
import type { DriverName } from '../policy/driver-names.ts';

export interface CableDriver {
  readonly name: DriverName;
  /** Starts it, or adopts what an earlier process of this gateway left; what the other ends must know. */
  start(): Promise<Readonly<Record<string, string>>>;
  /** Makes the way: nothing on the host changes when it is there as it should be. Resolves when packets can pass. */
  prepare(cable: Cable, signal?: AbortSignal): Promise<void>;
  /** Where the routes of a prepared cable lead. */
  route(cable: Cable): RouteTarget;
  /** Removes the way of one cable, and nothing of any other. */
  remove(cable: Cable): Promise<void>;
  /** The state of every way that is there on the host, by `keyOf`; also of ways that this process did not make. */
  inspect(): Promise<ReadonlyMap<string, WayState>>;
  /** Under what name a cable's way is found on the host. */
  keyOf(cable: Cable): string;
  /** Removes a way that is found on the host and belongs to no cable. */
  removeKey(key: string): Promise<void>;
  /** Whether everything that must run for it runs; false makes the engine start it again. */
  isAlive(): Promise<boolean>;
  /** Removes everything that it made on the host. */
  cleanUp(): Promise<void>;
}

/** One cable of this gateway, to the gateway of another cluster. */
export interface Cable {
  /** As in the Endpoint: `submariner-cable-west-172-31-99-2`. */
  readonly name: string;
  readonly cluster: string;
  /** Where packets to it are sent: its private or its public address. */
  readonly remoteIP: string;
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
}

export interface RouteTarget {
  readonly device: string;
  readonly via?: string;
}

export interface WayState {
  readonly state: 'connected' | 'connecting' | 'error';
  readonly message?: string;
  readonly bytesIn?: number;
  readonly bytesOut?: number;
}
