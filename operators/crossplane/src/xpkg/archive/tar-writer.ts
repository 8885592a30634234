// Archives whose bytes follow from their content alone: owner and time are zero, names as given, ustar throughout, with a pax header only
// for values that ustar cannot express.

export interface TarFile {
  /** Without `./`: upstream's older readers search for exactly `package.yaml`. */
  readonly name: string;
  /** Default 0644. */
  readonly mode?: number;
  readonly size: number;
  content(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const BLOCK = 512;
const MAX_OCTAL = 8 ** 11 - 1;

/** An archive of these files, in this order. */
export async function* writeTar(files: Iterable<TarFile> | AsyncIterable<TarFile>): AsyncGenerator<Buffer> {
  for await (const { name, mode = 0o644, size, content } of files) {
    const pax = paxRecords(name, size);
    if (pax.length > 0) {
      yield header('PaxHeaders/entry', 0o644, pax.length, 'x');
      yield padded(pax);
    }
    yield header(pax.length > 0 ? 'entry' : name, mode, size > MAX_OCTAL ? 0 : size, '0');
    let written = 0;
    for await (const chunk of content()) {
      written += chunk.length;
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    }
    if (written !== size) throw new Error(`the content of ${name} has ${written} bytes, and ${size} were announced`);
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

/** A file of these bytes. */
export function tarFile(name: string, bytes: Uint8Array | string): TarFile {
  const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return { name, size: content.length, content: () => [content] };
}

function header(name: string, mode: number, size: number, typeFlag: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.fill(' ', 148, 156);
  block.write(typeFlag, 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function paxRecords(name: string, size: number): Buffer {
  const records: string[] = [];
  if (Buffer.byteLength(name) > 100 || /[^\x20-\x7e]/.test(name)) records.push(paxRecord('path', name));
  if (size > MAX_OCTAL) records.push(paxRecord('size', String(size)));
  return Buffer.from(records.join(''));
}

// The length counts its own digits.
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  length = bytes + String(length).length;
  return `${length}${rest}`;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
}
