// The drivers of a gateway: the data that each published at its start, or the reason why it is not available.
import { type Logger, reasonOf } from '@capstan/kube';
import type { CableDriver } from '../drivers/driver.ts';
import type { DriverName } from '../policy/driver-names.ts';

export type DriverStart = { readonly config: Readonly<Record<string, string>> } | { readonly problem: string };

export interface DriverStarts {
  readonly all: ReadonlyMap<DriverName, DriverStart>;
  /** Starts one driver, or adopts the one that runs. */
  start(driver: CableDriver): Promise<DriverStart>;
  /** Starts them one after the other: drivers may share a daemon. */
  startAll(): Promise<void>;
  /** Records the start of a driver whose published values have changed. */
  set(name: DriverName, start: DriverStart): void;
  /** Returns whether a driver can be used now. */
  isUp(name: DriverName): boolean;
  clear(): void;
}

export function createDriverStarts(
  drivers: ReadonlyMap<DriverName, CableDriver>,
  logger: Logger,
  onStarts: (starts: ReadonlyMap<DriverName, DriverStart>) => void,
): DriverStarts {
  const starts = new Map<DriverName, DriverStart>();
  const set = (name: DriverName, start: DriverStart) => {
    const isSame = JSON.stringify(starts.get(name)) === JSON.stringify(start);
    starts.set(name, start);
    if (!isSame) onStarts(new Map(starts));
  };
  const start = async (driver: CableDriver): Promise<DriverStart> => {
    const before = starts.get(driver.name);
    let result: DriverStart;
    try {
      result = { config: await driver.start() };
    } catch (error) {
      result = { problem: reasonOf(error) };
      if (before === undefined || !('problem' in before) || before.problem !== result.problem)
        logger.warn('cable driver is not available', { driver: driver.name, problem: result.problem });
    }
    set(driver.name, result);
    return result;
  };
  return {
    all: starts,
    start,
    async startAll() {
      for (const driver of drivers.values()) await start(driver);
    },
    set,
    isUp(name) {
      const found = starts.get(name);
      return found !== undefined && 'config' in found;
    },
    clear: () => starts.clear(),
  };
}
