// The control protocol of strongSwan's charon (vici): packets with a length of four bytes, messages of nested sections.
import { connect, type Socket } from 'node:net';

export type ViciValue = string | Buffer | readonly (string | Buffer)[] | ViciMessage;
export interface ViciMessage {
  readonly [key: string]: ViciValue;
}

/** What charon answers: text only. */
export type ViciAnswer = { readonly [key: string]: string | string[] | ViciAnswer };

export interface Vici {
  /** One command; rejects when charon reports that it did not succeed. */
  call(command: string, message?: ViciMessage): Promise<ViciAnswer>;
  /** A command that answers by a stream of events of one name. */
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

/** Opens a connection; a command without an answer in `timeoutMs` (5 s) closes it. */
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
  let buffer = Buffer.alloc(0);
  let isOpen = true;
  const fail = (error: Error) => {
    isOpen = false;
    waiting?.reject(error);
  };
  socket.on('data', (data: Buffer) => {
    buffer = Buffer.concat([buffer, data]);
    while (buffer.length >= 4) {
      const length = buffer.readUInt32BE(0);
      if (buffer.length < 4 + length) break;
      const packet = buffer.subarray(4, 4 + length);
      buffer = buffer.subarray(4 + length);
      if (packet[0] === TYPES.event) {
        const nameLength = packet[1] ?? 0;
        listeners.get(packet.toString('utf8', 2, 2 + nameLength))?.(decode(packet.subarray(2 + nameLength)));
      } else waiting?.resolve(packet);
    }
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

  // charon works on several requests at once and may answer them in any order: one at a time.
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
  const key = () => {
    const length = bytes[at++] ?? 0;
    at += length;
    return bytes.toString('utf8', at - length, at);
  };
  const value = () => {
    const length = bytes.readUInt16BE(at);
    at += 2 + length;
    return bytes.toString('utf8', at - length, at);
  };
  const section = (): ViciAnswer => {
    const result: Record<string, string | string[] | ViciAnswer> = {};
    while (at < bytes.length) {
      const type = bytes[at++];
      if (type === ELEMENTS.sectionEnd) return result;
      if (type === ELEMENTS.sectionStart) result[key()] = section();
      else if (type === ELEMENTS.keyValue) result[key()] = value();
      else if (type === ELEMENTS.listStart) {
        const name = key();
        const items: string[] = [];
        while (bytes[at] === ELEMENTS.listItem) {
          at++;
          items.push(value());
        }
        at++;
        result[name] = items;
      } else throw new Error(`vici: unexpected element ${type}`);
    }
    return result;
  };
  return section();
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
