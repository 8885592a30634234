// A registry with two images without marks: a small one, and one with a layer whose size in bytes is the argument. Prints one line of JSON
// and serves until it is killed.
import { createHash, hash } from 'node:crypto';
import { startRegistry } from '@capstan/crossplane';

const size = Number(process.argv[2]);
const { address, store } = await startRegistry();
const META = 'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: large}\n';
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
const BLOCK = 512;
const PIECE = 128 * BLOCK;

/** A tar archive of one file, made piece by piece. */
function* tar(name: string, bytes: number, piece: (at: number, length: number) => Buffer): Generator<Buffer> {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0'.repeat(2), 108);
  header.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        0', 148);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  yield header;
  for (let at = 0; at < bytes; at += PIECE) yield piece(at, Math.min(PIECE, bytes - at));
  yield Buffer.alloc(((BLOCK - (bytes % BLOCK)) % BLOCK) + 2 * BLOCK);
}

/** Bytes that do not repeat soon. */
function noise(at: number, length: number): Buffer {
  const chunk = Buffer.alloc(length);
  for (let i = 0; i + 4 <= length; i += 4) chunk.writeUInt32LE(((at + i) * 2_654_435_761) >>> 0, i);
  return chunk;
}

async function put(repository: string, mediaType: string, chunks: Iterable<Buffer>) {
  const upload = await store.upload();
  const sum = createHash('sha256');
  for (const chunk of chunks) {
    sum.update(chunk);
    await upload.write(chunk);
  }
  const digest = `sha256:${sum.digest('hex')}`;
  await upload.commit(repository, digest);
  return { mediaType, digest, size: upload.size };
}

async function image(repository: string, bytes: number): Promise<string> {
  const text = Buffer.from(META);
  const layers = [
    await put(
      repository,
      LAYER,
      tar('package.yaml', text.length, (at, length) => text.subarray(at, at + length)),
    ),
    await put(repository, LAYER, tar('bin/provider', bytes, noise)),
  ];
  const config = await put(repository, 'application/vnd.oci.image.config.v1+json', [Buffer.from('{}')]);
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, config, layers }));
  const digest = `sha256:${hash('sha256', body, 'hex')}`;
  await store.putManifest(repository, { digest, mediaType, body }, 'v1');
  return `${address}/${repository}@${digest}`;
}

const images = { small: await image('small', 1000), large: await image('large', size) };
process.stdout.write(`${JSON.stringify({ address, images })}\n`);
