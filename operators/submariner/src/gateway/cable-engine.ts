// The cables of one gateway: brings the host to what is wanted, one cable at a time and independently of all others. A cable
// moves to another driver make-before-break: the new way is prepared on both ends, the routes are replaced, and the old way
// stays for a while for what the other end still sends on it.
import { type Clock, type Logger, reasonOf, sleep } from '@capstan/kube';
import type { Cable, CableDriver } from '../drivers/driver.ts';
import { ensureRule, readRoutes, removeRoutes, routeStep, type Sources, unrouteStep } from '../drivers/routes.ts';
import type { Host } from '../host/index.ts';
import type { ConnectionState } from '../kinds/index.ts';
import { type DriverName, isEncrypted } from '../policy/driver-names.ts';
import {
  type CableEntry,
  type Installed,
  isSameCable,
  isSameSubnets,
  isSameWay,
  keyOf,
  keyOfCable,
  newEntry,
  reportOf,
  safeDevice,
} from './cable-entry.ts';

/** What should connect this gateway to another. */
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
  /** Starts the drivers; what each published, or why it is not available. */
  start(): Promise<ReadonlyMap<DriverName, DriverStart>>;
  /** The cables that should be there, all of them: what is on the host besides them is removed. */
  adopt(wanted: ReadonlyMap<string, WantedCable>): Promise<void>;
  /** Changed cables by name; undefined removes one. Resolves when the host is as wanted, or an attempt has failed. */
  apply(changes: ReadonlyMap<string, WantedCable | undefined>): Promise<void>;
  reports(): ReadonlyMap<string, CableReport>;
  /** The options or keys of this gateway changed: drivers take them up, and cables that need no change are not touched. */
  reconfigure(): Promise<void>;
  /** Watches over drivers and cables until the signal is aborted; `changed` is called when a report differs. */
  watch(signal: AbortSignal, changed: () => void): Promise<void>;
  /** Removes all cables, routes and daemons of this gateway. */
  withdraw(): Promise<void>;
}

export type DriverStart = { readonly config: Readonly<Record<string, string>> } | { readonly problem: string };

export interface CableEngineOptions {
  readonly host: Host;
  readonly drivers: ReadonlyMap<DriverName, CableDriver>;
  readonly sources: Sources;
  /** Finds out which address of the other end to use; by default that of the cable. */
  readonly locate?: (cable: Cable) => Promise<Location>;
  /** Called when a cable did not come up: its address may have changed. */
  readonly forget?: (cable: Cable) => void;
  /** Called whenever what a driver published, or why it is not available, has changed. */
  readonly onStarts?: (starts: ReadonlyMap<DriverName, DriverStart>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an old way stays after a switch; default 10 s. */
  readonly drainMs?: number;
  /** Whether the holder of the gateway's lease is still this process; asked before each step. */
  readonly mayAct?: () => boolean;
}

export interface Location {
  readonly remoteIP: string;
  readonly usingNAT: boolean;
}

const DRAIN_MS = 10_000;
const WATCH_MS = 1000;
/** While a driver has something under way. */
const WATCH_SOON_MS = 100;
const RETRY_MS = 1000;
const RETRY_MAX_MS = 30_000;

export function createCableEngine(options: CableEngineOptions): CableEngine {
  const { host, drivers, sources, clock, logger, drainMs = DRAIN_MS, mayAct = () => true } = options;
  const { onStarts = () => {}, locate = (cable: Cable) => Promise.resolve<Location>(cable) } = options;
  const entries = new Map<string, CableEntry>();
  const starts = new Map<DriverName, DriverStart>();
  /** Old ways that wait for their end, by driver and key. */
  const draining = new Map<string, { readonly old: Installed; readonly way: string; readonly until: number }>();

  const setStart = (name: DriverName, start: DriverStart) => {
    const isSame = JSON.stringify(starts.get(name)) === JSON.stringify(start);
    starts.set(name, start);
    if (!isSame) onStarts(new Map(starts));
  };

  const startDriver = async (driver: CableDriver): Promise<DriverStart> => {
    const before = starts.get(driver.name);
    try {
      const start = { config: await driver.start() };
      setStart(driver.name, start);
      return start;
    } catch (error) {
      const start = { problem: reasonOf(error) };
      setStart(driver.name, start);
      if (before === undefined || !('problem' in before) || before.problem !== start.problem)
        logger.warn('cable driver is not available', { driver: driver.name, problem: start.problem });
      return start;
    }
  };

  const startAll = async () => {
    await ensureRule(host);
    // One after the other: drivers may share a daemon.
    for (const driver of drivers.values()) await startDriver(driver);
  };

  const entryOf = (name: string): CableEntry => {
    const known = entries.get(name);
    if (known !== undefined) return known;
    const entry = newEntry();
    entries.set(name, entry);
    return entry;
  };

  const setRoutes = async (to: Installed, before: readonly string[] = []) => {
    const target = to.driver.route(to.cable);
    const gone = before.filter((subnet) => !to.cable.remoteSubnets.includes(subnet));
    await host.apply([
      ...to.cable.remoteSubnets.map((subnet) => routeStep(subnet, target, sources)),
      ...gone.map(unrouteStep),
    ]);
  };

  const unroute = (cable: Cable) => host.apply(cable.remoteSubnets.map(unrouteStep));

  /** Brings one cable to what is wanted now. */
  const bring = async (name: string, entry: CableEntry): Promise<void> => {
    if (!mayAct()) return;
    const { wanted, installed } = entry;
    if (wanted === undefined || wanted.driver === 'none') {
      if (installed !== undefined) await takeDown(name, entry, installed);
      entry.problem = undefined;
      if (wanted === undefined) entries.delete(name);
      return;
    }
    const driver = drivers.get(wanted.driver);
    const start = starts.get(wanted.driver);
    if (driver === undefined || start === undefined || 'problem' in start) {
      const problem =
        start !== undefined && 'problem' in start ? start.problem : 'it is not among the drivers of this gateway';
      await giveUp(entry, wanted, `cable driver "${wanted.driver}": ${problem}`);
      return;
    }
    try {
      const { remoteIP, usingNAT } = await locate(wanted.cable);
      if (entry.wanted !== wanted || !mayAct()) return;
      const next: Installed = { driver, cable: { ...wanted.cable, remoteIP, usingNAT } };
      const key = keyOf(next);
      draining.delete(key);
      // As it is named now: a driver may give a way another name while the new one is prepared.
      const [oldKey, oldWay] =
        installed === undefined ? ['', ''] : [keyOf(installed), keyOfCable(installed.driver, installed.cable)];
      await driver.prepare(next.cable);
      if (entry.wanted !== wanted || !mayAct()) return;
      if (installed === undefined || !isSameWay(installed, next) || !isSameSubnets(installed.cable, next.cable))
        await setRoutes(next, installed?.cable.remoteSubnets);
      entry.installed = next;
      entry.problem = undefined;
      entry.failures = 0;
      if (entry.way?.state !== 'connected' || installed === undefined || !isSameWay(installed, next))
        entry.connectedAt = clock.now();
      entry.way = { state: 'connected' };
      if (installed !== undefined && oldKey !== key)
        draining.set(oldKey, { old: installed, way: oldWay, until: clock.now() + drainMs });
    } catch (error) {
      await giveUp(entry, wanted, reasonOf(error));
    }
  };

  /** The old cable goes on carrying traffic, unless that would leave traffic in clear that must be encrypted. */
  const giveUp = async (entry: CableEntry, wanted: WantedCable, problem: string) => {
    entry.problem = problem;
    entry.failures++;
    options.forget?.(wanted.cable);
    entry.retryAt = clock.now() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** (entry.failures - 1));
    logger.warn('cable is not up', { cable: wanted.cable.name, cluster: wanted.cable.cluster, problem });
    const { installed } = entry;
    if (installed === undefined || !isEncrypted(wanted.driver) || isEncrypted(installed.driver.name)) return;
    await unroute(installed.cable);
    await installed.driver.remove(installed.cable);
    entry.installed = undefined;
  };

  const takeDown = async (name: string, entry: CableEntry, installed: Installed) => {
    await unroute(installed.cable);
    await installed.driver.remove(installed.cable);
    entry.installed = undefined;
    logger.info('cable is removed', { cable: name, driver: installed.driver.name });
  };

  const queue = (name: string, entry: CableEntry): Promise<void> => {
    entry.work = entry.work
      .then(() => bring(name, entry))
      .catch((error: unknown) => {
        entry.problem = reasonOf(error);
        entry.retryAt = clock.now() + RETRY_MS;
      });
    return entry.work;
  };

  const apply = async (changes: ReadonlyMap<string, WantedCable | undefined>) => {
    const work: Promise<void>[] = [];
    for (const [name, wanted] of changes) {
      const entry = entryOf(name);
      const before = entry.wanted;
      entry.wanted = wanted;
      if (before !== undefined && wanted !== undefined && isSameCable(before, wanted)) {
        // Only the name of the policy differs, or nothing; work on it may be under way.
        if (entry.installed !== undefined || wanted.driver === 'none') {
          work.push(entry.work);
          continue;
        }
      }
      entry.failures = 0;
      work.push(queue(name, entry));
    }
    await Promise.all(work);
  };

  const removeStrays = async () => {
    for (const [name, driver] of drivers) {
      const start = starts.get(name);
      if (start === undefined || 'problem' in start) continue;
      const wanted = new Set(
        [...entries.values()].flatMap((entry) =>
          entry.wanted?.driver === name ? [keyOfCable(driver, entry.wanted.cable)] : [],
        ),
      );
      for (const key of (await driver.inspect()).keys()) {
        if (wanted.has(key)) continue;
        logger.info('removing a cable of an earlier process', { driver: name, key });
        await driver.removeKey(key);
      }
    }
    const subnets = new Set(
      [...entries.values()].flatMap(({ wanted }) =>
        wanted === undefined || wanted.driver === 'none' ? [] : wanted.cable.remoteSubnets,
      ),
    );
    const routes = await readRoutes(host);
    await host.apply([...routes.keys()].filter((subnet) => !subnets.has(subnet)).map(unrouteStep));
  };

  const endDrains = async () => {
    for (const [key, { old, way, until }] of draining) {
      if (clock.now() < until) continue;
      draining.delete(key);
      const isUsed = [...entries.values()].some(({ installed }) => installed !== undefined && keyOf(installed) === key);
      if (!isUsed && way !== '')
        await old.driver
          .removeKey(way)
          .catch((error: unknown) => logger.warn('an old cable is not removed', { key, problem: reasonOf(error) }));
    }
  };

  /** What comes with time: new keys. */
  const tend = async (name: DriverName, driver: CableDriver): Promise<boolean> => {
    const { config, soon = false } = (await driver.tend?.()) ?? {};
    if (config !== undefined) setStart(name, { config });
    return soon;
  };
  const tendAll = async (): Promise<boolean> => {
    let soon = false;
    for (const [name, driver] of drivers) {
      const start = starts.get(name);
      if (start !== undefined && 'config' in start && (await tend(name, driver))) soon = true;
    }
    return soon;
  };

  /** Looks after daemons and ways; true when a report changed. */
  const look = async (): Promise<boolean> => {
    let changed = false;
    await endDrains();
    for (const [name, driver] of drivers) {
      const start = starts.get(name);
      if (start === undefined) continue;
      const users = [...entries].filter(([, { installed }]) => installed?.driver === driver);
      if ('problem' in start || !(await driver.isAlive())) {
        const isAgain = 'config' in (await startDriver(driver));
        if (isAgain && !('problem' in start)) logger.warn('cable driver was restarted', { driver: name });
        if (isAgain) for (const [cable, entry] of users) void queueAgain(cable, entry);
        changed = true;
        continue;
      }
      if (users.length === 0) continue;
      const ways = await driver.inspect();
      for (const [cable, entry] of users) {
        const way = ways.get(keyOfCable(driver, entry.installed?.cable)) ?? {
          state: 'error' as const,
          message: 'it was removed from the host',
        };
        if (way.state !== entry.way?.state || way.message !== entry.way.message) changed = true;
        entry.way = way;
        // What is broken is repaired; the driver leaves alone what is whole.
        if (way.state !== 'connected' && entry.retryAt <= clock.now()) void queueAgain(cable, entry);
      }
    }
    for (const [name, entry] of entries) {
      if (entry.problem === undefined || entry.retryAt > clock.now() || entry.wanted === undefined) continue;
      changed = true;
      void queueAgain(name, entry);
    }
    return changed;
  };

  const queueAgain = (name: string, entry: CableEntry): Promise<void> => {
    entry.retryAt = clock.now() + RETRY_MAX_MS;
    // Its routes may have gone with a device.
    const restore = async () => {
      if (entry.installed !== undefined && entry.problem === undefined) await setRoutes(entry.installed);
    };
    return queue(name, entry)
      .then(restore)
      .catch(() => {});
  };

  return {
    async start() {
      await startAll();
      return new Map(starts);
    },
    async adopt(wanted) {
      // At once, so that a change that comes meanwhile is the newer one.
      for (const [name, each] of wanted) entryOf(name).wanted = each;
      if (starts.size === 0) await startAll();
      const routes = await readRoutes(host);
      await removeStrays();
      await Promise.all(
        [...wanted].map(async ([name, each]) => {
          const entry = entryOf(name);
          if (entry.wanted !== each) return;
          const driver = drivers.get(each.driver);
          // Routes that lead where they should are not touched.
          if (
            driver !== undefined &&
            each.cable.remoteSubnets.every((subnet) => routes.get(subnet)?.device === safeDevice(driver, each.cable))
          )
            entry.installed = { driver, cable: each.cable };
          await queue(name, entry);
        }),
      );
    },
    apply,
    reports: () =>
      new Map(
        [...entries].flatMap(([name, entry]) =>
          entry.wanted === undefined ? [] : [[name, reportOf(entry, entry.wanted)]],
        ),
      ),
    async reconfigure() {
      // A gateway that has given up its cables takes them up when it starts its drivers again.
      if (starts.size === 0) return;
      for (const driver of drivers.values()) {
        const start = await startDriver(driver);
        if ('problem' in start) continue;
        // What the new options do not concern is left alone by the driver.
        for (const [name, entry] of entries) if (entry.installed?.driver === driver) void queueAgain(name, entry);
      }
    },
    async watch(signal, changed) {
      let lookAt = 0;
      while (!signal.aborted) {
        let soon = false;
        try {
          if (mayAct()) soon = await tendAll();
          if (mayAct() && lookAt <= clock.now()) {
            lookAt = clock.now() + WATCH_MS - WATCH_SOON_MS / 2;
            if (await look()) changed();
          }
        } catch (error) {
          logger.warn('the state of the cables could not be read', { problem: reasonOf(error) });
        }
        await sleep(clock, soon ? WATCH_SOON_MS : WATCH_MS, signal).catch(() => {});
      }
    },
    async withdraw() {
      await Promise.all([...entries.values()].map(({ work }) => work));
      entries.clear();
      draining.clear();
      await removeRoutes(host);
      for (const driver of drivers.values()) await driver.cleanUp();
      starts.clear();
    },
  };
}
