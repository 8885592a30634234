// The cables of one gateway: brings the host to the wanted cables, each independently of all others. A cable moves to another
// driver make-before-break: the new way is prepared on both ends, the routes are replaced, and the old way stays for a while for
// packets that the other end still sends on it. A cable without encryption that must be encrypted from now on is the exception:
// it carries nothing any more, and packets are rejected until the new way is up. The backstop closes the networks of an encrypted
// cable before any other part of the cable exists, and opens them after all other parts are gone.
import { backOff, reasonOf, sleep } from '@capstan/kube';
import { createBackstop } from '../drivers/backstop.ts';
import type { Cable } from '../drivers/driver.ts';
import {
  ensureRule,
  readRoutes,
  readTable,
  removeCableRoutes,
  removeRoutes,
  routeStep,
  unrouteStep,
} from '../drivers/routes.ts';
import { isEncrypted } from '../policy/driver-names.ts';
import type { CableEngine, CableEngineOptions, Location, WantedCable } from './cable-engine-types.ts';
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
import { createDriverStarts } from './driver-starts.ts';

export type * from './cable-engine-types.ts';
export type { DriverStart } from './driver-starts.ts';

/** The beginning of the names under which cables hold networks in the backstop. */
const HOLDER = 'cable ';
/** The beginning of the keys under which networks wait to be opened. */
const CLOSING = 'closing ';
const DRAIN_MS = 10_000;
const WATCH_MS = 1000;
const RULE_MS = 5000;
const BACK_OFF = { firstMs: 1000, longestMs: 30_000 };
/** How long the networks of a removed cable without encryption stay closed, until it is known whether the pair is. */
const CLOSING_MS = 2000;

/** The remaining work for an old way. */
interface Draining {
  readonly old: Installed;
  /** The name by which the driver knows the old way; empty if nothing of it is left. */
  readonly way: string;
  readonly until: number;
  /** Its networks are closed until then, although it does not encrypt. */
  readonly isClosing?: boolean;
}

export function createCableEngine(options: CableEngineOptions): CableEngine {
  const { host, drivers, sources, clock, logger, drainMs = DRAIN_MS, mayAct = () => true } = options;
  const { onStarts = () => {}, locate = (cable: Cable) => Promise.resolve<Location>(cable) } = options;
  const entries = new Map<string, CableEntry>();
  const backstop = options.backstop ?? createBackstop({ host });
  const starts = createDriverStarts(drivers, logger, onStarts);
  /** Old ways that wait for their end, by driver and key. */
  const draining = new Map<string, Draining>();

  const startAll = async () => {
    await backstop.restore();
    await starts.startAll();
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

  /** Two cables have the same subnets while the other cluster changes its gateway: routes of the other one stay. */
  const unroute = (cable: Cable) => {
    const others = [...entries.values()].flatMap(({ installed }) =>
      installed === undefined || installed.cable.name === cable.name ? [] : installed.cable.remoteSubnets,
    );
    return host.apply(cable.remoteSubnets.filter((subnet) => !others.includes(subnet)).map(unrouteStep));
  };

  /** Keeps the networks closed that an encrypted way of this cable leads to: wanted, installed or not yet removed. */
  const protect = (name: string, entry: CableEntry): Promise<void> => {
    const { wanted, installed } = entry;
    const coming = wanted === undefined ? undefined : drivers.get(wanted.driver);
    const old = [...draining.values()].filter((each) => each.old.cable.name === name);
    const ways = [
      ...(wanted === undefined || coming === undefined ? [] : [{ driver: coming, cable: wanted.cable }]),
      ...(installed === undefined ? [] : [installed]),
      ...old.map((each) => each.old),
    ];
    const networks = ways
      .filter(({ driver }) => isEncrypted(driver.name))
      .flatMap(({ driver, cable }) => [...cable.remoteSubnets, ...(driver.guards?.(cable) ?? [])]);
    const closing = old.filter(({ isClosing }) => isClosing).flatMap((each) => each.old.cable.remoteSubnets);
    return backstop.hold(`${HOLDER}${name}`, [...networks, ...closing]);
  };
  const releaseHolds = async (isGone: (name: string) => boolean) => {
    for (const holder of backstop.holders())
      if (holder.startsWith(HOLDER) && isGone(holder.slice(HOLDER.length))) await backstop.hold(holder, []);
  };

  /** Brings one cable to its wanted state. */
  const bring = async (name: string, entry: CableEntry): Promise<void> => {
    if (!mayAct()) return;
    const { wanted } = entry;
    let { installed } = entry;
    if (wanted === undefined || wanted.driver === 'none') {
      if (installed !== undefined) await takeDown(name, entry, installed);
      entry.problem = undefined;
      if (wanted === undefined && entry.wanted === undefined) entries.delete(name);
      await protect(name, entry);
      return;
    }
    try {
      await protect(name, entry);
    } catch (error) {
      await giveUp(entry, wanted, reasonOf(error));
      return;
    }
    if (installed !== undefined && isEncrypted(wanted.driver) && !isEncrypted(installed.driver.name)) {
      await leaveClear(entry, installed);
      installed = undefined;
    }
    const driver = drivers.get(wanted.driver);
    const start = starts.all.get(wanted.driver);
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
      // From here on routes that lead elsewhere are repaired towards the new way.
      entry.installed = next;
      if (installed === undefined || !isSameWay(installed, next) || !isSameSubnets(installed.cable, next.cable))
        await setRoutes(next, installed?.cable.remoteSubnets).catch((error: unknown) => {
          entry.installed = installed;
          throw error;
        });
      entry.problem = undefined;
      entry.failures = 0;
      if (entry.way?.state !== 'connected' || installed === undefined || !isSameWay(installed, next))
        entry.connectedAt = clock.now();
      entry.way = { state: 'connected' };
      if (installed !== undefined && oldKey !== key)
        draining.set(oldKey, { old: installed, way: oldWay, until: clock.now() + drainMs });
      await protect(name, entry);
    } catch (error) {
      await giveUp(entry, wanted, reasonOf(error));
    }
  };

  /** The old cable goes on carrying traffic, unless that would leave traffic in clear that must be encrypted. */
  const giveUp = async (entry: CableEntry, wanted: WantedCable, problem: string) => {
    entry.problem = problem;
    entry.failures++;
    options.forget?.(wanted.cable);
    entry.retryAt = clock.now() + backOff(entry.failures, BACK_OFF);
    logger.warn('cable is not up', { cable: wanted.cable.name, cluster: wanted.cable.cluster, problem });
    const { installed } = entry;
    if (installed === undefined || !isEncrypted(wanted.driver) || isEncrypted(installed.driver.name)) return;
    await unroute(installed.cable);
    await installed.driver.remove(installed.cable);
    entry.installed = undefined;
  };

  /**
   * Takes the routes from a cable without encryption: the pair must be encrypted from now on, and its networks are closed. The
   * way itself stays for a while for packets that the other end still sends on it.
   */
  const leaveClear = async (entry: CableEntry, installed: Installed) => {
    const way = keyOfCable(installed.driver, installed.cable);
    // First of all, so that no other work brings the routes back.
    entry.installed = undefined;
    draining.set(keyOf(installed), { old: installed, way, until: clock.now() + drainMs });
    await unroute(installed.cable);
    logger.info('cable carries nothing until it is encrypted', { cable: installed.cable.name });
  };

  const takeDown = async (name: string, entry: CableEntry, installed: Installed) => {
    entry.installed = undefined;
    // Without a route packets would leave in clear, before it is known whether the policy closes the pair.
    if (!isEncrypted(installed.driver.name)) {
      draining.set(`${CLOSING}${name}`, {
        old: installed,
        way: '',
        until: clock.now() + CLOSING_MS,
        isClosing: true,
      });
      await protect(name, entry).catch((error: unknown) =>
        logger.warn('the networks of a removed cable are not closed', { cable: name, problem: reasonOf(error) }),
      );
    }
    try {
      await unroute(installed.cable);
      await installed.driver.remove(installed.cable);
    } catch (error) {
      entry.installed = installed;
      throw error;
    }
    logger.info('cable is removed', { cable: name, driver: installed.driver.name });
  };

  const inOrder = (entry: CableEntry, work: () => Promise<void>): Promise<void> => {
    entry.pending++;
    entry.work = entry.work
      .then(work)
      .catch((error: unknown) => {
        entry.problem = reasonOf(error);
        entry.retryAt = clock.now() + BACK_OFF.firstMs;
      })
      .finally(() => entry.pending--);
    return entry.work;
  };
  const queue = (name: string, entry: CableEntry): Promise<void> => inOrder(entry, () => bring(name, entry));

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
      if (!starts.isUp(name)) continue;
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
      const entry = entries.get(old.cable.name);
      await (entry === undefined ? backstop.hold(`${HOLDER}${old.cable.name}`, []) : protect(old.cable.name, entry));
    }
  };

  /** Does the work that comes with time, such as new keys, and returns when to check again. */
  const tendAll = async (): Promise<number> => {
    let nextMs = WATCH_MS;
    for (const [name, driver] of drivers) {
      if (!starts.isUp(name)) continue;
      const { config, soonMs = WATCH_MS } = (await driver.tend?.()) ?? {};
      if (config !== undefined) starts.set(name, { config });
      nextMs = Math.min(nextMs, soonMs);
    }
    return nextMs;
  };

  let ruleAt = 0;
  /** Routes and the backstop may have been removed by hand, or with a device. */
  const repairRoutes = async () => {
    if (ruleAt <= clock.now()) {
      await ensureRule(host);
      ruleAt = clock.now() + RULE_MS;
    }
    const { routes: found, rejected } = await readTable(host);
    if (await backstop.verify(rejected)) logger.warn('the backstop was incomplete on the host and is in place again');
    for (const entry of entries.values()) {
      const { installed } = entry;
      if (installed === undefined) continue;
      const { device } = installed.driver.route(installed.cable);
      if (installed.cable.remoteSubnets.every((subnet) => found.get(subnet)?.device === device)) continue;
      // A pending change may be about to remove the routes.
      if (entry.pending > 0) continue;
      await inOrder(entry, async () => {
        // The device itself may be gone: then the cable is repaired first.
        if (entry.installed === installed) await setRoutes(installed).catch(() => {});
      });
    }
  };

  /** Looks after daemons and ways; true when a report changed. */
  const look = async (): Promise<boolean> => {
    let changed = false;
    await endDrains();
    await repairRoutes();
    for (const [name, driver] of drivers) {
      const start = starts.all.get(name);
      if (start === undefined) continue;
      const users = [...entries].filter(([, { installed }]) => installed?.driver === driver);
      if ('problem' in start || !(await driver.isAlive())) {
        const isAgain = 'config' in (await starts.start(driver));
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
        if (way.state === 'connected') entry.repairs = 0;
        // Repair a broken cable at once, and less often if that does not help. The driver leaves intact parts alone.
        else if (entry.problem === undefined && isDue(entry)) {
          entry.repairs++;
          entry.retryAt = clock.now() + backOff(entry.repairs, BACK_OFF);
          void queueAgain(cable, entry);
        }
      }
    }
    for (const [name, entry] of entries) {
      if (entry.problem === undefined || !isDue(entry) || entry.wanted === undefined) continue;
      changed = true;
      void queueAgain(name, entry);
    }
    return changed;
  };
  const isDue = ({ pending, repairs, problem, retryAt }: CableEntry) =>
    pending === 0 && ((repairs === 0 && problem === undefined) || retryAt <= clock.now());

  const queueAgain = (name: string, entry: CableEntry): Promise<void> =>
    inOrder(entry, async () => {
      await bring(name, entry);
      // Its routes may have gone with a device.
      if (entry.installed !== undefined && entry.problem === undefined)
        await setRoutes(entry.installed).catch(() => {});
    });

  const adopt = async (wanted: ReadonlyMap<string, WantedCable>) => {
    // Removed while this gateway was not the active one.
    const gone = [...entries].filter(([name]) => !wanted.has(name));
    for (const [, entry] of gone) entry.wanted = undefined;
    if (starts.all.size === 0) await startAll();
    await Promise.all(gone.map(([name, entry]) => queue(name, entry)));
    const routes = await readRoutes(host);
    await removeStrays();
    await releaseHolds((name) => !entries.has(name));
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
        else if (entry.installed === undefined && isEncrypted(each.driver))
          await inOrder(entry, () => closeOthers(name, entry, each.cable.remoteSubnets, routes));
        await queue(name, entry);
      }),
    );
  };
  /** Routes of an earlier process to a cable that must be encrypted now may lead into one that is not. */
  const closeOthers = async (
    name: string,
    entry: CableEntry,
    subnets: readonly string[],
    routes: ReadonlyMap<string, unknown>,
  ) => {
    await protect(name, entry);
    await host.apply(subnets.filter((subnet) => routes.has(subnet)).map(unrouteStep));
  };

  /** Taking up all cables and giving them up never overlap. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };

  return {
    async start() {
      await startAll();
      return new Map(starts.all);
    },
    adopt(wanted) {
      // At once, so that a change that comes meanwhile is the newer one.
      for (const [name, each] of wanted) entryOf(name).wanted = each;
      return inTurn(() => adopt(wanted));
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
      if (starts.all.size === 0) return;
      for (const driver of drivers.values()) {
        const start = await starts.start(driver);
        if ('problem' in start) continue;
        // The driver leaves cables alone that the new options do not concern.
        for (const [name, entry] of entries) if (entry.installed?.driver === driver) void queueAgain(name, entry);
      }
    },
    async watch(signal, changed) {
      const every = async (work: () => Promise<number>) => {
        while (!signal.aborted) {
          const nextMs = await (mayAct() ? work() : Promise.resolve(WATCH_MS)).catch((error: unknown) => {
            logger.warn('the state of the cables could not be read', { problem: reasonOf(error) });
            return WATCH_MS;
          });
          await sleep(clock, nextMs, signal).catch(() => {});
        }
      };
      // Keys do not wait until all cables have been looked at.
      await Promise.all([
        every(tendAll),
        every(async () => {
          if (await look()) changed();
          return WATCH_MS;
        }),
      ]);
    },
    standBy: () =>
      inTurn(async () => {
        const before = [...entries.values()];
        entries.clear();
        for (const entry of before) entry.wanted = undefined;
        await Promise.all(before.map(({ work }) => work));
        draining.clear();
        await removeStrays();
        await removeCableRoutes(host);
        await releaseHolds(() => true);
      }),
    async withdraw() {
      await Promise.all([...entries.values()].map(({ work }) => work));
      entries.clear();
      draining.clear();
      await removeCableRoutes(host);
      for (const driver of drivers.values()) await driver.cleanUp();
      starts.clear();
      await backstop.remove();
      await removeRoutes(host);
    },
  };
}
