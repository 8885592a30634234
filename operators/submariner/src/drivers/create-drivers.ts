import type { Clock } from '@capstan/kube';
import { type Host, requirePrograms } from '../host/index.ts';
import type { DriverName } from '../policy/driver-names.ts';
import { ownOptionsOf } from '../policy/driver-options.ts';
import type { CableDriver, LocalEnd } from './driver.ts';
import { createIpsecDriver } from './ipsec.ts';
import { createIpsecDaemon } from './ipsec-daemon.ts';
import type { PreSharedKeys } from './pre-shared-keys.ts';
import { createVxlanDriver } from './vxlan.ts';
import { createVxlanIpsecDriver } from './vxlan-ipsec.ts';
import { createWireguardDriver } from './wireguard.ts';

export interface CreateDriversOptions {
  readonly names: readonly DriverName[];
  readonly host: Host;
  readonly local: LocalEnd;
  readonly clock: Clock;
  readonly keys: PreSharedKeys;
  /** Returns the present options of all drivers of this gateway. */
  readonly options?: () => Readonly<Record<string, string>>;
  readonly wireguardDevice?: string;
  /** The time for which a new WireGuard key is announced before it is used. */
  readonly announceMs?: number;
}

/** Creates the drivers of a gateway. Those that need charon share one. */
export function createDrivers(given: CreateDriversOptions): Map<DriverName, CableDriver> {
  const { names, host, local, clock, keys, options = () => ({}), wireguardDevice } = given;
  const settingsOf = (name: DriverName) => () => ownOptionsOf(name, options());
  const port = () => Number(ownOptionsOf('ipsec', options())['port'] ?? IPSEC_PORT);
  const daemon = createIpsecDaemon({ host, clock, keys, port });
  const users = new Set<DriverName>(names.filter((name) => name === 'ipsec' || name === 'vxlan+ipsec'));
  const release = (name: DriverName) => async () => {
    users.delete(name);
    if (users.size === 0) await daemon.stop();
  };
  const create: Readonly<Record<Exclude<DriverName, 'none'>, () => CableDriver>> = {
    vxlan: () => createVxlanDriver({ host, local, clock, settings: settingsOf('vxlan') }),
    wireguard: () =>
      createWireguardDriver({
        host,
        local,
        clock,
        keys,
        settings: settingsOf('wireguard'),
        ...(wireguardDevice !== undefined && { device: wireguardDevice }),
        ...(given.announceMs !== undefined && { announceMs: given.announceMs }),
      }),
    ipsec: () => createIpsecDriver({ daemon, local, settings: settingsOf('ipsec'), release: release('ipsec') }),
    'vxlan+ipsec': () =>
      createVxlanIpsecDriver({
        host,
        daemon,
        local,
        clock,
        settings: settingsOf('vxlan+ipsec'),
        release: release('vxlan+ipsec'),
      }),
  };
  return new Map(names.flatMap((name) => (name === 'none' ? [] : [[name, withPrograms(create[name](), host)]])));
}

/** Returns a driver that starts only if the programs that it calls are installed. */
function withPrograms(driver: CableDriver, { programs }: Host): CableDriver {
  return {
    ...driver,
    async start() {
      requirePrograms(programs, driver.name);
      return driver.start();
    },
  };
}

const IPSEC_PORT = 4500;
