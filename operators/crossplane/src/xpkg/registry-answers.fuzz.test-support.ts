// Answers of registries, and the packages in them: challenges, manifests, pull secrets, archives, documents.
import { gzipSync } from 'node:zlib';
import { CodedError } from '@capstan/kube';
import type { FuzzTarget, SeededRandom } from '@capstan/testing';
import { parseChallenges } from '../oci/challenge.ts';
import { RegistryError } from '../oci/errors.ts';
import { keychainOfDockerConfig } from '../oci/keychain.ts';
import { choosePlatform, parseManifest } from '../oci/manifest.ts';
import { parseReference } from '../oci/reference.ts';
import { decompress } from './archive/decompress.ts';
import { readTar } from './archive/tar-reader.ts';
import { PackageError } from './errors.ts';
import { readPackage } from './package.ts';
import { parseConstraint, parseVersion, satisfies } from './semver.ts';

const isRefusal = (error: unknown) =>
  error instanceof PackageError || error instanceof RegistryError || error instanceof CodedError;

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  // Some boundaries fall into the middle of headers.
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
}

const DIGEST = `sha256:${'a'.repeat(64)}`;

const manifest: FuzzTarget = {
  name: 'oci-manifest',
  seeds: [
    JSON.stringify({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'c', digest: DIGEST, size: 2 },
      layers: [{ mediaType: 'l', digest: DIGEST, size: 3, annotations: { 'io.crossplane.xpkg': 'base' } }],
      annotations: { a: 'b' },
    }),
    JSON.stringify({
      schemaVersion: 2,
      manifests: [
        { digest: DIGEST, size: 1, platform: { os: 'linux', architecture: 'amd64' } },
        { digest: DIGEST, size: 1, platform: { os: 'unknown', architecture: 'unknown' } },
      ],
    }),
  ],
  tokens: [
    '"manifests":[',
    '"layers":null,',
    '"size":-1',
    '"digest":"sha256:"',
    'null',
    '{}',
    '[]',
    '"annotations":{"__proto__":"x"},',
    '"platform":[],',
    DIGEST,
  ],
  read(input) {
    const found = parseManifest(
      { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: DIGEST, body: input },
      'x/y:z',
    );
    if ('index' in found) choosePlatform(found.index);
  },
  isRefusal,
};

const texts: FuzzTarget = {
  name: 'registry-texts',
  seeds: [
    'Bearer realm="https://auth.example.com/token",service="registry",scope="repository:a/b:pull"',
    'Basic realm="x", Bearer realm=y',
    'registry.example.com:5000/a/b-c_d/e:v1.2.3',
    `xpkg.upbound.io/a/b@${DIGEST}`,
    'a:b',
    'v1.2.3-alpha.1+build',
    '>=1.2.0 <2 || ~3.4 || ^0.1',
    '1.x, !=1.5',
    '*',
  ],
  tokens: [
    'Bearer ',
    '="',
    '\\"',
    ',',
    ' ',
    '=',
    ':',
    '@sha256:',
    '/',
    'latest',
    '>=',
    '||',
    '^',
    '~',
    '-',
    '.x',
    '999999999999',
    '"',
  ],
  read(input) {
    const text = input.toString();
    parseChallenges(text);
    const version = parseVersion(text);
    const constraint = parseConstraint(text);
    for (const each of [version, parseVersion('1.2.3')]) if (constraint && each) satisfies(each, constraint);
    parseReference(text);
  },
  isRefusal,
};

const dockerConfig: FuzzTarget = {
  name: 'docker-config',
  seeds: [
    JSON.stringify({
      auths: {
        'https://index.docker.io/v1/': { auth: 'dTpw' },
        'registry.example.com/a/b': { username: 'u', password: 'p' },
        '*.example.org': { identitytoken: 't' },
      },
    }),
    '{"auths":{}}',
  ],
  tokens: ['"auth":"Og=="', '"auths":[]', '*', '//', ':', '[::1]', '"__proto__":{', 'null', '\\u0000'],
  read(input) {
    const keychain = keychainOfDockerConfig(input.toString(), 'secret');
    keychain('registry.example.com', 'a/b');
  },
  isRefusal,
};

/** One entry of an archive, with a checksum that is right, so that the reader goes on to the other fields. */
function entry(name: string, body: Buffer, typeFlag = '0', size = body.length.toString(8).padStart(11, '0')): Buffer {
  const header = Buffer.alloc(512);
  header.write(name.slice(0, 100), 0, 'latin1');
  header.write('0000644\0', 100);
  header.write(size, 124, 'latin1');
  header.write(`        ${typeFlag}`, 148, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const pax = (...records: [string, string][]) =>
  Buffer.from(
    records
      .map(([key, value]) => {
        const rest = ` ${key}=${value}\n`;
        const length = rest.length + String(rest.length + 2).length;
        return `${length}${rest}`;
      })
      .join(''),
  );

function drawnArchive(random: SeededRandom): Buffer {
  const names = ['package.yaml', './a/b', '../etc/passwd', '/abs', 'a/../b', '', 'a'.repeat(100), '.', 'é'];
  const entries = Array.from({ length: random.integer(1, 5) }, () => {
    const type = random.pick(['0', '0', '5', '2', '1', 'x', 'g', 'L', 'K', '3', '7', '\0', 'S']);
    const sizes = ['00000000010', '77777777777', '-1', '0000000000z', '           ', '\x80\0\0\0\0\0\0\0\0\0\xff'];
    const body =
      type === 'x'
        ? pax([
            random.pick(['path', 'size', 'linkpath', 'GNU.sparse.size', '__proto__']),
            random.pick(['a/b', '10', '99999999999999999', '../x']),
          ])
        : Buffer.from(random.pick(['', 'text', 'x'.repeat(513)]));
    return random.chance(0.8)
      ? entry(random.pick(names), body, type)
      : entry(random.pick(names), body, type, random.pick(sizes));
  });
  const archive = Buffer.concat([...entries, Buffer.alloc(1024)]);
  return random.chance(0.3) ? gzipSync(archive) : archive;
}

const archive: FuzzTarget = {
  name: 'package-archive',
  seeds: [
    Buffer.concat([entry('package.yaml', Buffer.from('a: b\n')), Buffer.alloc(1024)]),
    Buffer.concat([
      entry('x', pax(['path', 'long/name'], ['size', '5']), 'x'),
      entry('y', Buffer.from('12345')),
      Buffer.alloc(1024),
    ]),
    gzipSync(Buffer.concat([entry('package.yaml', Buffer.alloc(2000)), Buffer.alloc(1024)])),
    Buffer.from('28b52ffd2000010000', 'hex'),
  ],
  tokens: [
    entry('a', Buffer.from('b')),
    entry('l', Buffer.from('long'), 'L'),
    Buffer.alloc(512),
    Buffer.from('1f8b0800', 'hex'),
    '12 path=a\n',
    Buffer.from('28b52ffd', 'hex'),
  ],
  generate: drawnArchive,
  async read(input) {
    for await (const one of readTar(decompress(chunksOf(input), { maxBytes: 4 * 1024 * 1024 }), {
      maxEntries: 1_000,
    })) {
      for await (const chunk of one.content()) if (chunk.length === 0) throw new Error('an empty chunk');
      if (one.name.split('/').includes('..') || one.name.startsWith('/'))
        throw new Error(`a name leaves the archive: ${one.name}`);
    }
  },
  isRefusal,
};

const documents: FuzzTarget = {
  name: 'package-yaml',
  seeds: [
    'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata:\n  name: p\nspec:\n  controller: { image: x }\n  crossplane: { version: ">=1.0" }\n  dependsOn: [{ provider: a/b, version: "*" }]\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: { name: x }\nspec: {}\n',
    'apiVersion: meta.pkg.crossplane.io/v1beta1\nkind: Function\nmetadata: {name: f}\nspec: {}\n',
    '# only\n---\n...\n',
    '%YAML 1.2\n--- {a: b}\n',
  ],
  tokens: [
    '---\n',
    '...\n',
    '--- ',
    '&a ',
    '*a',
    'metadata: null\n',
    'kind: [',
    '- ',
    '\r\n',
    '%',
    '\ufeff',
    '__proto__: {',
    'dependsOn: 5\n',
    'annotations: [a]\n',
    'spec: ',
    '&x [*x]',
  ],
  maxBytes: 64 * 1024,
  maxMs: 3_000,
  read: (input) => readPackage(chunksOf(input)),
  isRefusal,
};

export const targets: readonly FuzzTarget[] = [manifest, texts, dockerConfig, archive, documents];
