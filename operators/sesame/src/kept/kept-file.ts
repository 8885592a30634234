// The file of the kept snapshot. It holds the private keys of the served certificates, so only its owner may read it. The whole snapshot
// is written beside it and takes its place; differences are appended.
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { KeptErrors } from './errors.ts';
import { MAGIC } from './frames.ts';

/** Larger files are not read: no Sesame writes them. */
const LARGEST = 1024 ** 3;
const OWN = 0o600;
const OTHERS = 0o077;
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Returns undefined when there is none, and throws when it must not be used. */
export async function readKept(path: string): Promise<Buffer | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { mode, uid, size } = await file.stat();
    if ((mode & OTHERS) !== 0 || uid !== process.getuid?.()) throw KeptErrors.NotPrivate(path, mode & 0o777);
    if (size > LARGEST) throw KeptErrors.TooLarge(path, size);
    // No other buffer shares its memory.
    const bytes = Buffer.allocUnsafeSlow(size);
    let at = 0;
    for (;;) {
      const { bytesRead } = await file.read(bytes, at, size - at, at);
      at += bytesRead;
      if (bytesRead === 0 || at === size) return bytes.subarray(0, at);
    }
  } finally {
    await file.close();
  }
}

/** Writes all frames; a process that is killed meanwhile leaves the former file. Returns the length of the file. */
export async function replaceKept(path: string, frames: AsyncIterable<readonly Uint8Array[]>): Promise<number> {
  const next = `${path}.next`;
  await rm(next, { force: true });
  const file = await open(next, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, OWN);
  let length = MAGIC.length;
  try {
    await writeAll(file, [MAGIC]);
    for await (const frame of frames) length += await writeAll(file, frame);
    await rename(next, path);
    return length;
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Appends one frame behind the first `length` bytes: whatever follows them is not whole. Returns the new length. */
export async function appendKept(path: string, length: number, frame: readonly Uint8Array[]): Promise<number> {
  const file = await open(path, O_APPEND | O_NOFOLLOW | O_WRONLY);
  try {
    const { size } = await file.stat();
    if (size < length) throw KeptErrors.Shortened(path, size, length);
    if (size > length) await file.truncate(length);
    return length + (await writeAll(file, frame));
  } finally {
    await file.close();
  }
}

export async function removeKept(path: string): Promise<void> {
  await Promise.all([rm(path, { force: true }), rm(`${path}.next`, { force: true })]);
}


async function writeAll(file: FileHandle, buffers: readonly Uint8Array[]): Promise<number> {
  const bytes = Buffer.concat(buffers);
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
  return bytes.length;
}
