// Adds a resource to an ELF program, where Node.js searches for its embedded program: a note in memory with a name. The note needs two
// program headers (the loaded range, and the note in it) and there is no space for them. So the linker's own notes are given up, which only
// debuggers read: their header becomes the resource's, and their bytes are the space for one header more.

/** A program with a note of this name, without symbols and debug information. Throws when the layout is not the expected one. */
export function addResource(program: Buffer, name: string, resource: Buffer): Buffer {
  const before = headersOf(program);
  const [interpreter, note] = [only(before, INTERP), only(before, NOTE)];
  const loads = before.filter(({ type }) => type === LOAD);
  const tableEnd = TABLE + before.length * HEADER_SIZE;
  if (interpreter.offset !== tableEnd || note.offset < interpreter.offset + interpreter.fileSize)
    throw new Error(`the program headers are not followed by the interpreter and the notes (at ${tableEnd})`);
  const movedBy = HEADER_SIZE;
  if (interpreter.offset + movedBy + interpreter.fileSize > note.offset + note.fileSize)
    throw new Error('the notes of the program are too short to hold a program header');

  const loadedBytes = Math.max(...loads.map(({ offset, fileSize }) => offset + fileSize));
  const offset = roundUp(loadedBytes, PAGE);
  const address = roundUp(Math.max(...loads.map((load) => load.address + load.memorySize)), PAGE);
  const bytes = noteOf(name, resource);
  const place = { offset, address, fileSize: bytes.length, memorySize: bytes.length, flags: READ };
  const headers = before.flatMap((header) => {
    const moved = { offset: header.offset + movedBy, address: header.address + movedBy };
    if (header.type === INTERP) return [{ ...header, ...moved }];
    if (header.type === NOTE) return [{ type: NOTE, align: 4, ...place }];
    const grown = header.fileSize + HEADER_SIZE;
    if (header.type === TABLE_ITSELF) return [{ ...header, fileSize: grown, memorySize: grown }];
    // In the order of addresses, as loaders expect it.
    return header === loads.at(-1) ? [header, { type: LOAD, align: PAGE, ...place }] : [header];
  });

  const result = Buffer.alloc(offset + bytes.length);
  program.copy(result, 0, 0, loadedBytes);
  program.copy(result, interpreter.offset + movedBy, interpreter.offset, interpreter.offset + interpreter.fileSize);
  for (const [at, header] of headers.entries()) writeHeader(result, TABLE + at * HEADER_SIZE, header);
  result.writeUInt16LE(headers.length, COUNT_AT);
  // Sections are for linkers and debuggers, and their table is cut off.
  result.writeBigUInt64LE(0n, SECTIONS_AT);
  result.writeUInt16LE(0, SECTION_COUNT_AT);
  result.writeUInt16LE(0, SECTION_NAMES_AT);
  bytes.copy(result, offset);
  return result;
}

interface ProgramHeader {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly address: number;
  readonly fileSize: number;
  readonly memorySize: number;
  readonly align: number;
}

// The layout of ELF for 64 bits, least significant byte first.
const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const [TABLE_AT, SECTIONS_AT, COUNT_AT, SECTION_COUNT_AT, SECTION_NAMES_AT] = [32, 40, 56, 60, 62];
const [TABLE, HEADER_SIZE] = [64, 56];
const [LOAD, INTERP, NOTE, TABLE_ITSELF] = [1, 3, 4, 6];
const READ = 4;
/** The largest page that Linux has on these architectures. */
const PAGE = 0x10000;

function headersOf(program: Buffer): readonly ProgramHeader[] {
  if (!program.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('not a 64-bit little-endian ELF program');
  if (Number(program.readBigUInt64LE(TABLE_AT)) !== TABLE) throw new Error('the program headers are not at the start');
  return Array.from({ length: program.readUInt16LE(COUNT_AT) }, (_none, index) => {
    const at = TABLE + index * HEADER_SIZE;
    const word = (field: number) => Number(program.readBigUInt64LE(at + field));
    return {
      type: program.readUInt32LE(at),
      flags: program.readUInt32LE(at + 4),
      offset: word(8),
      address: word(16),
      fileSize: word(32),
      memorySize: word(40),
      align: word(48),
    };
  });
}

function writeHeader(to: Buffer, at: number, header: ProgramHeader): void {
  to.writeUInt32LE(header.type, at);
  to.writeUInt32LE(header.flags, at + 4);
  const words = [header.offset, header.address, header.address, header.fileSize, header.memorySize, header.align];
  for (const [index, value] of words.entries()) to.writeBigUInt64LE(BigInt(value), at + 8 + index * 8);
}

function noteOf(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(12 + roundUp(name.length + 1, 4));
  head.writeUInt32LE(name.length + 1, 0);
  head.writeUInt32LE(content.length, 4);
  head.write(name, 12, 'latin1');
  return Buffer.concat([head, content, Buffer.alloc(roundUp(content.length, 4) - content.length)]);
}

function only(headers: readonly ProgramHeader[], type: number): ProgramHeader {
  const [found, ...others] = headers.filter((header) => header.type === type);
  if (found === undefined || others.length > 0) throw new Error(`not exactly one program header of type ${type}`);
  return found;
}

function roundUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
