// The IPsec driver: one IKE association for each pair, with all subnets of both ends as its selectors.
import { type Cable, type CableDriver, type DriverSettings, type LocalEnd, NO_SETTINGS } from './driver.ts';
import type { IpsecConnection } from './ipsec-connection.ts';
import type { IpsecDaemon } from './ipsec-daemon.ts';

const PREFIX = 'submariner-cable-';
const DEFAULT_PORT = 4500;

export interface IpsecDriverOptions {
  readonly daemon: IpsecDaemon;
  readonly local: LocalEnd;
  readonly settings?: DriverSettings;
  /** Called when this driver no longer needs the daemon. */
  readonly release: () => Promise<void>;
}

export function createIpsecDriver({ daemon, local, settings = NO_SETTINGS, release }: IpsecDriverOptions): CableDriver {
  const connectionOf = (cable: Cable): IpsecConnection => ({
    ...endsOf(cable, local),
    name: cable.name,
    localSubnets: local.subnets,
    remoteSubnets: cable.remoteSubnets,
  });
  return {
    name: 'ipsec',
    async start() {
      await daemon.start();
      await daemon.ensureAddresses(local.subnets);
      return publishedOptions(settings());
    },
    prepare: (cable, signal) => daemon.establish(connectionOf(cable), signal),
    route: () => ({ device: daemon.device }),
    keyOf: (cable) => cable.name,
    remove: (cable) => daemon.terminate(cable.name),
    removeKey: (key) => daemon.terminate(key),
    inspect: () => daemon.inspect(PREFIX),
    isAlive: () => daemon.isAlive(),
    async cleanUp() {
      for (const name of (await daemon.isAlive()) ? (await daemon.inspect(PREFIX)).keys() : [])
        await daemon.terminate(name);
      await release();
    },
  };
}

/** Returns the options that the other end needs or must share. */
export function publishedOptions(settings: Readonly<Record<string, string>>): Record<string, string> {
  const { ikeProposals, espProposals, port = String(DEFAULT_PORT) } = settings;
  return {
    ...(ikeProposals !== undefined && { ikeProposals }),
    ...(espProposals !== undefined && { espProposals }),
    port,
  };
}

/** Returns the parts of a connection that do not depend on its traffic. */
export function endsOf(
  cable: Cable,
  local: LocalEnd,
): Omit<IpsecConnection, 'name' | 'localSubnets' | 'remoteSubnets'> {
  return {
    cluster: cable.cluster,
    localIP: local.privateIP,
    remoteIP: cable.remoteIP,
    localID: local.privateIP,
    remoteID: cable.remotePrivateIP,
    options: cable.options,
    remotePort: Number(cable.remoteConfig['port'] ?? DEFAULT_PORT),
    usingNAT: cable.usingNAT,
    role: cable.role,
  };
}
