import type { DriverName } from '../policy/driver-names.ts';
import type { CableEngine, CableReport, DriverStart, WantedCable } from './cable-engine.ts';

/** Cables that exist in reports only: for clusters on one machine, whose host must not be touched. They say so. */
export function createSimulatedEngine(drivers: readonly DriverName[]): CableEngine {
  const cables = new Map<string, WantedCable>();
  const apply = (changes: ReadonlyMap<string, WantedCable | undefined>) => {
    for (const [name, wanted] of changes) {
      if (wanted === undefined) cables.delete(name);
      else cables.set(name, wanted);
    }
    return Promise.resolve();
  };
  return {
    start: () =>
      Promise.resolve(
        new Map(drivers.map((name): [DriverName, DriverStart] => [name, { config: { simulated: 'true' } }])),
      ),
    adopt(wanted) {
      cables.clear();
      return apply(wanted);
    },
    apply,
    reports: () =>
      new Map(
        [...cables].map(([name, { driver, policy, cable }]): [string, CableReport] => [
          name,
          {
            status: driver === 'none' ? 'none' : 'connected',
            message: 'simulated: no packet passes',
            driver,
            policy,
            usingIP: cable.remoteIP,
            usingNAT: cable.usingNAT,
          },
        ]),
      ),
    reconfigure: () => Promise.resolve(),
    watch: (signal) =>
      new Promise((resolve) =>
        signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
      ),
    standBy() {
      cables.clear();
      return Promise.resolve();
    },
    withdraw() {
      cables.clear();
      return Promise.resolve();
    },
  };
}
