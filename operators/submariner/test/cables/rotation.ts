// Two gateways whose keys and options change while packets pass. Published data of one reaches the other at once, as over a broker.
import { silentLogger, systemClock } from '@capstan/kube';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import {
  type CableEngine,
  createCableEngine,
  type DriverStart,
  type WantedCable,
} from '../../src/gateway/cable-engine.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { until } from '../until.ts';
import { cableOf, testKeys } from './traffic.ts';
import { createUnderlay, type TestGateway, type Underlay } from './underlay.ts';

export interface RotatingPair {
  readonly underlay: Underlay;
  readonly ends: readonly [RotatingEnd, RotatingEnd];
  /** Connects both ends by this driver. The old way stays for a while. */
  use(driver: DriverName): Promise<void>;
  /** As `use`, and waits until neither end has a way of another driver: an old one that still works would come into use again at once. */
  useAlone(driver: DriverName): Promise<void>;
  /** Returns the cable that one end wants by this driver. */
  wanted(end: RotatingEnd, driver: DriverName): WantedCable;
  /** Ends the process of one gateway as if it were killed, and starts the next one: its cables stay. */
  restart(end: RotatingEnd): Promise<RotatingEnd>;
  /** Ends both gateways as if they were killed: their cables stay. */
  halt(): Promise<void>;
  close(): Promise<void>;
}

export interface RotatingEnd {
  readonly gateway: TestGateway;
  readonly engine: CableEngine;
  /** Pre-shared keys, newest first. */
  keys: readonly Buffer[];
  options: Readonly<Record<string, string>>;
  /** The part of the Endpoint that concerns a driver. */
  published(driver: DriverName): Readonly<Record<string, string>>;
}

export interface RotationTimes {
  /** How long a new key of WireGuard is announced before it is used. */
  readonly announceMs: number;
  /** How long an old way stays after a switch. */
  readonly drainMs: number;
}

/** Opens two gateways that are connected by WireGuard. */
export async function openRotatingPair(
  keys: readonly Buffer[],
  times: RotationTimes = { announceMs: 500, drainMs: 300 },
): Promise<RotatingPair> {
  const underlay = createUnderlay(['a', 'b']);
  const opened: OpenEnd[] = [];
  let driver: DriverName = 'wireguard';
  let hasStarted = false;
  const connect = async () => {
    const [a, b] = opened;
    if (a === undefined || b === undefined) throw new TypeError('there are no gateways');
    await Promise.all(
      [a, b].map((end) => {
        const each = wanted(end, driver);
        return end.engine.apply(new Map([[each.cable.name, each]]));
      }),
    );
  };
  const wanted = (end: RotatingEnd, next: DriverName): WantedCable => {
    const other = opened.find((each) => each !== end);
    if (other === undefined) throw new TypeError('there is no other gateway');
    return { driver: next, policy: 'test', cable: cableOf(end.gateway, other.gateway, other.published(next)) };
  };
  const use = (next: DriverName) => {
    driver = next;
    return connect();
  };
  const halt = async () => {
    for (const end of opened) await end.halt();
  };
  const close = async () => {
    await halt();
    for (const { engine } of opened) await engine.withdraw().catch(() => {});
    underlay.close();
  };
  try {
    const open = (gateway: TestGateway) =>
      openEnd(gateway, keys, times, () => {
        if (hasStarted) void connect();
      });
    opened.push(...underlay.gateways.map(open));
    for (const { engine } of opened) await engine.start();
    hasStarted = true;
    await connect();
    return {
      underlay,
      get ends() {
        const [a, b] = opened;
        if (a === undefined || b === undefined) throw new TypeError('there are no gateways');
        return [a, b] as const;
      },
      wanted,
      async restart(end) {
        const index = opened.findIndex((each) => each === end);
        await opened[index]?.halt();
        // The new process does not know the wanted cables yet.
        hasStarted = false;
        const next = open(end.gateway);
        opened[index] = next;
        await next.engine.start();
        hasStarted = true;
        return next;
      },
      use,
      async useAlone(next) {
        await use(next);
        await until(`the ways of drivers other than ${next} are gone`, 30_000, async () => {
          const left = await Promise.all(opened.map((end) => end.waysExcept(next)));
          return left.every((count) => count === 0);
        });
      },
      halt,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenEnd extends RotatingEnd {
  halt(): Promise<void>;
  /** Returns how many ways the host has by drivers other than this one. */
  waysExcept(driver: DriverName): Promise<number>;
}

function openEnd(
  gateway: TestGateway,
  keys: readonly Buffer[],
  { announceMs, drainMs }: RotationTimes,
  changed: () => void,
): OpenEnd {
  const host = gateway.host();
  let starts: ReadonlyMap<DriverName, DriverStart> = new Map();
  const state: { keys: readonly Buffer[]; options: Readonly<Record<string, string>> } = { keys, options: {} };
  const drivers = createDrivers({
    names: ['vxlan', 'wireguard', 'ipsec', 'vxlan+ipsec'],
    host,
    local: gateway.local,
    clock: systemClock,
    keys: () => testKeys(...state.keys)(),
    options: () => state.options,
    wireguardDevice: gateway.wireguardDevice,
    announceMs,
  });
  const life = new AbortController();
  const engine = createCableEngine({
    host,
    drivers,
    sources: gateway.local,
    clock: systemClock,
    logger: silentLogger,
    drainMs,
    onStarts(next) {
      starts = next;
      changed();
    },
  });
  const watching = engine.watch(life.signal, () => {});
  return Object.assign(state, {
    gateway,
    engine,
    published(driver: DriverName) {
      const start = starts.get(driver);
      return start !== undefined && 'config' in start ? start.config : {};
    },
    async halt() {
      life.abort();
      await watching;
    },
    async waysExcept(kept: DriverName) {
      const others = [...drivers.values()].filter(({ name }) => name !== kept);
      const ways = await Promise.all(others.map((each) => each.inspect()));
      return ways.reduce((sum, { size }) => sum + size, 0);
    },
  });
}
