import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { createRegistryClient } from '../oci/client.ts';
import { digestOf } from '../oci/digest.ts';
import { OCI_CONFIG, OCI_INDEX, OCI_MANIFEST } from '../oci/media-types.ts';
import { parseReference } from '../oci/reference.ts';
import { startRegistry } from '../registry/index.ts';
import { preAuthenticated } from './attestation.ts';
import type { Identity } from './keyless.ts';
import { type Certified, createSigstore, dsseEntry, hashedRekord, type Sigstore } from './sigstore.test-support.ts';
import { loadTrustRoot, type TrustFiles } from './trust-root.ts';
import { verifySignatures } from './verify.ts';

const registry = await startRegistry();
const client = createRegistryClient({ retries: 0 });
after(async () => {
  await client.close();
  await registry.close();
});

const NOW = Date.now();
const ours = createSigstore(NOW);
const SUBJECT = 'https://ci.example/shop/build';
const ISSUER = 'https://issuer.example';

let images = 0;
function anImage() {
  return parseReference(`${registry.address}/keyless/x${images}@${digestOf(`image ${images++}`)}`);
}
type Image = ReturnType<typeof anImage>;

interface Layer {
  mediaType: string;
  bytes: Buffer;
  annotations?: Record<string, string>;
}

async function push(at: Parameters<typeof client.pushManifest>[0], image: Image, layers: readonly Layer[]) {
  const all: Layer[] = [{ mediaType: OCI_CONFIG, bytes: Buffer.from('{}') }, ...layers];
  for (const { bytes } of all)
    await client.pushBlob(image, {
      digest: digestOf(bytes),
      size: bytes.length,
      open: async function* () {
        yield bytes;
      },
    });
  const [config, ...rest] = all.map(({ bytes, ...more }) => ({ ...more, digest: digestOf(bytes), size: bytes.length }));
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers: rest }));
  return { digest: await client.pushManifest(at, { mediaType: OCI_MANIFEST, body }), size: body.length };
}

const beside = (image: Image, suffix: string, ...layers: Layer[]) =>
  push({ ...image, tag: `${image.digest?.replace(':', '-')}.${suffix}`, digest: undefined }, image, layers);

async function refer(image: Image, layer: Layer): Promise<void> {
  const { digest, size } = await push({ ...image, tag: `bundle-${images}`, digest: undefined }, image, [layer]);
  const manifests = [{ mediaType: OCI_MANIFEST, digest, size, artifactType: layer.mediaType }];
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests }));
  const at = { ...image, tag: image.digest?.replace(':', '-') ?? '', digest: undefined };
  await client.pushManifest(at, { mediaType: OCI_INDEX, body });
}

interface Signing {
  by?: Certified;
  sigstore?: Sigstore;
  digest?: string;
  /** The time of signing according to the log. */
  at?: number;
}

/** As cosign signed until its version 2: certificate and entry of the log in annotations. */
function signature(image: Image, { sigstore = ours, by = sigstore.certify(), digest, at = NOW }: Signing = {}): Layer {
  const bytes = Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': 'x' },
        image: { 'docker-manifest-digest': digest ?? image.digest },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  );
  const signed = sign('sha256', bytes, by.privateKey);
  return {
    mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
    bytes,
    annotations: {
      'dev.cosignproject.cosign/signature': signed.toString('base64'),
      'dev.sigstore.cosign/certificate': by.certificate,
      'dev.sigstore.cosign/chain': sigstore.root,
      'dev.sigstore.cosign/bundle': JSON.stringify(sigstore.logged(hashedRekord(bytes, signed, by.certificate), at)),
    },
  };
}

function envelope(image: Image, predicateType: string, by: Certified, digest = image.digest) {
  const payloadType = 'application/vnd.in-toto+json';
  const subject = [{ name: 'x', digest: { sha256: digest?.slice(7) } }];
  const body = Buffer.from(
    JSON.stringify({ _type: 'https://in-toto.io/Statement/v1', predicateType, subject, predicate: {} }),
  );
  const sig = sign('sha256', preAuthenticated(payloadType, body), by.privateKey).toString('base64');
  return { payloadType, payload: body.toString('base64'), signatures: [{ sig, keyid: '' }] };
}

/** As cosign attests in annotations. */
function attestation(image: Image, predicateType: string, by = ours.certify()): Layer {
  const content = envelope(image, predicateType, by);
  return {
    mediaType: 'application/vnd.dsse.envelope.v1+json',
    bytes: Buffer.from(JSON.stringify(content)),
    annotations: {
      'dev.sigstore.cosign/certificate': by.certificate,
      'dev.sigstore.cosign/bundle': JSON.stringify(ours.logged(dsseEntry(content, by.certificate))),
    },
  };
}

/** As cosign signs since its version 3: a bundle that refers to the image. */
function bundle(image: Image, predicateType: string, by = ours.certify(), digest = image.digest): Layer {
  const content = envelope(image, predicateType, by, digest);
  const { SignedEntryTimestamp, Payload } = ours.logged(dsseEntry(content, by.certificate));
  const raw = by.certificate.replaceAll(/-----[^-]+-----|\n/g, '');
  const mediaType = 'application/vnd.dev.sigstore.bundle+json;version=0.1';
  const value = {
    mediaType,
    verificationMaterial: {
      x509CertificateChain: { certificates: [{ rawBytes: raw }] },
      tlogEntries: [
        {
          logIndex: String(Payload.logIndex),
          logId: { keyId: Buffer.from(Payload.logID, 'hex').toString('base64') },
          kindVersion: { kind: 'dsse', version: '0.0.1' },
          integratedTime: String(Payload.integratedTime),
          inclusionPromise: { signedEntryTimestamp: SignedEntryTimestamp },
          canonicalizedBody: Payload.body,
        },
      ],
    },
    dsseEnvelope: content,
  };
  return { mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json', bytes: Buffer.from(JSON.stringify(value)) };
}

const FILES: Record<string, string> = { fulcio: ours.root, rekor: ours.rekorKey, ctlog: ours.ctlogKey };
const trust = (files: TrustFiles = { fulcio: 'fulcio', rekor: 'rekor', ctlog: 'ctlog' }, texts = FILES) =>
  loadTrustRoot(files, (path) => {
    const text = texts[path];
    return text === undefined ? Promise.reject(new Error('it is not there')) : Promise.resolve(text);
  });

const IDENTITY: Identity = { issuer: ISSUER, subject: SUBJECT };

function check(
  image: Image,
  {
    identities = [IDENTITY],
    insecureIgnoreSCT = false,
    attestations,
    files,
  }: {
    identities?: Identity[];
    insecureIgnoreSCT?: boolean;
    attestations?: { name: string; predicateType: string }[];
    files?: TrustFiles;
  } = {},
) {
  const keyless = { identities, insecureIgnoreSCT };
  const authority = { name: 'ci', keyless, ...(attestations && { attestations }) };
  return verifySignatures(client, image, [authority], {}, () => trust(files));
}

async function refused(image: Image, problem: RegExp, options: Parameters<typeof check>[1] = {}): Promise<void> {
  const verdict = await check(image, options);
  assert.ok('problems' in verdict, 'it was accepted');
  assert.match(verdict.problems[0] ?? '', problem);
}

describe('a keyless signature', () => {
  test('counts when its identity is one of those that may sign', async () => {
    const image = anImage();
    await beside(image, 'sig', signature(image));
    assert.deepEqual(await check(image), { authority: 'ci' });
    const patterns = { issuerRegExp: '^https://issuer\\.', subjectRegExp: '/shop/' };
    assert.deepEqual(await check(image, { identities: [{ issuer: 'x', subject: 'y' }, patterns] }), {
      authority: 'ci',
    });
  });

  test('counts long after its certificate is over: the log knows when it was made', async () => {
    const image = anImage();
    const at = NOW - 30 * 60_000;
    await beside(image, 'sig', signature(image, { by: ours.certify({ at }), at: at + 1000 }));
    assert.deepEqual(await check(image), { authority: 'ci' });
  });

  test('a keyless signature as a bundle that refers to the image counts, and one about another image does not', async () => {
    const image = anImage();
    await refer(image, bundle(image, 'https://sigstore.dev/cosign/sign/v1'));
    assert.deepEqual(await check(image), { authority: 'ci' });
    const other = anImage();
    await refer(other, bundle(other, 'https://sigstore.dev/cosign/sign/v1', ours.certify(), image.digest));
    await refused(other, /signs another image/);
    const attested = anImage();
    await refer(attested, bundle(attested, 'https://slsa.dev/provenance/v1'));
    await refused(attested, /signs another image/);
  });

  const cases: [string, (image: Image) => Layer, RegExp, Parameters<typeof check>[1]?][] = [
    [
      'of another subject',
      (image) => signature(image, { by: ours.certify({ subject: 'https://evil.example' }) }),
      /it is of https:\/\/evil\.example, known to https:\/\/issuer\.example/,
    ],
    [
      'of another issuer',
      (image) => signature(image, { by: ours.certify({ issuer: 'https://evil.example' }) }),
      /known to https:\/\/evil/,
    ],
    [
      'of another authority',
      (image) => signature(image, { sigstore: createSigstore(NOW) }),
      /certificate|inclusion promise/,
    ],
    [
      'that the log has from after the certificate',
      (image) => signature(image, { at: NOW + 3_600_000 }),
      /not valid or expired/,
    ],
    ['of another image', (image) => signature(image, { digest: digestOf('other') }), /signs another image/],
    [
      'whose certificate is in no log of certificates',
      (image) => signature(image, { by: ours.certify({ isLogged: false }) }),
      /expected 1 SCTs, got 0/,
    ],
    [
      'without an entry of the log',
      (image) => {
        const { annotations = {}, ...rest } = signature(image);
        const { 'dev.sigstore.cosign/bundle': _entry, ...others } = annotations;
        return { ...rest, annotations: others };
      },
      /no entry of a log/,
    ],
    [
      'whose entry of the log is of another signature',
      (image) => {
        const one = signature(image);
        const other = signature(image);
        const entry = other.annotations?.['dev.sigstore.cosign/bundle'] ?? '';
        return { ...one, annotations: { ...one.annotations, 'dev.sigstore.cosign/bundle': entry } };
      },
      /signature mismatch/,
    ],
    ['of nobody in particular', signature, /names no identities/, { identities: [] }],
    ['of any subject', signature, /neither subject nor subjectRegExp/, { identities: [{ issuer: ISSUER }] }],
    ['of any issuer', signature, /neither issuer nor issuerRegExp/, { identities: [{ subject: SUBJECT }] }],
    [
      'of a pattern that is none',
      signature,
      /subjectRegExp "\(" is no regular expression/,
      { identities: [{ issuer: ISSUER, subjectRegExp: '(' }] },
    ],
  ];
  for (const [what, layer, problem, options] of cases)
    test(`${what} does not count`, async () => {
      const image = anImage();
      await beside(image, 'sig', layer(image));
      await refused(image, problem, options);
    });

  test('a keyless signature whose certificate is in no log counts where that is not asked for', async () => {
    const image = anImage();
    await beside(image, 'sig', signature(image, { by: ours.certify({ isLogged: false }) }));
    assert.deepEqual(await check(image, { insecureIgnoreSCT: true }), { authority: 'ci' });
    const files = { fulcio: 'fulcio', rekor: 'rekor' };
    assert.deepEqual(await check(image, { insecureIgnoreSCT: true, files }), { authority: 'ci' });
  });

  test('a keyless signature that is not there may come', async () => {
    await assert.rejects(check(anImage()), { code: 'cosign/NotSigned' });
  });

  test('needs a trust root', async () => {
    const image = anImage();
    await beside(image, 'sig', signature(image));
    const verdict = await verifySignatures(client, image, [{ name: 'ci', keyless: { identities: [IDENTITY] } }]);
    assert.match('problems' in verdict ? (verdict.problems[0] ?? '') : '', /no trust root/);
  });
});

test('keyless attestations count when all that are wanted are there, in either place', async () => {
  const image = anImage();
  const wants = (...types: string[]) => ({
    attestations: types.map((predicateType) => ({ name: predicateType, predicateType })),
  });
  await beside(image, 'att', attestation(image, 'https://slsa.dev/provenance/v1'));
  assert.deepEqual(await check(image, wants('slsaprovenance1')), { authority: 'ci' });
  await refused(image, /attestation spdx/, wants('slsaprovenance1', 'spdx'));
  await refer(image, bundle(image, 'https://spdx.dev/Document'));
  assert.deepEqual(await check(image, wants('slsaprovenance1', 'spdx')), { authority: 'ci' });
});

describe('a trust root', () => {
  test('a trust root of a trusted_root.json is the same as its parts', async () => {
    const raw = (pem: string) => pem.replaceAll(/-----[^-]+-----|\n/g, '');
    const { createHash } = await import('node:crypto');
    const log = (pem: string) => ({
      baseUrl: 'https://rekor.example',
      hashAlgorithm: 'SHA2_256',
      publicKey: {
        rawBytes: raw(pem),
        keyDetails: 'PKIX_ECDSA_P256_SHA_256',
        validFor: { start: '2020-01-01T00:00:00Z' },
      },
      logId: {
        keyId: createHash('sha256')
          .update(Buffer.from(raw(pem), 'base64'))
          .digest('base64'),
      },
    });
    const text = JSON.stringify({
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [log(ours.rekorKey)],
      ctlogs: [log(ours.ctlogKey)],
      certificateAuthorities: [
        {
          subject: { commonName: 'test fulcio' },
          certChain: { certificates: [{ rawBytes: raw(ours.root) }] },
          validFor: { start: '2020-01-01T00:00:00Z' },
        },
      ],
      timestampAuthorities: [],
    });
    FILES['root.json'] = text;
    const image = anImage();
    await beside(image, 'sig', signature(image));
    assert.deepEqual(await check(image, { files: { trustedRoot: 'root.json' } }), { authority: 'ci' });
  });

  const wrong: [string, TrustFiles, Record<string, string>, RegExp][] = [
    ['is not there', { trustedRoot: 'none' }, {}, /none: it is not there; give files of Sigstore/],
    ['is no JSON', { trustedRoot: 'a' }, { a: '{' }, /a: /],
    ['is something else', { trustedRoot: 'a' }, { a: '{"kind":"Pod"}' }, /a: it is no trusted root of Sigstore/],
    [
      'has no certificates',
      { fulcio: 'a', rekor: 'rekor' },
      { a: 'x', rekor: ours.rekorKey },
      /a: it holds no certificate of a root/,
    ],
    ['has no keys', { fulcio: 'fulcio', rekor: 'a' }, { a: 'x', fulcio: ours.root }, /a: it holds no public key/],
  ];
  for (const [what, files, texts, message] of wrong)
    test(`a trust root that ${what} is refused, with the file and what to do`, () =>
      assert.rejects(trust(files, texts), message));
});
