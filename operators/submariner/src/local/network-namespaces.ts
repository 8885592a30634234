// Network namespaces as the gateways of clusters on one machine, joined by a bridge in one more. All addresses are inside
// these namespaces: the network of the machine itself is not touched.
import { spawnSync } from 'node:child_process';

export interface NamespaceOptions {
  /** The prefix of the names of all namespaces. */
  readonly mark: string;
  readonly ids: readonly string[];
}

export interface GatewayNamespace {
  readonly id: string;
  readonly namespace: string;
  /** Its place, from 1 on; its addresses follow from it. */
  readonly number: number;
  readonly underlayIP: string;
}

export interface NetworkNamespaces {
  readonly gateways: readonly GatewayNamespace[];
  /** The namespace of the bridge, where everything can be seen that passes. */
  readonly bridge: string;
  /** Ends the processes in the namespaces, and removes them; synchronous, so that it can run when a process exits. */
  close(): void;
}

/** Why namespaces cannot be created here; undefined when they can. */
export function namespaceProblem(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'real cables need root on Linux';
  if (spawnSync('ip', ['-V']).status !== 0) return 'the program ip is not installed; install the package iproute2';
  const { status } = spawnSync('unshare', ['--net', 'true']);
  return status === 0 ? undefined : 'network namespaces cannot be created here (CAP_SYS_ADMIN)';
}

export function createNetworkNamespaces({ mark, ids }: NamespaceOptions): NetworkNamespaces {
  const bridge = `${mark}-sw`;
  const created: string[] = [];
  const close = () => {
    for (const namespace of created.splice(0)) removeNamespace(namespace);
  };
  const create = (namespace: string) => {
    // A process that was killed may have left it.
    removeNamespace(namespace);
    run('ip', 'netns', 'add', namespace);
    created.push(namespace);
  };
  try {
    create(bridge);
    configure(bridge, ['link add br0 type bridge', 'link set br0 up', 'link set lo up']);
    const gateways = ids.map((id, index): GatewayNamespace => {
      const namespace = `${mark}-${id}`;
      const number = index + 1;
      const underlayIP = `172.31.${99 + Math.floor(number / 250)}.${number % 250 || 250}`;
      create(namespace);
      const peer = `v${number}`;
      run(...`ip link add veth0 netns ${namespace} type veth peer name ${peer} netns ${bridge}`.split(' '));
      configure(bridge, [`link set ${peer} master br0 up`]);
      configure(namespace, [
        'link set lo up',
        `addr add ${underlayIP}/16 dev veth0`,
        'link set veth0 up',
        `route add default via 172.31.255.254 dev veth0`,
      ]);
      for (const family of ['ipv4/ip_forward', 'ipv6/conf/all/forwarding'])
        run(...`nsenter --net=/run/netns/${namespace} sh -c`.split(' '), `echo 1 > /proc/sys/net/${family}`);
      return { id, namespace, number, underlayIP };
    });
    return { gateways, bridge, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Lines of `ip -batch` in a namespace. */
export function configure(namespace: string, lines: readonly string[]): void {
  const { status, stderr } = spawnSync('ip', ['-n', namespace, '-batch', '-'], {
    encoding: 'utf8',
    input: `${lines.join('\n')}\n`,
  });
  if (status !== 0) throw new Error(`ip -n ${namespace}: ${stderr.trim()}`);
}

function removeNamespace(namespace: string): void {
  const { status, stdout } = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  if (status !== 0) return;
  // All processes in a namespace of ours are our own.
  for (const pid of stdout.split(/\s+/).filter(Boolean)) if (Number(pid) !== process.pid) kill(Number(pid));
  spawnSync('ip', ['netns', 'del', namespace]);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function run(...command: string[]): void {
  const [program = '', ...args] = command;
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr.trim()}`);
}
