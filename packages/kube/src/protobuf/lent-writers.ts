// Writers of messages are lent, so that each message is copied once, to where it is kept.
import { WireWriter } from './wire-writer.ts';

/** Small ones share slabs: each buffer of its own costs the collector more than its bytes. */
const SLAB = 65_536;
const SMALL = 4096;
let slab = Buffer.alloc(0);
let used = 0;

/** Allocates from a slab that holds only kept bytes: the slabs that Node.js shares are mostly full of temporary ones. */
function allocateKept(length: number): Buffer {
  if (length > SMALL) return Buffer.allocUnsafeSlow(length);
  if (used + length > slab.length) {
    slab = Buffer.allocUnsafeSlow(SLAB);
    used = 0;
  }
  used += length;
  return slab.subarray(used - length, used);
}

const idle: WireWriter[] = [];
/** A writer that has grown beyond this is not kept. */
const MAX_KEPT = 1024 * 1024;

/** Lends a writer; calls may be nested. */
export function withWriter(write: (writer: WireWriter) => void): Buffer {
  const writer = idle.pop() ?? new WireWriter();
  write(writer);
  const bytes = allocateKept(writer.length);
  writer.copyTo(bytes);
  giveBack(writer);
  return bytes;
}

/** The same for bytes that are checked once and not kept: they are not copied. */
export function withWritten<T>(write: (writer: WireWriter) => void, look: (bytes: Uint8Array) => T): T {
  const writer = idle.pop() ?? new WireWriter();
  write(writer);
  const found = look(writer.result());
  giveBack(writer);
  return found;
}

function giveBack(writer: WireWriter): void {
  if (writer.capacity > MAX_KEPT) return;
  writer.reset();
  idle.push(writer);
}
