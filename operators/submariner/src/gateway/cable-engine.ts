// The cables of one gateway: brings the host to what is wanted, one cable at a time and independently of all others. A cable
// that moves to another driver is made before it is broken: the new way is prepared on both ends, the routes are replaced,
// and the old way stays for a while for what the other end still sends on it.
import { type Clock, type Logger, reasonOf, sleep } from '@capstan/kube';
import type { Cable, CableDriver, WayState } from '../drivers/driver.ts';
import { ensureRule, readRoutes, removeRoutes, routeStep, unrouteStep } from '../drivers/routes.ts';
import type { Host } from '../host/index.ts';
import type { ConnectionState } from '../kinds/index.ts';
import { type DriverName, isEncrypted } from '../policy/driver-names.ts';

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
}

export interface CableEngine {
  /** Starts the drivers; what each published, or why it is not available. */
  start(): Promise<ReadonlyMap<DriverName, DriverStart>>;
  /** The cables that should be there, all of them: what is on the host besides them is removed. */
  adopt(wanted: ReadonlyMap<string, WantedCable>): Promise<void>;
  /** Changed cables by name; undefined removes one. Resolves when the host is as wanted, or an attempt has failed. */
  apply(changes: ReadonlyMap<string, WantedCable | undefined>): Promise<void>;
  reports(): ReadonlyMap<string, CableReport>;
  /** Watches over drivers and cables until the signal is aborted; `changed` is called when a report differs. */
  watch(signal: AbortSignal, changed: () => void): Promise<void>;
  /** Removes all cables, routes and daemons of this gateway. */
  withdraw(): Promise<void>;
}

export type DriverStart = { readonly config: Readonly<Record<string, string>> } | { readonly problem: string };

export interface CableEngineOptions {
  readonly host: Host;
  readonly drivers: ReadonlyMap<DriverName, CableDriver>;
  readonly sourceIP: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an old way stays after a switch; default 10 s. */
  readonly drainMs?: number;
  /** Whether the holder of the gateway's lease is still this process; asked before each step. */
  readonly mayAct?: () => boolean;
}

interface Installed {
  readonly driver: CableDriver;
  readonly cable: Cable;
}

interface Entry {
  wanted: WantedCable | undefined;
  /** Where its routes lead now. */
  installed: Installed | undefined;
  problem: string | undefined;
  way: WayState | undefined;
  retryAt: number;
  failures: number;
  /** The work on this cable, in order. */
  work: Promise<void>;
}

const DRAIN_MS = 10_000;
const WATCH_MS = 1000;
const RETRY_MS = 1000;
const RETRY_MAX_MS = 30_000;

export function createCableEngine(options: CableEngineOptions): CableEngine {
  const { host, drivers, sourceIP, clock, logger, drainMs = DRAIN_MS, mayAct = () => true } = options;
  const entries = new Map<string, Entry>();
  const starts = new Map<DriverName, DriverStart>();
  /** Old ways that wait for their end, by driver and key. */
  const draining = new Map<string, { readonly old: Installed; readonly until: number }>();

  const startDriver = async (driver: CableDriver): Promise<DriverStart> => {
    try {
      const start = { config: await driver.start() };
      starts.set(driver.name, start);
      return start;
    } catch (error) {
      const start = { problem: reasonOf(error) };
      starts.set(driver.name, start);
      logger.warn('cable driver is not available', { driver: driver.name, problem: start.problem });
      return start;
    }
  };

  const entryOf = (name: string): Entry => {
    const known = entries.get(name);
    if (known !== undefined) return known;
    const entry: Entry = {
      wanted: undefined,
      installed: undefined,
      problem: undefined,
      way: undefined,
      retryAt: 0,
      failures: 0,
      work: Promise.resolve(),
    };
    entries.set(name, entry);
    return entry;
  };

  const setRoutes = async (to: Installed, before: readonly string[] = []) => {
    const target = to.driver.route(to.cable);
    const gone = before.filter((subnet) => !to.cable.remoteSubnets.includes(subnet));
    await host.apply([
      ...to.cable.remoteSubnets.map((subnet) => routeStep(subnet, target, sourceIP)),
      ...gone.map(unrouteStep),
    ]);
  };

  const unroute = (cable: Cable) => host.apply(cable.remoteSubnets.map(unrouteStep));

  /** Brings one cable to what is wanted now. */
  const bring = async (name: string, entry: Entry): Promise<void> => {
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
    const next: Installed = { driver, cable: wanted.cable };
    try {
      const key = keyOf(next);
      draining.delete(key);
      await driver.prepare(wanted.cable);
      if (entry.wanted !== wanted || !mayAct()) return;
      if (installed === undefined || !isSameWay(installed, next) || !isSameSubnets(installed.cable, next.cable))
        await setRoutes(next, installed?.cable.remoteSubnets);
      entry.installed = next;
      entry.problem = undefined;
      entry.failures = 0;
      entry.way = { state: 'connected' };
      if (installed !== undefined && keyOf(installed) !== key)
        draining.set(keyOf(installed), { old: installed, until: clock.now() + drainMs });
    } catch (error) {
      await giveUp(entry, wanted, reasonOf(error));
    }
  };

  /** The old cable goes on carrying traffic, unless that would leave traffic in clear that must be encrypted. */
  const giveUp = async (entry: Entry, wanted: WantedCable, problem: string) => {
    entry.problem = problem;
    entry.failures++;
    entry.retryAt = clock.now() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** (entry.failures - 1));
    logger.warn('cable is not up', { cable: wanted.cable.name, cluster: wanted.cable.cluster, problem });
    const { installed } = entry;
    if (installed === undefined || !isEncrypted(wanted.driver) || isEncrypted(installed.driver.name)) return;
    await unroute(installed.cable);
    await installed.driver.remove(installed.cable);
    entry.installed = undefined;
  };

  const takeDown = async (name: string, entry: Entry, installed: Installed) => {
    await unroute(installed.cable);
    await installed.driver.remove(installed.cable);
    entry.installed = undefined;
    logger.info('cable is removed', { cable: name, driver: installed.driver.name });
  };

  const queue = (name: string, entry: Entry): Promise<void> => {
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
        // Only the name of the policy differs, or nothing.
        if (entry.installed !== undefined || wanted.driver === 'none') continue;
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
    for (const [key, { old, until }] of draining) {
      if (clock.now() < until) continue;
      draining.delete(key);
      const isUsed = [...entries.values()].some(({ installed }) => installed !== undefined && keyOf(installed) === key);
      if (!isUsed)
        await old.driver
          .remove(old.cable)
          .catch((error: unknown) => logger.warn('an old cable is not removed', { key, problem: reasonOf(error) }));
    }
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
          message: 'it is gone from the host',
        };
        if (way.state !== entry.way?.state || way.message !== entry.way.message) changed = true;
        entry.way = way;
        // What has come apart is put together again; the driver leaves alone what is whole.
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

  const queueAgain = (name: string, entry: Entry): Promise<void> => {
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
      await ensureRule(host);
      // One after the other: drivers may share a daemon.
      for (const driver of drivers.values()) await startDriver(driver);
      return starts;
    },
    async adopt(wanted) {
      const routes = await readRoutes(host);
      for (const [name, each] of wanted) entryOf(name).wanted = each;
      await removeStrays();
      await Promise.all(
        [...wanted].map(async ([name, each]) => {
          const entry = entryOf(name);
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
    async watch(signal, changed) {
      while (!signal.aborted) {
        try {
          if (mayAct() && (await look())) changed();
        } catch (error) {
          logger.warn('the cables could not be looked at', { problem: reasonOf(error) });
        }
        await sleep(clock, WATCH_MS, signal).catch(() => {});
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

function reportOf({ installed, problem, way }: Entry, { driver, policy, cable }: WantedCable): CableReport {
  const base = { driver, policy, usingIP: cable.remoteIP, usingNAT: cable.usingNAT };
  if (driver === 'none') return { ...base, status: 'none', message: 'the policy wants no cable' };
  if (problem !== undefined) return { ...base, status: 'error', message: problem };
  if (installed === undefined || way === undefined)
    return { ...base, status: 'connecting', message: 'preparing the cable' };
  return { ...base, status: way.state, message: way.message };
}

function keyOf({ driver, cable }: Installed): string {
  return `${driver.name} ${keyOfCable(driver, cable)}`;
}

function keyOfCable(driver: CableDriver, cable: Cable | undefined): string {
  try {
    return cable === undefined ? '' : driver.keyOf(cable);
  } catch {
    // The other end has not published what the key is made of.
    return '';
  }
}

function safeDevice(driver: CableDriver, cable: Cable): string {
  return driver.route(cable).device;
}

function isSameWay(one: Installed, other: Installed): boolean {
  const [a, b] = [one.driver.route(one.cable), other.driver.route(other.cable)];
  return a.device === b.device && a.via === b.via;
}

function isSameSubnets(one: Cable, other: Cable): boolean {
  return one.remoteSubnets.join() === other.remoteSubnets.join();
}

function isSameCable(one: WantedCable, other: WantedCable): boolean {
  return one.driver === other.driver && JSON.stringify(one.cable) === JSON.stringify(other.cable);
}
