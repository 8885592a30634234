// Network namespaces as the gateways of clusters, joined by a bridge in one more. All addresses are inside namespaces that
// are created here, and everything is removed at the end, also after a failure.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalEnd } from '../../src/drivers/driver.ts';
import { createHost, type Host, type Programs } from '../../src/host/index.ts';

const ROOT = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real'), 'cables', 'root');

/** Why cables cannot be tried here; false when they can. */
export const skip = reasonToSkip();

function reasonToSkip(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'cables need root on Linux';
  if (!existsSync(join(ROOT, 'usr/bin/wireguard-go'))) return 'programs are missing: npm run setup:real -- cables';
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun';
  const { status } = spawnSync('unshare', ['--net', 'true']);
  return status === 0 ? false : 'network namespaces cannot be created here (CAP_SYS_ADMIN)';
}

/** Debian's programs from the cache folder; charon finds its plugins under /usr only. */
export const realPrograms: Programs = {
  ip: ['ip'],
  bridge: ['bridge'],
  wg: [join(ROOT, 'usr/bin/wg')],
  wireguardGo: [join(ROOT, 'usr/bin/wireguard-go')],
  charon: [
    'unshare',
    '--mount',
    'sh',
    '-ec',
    `mount -t overlay overlay -o lowerdir=${ROOT}/usr:/usr /usr; exec charon-systemd`,
  ],
  ping: [join(ROOT, 'bin/ping')],
};

export const tcpdump = {
  command: [join(ROOT, 'usr/bin/tcpdump')],
  env: { LD_LIBRARY_PATH: join(ROOT, 'usr/lib/x86_64-linux-gnu') },
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
  readonly runDir: string;
  /** Unlike those of other gateways, as they share a file system. */
  readonly wireguardDevice: string;
  /** A new one each time, as a restarted process has it. */
  host(): Host;
}

let made = 0;

export function createUnderlay(ids: readonly string[]): Underlay {
  const mark = `subt${process.pid % 100_000}x${made++}`;
  const bridge = `${mark}-sw`;
  const folder = mkdtempSync(join(tmpdir(), 'submariner-'));
  const namespaces: string[] = [];
  const close = () => {
    process.off('exit', close);
    process.off('SIGTERM', stopped);
    process.off('SIGINT', stopped);
    for (const namespace of namespaces.splice(0)) {
      // Daemons that a failed test left: whatever runs in a namespace of ours was started by us.
      const pids = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' })
        .stdout.split(/\s+/)
        .filter(Boolean);
      for (const pid of pids) if (Number(pid) !== process.pid) kill(Number(pid));
      spawnSync('ip', ['netns', 'del', namespace]);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  function stopped() {
    process.exit(143);
  }
  process.once('exit', close);
  process.once('SIGTERM', stopped);
  process.once('SIGINT', stopped);
  const create = (namespace: string) => {
    run('ip', 'netns', 'add', namespace);
    namespaces.push(namespace);
  };
  try {
    create(bridge);
    batch(bridge, ['link add br0 type bridge', 'link set br0 up', 'link set lo up']);
    const gateways = ids.map((id, index): TestGateway => {
      const namespace = `${mark}-${id}`;
      create(namespace);
      const number = index + 1;
      const [underlayIP, address, service] = [`172.31.99.${number}`, `10.1${number}.0.1`, `10.10${number}.0.0/16`];
      run(
        'ip',
        'link',
        'add',
        'veth0',
        'netns',
        namespace,
        'type',
        'veth',
        'peer',
        'name',
        `v${id}`.slice(0, 15),
        'netns',
        bridge,
      );
      batch(bridge, [`link set ${`v${id}`.slice(0, 15)} master br0 up`]);
      batch(namespace, [
        'link set lo up',
        `addr add ${underlayIP}/24 dev veth0`,
        'link set veth0 up',
        'link add cni0 type bridge',
        `addr add ${address}/16 dev cni0`,
        'link set cni0 up',
      ]);
      run('nsenter', `--net=/run/netns/${namespace}`, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
      const runDir = join(folder, id);
      return {
        id,
        namespace,
        runDir,
        address,
        wireguardDevice: `${mark}${id}`.slice(-15).replace(/^\D*/, 'w').slice(0, 15),
        local: { privateIP: underlayIP, subnets: [`10.1${number}.0.0/16`, service], sourceIP: address },
        host: () => createHost({ namespace, runDir, programs: realPrograms }),
      };
    });
    return { gateways, bridge, close };
  } catch (error) {
    close();
    throw error;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function batch(namespace: string, lines: readonly string[]): void {
  run('ip', '-n', namespace, '-batch', '-', `${lines.join('\n')}\n`);
}

function run(program: string, ...args: string[]): void {
  const isBatch = args.includes('-batch');
  const input = isBatch ? args.pop() : undefined;
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', ...(input !== undefined && { input }) });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}
