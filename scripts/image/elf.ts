// The part of an ELF program that a kernel loads. Node.js is published with debugging sections and a symbol table behind that
// part: a fifth of the file, which nothing reads when it runs.

const MAGIC = 0x7f454c46;
const CLASS_64 = 2;
const LITTLE_ENDIAN = 1;
const HEADER_SIZE = 64;
const PROGRAM_HEADER_SIZE = 56;

/** The program without its section headers and without everything behind the last byte that a program header names. */
export function withoutSections(program: Buffer): Buffer {
  if (program.length < HEADER_SIZE || program.readUInt32BE(0) !== MAGIC) throw new Error('this is no ELF program');
  if (program[4] !== CLASS_64 || program[5] !== LITTLE_ENDIAN)
    throw new Error('this ELF program is not of 64 bits in little-endian order');
  const start = Number(program.readBigUInt64LE(0x20));
  const count = program.readUInt16LE(0x38);
  if (program.readUInt16LE(0x36) !== PROGRAM_HEADER_SIZE || count === 0)
    throw new Error('this ELF program has no program headers');
  let end = start + count * PROGRAM_HEADER_SIZE;
  for (let index = 0; index < count; index += 1) {
    const at = start + index * PROGRAM_HEADER_SIZE;
    end = Math.max(end, Number(program.readBigUInt64LE(at + 0x08)) + Number(program.readBigUInt64LE(at + 0x20)));
  }
  if (end > program.length) throw new Error('this ELF program is cut short');
  const kept = Buffer.from(program.subarray(0, end));
  kept.writeBigUInt64LE(0n, 0x28); // e_shoff
  kept.writeUInt16LE(0, 0x3c); // e_shnum
  kept.writeUInt16LE(0, 0x3e); // e_shstrndx
  return kept;
}
