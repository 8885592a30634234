// Two gateways with one encrypted cable, and everything that can happen to it. Used by the tests, which look for packets in
// clear, and by the bench, which counts them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@capstan/kube';
import { createBackstop } from '../../src/drivers/backstop.ts';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import { readRejected, removeRoutes } from '../../src/drivers/routes.ts';
import { type CableEngine, createCableEngine, type DriverStart } from '../../src/gateway/cable-engine.ts';
import { ip, lenient } from '../../src/host/index.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { routeEverything, startCapture, startTraffic } from './capture.ts';
import { cableOf, ping, testKeys } from './traffic.ts';
import { createUnderlay, type TestGateway } from './underlay.ts';

export type EncryptedDriver = 'wireguard' | 'ipsec' | 'vxlan+ipsec';
export const ENCRYPTED_DRIVERS: readonly EncryptedDriver[] = ['wireguard', 'ipsec', 'vxlan+ipsec'];

export interface FaultReport {
  readonly driver: EncryptedDriver;
  readonly event: string;
  /** Packets on the underlay, and those that carried user data in clear. */
  readonly packets: number;
  readonly clear: number;
  readonly sent: number;
  readonly received: number;
  readonly outageMs: number;
}

/** A fault that happens to the gateway `a` or `b` while packets of both families are sent from `a` to `b`. */
interface Fault {
  readonly name: string;
  act(pair: Pair, end: 'a' | 'b'): Promise<void>;
}

const PSK = Buffer.from('a key that only this test knows and uses');
const WAIT_MS = 30_000;

export const FAULTS: readonly Fault[] = [
  {
    name: 'its daemon is killed',
    act: async (pair, end) => killDaemon(pair, end),
  },
  {
    name: 'its device is deleted',
    act: (pair, end) =>
      pair
        .of(end)
        .gateway.host()
        .apply([lenient(ip('link', 'del', 'dev', deviceOf(pair, end)))]),
  },
  {
    name: 'its device is renamed',
    act: (pair, end) =>
      pair
        .of(end)
        .gateway.host()
        .apply([ip('link', 'set', 'dev', deviceOf(pair, end), 'name', 'renamed0')]),
  },
  {
    name: 'its gateway is replaced in order',
    async act(pair, end) {
      await pair.stop(end);
      await pair.start(end);
      await pair.adopt(end);
    },
  },
  {
    name: 'its gateway is replaced, and its daemon ends with the pod',
    async act(pair, end) {
      await pair.stop(end);
      killDaemon(pair, end);
      await pause(500);
      await pair.start(end);
      await pair.adopt(end);
    },
  },
  {
    name: 'its gateway is killed with its daemon, and waits in back-off',
    async act(pair, end) {
      await pair.stop(end);
      killDaemon(pair, end);
      await pause(3000);
      await pair.start(end);
      await pair.adopt(end);
    },
  },
  {
    name: 'its node is rebooted',
    async act(pair, end) {
      await pair.stop(end);
      killDaemon(pair, end);
      await pair.reboot(end);
      await pair.start(end);
      // The API server is not reached yet: no cable is known.
      await pause(500);
      await pair.adopt(end);
    },
  },
];

interface End {
  readonly gateway: TestGateway;
  engine: CableEngine;
  starts: ReadonlyMap<DriverName, DriverStart>;
  stop: () => Promise<void>;
}

interface Pair {
  readonly driver: EncryptedDriver;
  of(end: 'a' | 'b'): End;
  /** Ends the process of a gateway: its changes of the host stay. */
  stop(end: 'a' | 'b'): Promise<void>;
  start(end: 'a' | 'b'): Promise<void>;
  adopt(end: 'a' | 'b'): Promise<void>;
  /** Takes devices, routes and rules with it, while the machine sends nothing. */
  reboot(end: 'a' | 'b'): Promise<void>;
}

/** Lets every event happen to both ends of a cable, and passes the observation of each to `onReport`. */
export async function injectFaults(
  driver: EncryptedDriver,
  { faults = FAULTS, onReport }: { faults?: readonly Fault[]; onReport?: (report: FaultReport) => void } = {},
): Promise<FaultReport[]> {
  const underlay = createUnderlay(['a', 'b']);
  const ends = new Map<'a' | 'b', End>();
  const reports: FaultReport[] = [];
  const of = (id: 'a' | 'b') => {
    const found = ends.get(id);
    if (found === undefined) throw new TypeError(`there is no gateway ${id}`);
    return found;
  };
  const cableFrom = (id: 'a' | 'b') => {
    const other = of(id === 'a' ? 'b' : 'a');
    const start = other.starts.get(driver);
    const config = start !== undefined && 'config' in start ? start.config : {};
    return { driver, policy: 'test', cable: cableOf(of(id).gateway, other.gateway, config) };
  };
  let traffic: ReturnType<typeof startTraffic>[] = [];
  const send = () => {
    traffic = [of('b').gateway.address, of('b').gateway.address6].map((address) =>
      startTraffic(of('a').gateway, address),
    );
  };
  const endTraffic = async () => {
    const ended = await Promise.all(traffic.map((each) => each.stop()));
    traffic = [];
    return ended;
  };
  const pair: Pair = {
    driver,
    of,
    stop: (id) => of(id).stop(),
    async start(id) {
      ends.set(id, await openEnd(of(id).gateway, driver));
    },
    async adopt(id) {
      const wanted = cableFrom(id);
      // The other end learns of new keys as it does over a broker.
      const other = id === 'a' ? 'b' : 'a';
      const theirs = cableFrom(other);
      await Promise.all([
        of(id).engine.adopt(new Map([[wanted.cable.name, wanted]])),
        of(other).engine.apply(new Map([[theirs.cable.name, theirs]])),
      ]);
    },
    async reboot(id) {
      await endTraffic();
      const host = of(id).gateway.host();
      for (const { ifname } of await host.query('ip', 'link', 'show'))
        if (!['lo', 'veth0', 'cni0'].includes(String(ifname)))
          await host.apply([lenient(ip('link', 'del', 'dev', String(ifname)))]);
      await removeRoutes(host);
      // The first thing that a gateway does, before it starts anything else.
      await createEnd(of(id).gateway, driver).restore();
      send();
    },
  };
  try {
    routeEverything(underlay);
    for (const gateway of underlay.gateways) ends.set(gateway.id as 'a' | 'b', await openEnd(gateway, driver));
    const capture = await startCapture(underlay);
    try {
      const observe = async (event: string, work: () => Promise<void>, known = Promise.resolve()) => {
        const before = capture.count();
        await known;
        send();
        await pause(200);
        await work();
        await pause(200);
        const ended = await endTraffic();
        const sum = (field: 'sent' | 'received') => ended.reduce((total, each) => total + each[field], 0);
        const after = capture.count();
        const report = {
          driver,
          event,
          packets: after.packets - before.packets,
          clear: after.clear - before.clear,
          sent: sum('sent'),
          received: sum('received'),
          outageMs: Math.max(0, ...ended.map(({ outageMs }) => outageMs)),
        };
        reports.push(report);
        onReport?.(report);
      };
      /** The pair is known from the moment in which its networks are closed, which comes before everything else. */
      const untilClosed = async (id: 'a' | 'b') => {
        while ((await readRejected(of(id).gateway.host())).size === 0) await pause(10);
      };
      const untilConnected = async () => {
        const begin = performance.now();
        const isThrough = async () => {
          for (const address of [of('b').gateway.address, of('b').gateway.address6])
            if ((await ping(of('a').gateway, address, { count: 2, intervalMs: 20 })).received < 2) return false;
          return true;
        };
        while (!(await isThrough()))
          if (performance.now() - begin > WAIT_MS) throw new Error(`${driver}: no packet passes after ${WAIT_MS} ms`);
      };
      // Before the tunnel is up, one end knows the pair and the other does not.
      for (const id of ['a', 'b'] as const) {
        const wanted = cableFrom(id);
        const bringing = of(id).engine.apply(new Map([[wanted.cable.name, wanted]]));
        await observe(`${id}: before the first tunnel`, () => Promise.race([bringing, pause(700)]), untilClosed(id));
      }
      await untilConnected();
      for (const fault of faults)
        for (const id of ['a', 'b'] as const)
          await observe(`${id}: ${fault.name}`, async () => {
            await fault.act(pair, id);
            await untilConnected();
          });
      return reports;
    } finally {
      await capture.stop();
    }
  } finally {
    for (const { stop, engine } of ends.values()) {
      await stop();
      await engine.withdraw().catch(() => {});
    }
    underlay.close();
  }
}

/** Packets in clear that the same capture sees where nothing closes the networks: without them it would prove nothing. */
export async function countWithoutBackstop(): Promise<number> {
  const underlay = createUnderlay(['a', 'b']);
  try {
    routeEverything(underlay);
    const [a, b] = underlay.gateways;
    if (a === undefined || b === undefined) throw new TypeError('there are no gateways');
    const capture = await startCapture(underlay);
    const traffic = [b.address, b.address6].map((address) => startTraffic(a, address));
    for (let tries = 0; tries < 100 && capture.count().clear < 100; tries++) await pause(100);
    await Promise.all(traffic.map((each) => each.stop()));
    await capture.stop();
    return capture.count().clear;
  } finally {
    underlay.close();
  }
}

function createEnd(gateway: TestGateway, driver: EncryptedDriver) {
  const host = gateway.host();
  const backstop = createBackstop({ host });
  const drivers = createDrivers({
    names: [driver],
    host,
    local: gateway.local,
    clock: systemClock,
    keys: testKeys(PSK),
    wireguardDevice: gateway.wireguardDevice,
  });
  const engine = createCableEngine({
    host,
    drivers,
    backstop,
    sources: gateway.local,
    clock: systemClock,
    logger: silentLogger,
    drainMs: 500,
  });
  return { engine, restore: () => backstop.restore() };
}

async function openEnd(gateway: TestGateway, driver: EncryptedDriver): Promise<End> {
  const { engine } = createEnd(gateway, driver);
  const starts = await engine.start();
  const start = starts.get(driver);
  if (start === undefined || 'problem' in start) throw new Error(`${driver}: ${JSON.stringify(start)}`);
  const life = new AbortController();
  const watching = engine.watch(life.signal, () => {});
  return {
    gateway,
    engine,
    starts,
    async stop() {
      life.abort();
      await watching;
    },
  };
}

/** Returns the device that encrypts for the driver on one end. */
function deviceOf({ driver, of }: Pair, end: 'a' | 'b'): string {
  return driver === 'wireguard' ? of(end).gateway.wireguardDevice : 'ipsec0';
}

function killDaemon({ driver, of }: Pair, end: 'a' | 'b'): void {
  const { runDir, wireguardDevice, namespace } = of(end).gateway;
  const pid =
    driver === 'wireguard'
      ? wireguardPid(namespace, wireguardDevice)
      : Number(readFileSync(join(runDir, 'charon.pid'), 'utf8').split(' ')[0]);
  process.kill(pid, 'SIGKILL');
}

function wireguardPid(namespace: string, device: string): number {
  const { stdout } = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  const pid = stdout
    .split(/\s+/)
    .filter(Boolean)
    .find((each) => commandOf(each).includes(`wireguard-go\0-f\0${device}`));
  if (pid === undefined) throw new Error(`${device}: there is no wireguard-go`);
  return Number(pid);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
