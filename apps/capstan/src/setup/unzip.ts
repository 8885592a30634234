// Reads a file from a zip archive, as wheels of Python are.
import { inflateRawSync } from 'node:zlib';

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const STORED = 0;
const DEFLATED = 8;

/** Returns the content of a file; undefined where the archive does not hold it. Throws for an archive that is damaged. */
export function unzip(archive: Buffer, path: string): Buffer | undefined {
  let end = archive.length - 22;
  while (end >= 0 && archive.readUInt32LE(end) !== END) end--;
  if (end < 0) throw new Error('it is not a zip archive');
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    if (archive.readUInt32LE(at) !== ENTRY) throw new Error('its list of files is damaged');
    const [method, packed, size] = [
      archive.readUInt16LE(at + 10),
      archive.readUInt32LE(at + 20),
      archive.readUInt32LE(at + 24),
    ];
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const name = archive.toString('utf8', at + 46, at + 46 + (nameLength ?? 0));
    if (name === path) return content(archive, archive.readUInt32LE(at + 42), method, packed, size);
    at += 46 + (nameLength ?? 0) + (extraLength ?? 0) + (commentLength ?? 0);
  }
  return undefined;
}

function content(archive: Buffer, at: number, method: number, packed: number, size: number): Buffer {
  if (archive.readUInt32LE(at) !== LOCAL) throw new Error('a file in it is damaged');
  const start = at + 30 + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28);
  const bytes = archive.subarray(start, start + packed);
  if (method !== STORED && method !== DEFLATED) throw new Error(`a file in it is packed by method ${method}`);
  const unpacked = method === STORED ? bytes : inflateRawSync(bytes, { maxOutputLength: size });
  if (unpacked.length !== size) throw new Error(`a file in it has ${unpacked.length} bytes, and ${size} are listed`);
  return unpacked;
}
