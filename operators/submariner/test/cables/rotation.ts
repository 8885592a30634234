// Two gateways whose keys and options change while packets pass. What one publishes reaches the other at once, as over a broker.
import { silentLogger, systemClock } from '@capstan/kube';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import { type CableEngine, createCableEngine, type DriverStart } from '../../src/gateway/cable-engine.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { cableOf, testKeys } from './traffic.ts';
import { createUnderlay, type TestGateway } from './underlay.ts';

export interface RotatingPair {
  readonly ends: readonly [RotatingEnd, RotatingEnd];
  /** Connects both ends by this driver. */
  use(driver: DriverName): Promise<void>;
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

/** Opens two gateways that are connected by WireGuard. */
export async function openRotatingPair(keys: readonly Buffer[]): Promise<RotatingPair> {
  const underlay = createUnderlay(['a', 'b']);
  const opened: OpenEnd[] = [];
  let driver: DriverName = 'wireguard';
  let hasStarted = false;
  const connect = async () => {
    const [a, b] = opened;
    if (a === undefined || b === undefined) throw new TypeError('there are no gateways');
    const join = (from: OpenEnd, to: OpenEnd) => {
      const cable = cableOf(from.gateway, to.gateway, to.published(driver));
      return from.engine.apply(new Map([[cable.name, { driver, policy: 'test', cable }]]));
    };
    await Promise.all([join(a, b), join(b, a)]);
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
    for (const gateway of underlay.gateways)
      opened.push(
        openEnd(gateway, keys, () => {
          if (hasStarted) void connect();
        }),
      );
    for (const { engine } of opened) await engine.start();
    hasStarted = true;
    await connect();
    const [a, b] = opened;
    if (a === undefined || b === undefined) throw new TypeError('there are no gateways');
    return {
      ends: [a, b],
      use(next) {
        driver = next;
        return connect();
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
}

function openEnd(gateway: TestGateway, keys: readonly Buffer[], changed: () => void): OpenEnd {
  const host = gateway.host();
  let starts: ReadonlyMap<DriverName, DriverStart> = new Map();
  const state: { keys: readonly Buffer[]; options: Readonly<Record<string, string>> } = { keys, options: {} };
  const drivers = createDrivers({
    names: ['vxlan', 'wireguard', 'ipsec'],
    host,
    local: gateway.local,
    clock: systemClock,
    keys: () => testKeys(...state.keys)(),
    options: () => state.options,
    wireguardDevice: gateway.wireguardDevice,
    announceMs: 500,
  });
  const life = new AbortController();
  const engine = createCableEngine({
    host,
    drivers,
    sources: gateway.local,
    clock: systemClock,
    logger: silentLogger,
    drainMs: 300,
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
  });
}
