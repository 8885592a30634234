// strongSwan's charon, which the ipsec driver and the combined driver share. It continues to run when the gateway's process ends, and the
// next process finds its connections by their names. Packets pass an xfrm interface with kernel ESP, and charon's own TUN device without
// it. In both cases routes select the packets to encrypt.
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, reasonOf, sleep } from '@capstan/kube';
import { type Host, HostErrors, ip, lenient, markLinkStep, restoreLinkName } from '../host/index.ts';
import { contains, isIPv4Cidr, isIPv6Cidr, lastAddressOf } from './addresses.ts';
import { endDaemon, hasKernelEsp, isAnswering, startCharon, XFRM_DEVICE } from './charon-process.ts';
import type { WayState } from './driver.ts';
import { DriverErrors } from './errors.ts';
import { CHILD, definitionOf, type IpsecConnection, stateOf } from './ipsec-connection.ts';
import type { PreSharedKey, PreSharedKeys } from './pre-shared-keys.ts';
import { acceptAnySide } from './reverse-path.ts';
import { openVici, sectionOf, type Vici } from './vici.ts';

export interface IpsecDaemon {
  /** The device to which packets are routed for encryption. */
  readonly device: string;
  /** Whether the kernel encrypts. Otherwise charon does. */
  readonly usesKernel: boolean;
  start(): Promise<void>;
  isAlive(): Promise<boolean>;
  /** Loads a connection, and waits until it is established. */
  establish(connection: IpsecConnection, signal?: AbortSignal): Promise<void>;
  terminate(name: string): Promise<void>;
  /** Returns the state of every connection whose name has this prefix. */
  inspect(prefix: string): Promise<Map<string, WayState>>;
  /** Adds an address of the host within each of these subnets, since charon needs one to install a policy. */
  ensureAddresses(subnets: readonly string[]): Promise<void>;
  /** Ends the daemon when no driver uses it. */
  stop(): Promise<void>;
}

export interface IpsecDaemonOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly keys: PreSharedKeys;
  /** The UDP port of IKE and ESP. Default: 4500. A change restarts charon and all its connections. */
  readonly port?: () => number;
}

const TUN_DEVICE = 'ipsec0';
/** Marks the addresses that we add to the loopback interface. */
const ADDRESS_LABEL = 'lo:subm';
const ESTABLISH_TIMEOUT_MS = 10_000;
/** The waiting end opens the connection itself after this time. */
const PATIENCE_MS = 3000;
const POLL_MS = 25;
/** The delay before a refused connection is opened again, while the other end may not know the pair yet. */
const REOPEN_MS = 100;
const ALIVE_MS = 300;
/** Each opening occupies a thread of charon. The rest must suffice for all other work. */
const OPENINGS = 10;

export function createIpsecDaemon({ host, clock, keys, port = () => 4500 }: IpsecDaemonOptions): IpsecDaemon {
  const socket = join(host.runDir, 'charon.vici');
  const pidFile = join(host.runDir, 'charon.pid');
  const addressFile = join(host.runDir, 'addresses');
  let vici: Vici | undefined;
  let starting: Promise<void> | undefined;
  let usesKernel = false;
  /** The port of the running charon, as far as this process knows. */
  let runningPort: number | undefined;
  /** The connections that this process loaded, so that an equal one is not loaded again. */
  const loaded = new Map<string, string>();
  /** The connections that were established when charon ended. The other ends do not know this, so this end opens them again. */
  const lost = new Set<string>();
  const opening = new Set<string>();
  let alive: { readonly answer: Promise<boolean>; readonly until: number } | undefined;
  const slots = createSlots(OPENINGS);

  const control = async (): Promise<Vici> => {
    if (vici?.isOpen) return vici;
    vici = await openVici(socket);
    return vici;
  };

  const hasDevice = async (device: string) => (await host.query('ip', 'link', 'show', 'dev', device)).length > 0;
  /** Returns whether charon answers and has its device. Only a new charon restores a device that was deleted by hand. */
  const isWhole = async (device: string) =>
    (await isAnswering(socket)) && ((await hasDevice(device)) || (await restoreLinkName(host, device)));

  const start = async () => {
    const known = await keys();
    if (known.length === 0) throw DriverErrors.NoPreSharedKey('there is none');
    usesKernel = await hasKernelEsp(host);
    const isMoved = runningPort !== undefined && runningPort !== port();
    const device = usesKernel ? XFRM_DEVICE : TUN_DEVICE;
    if (isMoved || !(await isWhole(device))) {
      vici?.close();
      vici = undefined;
      for (const name of loaded.keys()) lost.add(name);
      loaded.clear();
      await startCharon(host, clock, { socket, pidFile, port: port(), usesKernel });
    }
    runningPort = port();
    await loadKeys(await control(), known);
    for (let tries = 0; !(await hasDevice(device)); tries++) {
      if (tries > 100) throw HostErrors.DaemonNotReady('charon', 5, `no device ${device}`);
      await sleep(clock, 50);
    }
    await host.apply([markLinkStep(device), ...acceptAnySide(device)]);
  };

  /** Lists associations. Without waiting, it leaves out those that charon is working on. */
  const list = async (waits: boolean) => {
    const connected = await control();
    const found = new Map<string, WayState>();
    for (const name of await connectionNames(connected))
      found.set(name, { state: 'connecting', message: 'no IKE association yet' });
    for (const event of await connected.stream('list-sas', 'list-sa', waits ? {} : { noblock: 'yes' })) {
      for (const [name, sa] of Object.entries(event))
        if (found.get(name)?.state !== 'connected') found.set(name, stateOf(sectionOf(sa)));
    }
    return found;
  };

  // Many connections may wait at the same time. They share one list.
  const listings = new Map<boolean, Promise<Map<string, WayState>>>();
  const listed = (waits: boolean): Promise<Map<string, WayState>> => {
    const known = listings.get(waits);
    if (known !== undefined) return known;
    const listing = list(waits).finally(() => listings.delete(waits));
    listings.set(waits, listing);
    return listing;
  };
  const states = async (prefix: string) =>
    new Map([...(await listed(true))].filter(([name]) => name.startsWith(prefix)));

  /** Opens a connection, at most once at a time. */
  const open = async (name: string): Promise<string | undefined> => {
    if (opening.has(name)) return undefined;
    opening.add(name);
    await slots.take();
    try {
      // Use a separate control connection: initiate blocks the one that it is called on.
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
      slots.give();
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
      alive = undefined;
      starting ??= start().finally(() => {
        starting = undefined;
      });
      return starting;
    },
    isAlive() {
      // Two drivers ask at about the same time and share the answer.
      if (alive === undefined || alive.until < clock.now()) {
        const device = usesKernel ? XFRM_DEVICE : TUN_DEVICE;
        const answer = isAnswering(socket).then((isUp) => isUp && hasDevice(device));
        alive = { answer, until: clock.now() + ALIVE_MS };
      }
      return alive.answer;
    },
    async establish(connection, signal) {
      const { name, cluster, role } = connection;
      const definition = definitionOf(connection, port(), usesKernel);
      const text = JSON.stringify(definition);
      const connected = await control();
      const known = (await states(name)).get(name);
      const isLoaded = loaded.get(name) === text || (loaded.get(name) === undefined && known !== undefined);
      if (!isLoaded || known === undefined) {
        await connected.call('load-conn', { [name]: definition });
        // A changed definition applies to the next association only, so end the present one.
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
        if ((await listed(false)).get(name)?.state === 'connected') return;
        signal?.throwIfAborted();
        const waited = clock.now() - begin;
        if (waited > ESTABLISH_TIMEOUT_MS)
          throw DriverErrors.NotEstablished(
            cluster,
            'IPsec',
            problem ?? `no packet received in ${ESTABLISH_TIMEOUT_MS / 1000} s`,
          );
        const mayOpen = role !== 'server' && (isOpener || waited > PATIENCE_MS);
        if (mayOpen && attempt === undefined) {
          attempt = open(name).then((failure) => {
            problem = failure ?? problem;
            return failure;
          });
        } else if (mayOpen && problem !== undefined) {
          // The other end refuses a connection in the same way before it knows the pair and when the keys differ.
          if (waited > PATIENCE_MS && /AUTHENTICATION_FAILED|authentication/i.test(problem))
            throw DriverErrors.NotEstablished(cluster, 'IPsec', problem);
          attempt = undefined;
          problem = undefined;
          await sleep(clock, waited > PATIENCE_MS ? 500 : REOPEN_MS);
        }
        await sleep(clock, POLL_MS);
      }
    },
    async terminate(name) {
      loaded.delete(name);
      lost.delete(name);
      const connected = await control();
      // The order matters: while the connection is loaded, the other end may establish it again.
      await quietly(connected.call('unload-conn', { name }));
      await quietly(connected.call('terminate', { ike: name, timeout: '2000' }));
    },
    inspect: states,
    async ensureAddresses(subnets) {
      const links = await host.query('ip', 'addr', 'show');
      const addresses = links.flatMap(({ addr_info: list }) =>
        Array.isArray(list) ? list.map((each: { local?: string }) => each.local ?? '') : [],
      );
      const missing = subnets.filter((subnet) => !addresses.some((address) => contains(subnet, address)));
      const [v6, v4] = [missing.filter(isIPv6Cidr), missing.filter(isIPv4Cidr)];
      await host.apply([
        ...v4.map((subnet) => ip('addr', 'add', `${lastAddressOf(subnet)}/32`, 'dev', 'lo', 'label', ADDRESS_LABEL)),
        ...v6.map((subnet) => ip('addr', 'add', `${lastAddressOf(subnet)}/128`, 'dev', 'lo', 'nodad')),
      ]);
      // An IPv6 address has no label, so record the added ones in a file.
      const lines = v6.map((subnet) => `${lastAddressOf(subnet)}/128\n`);
      if (lines.length > 0) appendFileSync(addressFile, lines.join(''), { mode: 0o600 });
    },
    async stop() {
      vici?.close();
      vici = undefined;
      runningPort = undefined;
      loaded.clear();
      alive = undefined;
      await endDaemon(pidFile, clock);
      rmSync(socket, { force: true });
      await host.apply([
        lenient(ip('link', 'del', XFRM_DEVICE)),
        ...[...(await labelledAddresses(host)), ...addressesOf(addressFile)].map((address) =>
          lenient(ip('addr', 'del', address, 'dev', 'lo')),
        ),
      ]);
      rmSync(addressFile, { force: true });
    },
  };
}

/**
 * Loads all known keys. charon accepts any of them and authenticates with the one that was loaded first. So the older one comes first,
 * which both ends know until both drop it.
 */
async function loadKeys(vici: Vici, known: readonly PreSharedKey[]): Promise<void> {
  const wanted = new Map(known.toReversed().map(({ id, bytes }) => [`submariner-${id}`, bytes]));
  const { keys: loaded = [] } = await vici.call('get-shared');
  const found = Array.isArray(loaded) ? loaded : [];
  for (const id of found.filter((each) => !wanted.has(each))) await vici.call('unload-shared', { id });
  for (const [id, bytes] of wanted) {
    if (found.includes(id)) continue;
    await vici.call('load-shared', { id, type: 'IKE', data: Buffer.from(bytes), owners: [] });
  }
}

function addressesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

async function connectionNames(vici: Vici): Promise<readonly string[]> {
  const { conns = [] } = await vici.call('get-conns');
  return Array.isArray(conns) ? conns : [];
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

function createSlots(count: number): { take(): Promise<void>; give(): void } {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    async take() {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    give() {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    },
  };
}
