// Serves two packages without marks, so that every layer is read: a small one, and one whose top layer has the number of bytes in the
// argument. Prints one line of JSON with the address and the digests, and serves until it is killed.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { digestOf } from '../oci/digest.ts';
import { OCI_CONFIG, OCI_LAYER_GZIP, OCI_MANIFEST } from '../oci/media-types.ts';
import { createMemoryStore, type RegistryStore, startRegistry } from '../registry/index.ts';
import { tarFile, writeTar } from './archive/tar-writer.ts';

const size = Number(process.argv[2]);
const PACKAGE = 'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\n';
const store = createMemoryStore();

/** Bytes that do not repeat soon, created again for every reading. */
function* noise(bytes: number): Generator<Buffer> {
  for (let at = 0; at < bytes; at += 65_536) {
    const chunk = Buffer.alloc(Math.min(65_536, bytes - at));
    for (let i = 0; i + 4 <= chunk.length; i += 4) chunk.writeUInt32LE(((at + i) * 2_654_435_761) >>> 0, i);
    yield chunk;
  }
}

async function put(repository: string, chunks: AsyncIterable<Uint8Array>) {
  const upload = await store.upload();
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    hash.update(chunk);
    await upload.write(chunk);
  }
  const digest = `sha256:${hash.digest('hex')}`;
  await upload.commit(repository, digest);
  return { mediaType: OCI_LAYER_GZIP, digest, size: upload.size };
}

async function image(to: RegistryStore, repository: string, bytes: number): Promise<string> {
  const below = await put(repository, writeTar([tarFile('package.yaml', PACKAGE)]));
  // Packed without compression: quick to write, and unpacked like any other.
  const archive = writeTar([{ name: 'bin/provider', size: bytes, content: () => noise(bytes) }]);
  const packed = Readable.from(archive, { objectMode: false }).compose(
    createGzip({ level: 0 }),
  ) as AsyncIterable<Buffer>;
  const above = await put(repository, packed);
  const config = await put(
    repository,
    (async function* () {
      yield Buffer.from('{}');
    })(),
  );
  const manifest = { schemaVersion: 2, config: { ...config, mediaType: OCI_CONFIG }, layers: [below, above] };
  const body = Buffer.from(JSON.stringify(manifest));
  await to.putManifest(repository, { digest: digestOf(body), mediaType: OCI_MANIFEST, body }, 'v1');
  return digestOf(body);
}

const digests = { small: await image(store, 'small', 1000), large: await image(store, 'large', size) };
const { address } = await startRegistry({ store });
console.log(JSON.stringify({ address, digests }));
