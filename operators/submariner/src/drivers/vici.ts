// The control protocol of strongSwan's charon (vici): packets with a length of four bytes, messages of nested sections.
import { connect, type Socket } from 'node:net';

export type ViciValue = string | Buffer | readonly (string | Buffer)[] | ViciMessage;
export interface ViciMessage {
  readonly [key: string]: ViciValue;
}

/** An answer of charon, which contains text only. */
export type ViciAnswer = { readonly [key: string]: string | string[] | ViciAnswer };

export interface Vici {
  /** Sends one command. Rejects if charon reports that it failed. */
  call(command: string, message?: ViciMessage): Promise<ViciAnswer>;
  /** Sends a command that answers with a stream of events of one name. */
  stream(command: string, event: string, message?: ViciMessage): Promise<ViciAnswer[]>;
  readonly isOpen: boolean;
  close(): void;
}

const TYPES = {
  request: 0,
  response: 1,
  unknown: 2,
  register: 3,
  unregister: 4,
  confirm: 5,
  eventUnknown: 6,
  event: 7,
};

/** Bytes that are no message of charon. */
export class ViciError extends Error {}

const LENGTH_BYTES = 4;
/** charon refuses requests above 512 KiB, and its answers are shorter. */
const MAX_PACKET = 16 * 1024 * 1024;
/** Sections of charon's messages are nested five times at most. */
const MAX_DEPTH = 32;

/** Opens a connection. A command without an answer within `timeoutMs` (5 s) closes it. */
export async function openVici(path: string, timeoutMs = 5000): Promise<Vici> {
  const socket = connect(path);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', () => resolve());
    socket.once('error', reject);
  });
  return createVici(socket, timeoutMs);
}

interface Waiting {
  resolve(packet: Buffer): void;
  reject(error: Error): void;
}

function createVici(socket: Socket, timeoutMs: number): Vici {
  let waiting: Waiting | undefined;
  const listeners = new Map<string, (message: ViciAnswer) => void>();
  let chunks: Buffer[] = [];
  let size = 0;
  /** Bytes without which no packet is complete: a large one is joined once. */
  let needed = LENGTH_BYTES;
  let isOpen = true;
  const fail = (error: Error) => {
    isOpen = false;
    waiting?.reject(error);
  };
  const take = (packet: Buffer) => {
    if (packet[0] !== TYPES.event) {
      waiting?.resolve(packet);
      return;
    }
    const nameLength = packet[1] ?? 0;
    listeners.get(packet.toString('utf8', 2, 2 + nameLength))?.(decode(packet.subarray(2 + nameLength)));
  };
  socket.on('data', (data: Buffer) => {
    chunks.push(data);
    size += data.length;
    if (size < needed) return;
    let rest = Buffer.concat(chunks);
    try {
      for (needed = LENGTH_BYTES; rest.length >= LENGTH_BYTES; needed = LENGTH_BYTES) {
        const length = rest.readUInt32BE(0);
        if (length > MAX_PACKET) throw new ViciError(`a packet of ${length} bytes is longer than ${MAX_PACKET}`);
        needed = LENGTH_BYTES + length;
        if (rest.length < needed) break;
        take(rest.subarray(LENGTH_BYTES, needed));
        rest = rest.subarray(needed);
      }
    } catch (error) {
      // The error ends the connection, and rejects the command that waits.
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
    chunks = rest.length === 0 ? [] : [rest];
    size = rest.length;
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('vici: charon closed the connection')));

  const exchange = (type: number, name: string, body: Buffer) =>
    new Promise<Buffer>((resolve, reject) => {
      if (!isOpen) {
        reject(new Error('vici: charon closed the connection'));
        return;
      }
      const timer = setTimeout(() => socket.destroy(new Error(`vici: no answer to ${name}`)), timeoutMs);
      const settle =
        <T>(by: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          waiting = undefined;
          by(value);
        };
      waiting = { resolve: settle(resolve), reject: settle(reject) };
      const title = Buffer.from(name);
      const packet = Buffer.concat([Buffer.from([type, title.length]), title, body]);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(packet.length);
      socket.write(Buffer.concat([length, packet]));
    });

  // Send one request at a time: charon works on several at once and may answer them in any order.
  let last: Promise<unknown> = Promise.resolve();
  const send = (type: number, name: string, body: Buffer = Buffer.alloc(0)) => {
    const next = last.then(() => exchange(type, name, body));
    last = next.catch(() => {});
    return next;
  };

  const call = async (command: string, message: ViciMessage = {}) => {
    const packet = await send(TYPES.request, command, encode(message));
    if (packet[0] !== TYPES.response) throw new Error(`vici: charon does not know the command ${command}`);
    const answer = decode(packet.subarray(1));
    if (answer['success'] === 'no') throw new Error(`${command}: ${textOf(answer['errmsg'])}`);
    return answer;
  };

  // Events of one name go to one stream at a time.
  let streams: Promise<unknown> = Promise.resolve();
  return {
    call,
    stream(command, event, message = {}) {
      const run = async () => {
        const found: ViciAnswer[] = [];
        listeners.set(event, (each) => found.push(each));
        try {
          await send(TYPES.register, event);
          await call(command, message);
          await send(TYPES.unregister, event);
        } finally {
          listeners.delete(event);
        }
        return found;
      };
      const result = streams.then(run, run);
      streams = result.catch(() => {});
      return result;
    },
    get isOpen() {
      return isOpen;
    },
    close() {
      isOpen = false;
      socket.destroy();
    },
  };
}

const ELEMENTS = { sectionStart: 1, sectionEnd: 2, keyValue: 3, listStart: 4, listItem: 5, listEnd: 6 };

export function encode(message: ViciMessage): Buffer {
  const parts: Buffer[] = [];
  const key = (type: number, name: string) => {
    const bytes = Buffer.from(name);
    parts.push(Buffer.from([type, bytes.length]), bytes);
  };
  const value = (given: string | Buffer) => {
    const bytes = Buffer.from(given);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    parts.push(length, bytes);
  };
  for (const [name, each] of Object.entries(message)) {
    if (typeof each === 'string' || Buffer.isBuffer(each)) {
      key(ELEMENTS.keyValue, name);
      value(each);
    } else if (isList(each)) {
      key(ELEMENTS.listStart, name);
      for (const item of each) {
        parts.push(Buffer.from([ELEMENTS.listItem]));
        value(item);
      }
      parts.push(Buffer.from([ELEMENTS.listEnd]));
    } else {
      key(ELEMENTS.sectionStart, name);
      parts.push(encode(each), Buffer.from([ELEMENTS.sectionEnd]));
    }
  }
  return Buffer.concat(parts);
}

export function decode(bytes: Buffer): ViciAnswer {
  let at = 0;
  const text = (length: number) => {
    at += length;
    if (at > bytes.length) throw new ViciError('vici: the message ends in the middle of a text');
    return bytes.toString('utf8', at - length, at);
  };
  const key = () => text(bytes[at++] ?? 0);
  const value = () => {
    const [high = 0, low = 0] = [bytes[at++], bytes[at++]];
    return text(256 * high + low);
  };
  const section = (depth: number): ViciAnswer => {
    if (depth > MAX_DEPTH) throw new ViciError(`vici: sections are nested more than ${MAX_DEPTH} times`);
    // Without a prototype: a section may have any name.
    const result = Object.create(null) as Record<string, string | string[] | ViciAnswer>;
    while (at < bytes.length) {
      const type = bytes[at++];
      if (type === ELEMENTS.sectionEnd) return result;
      if (type === ELEMENTS.sectionStart) {
        const name = key();
        result[name] = section(depth + 1);
      } else if (type === ELEMENTS.keyValue) {
        const name = key();
        result[name] = value();
      } else if (type === ELEMENTS.listStart) {
        const name = key();
        const items: string[] = [];
        while (bytes[at] === ELEMENTS.listItem) {
          at++;
          items.push(value());
        }
        at++;
        result[name] = items;
      } else throw new ViciError(`vici: unexpected element ${type}`);
    }
    return result;
  };
  return section(0);
}

export function textOf(value: string | string[] | ViciAnswer | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function sectionOf(value: string | string[] | ViciAnswer | undefined): ViciAnswer {
  return typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function isList(value: ViciValue): value is readonly (string | Buffer)[] {
  return Array.isArray(value);
}
