import type { Clock, Connection, ConnectOptions } from '@capstan/kube/cluster';

/** The parts of the machine that a discoverer needs, as an argument. The command line's own `Io` has all of them. */
export interface DiscoverIo {
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: { read(path: string): Promise<string> };
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Aborted when the system asks us to stop. */
  readonly signal: AbortSignal;
  /** To this cluster. */
  connect(options: ConnectOptions): Promise<Connection>;
  /** Unique to this process. */
  readonly identity: string;
}
