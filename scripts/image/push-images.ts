// Pushes images by the same registry client that pulls packages for Crossplane: every blob once, then the manifests, then the tag.
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  anonymous,
  createRegistryClient,
  type Keychain,
  keychainOfDockerConfig,
  parseReference,
  type TransportOptions,
} from '@capstan/crossplane/oci';
import type { BuiltImages } from './build-images.ts';
import { type Blob, descriptorOf } from './oci-image.ts';

export interface PushOptions {
  /** `registry.example.com/team`: images go below it, under their names. */
  to: string;
  transport?: TransportOptions;
  keychain?: Keychain;
  report(line: string): void;
}

export async function pushImages(built: readonly BuiltImages[], options: PushOptions): Promise<void> {
  const { to, transport, report } = options;
  const client = createRegistryClient(transport);
  const ask = { keychain: options.keychain ?? ownKeychain() };
  try {
    for (const { name, version, index, images } of built) {
      const reference = parseReference(`${to}/${name}:${version}`);
      for (const { manifest, config, layers } of images) {
        for (const blob of [config, ...layers])
          await client.pushBlob(reference, { ...descriptorOf(blob), open: () => once(blob) }, ask);
        await client.pushManifest(
          { ...reference, digest: manifest.digest },
          { mediaType: manifest.mediaType, body: manifest.bytes },
          ask,
        );
      }
      const digest = await client.pushManifest(reference, { mediaType: index.mediaType, body: index.bytes }, ask);
      report(`pushed ${to}/${name}:${version}@${digest}`);
    }
  } finally {
    await client.close();
  }
}

async function* once({ bytes }: Blob): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** The credentials that `docker login` and `podman login` stored on this machine. */
function ownKeychain(): Keychain {
  const folder = process.env['DOCKER_CONFIG'] ?? join(homedir(), '.docker');
  const file = join(folder, 'config.json');
  return existsSync(file) ? keychainOfDockerConfig(readFileSync(file, 'utf8'), file) : anonymous;
}
