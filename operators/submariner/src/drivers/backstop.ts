// The backstop ensures that packets to the networks of an encrypted pair leave only through its cable. Each network has a route that
// rejects its packets, with the worst metric in the table of the cables. The route names no device and belongs to no daemon, so it stays
// when a cable, a device, a daemon or this process ends. A file lists the networks, so that they are rejected again after a reboot before
// anything else is known. See docs/decisions for the alternatives that were tried.
import { type Host, lenient } from '../host/index.ts';
import { canonicalCidr, isCidr } from './addresses.ts';
import { type BackstopFile, createBackstopFile } from './backstop-file.ts';
import { DriverErrors } from './errors.ts';
import { ensureRule, readRejected, rejectStep, unrejectStep } from './routes.ts';

export interface Backstop {
  /** Rejects the networks in the file. It needs only the host and must be called before everything else. */
  restore(): Promise<void>;
  /**
   * Sets all networks that a holder (a cluster or a cable) keeps closed. They are rejected once it resolves. A network opens when no holder
   * keeps it closed.
   */
  hold(holder: string, networks: readonly string[]): Promise<void>;
  holders(): readonly string[];
  /**
   * Closes networks again that were opened by hand. Returns true if one was missing. `found` may give the networks that the host rejects.
   */
  verify(found?: ReadonlySet<string>): Promise<boolean>;
  /** Returns whether all of these networks were rejected on the host when it was last read. */
  isInForce(networks: readonly string[]): boolean;
  /** Opens all networks and removes the file. */
  remove(): Promise<void>;
}

export interface BackstopOptions {
  readonly host: Host;
  /** The folder of the file, which must survive a reboot. Default: the run directory of the host. */
  readonly stateDir?: string;
}

export function createBackstop({ host, stateDir = host.runDir }: BackstopOptions): Backstop {
  const file: BackstopFile = createBackstopFile(stateDir);
  const holders = new Map<string, readonly string[]>();
  /** The networks that the host rejects, as far as known. */
  let rejected: ReadonlySet<string> = new Set();
  let restored: Promise<void> | undefined;
  /** Work on the host runs in sequence. Holds that wait for the same turn share it. */
  let last: Promise<unknown> = Promise.resolve();
  let waiting: Promise<void> | undefined;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
  const wanted = () => new Set([...holders.values()].flat());

  const bring = async () => {
    const closed = wanted();
    const missing = [...closed].filter((network) => !rejected.has(network));
    if (missing.length > 0) {
      // Write the file first: a machine that crashes in between closes the networks when it restarts.
      file.write(holders);
      // A network that the host refuses (IPv6 on a host without it) does not block the others.
      await host.apply(missing.map((network) => lenient(rejectStep(network))));
      rejected = await readRejected(host);
    }
    const surplus = [...rejected].filter((network) => !closed.has(network));
    await host.apply(surplus.map(unrejectStep));
    rejected = new Set([...rejected].filter((network) => closed.has(network)));
    file.write(holders);
  };
  const brought = (): Promise<void> => {
    waiting ??= inTurn(() => {
      waiting = undefined;
      return bring();
    });
    return waiting;
  };

  const restore = async () => {
    for (const [holder, networks] of file.read()) holders.set(holder, networks);
    await ensureRule(host);
    rejected = await readRejected(host);
    const found = [...rejected].filter((network) => !wanted().has(network));
    // Keep routes of an earlier process whose file is lost until the pairs are known.
    if (found.length > 0) holders.set(FOUND, found);
    await brought();
  };
  const ready = () => {
    restored ??= restore().catch((error: unknown) => {
      restored = undefined;
      throw error;
    });
    return restored;
  };

  return {
    restore: ready,
    async hold(holder, networks) {
      await ready();
      const next = [...new Set(networks.filter(isCidr).map(canonicalCidr))].toSorted();
      const isSame = (holders.get(holder) ?? []).join() === next.join();
      const isClosed = () => next.every((network) => rejected.has(network));
      if (isSame && isClosed()) return;
      if (next.length === 0) holders.delete(holder);
      else holders.set(holder, next);
      await brought();
      if (!isClosed()) throw DriverErrors.NotProtected(next.filter((network) => !rejected.has(network)));
    },
    holders: () => [...holders.keys()],
    async verify(found) {
      await ready();
      return inTurn(async () => {
        const isWhole = () => [...wanted()].every((network) => rejected.has(network));
        if (found !== undefined) rejected = found;
        // The given list may be older than the last change.
        if (found === undefined || !isWhole()) rejected = await readRejected(host);
        const wasWhole = isWhole();
        if (!wasWhole) await bring();
        return !wasWhole;
      });
    },
    isInForce: (networks) => networks.every((network) => !isCidr(network) || rejected.has(canonicalCidr(network))),
    async remove() {
      await inTurn(async () => {
        holders.clear();
        rejected = await readRejected(host);
        await bring();
        file.remove();
      });
    },
  };
}

/** The holder of networks that were found only on the host. */
export const FOUND = 'found';
