// WireGuard: the kernel's if available, wireguard-go otherwise. All peers share one interface. wireguard-go continues to run when the
// gateway's process ends. The next process reads the private key from it, so that no cable is disturbed.
import { rmSync } from 'node:fs';
import { type Clock, sleep } from '@capstan/kube';
import { type Daemon, type Host, HostErrors, ip, lenient, markLinkStep, restoreLinkName } from '../host/index.ts';
import {
  type Cable,
  type CableDriver,
  type DriverSettings,
  type LocalEnd,
  NO_SETTINGS,
  type Tended,
  type WayState,
} from './driver.ts';
import { DriverErrors } from './errors.ts';
import { commonKey, type PreSharedKey, type PreSharedKeys } from './pre-shared-keys.ts';
import { acceptAnySide } from './reverse-path.ts';
import { underlayMtu } from './vxlan-link.ts';
import {
  answers,
  kernelDevice,
  type PeerChange,
  type PeerState,
  socketOf,
  userspaceDevice,
  type WireguardDevice,
} from './wireguard-device.ts';
import { createKeyRotation, presharedKeyOf } from './wireguard-keys.ts';

const DEFAULT_PORT = 4501;
const DEFAULT_KEEPALIVE = 10;
/** The outer IP and UDP headers and WireGuard's own header. WireGuard itself also allows for the 20 bytes more of IPv6. */
const OVERHEAD = 80;
/** A handshake happens at least every two minutes while packets pass. */
const HANDSHAKE_TIMEOUT_S = 130;
const HANDSHAKE_WAIT_MS = 10_000;
/** The waiting end opens the handshake itself after this time. */
const PATIENCE_MS = 3000;
const HANDSHAKE_RETRY_MS = 300;
const HANDSHAKE_POLL_MS = 25;

/** The interval of checks for the next key of another gateway while it is due. */
const FOLLOW_MS = 3;
/** An announced key comes into use within this time, unless its gateway ended. */
const DUE_MS = 30_000;
/** The interval of checks whether the own key is due. */
const ROTATION_MS = 100;

type SetPeer = Extract<PeerChange, { endpoint: string }>;

export interface WireguardDriverOptions {
  readonly host: Host;
  readonly local: LocalEnd;
  readonly clock: Clock;
  /** The keys of the cluster set. Without them, WireGuard's own keys are the only protection. */
  readonly keys: PreSharedKeys;
  readonly settings?: DriverSettings;
  /** Default `submariner`. Gateways that share a file system need different names. */
  readonly device?: string;
  /** The time for which a new key is announced before it is used. Default: 10 s. */
  readonly announceMs?: number;
}

export function createWireguardDriver(options: WireguardDriverOptions): CableDriver {
  const { host, local, clock, keys, settings = NO_SETTINGS, device = 'submariner' } = options;
  const port = () => Number(settings()['port'] ?? DEFAULT_PORT);
  let wireguard: WireguardDevice = userspaceDevice(device);
  let isKernel = false;
  const own = createKeyRotation(clock, () => settings()['keyLifetime'], options.announceMs);
  let preShared: readonly PreSharedKey[] = [];
  const since = new Map<string, number>();
  const changes = coalesce((peers: PeerChange[]) => wireguard.configure({ peers }));
  /** Keys that other gateways are about to use, each with the peer that it will replace. */
  const expected = new Map<string, { readonly peer: SetPeer; readonly since: number }>();
  /** Keys that were replaced while the Endpoint still names the old one. */
  const replacedBy = new Map<string, string>();

  const wanted = (cable: Cable): SetPeer => {
    const publicKey = cable.remoteConfig['publicKey'];
    if (publicKey === undefined) throw DriverErrors.NoPublicKey(cable.cluster);
    const key = commonKey(preShared, cable.remoteConfig['pskIDs']);
    if (preShared.length > 0 && key === undefined)
      throw DriverErrors.NotEstablished(cable.cluster, 'WireGuard', 'the ends know different pre-shared keys');
    return {
      publicKey: replacedBy.get(publicKey) ?? publicKey,
      endpoint: `${cable.remoteIP}:${cable.remoteConfig['port'] ?? DEFAULT_PORT}`,
      allowedIPs: cable.remoteSubnets,
      keepalive: Number(cable.options['keepalive'] ?? DEFAULT_KEEPALIVE),
      presharedKey: key === undefined ? undefined : presharedKeyOf(key.bytes),
    };
  };
  const keyOf = (cable: Cable): string => {
    const publicKey = cable.remoteConfig['publicKey'];
    if (publicKey === undefined) throw DriverErrors.NoPublicKey(cable.cluster);
    return replacedBy.get(publicKey) ?? publicKey;
  };
  const published = () => ({
    ...own.published(),
    port: String(port()),
    ...(preShared.length > 0 && { pskIDs: preShared.map(({ id }) => id).join() }),
  });
  /** Adds a peer for the next key of the other end, without subnets: these belong to the key in use. */
  const expectNext = async (cable: Cable, peer: SetPeer) => {
    const next = cable.remoteConfig['nextPublicKey'];
    if (next === undefined || next === peer.publicKey || expected.has(next)) return;
    await changes([{ ...peer, publicKey: next, allowedIPs: [], keepalive: 0 }]);
    // Record the key after the device has it: an expected peer that is missing counts as removed.
    expected.set(next, { peer, since: clock.now() });
  };
  /**
   * Moves the subnets to the next key of the other end once it is in use. This end drops packets from the new key before that moment, while
   * the other end still accepts packets to its old key. So check often while the key is due. Returns the time until the next check.
   */
  const followKeys = async (): Promise<number | undefined> => {
    if (expected.size === 0) return undefined;
    const begin = clock.now();
    const { peers } = await wireguard.read();
    for (const [next, { peer }] of expected) {
      const found = peers.get(next);
      if (found === undefined) expected.delete(next);
      if (found === undefined || found.lastHandshake === 0) continue;
      expected.delete(next);
      replacedBy.set(peer.publicKey, next);
      since.set(next, clock.now());
      await changes([
        { ...peer, publicKey: next },
        { publicKey: peer.publicKey, remove: true },
      ]);
    }
    if (expected.size === 0) return undefined;
    const isDue = [...expected.values()].some((each) => begin - each.since < DUE_MS);
    // A long list takes longer to read. Spend at most a quarter of the time on reading it.
    return isDue ? Math.max(FOLLOW_MS, 3 * (clock.now() - begin)) : ROTATION_MS;
  };
  /** Starts to use the new private key. This ends every session. A peer whose keepalives are switched on opens a new one at once. */
  const switchKey = async () => {
    const { peers } = await wireguard.read();
    await wireguard.configure({ privateKey: own.privateKey() });
    const again = [...peers].flatMap(([publicKey, { keepalive, endpoint, allowedIPs, presharedKey }]) =>
      keepalive === 0 || endpoint === undefined ? [] : [{ publicKey, keepalive, endpoint, allowedIPs, presharedKey }],
    );
    await changes(again.map((peer) => ({ ...peer, keepalive: 0 })));
    await changes(again);
  };

  const removeKey = async (key: string) => {
    since.delete(key);
    const next = [...expected].filter(([, { peer }]) => peer.publicKey === key).map(([each]) => each);
    for (const each of next) expected.delete(each);
    await changes([key, ...next].map((publicKey) => ({ publicKey, remove: true as const })));
  };

  /**
   * Waits for the first handshake, after which packets pass. Only one end opens it: two handshakes that cross can leave WireGuard with a
   * session that works in one direction only. The other end sets its peer without keepalives, which sends nothing. WireGuard repeats a
   * failed attempt after five seconds. A peer that is removed and set again tries at once.
   */
  const awaitHandshake = async (cable: Cable, peer: SetPeer, isOpener: boolean, signal?: AbortSignal) => {
    const begin = clock.now();
    let tried = begin;
    for (;;) {
      const found = (await wireguard.read()).peers.get(peer.publicKey);
      if (found !== undefined && found.lastHandshake > 0) {
        if (found.keepalive !== peer.keepalive) await changes([peer]);
        return;
      }
      signal?.throwIfAborted();
      const now = clock.now();
      if (now - begin > HANDSHAKE_WAIT_MS)
        throw DriverErrors.NotEstablished(cable.cluster, 'WireGuard', `no handshake in ${HANDSHAKE_WAIT_MS / 1000} s`);
      const isPatient = cable.role === 'server' || (!isOpener && now - begin < PATIENCE_MS);
      if (!isPatient && now - tried > HANDSHAKE_RETRY_MS) {
        tried = now;
        await changes([{ publicKey: peer.publicKey, remove: true }]);
        await changes([peer]);
      }
      await sleep(clock, HANDSHAKE_POLL_MS);
    }
  };

  return {
    name: 'wireguard',
    async start() {
      isKernel = await ensureInterface(host, device, clock);
      wireguard = isKernel ? kernelDevice(host, device) : userspaceDevice(device);
      preShared = await keys();
      const found = await wireguard.read();
      own.adopt(found.privateKey);
      if (found.privateKey === undefined || found.listenPort !== port())
        await wireguard.configure({ privateKey: own.privateKey(), listenPort: port() });
      const mtu = Number(settings()['mtu'] ?? (await underlayMtu(host, local.privateIP)) - OVERHEAD);
      await host.apply([
        ip('link', 'set', device, 'mtu', String(mtu), 'up'),
        markLinkStep(device),
        ...acceptAnySide(device),
      ]);
      return published();
    },
    async prepare(cable, signal) {
      const peer = wanted(cable);
      const { peers } = await wireguard.read();
      const found = peers.get(peer.publicKey);
      const isLower = local.privateIP < cable.remotePrivateIP;
      // The other end does not know that our daemon was restarted, and would wait.
      const isLost = found === undefined && since.has(peer.publicKey);
      const isOpener = cable.role === 'client' || (cable.role === 'either' && (isLower || isLost));
      since.set(peer.publicKey, since.get(peer.publicKey) ?? clock.now());
      // The announced key is in use now and no longer belongs to the key that it replaces.
      expected.delete(peer.publicKey);
      const quiet = isOpener || (found !== undefined && found.lastHandshake > 0) ? peer : { ...peer, keepalive: 0 };
      if (!isSame(found, quiet)) {
        // A subnet belongs to one peer. The peer with an earlier key of the same cluster would keep it.
        const replaced = [...peers].filter(
          ([key, { allowedIPs }]) =>
            key !== peer.publicKey && allowedIPs.some((each) => peer.allowedIPs.includes(each)),
        );
        await changes([...replaced.map(([publicKey]) => ({ publicKey, remove: true as const })), quiet]);
      }
      await awaitHandshake(cable, peer, isOpener, signal);
      await expectNext(cable, peer);
    },
    route: () => ({ device }),
    keyOf,
    remove: (cable) => removeKey(keyOf(cable)),
    removeKey,
    async inspect() {
      const { peers } = await wireguard.read();
      const now = clock.now();
      return new Map(
        [...peers]
          .filter(([key]) => !expected.has(key))
          .map(([key, peer]) => [key, stateOf(peer, now, since.get(key) ?? now)]),
      );
    },
    async tend(): Promise<Tended> {
      const followMs = await followKeys();
      const step = own.next();
      if (step === 'switched') await switchKey();
      const soonMs = followMs ?? (own.isRotating() ? ROTATION_MS : undefined);
      return { ...(soonMs !== undefined && { soonMs }), ...(step !== undefined && { config: published() }) };
    },
    async isAlive() {
      const [link] = await host.query('ip', 'link', 'show', 'dev', device);
      return link !== undefined && (isKernel || (await answers(device)));
    },
    async cleanUp() {
      // wireguard-go ends when its interface is deleted.
      await host.apply([lenient(ip('link', 'del', device))]);
      since.clear();
    },
  };
}

/** Creates the interface or starts its daemon if it is missing. Returns whether the interface is the kernel's. */
async function ensureInterface(host: Host, device: string, clock: Clock): Promise<boolean> {
  const read = async () => (await host.query('ip', '-d', 'link', 'show', 'dev', device))[0];
  let link = await read();
  // The daemon of a renamed link still occupies its port.
  if (link === undefined && (await restoreLinkName(host, device))) link = await read();
  const kind = (link?.['linkinfo'] as { info_kind?: unknown } | undefined)?.info_kind;
  if (kind === 'wireguard') return true;
  if (link !== undefined && (await answers(device))) return false;
  // A killed daemon left this link.
  if (link !== undefined) await host.apply([lenient(ip('link', 'del', device))]);
  const { code } = await host.run([...host.programs.ip, 'link', 'add', device, 'type', 'wireguard']);
  if (code === 0) return true;
  rmSync(socketOf(device), { force: true });
  let daemon: Daemon;
  try {
    daemon = await host.startDaemon(`wireguard-go-${device}`, [...host.programs.wireguardGo, '-f', device], {
      LOG_LEVEL: 'error',
      // wireguard-go refuses to run on a kernel with WireGuard unless this is set.
      WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD: '1',
    });
  } catch {
    throw DriverErrors.NotAvailable(
      'wireguard',
      'the kernel has no WireGuard, and wireguard-go is not installed',
      'install the package wireguard-go in the gateway’s image, or load the kernel module wireguard',
    );
  }
  for (let tries = 0; !(await answers(device)); tries++) {
    if (daemon.hasEnded() || tries >= READY_TRIES)
      throw HostErrors.DaemonNotReady('wireguard-go', (READY_TRIES * READY_PAUSE_MS) / 1000, daemon.log);
    await sleep(clock, READY_PAUSE_MS);
  }
  return false;
}

const READY_PAUSE_MS = 20;
const READY_TRIES = 250;

function stateOf(peer: PeerState, now: number, since: number): WayState {
  const bytes = { bytesIn: peer.bytesIn, bytesOut: peer.bytesOut };
  if (peer.lastHandshake === 0) {
    const isLate = now - since > HANDSHAKE_TIMEOUT_S * 1000;
    return isLate
      ? { state: 'error', message: `no handshake in ${HANDSHAKE_TIMEOUT_S} s`, ...bytes }
      : { state: 'connecting', message: 'waiting for the first handshake', ...bytes };
  }
  const age = Math.round(now / 1000 - peer.lastHandshake);
  // Without keepalives and traffic, the age of the last handshake has no meaning.
  if (age <= HANDSHAKE_TIMEOUT_S + peer.keepalive || peer.keepalive === 0) return { state: 'connected', ...bytes };
  return { state: 'error', message: `the last handshake was ${age} s ago`, ...bytes };
}

function isSame(found: PeerState | undefined, wanted: SetPeer): boolean {
  return (
    found !== undefined &&
    found.endpoint === wanted.endpoint &&
    found.keepalive === wanted.keepalive &&
    found.presharedKey === wanted.presharedKey &&
    found.allowedIPs.toSorted().join() === wanted.allowedIPs.toSorted().join()
  );
}

/** Combines calls at the same time into one. */
function coalesce<T>(send: (items: T[]) => Promise<void>): (items: readonly T[]) => Promise<void> {
  let pending: { items: T[]; sent: Promise<void> } | undefined;
  return (items) => {
    if (pending === undefined) {
      const batch: T[] = [];
      const sent = Promise.resolve().then(() => {
        pending = undefined;
        return send(batch);
      });
      pending = { items: batch, sent };
    }
    pending.items.push(...items);
    return pending.sent;
  };
}
