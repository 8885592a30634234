// The process of strongSwan's charon: how it is configured, started, found again and ended.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep } from '@capstan/kube';
import { type Host, HostErrors, ip } from '../host/index.ts';
import { DriverErrors } from './errors.ts';
import { openVici } from './vici.ts';

/** Where packets to be encrypted are routed with kernel ESP. */
export const XFRM_DEVICE = 'subm-xfrm';
export const XFRM_ID = '4510';
/** Opening a connection takes one until it is done; the others must be left for everything else. */
const THREADS = 32;

/** Whether the kernel can encrypt: it takes an ESP state, and has the device through which packets are routed to it. */
export async function hasKernelEsp(host: Host): Promise<boolean> {
  if (!(await takesEspState(host))) return false;
  await ensureXfrmDevice(host).catch(() => {});
  return (await host.query('ip', 'link', 'show', 'dev', XFRM_DEVICE)).length > 0;
}

/** Tried on the loopback address with a key that protects nothing. */
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
    // Of the two ports only this one is used: IKE begins on it too.
    'port = 0',
    `port_nat_t = ${port}`,
    `threads = ${THREADS}`,
    // Many connections of one host are opened at once when a gateway starts: by default five of them may be under way.
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
    // Routes change with every cable; charon would look at all its paths each time.
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

/** Ends the daemon of the file, if the process is still the one that was started. */
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

/** When a process was started, in ticks since the machine was: with the pid it names a process for good. Empty when it is over. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
