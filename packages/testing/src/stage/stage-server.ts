// The server under a stage. Tests name none: it is the embedded one, or with CAPSTAN_TEST_SERVER=real a kube-apiserver with
// etcd, and the same test must hold on both.
import type { Client, Transport } from '@capstan/kube';
import { TestingErrors } from '../errors.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import type { Account } from './account.ts';

export interface StageServer {
  readonly name: ServerName;
  /** The clock of the program and the test; a real server has its own. */
  readonly clock: VirtualClock;
  /** The administrator's. */
  readonly client: Client;
  transport(account: Account): Promise<Transport>;
  /** Whether the server has ended a watch (it does when a definition changes) that the program has yet to open again. */
  hasLapsedWatch(): boolean;
  /** Called once the given objects exist: no object of another stage is left. */
  begin(): Promise<void>;
  /** After the test's clock has moved: the server's own has too. */
  pass(ms: number): Promise<void>;
  /** Gives the server a moment to collect. Returns whether no object is left whose owners are gone, or that waits for its dependents. */
  collect(): Promise<boolean>;
  /** Leaves nothing of the test behind. */
  close(): Promise<void>;
}

export const SERVERS = ['embedded', 'real'] as const;
export type ServerName = (typeof SERVERS)[number];

/**
 * Options of a runtime beside this server. A virtual clock runs ahead of a real server, which ends watches by its own: with short ones
 * a test that moves the clock by minutes would open every watch again and again.
 */
export function runtimeBeside(name: ServerName): { readonly watchSeconds?: number } {
  return name === 'real' ? { watchSeconds: 300 } : {};
}

/** The server that this run of the tests is for. */
export function chosenServer(env: Readonly<Record<string, string | undefined>> = process.env): ServerName {
  const name = env['CAPSTAN_TEST_SERVER'] ?? 'embedded';
  const found = SERVERS.find((one) => one === name);
  if (found === undefined) throw TestingErrors.UnknownServer(name, SERVERS);
  return found;
}
