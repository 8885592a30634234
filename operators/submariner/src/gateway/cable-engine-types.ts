// The inputs and reports of the cable engine.
import type { Clock, Logger } from '@capstan/kube';
import type { Backstop } from '../drivers/backstop.ts';
import type { Cable, CableDriver } from '../drivers/driver.ts';
import type { Sources } from '../drivers/routes.ts';
import type { Host } from '../host/index.ts';
import type { ConnectionState } from '../kinds/index.ts';
import type { DriverName } from '../policy/driver-names.ts';
import type { DriverStart } from './driver-starts.ts';

/** The cable that should connect this gateway to another. */
export interface WantedCable {
  readonly driver: DriverName;
  readonly cable: Cable;
  /** The policy that chose it; a change of this alone touches nothing. */
  readonly policy: string;
}

export interface CableReport {
  readonly status: ConnectionState;
  readonly message: string | undefined;
  readonly driver: DriverName;
  readonly policy: string;
  readonly usingIP: string;
  readonly usingNAT: boolean;
  readonly bytesIn?: number;
  readonly bytesOut?: number;
  /** When it was last established, in milliseconds since 1970. */
  readonly connectedAt?: number;
}

export interface CableEngine {
  /** Starts the drivers. Returns the published data of each, or the reason why it is not available. */
  start(): Promise<ReadonlyMap<DriverName, DriverStart>>;
  /** Brings the host to exactly these cables: all others on the host are removed. */
  adopt(wanted: ReadonlyMap<string, WantedCable>): Promise<void>;
  /** Changed cables by name; undefined removes one. Resolves when the host is as wanted, or an attempt has failed. */
  apply(changes: ReadonlyMap<string, WantedCable | undefined>): Promise<void>;
  reports(): ReadonlyMap<string, CableReport>;
  /** The options or keys of this gateway changed: drivers take them up, and cables that need no change are not touched. */
  reconfigure(): Promise<void>;
  /** Watches over drivers and cables until the signal is aborted; `changed` is called when a report differs. */
  watch(signal: AbortSignal, changed: () => void): Promise<void>;
  /** Removes all cables, also those of an earlier process: another gateway is active. Daemons and the backstop stay. */
  standBy(): Promise<void>;
  /** Removes all cables, routes and daemons of this gateway, and the backstop last. */
  withdraw(): Promise<void>;
}

export interface CableEngineOptions {
  readonly host: Host;
  readonly drivers: ReadonlyMap<DriverName, CableDriver>;
  readonly sources: Sources;
  /** By default one of its own. */
  readonly backstop?: Backstop;
  /** Finds out which address of the other end to use; by default that of the cable. */
  readonly locate?: (cable: Cable) => Promise<Location>;
  /** Called when a cable did not come up: its address may have changed. */
  readonly forget?: (cable: Cable) => void;
  /** Called whenever the published data of a driver, or the reason why it is not available, has changed. */
  readonly onStarts?: (starts: ReadonlyMap<DriverName, DriverStart>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an old way stays after a switch; default 10 s. */
  readonly drainMs?: number;
  /** Returns whether this process still holds the gateway's lease; asked before each step. */
  readonly mayAct?: () => boolean;
}

export interface Location {
  readonly remoteIP: string;
  readonly usingNAT: boolean;
}
