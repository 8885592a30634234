// The backstop: packets to the networks of an encrypted pair leave through its cable or not at all. Each network has a route
// that rejects its packets, of the worst metric in the table of the cables. It names no device and belongs to no daemon, so it
// stays when a cable, a device, a daemon or this process goes. A file lists the networks: after a reboot they are rejected
// again before anything else is known. See docs/decisions for the alternatives that were tried.
import { type Host, lenient } from '../host/index.ts';
import { canonicalCidr, isCidr } from './addresses.ts';
import { type BackstopFile, createBackstopFile } from './backstop-file.ts';
import { DriverErrors } from './errors.ts';
import { ensureRule, readRejected, rejectStep, unrejectStep } from './routes.ts';

export interface Backstop {
  /** Rejects what the file lists; needs nothing but the host. To be called before everything else. */
  restore(): Promise<void>;
  /**
   * The networks that a holder (a cluster or a cable) keeps closed, all of them. They are rejected when it resolves. A network
   * is open again when no holder keeps it closed.
   */
  hold(holder: string, networks: readonly string[]): Promise<void>;
  holders(): readonly string[];
  /** Closes again what was opened by hand; true when something was missing. What the host rejects may be given. */
  verify(found?: ReadonlySet<string>): Promise<boolean>;
  /** Returns whether all of these networks were rejected on the host when it was last read. */
  isInForce(networks: readonly string[]): boolean;
  /** Opens everything, and forgets it. */
  remove(): Promise<void>;
}

export interface BackstopOptions {
  readonly host: Host;
  /** Folder of the file; survives a reboot. By default the run directory of the host. */
  readonly stateDir?: string;
}

export function createBackstop({ host, stateDir = host.runDir }: BackstopOptions): Backstop {
  const file: BackstopFile = createBackstopFile(stateDir);
  const holders = new Map<string, readonly string[]>();
  /** As on the host, as far as known. */
  let rejected: ReadonlySet<string> = new Set();
  let restored: Promise<void> | undefined;
  /** Work on the host, one after the other; holds that wait for the same turn share it. */
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
      // In the file first: a machine that ends in between closes them when it is back.
      file.write(holders);
      // One that the host refuses, as IPv6 where there is none, does not hold up the others.
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
    // Routes of an earlier process whose file is lost: they stay until the pairs are known.
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

/** The holder of networks that were found on the host alone. */
export const FOUND = 'found';
