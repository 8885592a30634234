import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { createRegistryClient } from '../oci/client.ts';
import { digestOf } from '../oci/digest.ts';
import { OCI_CONFIG, OCI_INDEX, OCI_MANIFEST } from '../oci/media-types.ts';
import { parseReference } from '../oci/reference.ts';
import { startRegistry } from '../registry/index.ts';
import { preAuthenticated } from './attestation.ts';
import { type CosignAuthority, verifySignatures } from './verify.ts';

const registry = await startRegistry();
const client = createRegistryClient({ retries: 0 });
after(async () => {
  await client.close();
  await registry.close();
});

const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' });
const ecdsa = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let images = 0;
/** An image that does not exist but by its digest: signatures never look at it. */
function anImage() {
  const digest = digestOf(`image ${images++}`);
  return parseReference(`${registry.address}/signed/x${images}@${digest}`);
}
type Image = ReturnType<typeof anImage>;

interface Part {
  mediaType: string;
  bytes: Buffer;
  annotations?: Record<string, string>;
}

async function putBeside(image: Image, suffix: string, parts: readonly Part[]): Promise<void> {
  const tag = `${image.digest?.replace(':', '-')}.${suffix}`;
  await putManifest({ ...image, tag, digest: undefined }, image, parts);
}

/** Stores a referrer as OCI 1.1 defines it: an image of its own that names the signed one, in the list of its referrers. */
async function putReferrer(image: Image, artifactType: string, parts: readonly Part[]): Promise<void> {
  const { digest, size } = await putManifest({ ...image, tag: `referrer-${images}`, digest: undefined }, image, parts);
  const manifests = [{ mediaType: OCI_MANIFEST, digest, size, artifactType }];
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests }));
  const tag = image.digest?.replace(':', '-') ?? '';
  await client.pushManifest({ ...image, tag, digest: undefined }, { mediaType: OCI_INDEX, body });
}

async function putManifest(
  at: Parameters<typeof client.pushManifest>[0],
  image: Image,
  parts: readonly Part[],
): Promise<{ digest: string; size: number }> {
  const pushed = [{ mediaType: OCI_CONFIG, bytes: Buffer.from('{}') }, ...parts];
  for (const { bytes } of pushed)
    await client.pushBlob(image, {
      digest: digestOf(bytes),
      size: bytes.length,
      open: async function* () {
        yield bytes;
      },
    });
  const [config, ...layers] = pushed.map(({ bytes, ...rest }) => ({
    ...rest,
    digest: digestOf(bytes),
    size: bytes.length,
  }));
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers }));
  return { digest: await client.pushManifest(at, { mediaType: OCI_MANIFEST, body }), size: body.length };
}

const statement = (digest: string | undefined, type = 'cosign container image signature') =>
  Buffer.from(
    JSON.stringify({
      critical: { identity: { 'docker-reference': 'x' }, image: { 'docker-manifest-digest': digest }, type },
      optional: null,
    }),
  );

function signed(payload: Buffer, key: KeyObject, hash: string | null = 'sha256'): Part {
  return {
    mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
    bytes: payload,
    annotations: { 'dev.cosignproject.cosign/signature': sign(hash, payload, key).toString('base64') },
  };
}

function attestation(image: Image, predicateType: string, key: KeyObject, digest = image.digest): Part {
  const body = Buffer.from(
    JSON.stringify({
      _type: 'https://in-toto.io/Statement/v0.1',
      predicateType,
      subject: [{ name: 'x', digest: { sha256: digest?.slice(7) } }],
      predicate: {},
    }),
  );
  const type = 'application/vnd.in-toto+json';
  const sig = sign('sha256', preAuthenticated(type, body), key).toString('base64');
  return {
    mediaType: 'application/vnd.dsse.envelope.v1+json',
    bytes: Buffer.from(
      JSON.stringify({ payloadType: type, payload: body.toString('base64'), signatures: [{ keyid: '', sig }] }),
    ),
  };
}

/** As cosign signs with a key since its version 3. */
function bundle(...given: Parameters<typeof attestation>): Part {
  const dsseEnvelope: unknown = JSON.parse(attestation(...given).bytes.toString('utf8'));
  const value = { mediaType: BUNDLE, verificationMaterial: { publicKey: { hint: 'x' } }, dsseEnvelope };
  return { mediaType: BUNDLE, bytes: Buffer.from(JSON.stringify(value)) };
}

const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const SIGNED = 'https://sigstore.dev/cosign/sign/v1';

const mine: CosignAuthority = { name: 'mine', publicKey: pem(ecdsa.publicKey) };
const check = (image: Image, ...authorities: CosignAuthority[]) => verifySignatures(client, image, authorities);

describe('a signature', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
  const ed25519 = generateKeyPairSync('ed25519');
  for (const [what, pair, hash] of [
    ['ECDSA', ecdsa, 'sha256'],
    ['ECDSA P-521 with sha512', p521, 'sha512'],
    ['RSA', rsa, 'sha256'],
    ['RSA with sha384', rsa, 'sha384'],
    ['Ed25519', ed25519, null],
  ] as const)
    test(`a signature by ${what} is accepted`, async () => {
      const image = anImage();
      await putBeside(image, 'sig', [signed(statement(image.digest), pair.privateKey, hash)]);
      const authority = { name: 'it', publicKey: pem(pair.publicKey), ...(hash !== null && { hashAlgorithm: hash }) };
      assert.deepEqual(await check(image, authority), { authority: 'it' });
    });

  test('a signature as a bundle that refers to the image counts when the key signed it, and it is about the image', async () => {
    const image = anImage();
    await putReferrer(image, BUNDLE, [bundle(image, SIGNED, ecdsa.privateKey)]);
    assert.deepEqual(await check(image, mine), { authority: 'mine' });
    for (const parts of [
      (of: Image) => bundle(of, SIGNED, other.privateKey),
      (of: Image) => bundle(of, SIGNED, ecdsa.privateKey, image.digest),
      (of: Image) => bundle(of, 'https://slsa.dev/provenance/v1', ecdsa.privateKey),
    ]) {
      const refused = anImage();
      await putReferrer(refused, BUNDLE, [parts(refused)]);
      assert.deepEqual(await check(refused, mine), {
        problems: ['authority "mine": none of 1 signatures is of its key'],
      });
    }
  });

  test('is no attestation, and a bundle with one is', async () => {
    const image = anImage();
    const wants = { ...mine, attestations: [{ name: 'built', predicateType: 'slsaprovenance1' }] };
    await putReferrer(image, BUNDLE, [bundle(image, SIGNED, ecdsa.privateKey)]);
    assert.match(JSON.stringify(await check(image, wants)), /signed no attestation built/);
    const attested = anImage();
    await putReferrer(attested, BUNDLE, [bundle(attested, 'https://slsa.dev/provenance/v1', ecdsa.privateKey)]);
    assert.deepEqual(await check(attested, wants), { authority: 'mine' });
  });

  test('among others is found, and one authority of several is enough', async () => {
    const image = anImage();
    await putBeside(image, 'sig', [
      signed(Buffer.from('{}'), other.privateKey),
      signed(statement(image.digest), ecdsa.privateKey),
    ]);
    assert.deepEqual(await check(image, { name: 'no', publicKey: pem(other.publicKey) }, mine), { authority: 'mine' });
  });

  const refused: [what: string, parts: (image: Image) => Part[], problem: RegExp, authority?: CosignAuthority][] = [
    [
      'of another key',
      (image) => [signed(statement(image.digest), other.privateKey)],
      /authority "mine": none of 1 signatures is of its key/,
    ],
    ['of another image', () => [signed(statement(digestOf('another')), ecdsa.privateKey)], /signed another image/],
    [
      'of another kind of statement',
      (image) => [signed(statement(image.digest, 'something'), ecdsa.privateKey)],
      /signed another image/,
    ],
    ['that is no JSON', () => [signed(Buffer.from('x'), ecdsa.privateKey)], /signed another image/],
    [
      'with another hash',
      (image) => [signed(statement(image.digest), ecdsa.privateKey, 'sha512')],
      /none of 1 signatures/,
    ],
    ['that is not there', () => [], /there is no signature/],
    [
      'over something else',
      (image) => [
        {
          ...signed(statement(image.digest), ecdsa.privateKey),
          bytes: statement(image.digest, 'cosign container image signature '),
        },
      ],
      /none of 1 signatures/,
    ],
    [
      'that is garbage',
      (image) => [
        {
          ...signed(statement(image.digest), ecdsa.privateKey),
          annotations: { 'dev.cosignproject.cosign/signature': '!!' },
        },
      ],
      /none of 1/,
    ],
    [
      'for a keyless authority',
      (image) => [signed(statement(image.digest), ecdsa.privateKey)],
      /signing without keys is not supported/,
      { name: 'keyless' },
    ],
    [
      'for a private key',
      () => [],
      /is a private key/,
      { name: 'x', publicKey: ecdsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) },
    ],
    ['for no key', () => [], /not a public key in PEM/, { name: 'x', publicKey: 'garbage' }],
    ['for an unknown hash', () => [], /not one of sha224/, { ...mine, hashAlgorithm: 'md5' }],
    [
      'for a weak key',
      () => [],
      /less than 2048 bits/,
      { name: 'x', publicKey: pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey) },
    ],
  ];
  for (const [what, parts, problem, authority = mine] of refused)
    test(`${what} is not accepted`, async () => {
      const image = anImage();
      await putBeside(image, 'sig', parts(image));
      const verdict = await check(image, authority);
      assert.ok('problems' in verdict, JSON.stringify(verdict));
      assert.match(verdict.problems.join('; '), problem);
    });

  test('a signature that has not been made yet is an error that may pass', async () => {
    await assert.rejects(
      check(anImage(), mine),
      /is not signed: there is no sha256-[0-9a-f]{64}\.sig beside it; sign it/,
    );
  });

  test('a signature of a tag is not looked for', async () => {
    await assert.rejects(check(parseReference(`${registry.address}/x:v1`), mine), /not named by its digest/);
  });
});

describe('an attestation', () => {
  const wants = (...types: string[]): CosignAuthority => ({
    ...mine,
    attestations: types.map((predicateType) => ({ name: `a-${predicateType}`, predicateType })),
  });

  test('an attestation of the type that is wanted is accepted, by its short name or its URI', async () => {
    const image = anImage();
    await putBeside(image, 'att', [attestation(image, 'https://spdx.dev/Document', ecdsa.privateKey)]);
    assert.deepEqual(await check(image, wants('spdxjson')), { authority: 'mine' });
    assert.deepEqual(await check(image, wants('https://spdx.dev/Document')), { authority: 'mine' });
  });

  for (const [what, parts] of [
    ['of another type', (image: Image) => [attestation(image, 'https://slsa.dev/provenance/v1', ecdsa.privateKey)]],
    ['of another key', (image: Image) => [attestation(image, 'https://spdx.dev/Document', other.privateKey)]],
    [
      'about another image',
      (image: Image) => [attestation(image, 'https://spdx.dev/Document', ecdsa.privateKey, digestOf('y'))],
    ],
    [
      'that is garbage',
      () => [{ mediaType: 'application/vnd.dsse.envelope.v1+json', bytes: Buffer.from('{"payload":1}') }],
    ],
  ] as const)
    test(`${what} is not`, async () => {
      const image = anImage();
      await putBeside(image, 'att', parts(image));
      const verdict = await check(image, wants('spdx'));
      assert.match('problems' in verdict ? verdict.problems.join() : '', /signed no attestation a-spdx \(spdx\)/);
    });

  test('is wanted each: one of two is not enough', async () => {
    const image = anImage();
    const both = [
      attestation(image, 'https://spdx.dev/Document', ecdsa.privateKey),
      attestation(image, 'https://openvex.dev/ns', ecdsa.privateKey),
    ];
    await putBeside(image, 'att', both.slice(0, 1));
    assert.ok('problems' in (await check(image, wants('spdx', 'openvex'))));
    await putBeside(image, 'att', both);
    assert.deepEqual(await check(image, wants('spdx', 'openvex')), { authority: 'mine' });
  });
});

describe('a signature that refers to the image', () => {
  const SIG = 'application/vnd.dev.cosign.artifact.sig.v1+json';

  test('counts as one beside it, alone and together with that', async () => {
    const image = anImage();
    await putReferrer(image, SIG, [signed(statement(image.digest), ecdsa.privateKey)]);
    assert.deepEqual(await check(image, mine), { authority: 'mine' });
    await putBeside(image, 'sig', [signed(statement(image.digest), other.privateKey)]);
    assert.deepEqual(await check(image, mine), { authority: 'mine' });
  });

  test('a signature that refers to the image with another key, or for another image, does not count', async () => {
    const image = anImage();
    await putReferrer(image, SIG, [signed(statement(image.digest), other.privateKey)]);
    const verdict = await check(image, mine);
    assert.ok('problems' in verdict && /none of 1 signatures is of its key/.test(verdict.problems.join()));
    const foreign = anImage();
    await putReferrer(foreign, SIG, [signed(statement(image.digest), ecdsa.privateKey)]);
    const second = await check(foreign, mine);
    assert.ok('problems' in second && /signed another image/.test(second.problems.join()));
  });

  test('is not looked for in what refers to the image for another purpose', async () => {
    const image = anImage();
    await putReferrer(image, 'application/spdx+json', [signed(statement(image.digest), ecdsa.privateKey)]);
    await assert.rejects(check(image, mine));
  });

  test('is found by the list of a registry that has one', async (t) => {
    const asked: string[] = [];
    const digest = digestOf('image of a newer registry');
    const manifests = [{ mediaType: OCI_MANIFEST, digest: digestOf('signature'), size: 9, artifactType: SIG }];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': OCI_INDEX });
      response.end(JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const at = { ...parseReference(`127.0.0.1:${port}/team/p@${digest}`), digest };
    assert.deepEqual(
      (await client.referrers(at)).map((found) => [found.digest, found.artifactType]),
      [[digestOf('signature'), SIG]],
    );
    assert.ok(asked.includes(`GET /v2/team/p/referrers/${digest}`), asked.join());
  });
});
