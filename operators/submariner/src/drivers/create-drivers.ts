import type { Clock } from '@capstan/kube';
import type { Host } from '../host/index.ts';
import type { DriverName } from '../policy/driver-names.ts';
import type { CableDriver, LocalEnd } from './driver.ts';
import { createIpsecDriver } from './ipsec.ts';
import { createIpsecDaemon } from './ipsec-daemon.ts';
import { createVxlanDriver } from './vxlan.ts';
import { createVxlanIpsecDriver } from './vxlan-ipsec.ts';
import { createWireguardDriver } from './wireguard.ts';

export interface CreateDriversOptions {
  readonly names: readonly DriverName[];
  readonly host: Host;
  readonly local: LocalEnd;
  readonly clock: Clock;
  /** The raw bytes of the pre-shared key; undefined where there is none. */
  readonly psk: () => Promise<Uint8Array | undefined>;
  /** Options of this gateway. */
  readonly defaults?: Readonly<Record<string, string>>;
  readonly wireguardDevice?: string;
}

/** The drivers of a gateway; those that need charon share one. */
export function createDrivers(options: CreateDriversOptions): Map<DriverName, CableDriver> {
  const { names, host, local, clock, psk, defaults = {}, wireguardDevice } = options;
  const forDriver = (...keys: string[]) =>
    Object.fromEntries(keys.flatMap((key) => (defaults[key] === undefined ? [] : [[key, defaults[key]]])));
  const { ipsecPort } = defaults;
  const daemon = createIpsecDaemon({ host, clock, psk, ...(ipsecPort !== undefined && { port: Number(ipsecPort) }) });
  const users = new Set<DriverName>(names.filter((name) => name === 'ipsec' || name === 'vxlan+ipsec'));
  const release = (name: DriverName) => async () => {
    users.delete(name);
    if (users.size === 0) await daemon.stop();
  };
  const ipsecDefaults = {
    ...forDriver('ikeProposals', 'espProposals', 'forceEncaps', 'dpdDelay'),
    ...(ipsecPort !== undefined && { port: ipsecPort }),
  };
  const create: Readonly<Record<Exclude<DriverName, 'none'>, () => CableDriver>> = {
    vxlan: () => createVxlanDriver({ host, local, clock, defaults: forDriver('vxlanID', 'port', 'mtu') }),
    wireguard: () =>
      createWireguardDriver({
        host,
        local,
        clock,
        psk,
        defaults: forDriver('keepalive', 'mtu'),
        ...(wireguardDevice !== undefined && { device: wireguardDevice }),
      }),
    ipsec: () => createIpsecDriver({ daemon, local, defaults: ipsecDefaults, release: release('ipsec') }),
    'vxlan+ipsec': () =>
      createVxlanIpsecDriver({ host, daemon, local, clock, defaults: ipsecDefaults, release: release('vxlan+ipsec') }),
  };
  return new Map(names.flatMap((name) => (name === 'none' ? [] : [[name, create[name]()]])));
}
