// Configures, starts, finds and ends the process of strongSwan's charon.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep } from '@capstan/kube';
import { type Host, HostErrors, ip } from '../host/index.ts';
import { DriverErrors } from './errors.ts';
import { openVici } from './vici.ts';

/** The device to which packets are routed for encryption by kernel ESP. */
export const XFRM_DEVICE = 'subm-xfrm';
export const XFRM_ID = '4510';
/** Each connection that is being opened occupies a thread. The rest must suffice for all other work. */
const THREADS = 32;

/** Returns whether the kernel can encrypt: it accepts an ESP state and supports the device to which packets are routed. */
export async function hasKernelEsp(host: Host): Promise<boolean> {
  if (!(await takesEspState(host))) return false;
  await ensureXfrmDevice(host).catch(() => {});
  return (await host.query('ip', 'link', 'show', 'dev', XFRM_DEVICE)).length > 0;
}

/** Tries to add a state on the loopback address, with a key that protects nothing. */
async function takesEspState(host: Host): Promise<boolean> {
  const id = ['src', '127.0.0.1', 'dst', '127.0.0.1', 'proto', 'esp', 'spi', '0x5ab'];
  const key = `0x${'00'.repeat(20)}`;
  const aead = ['mode', 'tunnel', 'aead', 'rfc4106(gcm(aes))', key, '128'];
  const { code } = await host.run([...host.programs.ip, 'xfrm', 'state', 'add', ...id, ...aead]);
  if (code !== 0) return false;
  await host.run([...host.programs.ip, 'xfrm', 'state', 'delete', ...id]);
  return true;
}

async function ensureXfrmDevice(host: Host): Promise<void> {
  if ((await host.query('ip', 'link', 'show', 'dev', XFRM_DEVICE)).length > 0) return;
  await host.apply([
    ip('link', 'add', XFRM_DEVICE, 'type', 'xfrm', 'dev', 'lo', 'if_id', XFRM_ID),
    ip('link', 'set', XFRM_DEVICE, 'up'),
  ]);
}

interface CharonFiles {
  readonly socket: string;
  readonly pidFile: string;
  readonly port: number;
  readonly usesKernel: boolean;
}

export async function startCharon(
  host: Host,
  clock: Clock,
  { socket, pidFile, port, usesKernel }: CharonFiles,
): Promise<void> {
  const kernel = usesKernel ? 'kernel-netlink' : 'kernel-libipsec kernel-netlink';
  const settings = [
    `load = random nonce aes sha1 sha2 hmac kdf gmp openssl gcm ${kernel} socket-default vici updown`,
    // Only this one of the two ports is used. IKE starts on it too.
    'port = 0',
    `port_nat_t = ${port}`,
    `threads = ${THREADS}`,
    // A gateway opens many connections from one host when it starts. The default limit is five half-open ones.
    'block_threshold = 100',
    'cookie_threshold = 200',
    'install_virtual_ip = no',
    'install_routes = no',
    'process_route = no',
    'retransmit_timeout = 1.0',
    'retransmit_tries = 3',
    'filelog { stderr { default = 0 } }',
    'journal { default = -1 }',
    'syslog { daemon { default = -1 } }',
    // Routes change with every cable, and charon would check all its paths each time.
    `plugins { vici { socket = unix://${socket} } kernel-netlink { roam_events = no } }`,
  ].join('\n  ');
  const configuration = join(host.runDir, 'strongswan.conf');
  writeFileSync(configuration, `charon {\n  ${settings}\n}\ncharon-systemd {\n  ${settings}\n}\n`, { mode: 0o600 });
  await endDaemon(pidFile, clock);
  rmSync(socket, { force: true });
  let daemon: Awaited<ReturnType<Host['startDaemon']>>;
  try {
    daemon = await host.startDaemon('charon', host.programs.charon, { STRONGSWAN_CONF: configuration });
  } catch {
    const remedy = 'install the packages charon-systemd and libcharon-extra-plugins in the gateway’s image';
    throw DriverErrors.NotAvailable('ipsec', 'strongSwan is not installed', remedy);
  }
  writeFileSync(pidFile, `${daemon.pid} ${startTimeOf(daemon.pid)}`, { mode: 0o600 });
  for (let tries = 0; !(await isAnswering(socket)); tries++) {
    if (daemon.hasEnded() || tries >= 500) throw HostErrors.DaemonNotReady('charon', 10, daemon.log);
    await sleep(clock, 20);
  }
}

export async function isAnswering(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false;
  try {
    const vici = await openVici(socket);
    try {
      await vici.call('version');
      return true;
    } finally {
      vici.close();
    }
  } catch {
    return false;
  }
}

/** Ends the daemon of the file if the process is still the one that was started. */
export async function endDaemon(pidFile: string, clock: Clock): Promise<void> {
  if (!existsSync(pidFile)) return;
  const [first, started] = readFileSync(pidFile, 'utf8').split(' ');
  const pid = Number(first);
  for (let tries = 0; tries < 100 && pid > 0 && startTimeOf(pid) === started; tries++) {
    if (tries % 40 === 0) process.kill(pid, tries === 0 ? 'SIGTERM' : 'SIGKILL');
    await sleep(clock, 50);
  }
  rmSync(pidFile, { force: true });
}

/**
 * Returns the start time of a process in ticks since boot. Together with the pid it identifies a process. Empty if the process has ended.
 */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
