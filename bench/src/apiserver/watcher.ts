import { type Address, openSocket, requestBytes } from './connection.ts';

/** A watch that looks only for the numbers of the changes in what it gets. */
export interface Watcher {
  /** The number of the last change. */
  last(): number;
  /** Whether each number so far was the one after the one before it. */
  inOrder(): boolean;
  close(): void;
}

const MARK = Buffer.from('"seq":"');
const DIGITS = 6;

/** Opens a watch from now on; resolves when the server has taken it. */
export async function openWatcher(
  address: Address,
  collection: string,
  onChange: (sequence: number) => void,
): Promise<Watcher> {
  const socket = await openSocket(address);
  let last = 0;
  let inOrder = true;
  let rest: Buffer = Buffer.alloc(0);
  const opened = new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => {
      inOrder = false;
      reject(new Error('the server ended a watch'));
    });
    socket.on('data', (chunk: Buffer) => {
      resolve();
      const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let done = 0;
      for (let at = data.indexOf(MARK); at >= 0; at = data.indexOf(MARK, done)) {
        const start = at + MARK.length;
        if (start + DIGITS > data.length) break;
        done = start + DIGITS;
        const sequence = Number(data.toString('latin1', start, done));
        // What was there before the first change is numbered 0.
        if (sequence === 0) continue;
        if (sequence !== last + 1) inOrder = false;
        last = sequence;
        onChange(sequence);
      }
      // A number may come in two pieces.
      rest = data.subarray(Math.max(done, data.length - MARK.length - DIGITS + 1));
    });
  });
  socket.write(requestBytes('GET', `${collection}?watch=true`));
  await opened;
  return { last: () => last, inOrder: () => inOrder, close: () => socket.destroy() };
}
