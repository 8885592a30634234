// strongSwan's charon, which the ipsec driver and the combined one share. It goes on when the gateway's process ends; the
// next one finds its connections by their names. With kernel ESP packets pass an xfrm interface, without it charon's own TUN
// device: in both cases routes decide what is encrypted.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, reasonOf, sleep } from '@capstan/kube';
import { type Host, HostErrors, ip, lenient, sysctl } from '../host/index.ts';
import { contains, lastAddressOf } from './addresses.ts';
import type { WayState } from './driver.ts';
import { DriverErrors } from './errors.ts';
import { openVici, sectionOf, textOf, type Vici, type ViciAnswer } from './vici.ts';

export interface IpsecDaemon {
  /** Where packets to be encrypted are routed. */
  readonly device: string;
  /** Whether the kernel encrypts; charon itself otherwise. */
  readonly usesKernel: boolean;
  start(): Promise<void>;
  isAlive(): Promise<boolean>;
  /** Loads a connection, and waits until it is established. */
  establish(connection: IpsecConnection, signal?: AbortSignal): Promise<void>;
  terminate(name: string): Promise<void>;
  /** The state of every connection whose name begins so. */
  inspect(prefix: string): Promise<Map<string, WayState>>;
  /** An address of the host within each of these subnets: charon needs one to install a policy. */
  ensureAddresses(subnets: readonly string[]): Promise<void>;
  /** Ends the daemon when no driver uses it any more. */
  stop(): Promise<void>;
}

export interface IpsecConnection {
  readonly name: string;
  readonly cluster: string;
  readonly localIP: string;
  readonly remoteIP: string;
  /** The private addresses, by which both ends identify themselves. */
  readonly localID: string;
  readonly remoteID: string;
  readonly localSubnets: readonly string[];
  readonly remoteSubnets: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly remotePort: number;
  readonly usingNAT: boolean;
  readonly role: 'client' | 'server' | 'either';
}

export interface IpsecDaemonOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly psk: () => Promise<Uint8Array | undefined>;
  /** UDP port of IKE and ESP; default 4500. */
  readonly port?: number;
}

const IKE_PROPOSALS = 'aes256gcm16-prfsha256-ecp256';
const ESP_PROPOSALS = 'aes256gcm16-ecp256';
const CHILD = 'net';
const TUN_DEVICE = 'ipsec0';
const XFRM_DEVICE = 'subm-xfrm';
const XFRM_ID = '4510';
/** Marks the addresses that we put on the loopback interface. */
const ADDRESS_LABEL = 'lo:subm';
const ESTABLISH_TIMEOUT_MS = 10_000;
/** The end that waits for the other opens the connection itself after so long. */
const PATIENCE_MS = 3000;
const POLL_MS = 25;

export function createIpsecDaemon({ host, clock, psk, port = 4500 }: IpsecDaemonOptions): IpsecDaemon {
  const socket = join(host.runDir, 'charon.vici');
  const pidFile = join(host.runDir, 'charon.pid');
  let vici: Vici | undefined;
  let starting: Promise<void> | undefined;
  let usesKernel = false;
  /** What was loaded by this process, so that an equal one is not loaded again. */
  const loaded = new Map<string, string>();
  /** What was established when charon ended: the other ends do not know, so this end opens them again. */
  const lost = new Set<string>();
  const opening = new Set<string>();

  const control = async (): Promise<Vici> => {
    if (vici?.isOpen) return vici;
    vici = await openVici(socket);
    return vici;
  };

  const start = async () => {
    const secret = await psk();
    if (secret === undefined) throw DriverErrors.NoPreSharedKey('there is none');
    usesKernel = await hasKernelEsp(host);
    if (!(await isAnswering(socket))) {
      vici?.close();
      vici = undefined;
      for (const name of loaded.keys()) lost.add(name);
      loaded.clear();
      await startCharon(host, clock, { socket, pidFile, port, usesKernel });
    }
    await (await control()).call('load-shared', {
      id: 'submariner',
      type: 'IKE',
      data: Buffer.from(secret),
      owners: [],
    });
    if (usesKernel) await ensureXfrmDevice(host);
    const device = usesKernel ? XFRM_DEVICE : TUN_DEVICE;
    for (let tries = 0; (await host.query('ip', 'link', 'show', 'dev', device)).length === 0; tries++) {
      if (tries > 100) throw HostErrors.DaemonNotReady('charon', 5, `no device ${device}`);
      await sleep(clock, 50);
    }
    await host.apply([
      sysctl(['net', 'ipv4', 'conf', device, 'rp_filter'], '2'),
      sysctl(['net', 'ipv4', 'conf', device, 'forwarding'], '1'),
    ]);
  };

  const states = async (prefix: string) => {
    const connected = await control();
    const found = new Map<string, WayState>();
    for (const name of await connectionNames(connected))
      if (name.startsWith(prefix)) found.set(name, { state: 'connecting', message: 'no IKE association yet' });
    for (const event of await connected.stream('list-sas', 'list-sa')) {
      for (const [name, sa] of Object.entries(event)) {
        if (!name.startsWith(prefix)) continue;
        const state = stateOf(sectionOf(sa));
        if (found.get(name)?.state !== 'connected') found.set(name, state);
      }
    }
    return found;
  };

  /** Opens a connection, once at a time. */
  const open = async (name: string): Promise<string | undefined> => {
    if (opening.has(name)) return undefined;
    opening.add(name);
    try {
      // A connection of its own: initiate blocks the one it is called on.
      const own = await openVici(socket, ESTABLISH_TIMEOUT_MS + 2000);
      try {
        await own.call('initiate', { ike: name, child: CHILD, timeout: String(ESTABLISH_TIMEOUT_MS), loglevel: '-1' });
        return undefined;
      } finally {
        own.close();
      }
    } catch (error) {
      return reasonOf(error);
    } finally {
      opening.delete(name);
    }
  };

  return {
    get device() {
      return usesKernel ? XFRM_DEVICE : TUN_DEVICE;
    },
    get usesKernel() {
      return usesKernel;
    },
    start() {
      starting ??= start().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    isAlive: () => isAnswering(socket),
    async establish(connection, signal) {
      const { name, cluster, role } = connection;
      const definition = definitionOf(connection, port, usesKernel);
      const text = JSON.stringify(definition);
      const connected = await control();
      const known = (await states(name)).get(name);
      const isLoaded = loaded.get(name) === text || (loaded.get(name) === undefined && known !== undefined);
      if (!isLoaded || !(await connectionNames(connected)).includes(name)) {
        await connected.call('load-conn', { [name]: definition });
        // A changed definition counts for the next association only.
        if (loaded.has(name) && known?.state === 'connected')
          await quietly(connected.call('terminate', { ike: name, timeout: '2000' }));
      }
      const isAgain = loaded.has(name) || lost.delete(name);
      loaded.set(name, text);
      const isOpener = role === 'client' || (role === 'either' && connection.localID < connection.remoteID) || isAgain;
      const begin = clock.now();
      let attempt: Promise<string | undefined> | undefined;
      let problem: string | undefined;
      for (;;) {
        if ((await states(name)).get(name)?.state === 'connected') return;
        signal?.throwIfAborted();
        const waited = clock.now() - begin;
        if (waited > ESTABLISH_TIMEOUT_MS)
          throw DriverErrors.NotEstablished(
            cluster,
            'IPsec',
            problem ?? `nothing heard in ${ESTABLISH_TIMEOUT_MS / 1000} s`,
          );
        const mayOpen = role !== 'server' && (isOpener || waited > PATIENCE_MS);
        if (mayOpen && attempt === undefined) {
          attempt = open(name).then((failure) => {
            problem = failure ?? problem;
            return failure;
          });
        } else if (mayOpen && problem !== undefined) {
          if (/AUTHENTICATION_FAILED|authentication/i.test(problem))
            throw DriverErrors.NotEstablished(cluster, 'IPsec', problem);
          attempt = undefined;
          problem = undefined;
          await sleep(clock, 500);
        }
        await sleep(clock, POLL_MS);
      }
    },
    async terminate(name) {
      loaded.delete(name);
      lost.delete(name);
      const connected = await control();
      // In this order: while it is loaded, the other end may establish it again.
      await quietly(connected.call('unload-conn', { name }));
      await quietly(connected.call('terminate', { ike: name, timeout: '2000' }));
    },
    inspect: states,
    async ensureAddresses(subnets) {
      const links = await host.query('ip', '-4', 'addr', 'show');
      const addresses = links.flatMap(({ addr_info: list }) =>
        Array.isArray(list) ? list.map((each: { local?: string }) => each.local ?? '') : [],
      );
      const missing = subnets.filter((subnet) => !addresses.some((address) => contains(subnet, address)));
      await host.apply(
        missing.map((subnet) => ip('addr', 'add', `${lastAddressOf(subnet)}/32`, 'dev', 'lo', 'label', ADDRESS_LABEL)),
      );
    },
    async stop() {
      vici?.close();
      vici = undefined;
      loaded.clear();
      await endDaemon(pidFile, clock);
      rmSync(socket, { force: true });
      await host.apply([
        lenient(ip('link', 'del', XFRM_DEVICE)),
        ...(await labelledAddresses(host)).map((address) => lenient(ip('addr', 'del', address, 'dev', 'lo'))),
      ]);
    },
  };
}

async function connectionNames(vici: Vici): Promise<readonly string[]> {
  const { conns = [] } = await vici.call('get-conns');
  return Array.isArray(conns) ? conns : [];
}

function stateOf(sa: ViciAnswer): WayState {
  const children = Object.values(sectionOf(sa['child-sas'])).map((child) => sectionOf(child));
  const installed = children.filter((child) => /^(INSTALLED|REKEYING|REKEYED|UPDATING)$/.test(textOf(child['state'])));
  const sum = (field: string) => installed.reduce((total, child) => total + Number(textOf(child[field]) || 0), 0);
  const bytes = { bytesIn: sum('bytes-in'), bytesOut: sum('bytes-out') };
  if (installed.length > 0 && /^(ESTABLISHED|REKEYING|REKEYED)$/.test(textOf(sa['state'])))
    return { state: 'connected', ...bytes };
  return { state: 'connecting', message: `IKE association ${textOf(sa['state']).toLowerCase()}`, ...bytes };
}

function definitionOf(connection: IpsecConnection, port: number, usesKernel: boolean) {
  const { options, localID, remoteID, usingNAT } = connection;
  const list = (text: string) => text.split(',').map((each) => each.trim());
  const child = {
    mode: 'tunnel',
    local_ts: [...connection.localSubnets],
    remote_ts: [...connection.remoteSubnets],
    esp_proposals: list(options['espProposals'] ?? ESP_PROPOSALS),
    start_action: 'none',
    // The engine opens connections: with restart here the other end would bring back what was removed.
    close_action: 'none',
    dpd_action: 'clear',
    ...(usesKernel && { if_id_in: XFRM_ID, if_id_out: XFRM_ID }),
  };
  return {
    version: '2',
    local_addrs: [connection.localIP],
    remote_addrs: [connection.role === 'server' && usingNAT ? '%any' : connection.remoteIP],
    local_port: String(port),
    remote_port: String(connection.remotePort),
    // Without kernel ESP packets can only pass in UDP.
    encap: !usesKernel || usingNAT || options['forceEncaps'] === 'true' ? 'yes' : 'no',
    mobike: 'no',
    unique: 'replace',
    proposals: list(options['ikeProposals'] ?? IKE_PROPOSALS),
    dpd_delay: `${options['dpdDelay'] ?? '30'}s`,
    keyingtries: '1',
    local: { auth: 'psk', id: localID },
    remote: { auth: 'psk', id: remoteID },
    children: { [CHILD]: child },
  };
}

/** Whether the kernel takes an ESP state; tried on the loopback address with a key that protects nothing. */
async function hasKernelEsp(host: Host): Promise<boolean> {
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

async function startCharon(
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

async function isAnswering(socket: string): Promise<boolean> {
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
async function endDaemon(pidFile: string, clock: Clock): Promise<void> {
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

async function labelledAddresses(host: Host): Promise<string[]> {
  const links = await host.query('ip', '-4', 'addr', 'show', 'dev', 'lo', 'label', ADDRESS_LABEL);
  return links.flatMap(({ addr_info: list }) =>
    Array.isArray(list)
      ? list.flatMap((each: { local?: string; label?: string }) =>
          each.label === ADDRESS_LABEL ? [`${each.local}/32`] : [],
        )
      : [],
  );
}

async function quietly(work: Promise<unknown>): Promise<void> {
  await work.catch(() => {});
}
