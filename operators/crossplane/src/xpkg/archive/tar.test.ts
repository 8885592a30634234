import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { PackageError } from '../errors.ts';
import { readTar, type TarEntry, type TarLimits } from './tar-reader.ts';
import { tarFile, writeTar } from './tar-writer.ts';

async function* chunked(bytes: Uint8Array, size = bytes.length): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += Math.max(1, size)) yield bytes.subarray(at, at + Math.max(1, size));
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

type Read = Omit<TarEntry, 'content'> & { text: string };

async function entriesOf(archive: Uint8Array, size?: number, limits?: TarLimits): Promise<Read[]> {
  const entries: Read[] = [];
  for await (const { content, ...entry } of readTar(chunked(archive, size), limits))
    entries.push({ ...entry, text: (await bytesOf(content())).toString() });
  return entries;
}

/** One header with a right checksum, and whatever else is asked for. */
function header(fields: {
  name?: string;
  size?: string | Buffer;
  type?: string;
  link?: string;
  magic?: string;
}): Buffer {
  const block = Buffer.alloc(512);
  block.write(fields.name ?? 'package.yaml', 0);
  block.write('0000644', 100);
  if (typeof fields.size === 'object') fields.size.copy(block, 124);
  else block.write(fields.size ?? '00000000000', 124);
  block.write(fields.type ?? '0', 156);
  block.write(fields.link ?? '', 157);
  block.write(fields.magic ?? 'ustar\x0000', 257);
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

const END = Buffer.alloc(1024);
const padded = (text: string) => Buffer.concat([Buffer.from(text), Buffer.alloc((512 - (text.length % 512)) % 512)]);

describe('an archive', () => {
  test('an archive that was written is read again, whatever its names and however it is cut into chunks', async () => {
    const name = fc
      .array(fc.stringMatching(/^[a-zA-Z0-9_ äß-]{1,80}$/), { minLength: 1, maxLength: 4 })
      .map((segments) => segments.join('/'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 1500 })), { maxLength: 5 }),
        fc.integer({ min: 1, max: 2000 }),
        async (files, size) => {
          const archive = await bytesOf(writeTar(files.map(([path, text]) => tarFile(path, text))));
          const found = await entriesOf(archive, size);
          assert.deepEqual(
            found.map((entry) => [entry.name, entry.text, entry.type]),
            files.map(([path, text]) => [path, text, 'file']),
          );
        },
      ),
      { numRuns: 50 },
    );
  });

  test('is the same bytes for the same files, and GNU tar agrees about what is in it', async (t) => {
    const files = [tarFile('package.yaml', 'a: 1\n'), tarFile(`long/${'x'.repeat(150)}`, 'y')];
    const archive = await bytesOf(writeTar(files));
    assert.deepEqual(archive, await bytesOf(writeTar(files)));
    const { status, stdout, error } = spawnSync('tar', ['-tf', '-'], { input: archive, encoding: 'utf8' });
    if (error !== undefined) return t.skip('there is no tar on this machine');
    assert.equal(status, 0);
    assert.deepEqual(stdout.trim().split('\n'), ['package.yaml', `long/${'x'.repeat(150)}`]);
  });

  for (const format of ['ustar', 'gnu', 'pax', 'v7', 'oldgnu'])
    test(`an archive of GNU tar in the format ${format} is read, with links distinguished`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'capstan-tar-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const long =
        format === 'v7' ? 'short' : format === 'ustar' ? `${'d'.repeat(60)}/${'f'.repeat(90)}` : 'n'.repeat(180);
      mkdirSync(join(folder, 'd'.repeat(60)));
      writeFileSync(join(folder, 'package.yaml'), 'kind: Provider\n');
      writeFileSync(join(folder, long), 'content');
      symlinkSync('/etc/passwd', join(folder, 'link'));
      const { stdout, error } = spawnSync('tar', [`--format=${format}`, '-cf', '-', './package.yaml', long, 'link'], {
        cwd: folder,
      });
      if (error !== undefined) return t.skip('there is no tar on this machine');
      const found = await entriesOf(stdout, 700);
      assert.deepEqual(
        found.map(({ name, type, text, linkName }) => [name, type, text, linkName]),
        [
          ['package.yaml', 'file', 'kind: Provider\n', ''],
          [long, 'file', 'content', ''],
          ['link', 'symlink', '', '/etc/passwd'],
        ],
      );
    });

  test('an archive whose content nothing reads is passed over to the next entry', async () => {
    const archive = await bytesOf(writeTar([tarFile('big', Buffer.alloc(100_000)), tarFile('small', 'x')]));
    const names: string[] = [];
    for await (const { name } of readTar(chunked(archive, 333))) names.push(name);
    assert.deepEqual(names, ['big', 'small']);
  });

  test('is read to its end, so that the digest of its source can be checked', async () => {
    let isAtEnd = false;
    async function* source() {
      yield* chunked(await bytesOf(writeTar([tarFile('a', 'x')])), 512);
      yield Buffer.alloc(5000);
      isAtEnd = true;
    }
    for await (const _ of readTar(source()));
    assert.ok(isAtEnd);
  });

  test('says where the content of its entries lies', async () => {
    const archive = await bytesOf(writeTar([tarFile('a', 'first'), tarFile('x'.repeat(150), 'second')]));
    for (const { offset, size, text } of await entriesOf(archive, 100))
      assert.equal(archive.toString('utf8', offset, offset + size), text);
  });

  test('an archive that is left early lets its source go', async () => {
    let isLetGo = false;
    async function* source() {
      try {
        for (;;) yield header({ name: 'a' });
      } finally {
        isLetGo = true;
      }
    }
    for await (const _ of readTar(source())) break;
    assert.ok(isLetGo);
  });
});

describe('a hostile archive', () => {
  const pax = (record: string) =>
    Buffer.concat([header({ type: 'x', size: record.length.toString(8).padStart(11, '0') }), padded(record)]);
  const cases: [what: string, archive: Buffer, problem: RegExp][] = [
    ['a name with ..', header({ name: '../../etc/passwd' }), /climbs out/],
    ['a name with .. inside', header({ name: 'a/../../package.yaml' }), /climbs out/],
    ['a pax name with ..', Buffer.concat([pax('20 path=../../etc/x\n'), header({})]), /climbs out|malformed/],
    [
      'a GNU long name with ..',
      Buffer.concat([header({ type: 'L', size: '00000000005' }), padded('../x\0'), header({})]),
      /climbs out/,
    ],
    ['a negative size', header({ size: Buffer.alloc(12, 0xff) }), /size out of range/],
    [
      'a size beyond all bounds',
      header({ size: Buffer.from([0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) }),
      /size out of range/,
    ],
    ['a size that is no number', header({ size: '9999zzzz' }), /size that is not a number/],
    ['a pax size that is no number', Buffer.concat([pax('12 size=-10\n'), header({})]), /a size of "-10"/],
    ['a long header', header({ type: 'x', size: '00070000000' }), /a header of/],
    ['a pax record that lies about its length', pax('99 path=x\n'), /malformed/],
    ['a pax record without end', pax('0 path=x\n'), /malformed/],
    ['a wrong checksum', Buffer.alloc(512, 1), /checksum|not a number/],
    ['a file that ends early', Buffer.concat([header({ size: '00000001000' }), Buffer.from('abc')]), /truncated/],
    ['a header that ends early', header({}).subarray(0, 300), /truncated/],
    ['a pax header that ends early', header({ type: 'x', size: '00000000020' }), /truncated/],
  ];
  for (const [what, archive, problem] of cases)
    test(`a hostile archive with ${what} is refused`, async () => {
      await assert.rejects(entriesOf(archive), (error: unknown) => {
        assert.ok(error instanceof PackageError, String(error));
        assert.match(error.message, problem);
        return true;
      });
    });

  test('a hostile archive with entries without end is given up', async () => {
    async function* endless() {
      for (;;) yield header({ name: 'a' });
    }
    await assert.rejects(async () => {
      for await (const _ of readTar(endless(), { maxEntries: 1000 }));
    }, /more than 1000 entries/);
  });

  test('a hostile archive with a size of eight gigabytes costs nothing before it ends', async () => {
    const huge = header({ size: Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]) });
    await assert.rejects(entriesOf(Buffer.concat([huge, END])), /truncated/);
  });

  test('a hostile archive of any bytes is read or refused, and nothing else happens', async () => {
    const good = await bytesOf(
      writeTar([tarFile('package.yaml', 'a: 1\n'.repeat(300)), tarFile('x'.repeat(120), 'y')]),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 6 }),
        fc.nat(good.length),
        fc.integer({ min: 1, max: 1500 }),
        async (changes, length, size) => {
          const damaged = Buffer.from(good.subarray(0, length));
          for (const [at, byte] of changes) if (at < damaged.length) damaged[at] = byte;
          try {
            for (const { name } of await entriesOf(damaged, size)) assert.ok(!name.split('/').includes('..'));
          } catch (error) {
            assert.ok(error instanceof PackageError, String(error));
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
