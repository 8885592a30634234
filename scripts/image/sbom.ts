// The parts of an image, in SPDX 2.3: the packages of Debian, Node.js, the npm packages in the bundle, Capstan itself.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Architecture, LockedPackage } from './debian-lock.ts';
import { NODE_BINARIES } from './node-binaries.ts';

export interface SbomOptions {
  root: string;
  image: string;
  version: string;
  architecture: Architecture;
  packages: readonly LockedPackage[];
  nodeVersion: string;
  /** RFC 3339. */
  created: string;
}

export function sbomOf({ root, image, version, architecture, packages, nodeVersion, created }: SbomOptions): string {
  const parts = [
    part(image, version, `pkg:oci/${image}@${version}?arch=${architecture}`, 'Apache-2.0'),
    {
      ...part('node', nodeVersion, `pkg:generic/node@${nodeVersion}`, 'MIT'),
      checksums: [
        {
          algorithm: 'SHA256',
          checksumValue: NODE_BINARIES.sha256[`node-linux-${architecture === 'amd64' ? 'x64' : 'arm64'}`],
        },
      ],
    },
    ...npmParts(root),
    ...packages.map((locked) => ({
      ...part(
        locked.name,
        locked.version,
        `pkg:deb/debian/${locked.name}@${encodeURIComponent(locked.version)}?arch=${architecture}&distro=debian-12`,
        'NOASSERTION',
      ),
      checksums: [{ algorithm: 'SHA256', checksumValue: locked.sha256 }],
    })),
  ];
  const [first] = parts;
  const name = `${image}-${version}-${architecture}`;
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
  return `${JSON.stringify(
    {
      spdxVersion: 'SPDX-2.3',
      dataLicense: 'CC0-1.0',
      SPDXID: 'SPDXRef-DOCUMENT',
      name,
      documentNamespace: `https://capstan.dev/spdx/${name}-${hash}`,
      creationInfo: { created, creators: [`Tool: capstan-image-${version}`] },
      packages: parts,
      relationships: [
        { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: first?.SPDXID },
        ...parts.slice(1).map(({ SPDXID }) => ({
          spdxElementId: first?.SPDXID,
          relationshipType: 'CONTAINS',
          relatedSpdxElement: SPDXID,
        })),
      ],
    },
    undefined,
    2,
  )}\n`;
}

interface NpmLock {
  readonly packages: Readonly<
    Record<
      string,
      { version?: string; dev?: boolean; optional?: boolean; link?: boolean; license?: string; integrity?: string }
    >
  >;
}

/** The packages that are installed for production: the bundle is built from them. */
function npmParts(root: string) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as NpmLock;
  return Object.entries(packages).flatMap(([path, { version, dev, optional, link, license = 'NOASSERTION' }]) => {
    if (!path.startsWith('node_modules/') || version === undefined || dev || optional || link) return [];
    const name = path.replace(/^.*node_modules\//, '');
    return [part(name, version, `pkg:npm/${name.replace('@', '%40')}@${version}`, license)];
  });
}

function part(name: string, version: string, purl: string, license: string) {
  return {
    SPDXID: `SPDXRef-${`${purl.split('/')[0]?.replace('pkg:', '')}-${name}-${version}`.replaceAll(/[^A-Za-z0-9.-]/g, '-')}`,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: license,
    copyrightText: 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
  };
}
