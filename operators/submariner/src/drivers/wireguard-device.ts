// A WireGuard interface: the kernel's by `wg`, or that of wireguard-go by its socket. Keys pass through sockets and standard input only,
// never through arguments.
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import type { Host } from '../host/index.ts';

export interface WireguardDevice {
  read(): Promise<DeviceState>;
  configure(change: DeviceChange): Promise<void>;
}

export interface DeviceState {
  /** Base64; undefined while none is set. */
  readonly privateKey: string | undefined;
  readonly listenPort: number;
  readonly peers: ReadonlyMap<string, PeerState>;
}

export interface PeerState {
  readonly endpoint: string | undefined;
  readonly allowedIPs: readonly string[];
  readonly keepalive: number;
  readonly presharedKey: string | undefined;
  /** Seconds since 1970. 0 before the first handshake. */
  readonly lastHandshake: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface DeviceChange {
  readonly privateKey?: string;
  readonly listenPort?: number;
  readonly peers?: readonly PeerChange[];
}

export type PeerChange =
  | {
      readonly publicKey: string;
      readonly endpoint: string;
      readonly allowedIPs: readonly string[];
      readonly keepalive: number;
      readonly presharedKey: string | undefined;
    }
  | { readonly publicKey: string; readonly remove: true };

export function socketOf(device: string): string {
  return `/var/run/wireguard/${device}.sock`;
}

/** Speaks wireguard-go's protocol: lines of key=value, with keys in hexadecimal. */
export function userspaceDevice(device: string): WireguardDevice {
  return {
    async read() {
      return parseState(await exchange(socketOf(device), 'get=1\n\n'));
    },
    async configure(change) {
      const answer = await exchange(socketOf(device), `set=1\n${formatChange(change)}\n`);
      const errno = /^errno=(-?\d+)$/m.exec(answer)?.[1];
      if (errno !== '0') throw new Error(`${device}: wireguard-go refused the configuration (errno ${errno})`);
    },
  };
}

/** Uses the kernel's interface. This also works for wireguard-go. */
export function kernelDevice(host: Host, device: string): WireguardDevice {
  return {
    async read() {
      const { code, stdout, stderr } = await host.run([...host.programs.wg, 'show', device, 'dump']);
      if (code !== 0) throw new Error(`${device}: ${stderr.trim()}`);
      return parseDump(stdout);
    },
    async configure({ privateKey, listenPort, peers = [] }) {
      const lines = ['[Interface]'];
      if (privateKey !== undefined) lines.push(`PrivateKey = ${privateKey}`);
      if (listenPort !== undefined) lines.push(`ListenPort = ${listenPort}`);
      for (const peer of peers) {
        if ('remove' in peer) continue;
        lines.push('[Peer]', `PublicKey = ${peer.publicKey}`);
        if (peer.presharedKey !== undefined) lines.push(`PresharedKey = ${peer.presharedKey}`);
        lines.push(`Endpoint = ${peer.endpoint}`, `PersistentKeepalive = ${peer.keepalive}`);
        lines.push(`AllowedIPs = ${peer.allowedIPs.join(', ')}`);
      }
      const removed = peers.filter((peer) => 'remove' in peer);
      for (const { publicKey } of removed)
        await succeed(host, [...host.programs.wg, 'set', device, 'peer', publicKey, 'remove']);
      if (lines.length > 1)
        await succeed(host, [...host.programs.wg, 'addconf', device, '/dev/stdin'], `${lines.join('\n')}\n`);
    },
  };
}

/** Returns whether a wireguard-go answers for this interface. */
export async function answers(device: string): Promise<boolean> {
  if (!existsSync(socketOf(device))) return false;
  try {
    return (await exchange(socketOf(device), 'get=1\n\n')).includes('errno=0');
  } catch {
    return false;
  }
}

async function succeed(host: Host, command: readonly string[], input?: string): Promise<void> {
  const { code, stderr } = await host.run(command, input);
  if (code !== 0) throw new Error(`wg: ${stderr.trim()}`);
}

function exchange(path: string, message: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    let answer = '';
    socket.setEncoding('utf8').setTimeout(5000, () => socket.destroy(new Error(`${path}: no answer in 5 s`)));
    socket.on('data', (text: string) => {
      answer += text;
      if (!answer.endsWith('\n\n')) return;
      socket.end();
      resolve(answer);
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`${path}: closed without an answer`)));
    socket.write(message);
  });
}

function formatChange({ privateKey, listenPort, peers = [] }: DeviceChange): string {
  const lines: string[] = [];
  if (privateKey !== undefined) lines.push(`private_key=${toHex(privateKey)}`);
  if (listenPort !== undefined) lines.push(`listen_port=${listenPort}`);
  for (const peer of peers) {
    lines.push(`public_key=${toHex(peer.publicKey)}`);
    if ('remove' in peer) {
      lines.push('remove=true');
      continue;
    }
    if (peer.presharedKey !== undefined) lines.push(`preshared_key=${toHex(peer.presharedKey)}`);
    lines.push(`endpoint=${peer.endpoint}`, `persistent_keepalive_interval=${peer.keepalive}`);
    lines.push('replace_allowed_ips=true', ...peer.allowedIPs.map((each) => `allowed_ip=${each}`));
  }
  return lines.map((line) => `${line}\n`).join('');
}

type MutablePeer = { -readonly [Field in keyof PeerState]: Field extends 'allowedIPs' ? string[] : PeerState[Field] };

const emptyPeer = (): MutablePeer => ({
  endpoint: undefined,
  allowedIPs: [],
  keepalive: 0,
  presharedKey: undefined,
  lastHandshake: 0,
  bytesIn: 0,
  bytesOut: 0,
});

function parseState(text: string): DeviceState {
  const peers = new Map<string, MutablePeer>();
  let privateKey: string | undefined;
  let listenPort = 0;
  let peer = emptyPeer();
  for (const line of text.split('\n')) {
    const [key = '', value = ''] = line.split('=', 2);
    if (key === 'private_key') privateKey = toBase64(value);
    else if (key === 'listen_port') listenPort = Number(value);
    else if (key === 'public_key') {
      peer = emptyPeer();
      peers.set(toBase64(value) ?? '', peer);
    } else if (key === 'preshared_key') peer.presharedKey = toBase64(value);
    else if (key === 'endpoint') peer.endpoint = value;
    else if (key === 'persistent_keepalive_interval') peer.keepalive = Number(value);
    else if (key === 'allowed_ip') peer.allowedIPs.push(value);
    else if (key === 'last_handshake_time_sec') peer.lastHandshake = Number(value);
    else if (key === 'rx_bytes') peer.bytesIn = Number(value);
    else if (key === 'tx_bytes') peer.bytesOut = Number(value);
  }
  return { privateKey, listenPort, peers };
}

/** Parses `wg show … dump`: the interface first, then one line for each peer. */
function parseDump(text: string): DeviceState {
  const [own = '', ...lines] = text.trim().split('\n');
  const [privateKey = '', , listenPort = '0'] = own.split('\t');
  const given = (value: string | undefined) => (value === undefined || value === '(none)' ? undefined : value);
  const peers = lines.map((line): [string, PeerState] => {
    const [publicKey = '', psk, endpoint, allowed, handshake, bytesIn, bytesOut, keepalive] = line.split('\t');
    const state = {
      endpoint: given(endpoint),
      allowedIPs: given(allowed)?.split(',') ?? [],
      keepalive: keepalive === 'off' ? 0 : Number(keepalive),
      presharedKey: given(psk),
      lastHandshake: Number(handshake),
      bytesIn: Number(bytesIn),
      bytesOut: Number(bytesOut),
    };
    return [publicKey, state];
  });
  return { privateKey: given(privateKey), listenPort: Number(listenPort), peers: new Map(peers) };
}

function toHex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

/** Returns undefined for a key of zeros, which means none. */
function toBase64(hex: string): string | undefined {
  return /^0*$/.test(hex) ? undefined : Buffer.from(hex, 'hex').toString('base64');
}
