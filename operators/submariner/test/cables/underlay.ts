// Network namespaces as the gateways of clusters, with pod networks. Everything is removed at the end, also after a failure.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalEnd } from '../../src/drivers/driver.ts';
import { createHost, type Host, type Programs } from '../../src/host/index.ts';
import {
  configure,
  createNetworkNamespaces,
  fetchedPrograms,
  hasFetchedPrograms,
  namespaceProblem,
  programsRoot,
} from '../../src/local/index.ts';

/** Why cables cannot be tried here; false when they can. */
export const skip = reasonToSkip();

function reasonToSkip(): string | false {
  if (!hasFetchedPrograms()) return 'programs are missing: npm run setup:real -- cables';
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun';
  return namespaceProblem() ?? false;
}

export const realPrograms: Programs = fetchedPrograms();

export const tcpdump = {
  command: [join(programsRoot(), 'usr/bin/tcpdump')],
  env: { LD_LIBRARY_PATH: join(programsRoot(), 'usr/lib/x86_64-linux-gnu') },
};

export interface Underlay {
  readonly gateways: readonly TestGateway[];
  /** The namespace of the bridge, where everything can be seen that passes. */
  readonly bridge: string;
  close(): void;
}

export interface TestGateway {
  readonly id: string;
  readonly namespace: string;
  readonly local: LocalEnd;
  /** An address within its pod network that answers pings. */
  readonly address: string;
  /** The same in its IPv6 pod network. */
  readonly address6: string;
  readonly runDir: string;
  /** Unlike those of other gateways, as they share a file system. */
  readonly wireguardDevice: string;
  /** A new one each time, as a restarted process has it. */
  host(): Host;
}

export interface UnderlayOptions {
  /** Gateways that belong to one cluster have its pod network: the number of the cluster by gateway. */
  readonly networkOf?: (id: string, number: number) => number;
}

let created = 0;

export function createUnderlay(
  ids: readonly string[],
  { networkOf = (_, number) => number }: UnderlayOptions = {},
): Underlay {
  const mark = `subt${process.pid % 100_000}x${created++}`;
  const folder = mkdtempSync(join(tmpdir(), 'submariner-'));
  let namespaces: ReturnType<typeof createNetworkNamespaces> | undefined;
  const close = () => {
    process.off('exit', close);
    process.off('SIGTERM', stopped);
    process.off('SIGINT', stopped);
    namespaces?.close();
    rmSync(folder, { recursive: true, force: true });
  };
  function stopped() {
    process.exit(143);
  }
  process.once('exit', close);
  process.once('SIGTERM', stopped);
  process.once('SIGINT', stopped);
  try {
    namespaces = createNetworkNamespaces({ mark, ids });
    const gateways = namespaces.gateways.map(({ id, namespace, number, underlayIP }): TestGateway => {
      const network = networkOf(id, number);
      const [address, service] = [`10.${10 + network}.0.1`, `10.${100 + network}.0.0/16`];
      const address6 = `fd10:${network}::1`;
      configure(namespace, [
        'link add cni0 type bridge',
        `addr add ${address}/16 dev cni0`,
        `addr add ${address6}/64 dev cni0 nodad`,
        'link set cni0 up',
      ]);
      const runDir = join(folder, id);
      return {
        id,
        namespace,
        runDir,
        address,
        address6,
        wireguardDevice: `w${mark.slice(4)}-${number}`.slice(0, 15),
        local: {
          privateIP: underlayIP,
          subnets: [`10.${10 + network}.0.0/16`, service, `fd10:${network}::/64`],
          sourceIP: address,
          sourceIP6: address6,
        },
        host: () => createHost({ namespace, runDir, programs: realPrograms }),
      };
    });
    return { gateways, bridge: namespaces.bridge, close };
  } catch (error) {
    close();
    throw error;
  }
}
