// The two images: `capstan` with all programs, and `capstan-gateway`, which has the programs of cables besides.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Architecture, readLock } from './debian-lock.ts';
import { type Blob, dockerArchive, layerOf, type PlatformImage, platformImage, writeLayout } from './oci-image.ts';
import { baseTree, capstanTree, debianTree, nodeTree, USER } from './root-files.ts';
import { sbomOf } from './sbom.ts';

export interface BuiltImages {
  readonly name: string;
  readonly version: string;
  readonly index: Blob;
  readonly images: readonly PlatformImage[];
}

export interface BuildImagesOptions {
  root: string;
  /** The folder of the programs' package. */
  bundle: string;
  /** Where layouts, archives and SBOMs go. */
  folder: string;
  architectures: readonly Architecture[];
  /** Seconds since the epoch: the date of everything in the images. */
  epoch: number;
  report(line: string): void;
}

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly hasCables: boolean;
  /** The limit of the size of the files, in MB. */
  readonly limit: number;
}

export const IMAGES: readonly Definition[] = [
  {
    name: 'capstan',
    description: 'Five Kubernetes operators on one runtime: Sesame, Submariner, Kroxylicious, Gimbal, Crossplane.',
    hasCables: false,
    limit: 160,
  },
  {
    name: 'capstan-gateway',
    description: 'Capstan with WireGuard, strongSwan and iproute2: the gateways of Submariner.',
    hasCables: true,
    limit: 260,
  },
];

export async function buildImages(options: BuildImagesOptions): Promise<readonly BuiltImages[]> {
  const { root, bundle, folder, architectures, epoch, report } = options;
  const { version } = JSON.parse(readFileSync(join(bundle, 'package.json'), 'utf8')) as { version: string };
  const created = new Date(epoch * 1000).toISOString();
  const lock = readLock();
  const built: BuiltImages[] = [];
  mkdirSync(folder, { recursive: true });
  const capstan = { ...layerOf(capstanTree(bundle)), comment: `capstan ${version}` };
  const shared = new Map<Architecture, Awaited<ReturnType<typeof baseLayers>>>();
  for (const architecture of architectures)
    shared.set(architecture, await baseLayers(root, architecture, lock.base[architecture]));
  for (const definition of IMAGES) {
    const { name, description, hasCables, limit } = definition;
    const images: PlatformImage[] = [];
    for (const [architecture, { layers, nodeVersion }] of shared) {
      const cables = hasCables ? lock.gateway[architecture] : [];
      const packages = [...lock.base[architecture], ...cables];
      const sbom = sbomOf({ root, image: name, version, architecture, packages, nodeVersion, created });
      writeFileSync(join(folder, `${name}-${version}-${architecture}.spdx.json`), sbom);
      const described = layerOf(
        new Map([[`usr/share/sbom/${name}.spdx.json`, { type: 'file', mode: 0o644, bytes: Buffer.from(sbom) }]]),
      );
      const image = platformImage(
        architecture,
        [
          ...layers,
          ...(hasCables ? [{ ...layerOf(await debianTree(cables)), comment: 'cables, of Debian' }] : []),
          capstan,
          { ...described, comment: 'SBOM' },
        ],
        // A gateway changes the network of its node.
        {
          name,
          version,
          description,
          created,
          user: hasCables ? '0:0' : `${USER}:${USER}`,
          entrypoint: ['/usr/bin/capstan'],
        },
      );
      const megabytes = image.size / 1e6;
      const packed = image.layers.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1e6;
      report(
        `${name} ${architecture}: ${megabytes.toFixed(1)} MB (${packed.toFixed(1)} MB to pull), ${image.manifest.digest}`,
      );
      if (megabytes > limit)
        throw new Error(`${name} for ${architecture} has ${megabytes.toFixed(1)} MB, and ${limit} MB is the limit`);
      writeFileSync(
        join(folder, `${name}-${version}-${architecture}.docker.tar`),
        dockerArchive(image, `${name}:${version}`),
      );
      images.push(image);
    }
    const index = writeLayout(join(folder, `${name}-${version}.oci`), images, version);
    report(`${name}: ${index.digest}`);
    built.push({ name, version, index, images });
  }
  return built;
}

async function baseLayers(root: string, architecture: Architecture, packages: Parameters<typeof debianTree>[0]) {
  const { tree, version } = nodeTree(root, architecture);
  return {
    nodeVersion: version,
    layers: [
      { ...layerOf(baseTree(await debianTree(packages))), comment: 'libraries and certificates, of Debian' },
      { ...layerOf(tree), comment: `Node.js ${version}` },
    ],
  };
}
