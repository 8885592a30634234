// Signatures without a key of the signer's: a short-lived certificate shows who signed, and a transparency log when. Both are
// checked with keys that are given; nothing is asked. Older signatures have certificate and log entry in annotations of
// their layer, newer ones are bundles of Sigstore.
import { createHash, X509Certificate } from 'node:crypto';
import { goRegExp, isRecord } from '@capstan/kube';
import { bundleFromJSON } from '@sigstore/bundle';
import { type Signer, type TrustMaterial, toSignedEntity, Verifier } from '@sigstore/verify';
import type { Descriptor } from '../oci/manifest.ts';
import { BUNDLE, COSIGN_STATEMENT, isAbout, predicateUri, STATEMENT } from './attestation.ts';
import { jsonOf, signedDigest } from './signature.ts';

/** An identity that may have signed. A field that is not given is not checked. */
export interface Identity {
  readonly issuer?: string;
  readonly issuerRegExp?: string;
  readonly subject?: string;
  readonly subjectRegExp?: string;
}

export interface Keyless {
  readonly identities: readonly Identity[];
  /** Whether certificates need not be in a log of certificates. */
  readonly insecureIgnoreSCT?: boolean;
}

/** A layer beside an image, with its content. */
export interface SignedLayer {
  readonly layer: Descriptor;
  readonly bytes: Buffer;
}

const SIGNATURE = 'dev.cosignproject.cosign/signature';
const CERTIFICATE = 'dev.sigstore.cosign/certificate';
const CHAIN = 'dev.sigstore.cosign/chain';
const LOG_ENTRY = 'dev.sigstore.cosign/bundle';

export interface KeylessCheck {
  /** Undefined when a signature of one of the identities names the digest. */
  signatureProblem(layers: readonly SignedLayer[], digest: string): string | undefined;
  /** Undefined when every attestation that is wanted is there, of one of the identities and about the digest. */
  attestationProblem(
    layers: readonly SignedLayer[],
    digest: string,
    wanted: readonly { readonly name: string; readonly predicateType: string }[],
  ): string | undefined;
}

/** Returns the problem of the authority itself, or the way to check its signatures. */
export function keylessCheck({ identities, insecureIgnoreSCT }: Keyless, trust: TrustMaterial): KeylessCheck | string {
  if (identities.length === 0) return 'it names no identities; name at least one with issuer and subject';
  const matchers: ((signer: Signer) => boolean)[] = [];
  for (const identity of identities) {
    const matcher = matcherOf(identity);
    if (typeof matcher === 'string') return matcher;
    matchers.push(matcher);
  }
  const verifier = new Verifier(trust, { ctlogThreshold: insecureIgnoreSCT === true ? 0 : 1, tlogThreshold: 1 });

  /** The statement that one of the identities signed, or why it does not count. */
  function check({ layer, bytes }: SignedLayer): { readonly body: Buffer; readonly type: string } | string {
    try {
      const found = bundleOf(layer, bytes);
      if (found === undefined) return 'it has no certificate or no entry of a log';
      const signer = verifier.verify(toSignedEntity(bundleFromJSON(found.bundle), found.artifact));
      if (!matchers.some((matches) => matches(signer))) return `it is of ${nameOf(signer)}`;
      return { body: found.body, type: found.type };
    } catch (error) {
      const { message, cause } = error as Error;
      return cause instanceof Error ? `${message}: ${cause.message}` : message;
    }
  }

  return {
    signatureProblem(layers, digest) {
      const problems: string[] = [];
      for (const one of layers) {
        const checked = check(one);
        if (typeof checked === 'string') problems.push(checked);
        else if (checked.type === 'simple' ? signedDigest(checked.body) === digest : isSigned(checked.body, digest))
          return undefined;
        else problems.push('it signs another image, and was put beside this one');
      }
      if (layers.length === 0) return 'there is no signature';
      return `none of ${layers.length} signatures counts: ${[...new Set(problems)].join('; ')}`;
    },
    attestationProblem(layers, digest, wanted) {
      const found = new Set<string>();
      for (const one of layers) {
        const checked = check(one);
        if (typeof checked === 'string' || checked.type !== STATEMENT) continue;
        const statement = jsonOf(checked.body);
        if (isRecord(statement) && isAbout(statement['subject'], digest)) found.add(String(statement['predicateType']));
      }
      const missing = wanted.filter(({ predicateType }) => !found.has(predicateUri(predicateType)));
      if (missing.length === 0) return undefined;
      const names = missing.map(({ name, predicateType }) => `${name} (${predicateType})`).join(', ');
      return `none of its identities signed an attestation ${names}`;
    },
  };
}

function isSigned(body: Buffer, digest: string): boolean {
  const statement = jsonOf(body);
  return (
    isRecord(statement) && statement['predicateType'] === COSIGN_STATEMENT && isAbout(statement['subject'], digest)
  );
}

interface FoundBundle {
  readonly bundle: unknown;
  /** The signed artifact, if the bundle does not hold it. */
  readonly artifact?: Buffer;
  readonly body: Buffer;
  /** `simple`, or the type of the payload of an envelope. */
  readonly type: string;
}

function bundleOf(layer: Descriptor, bytes: Buffer): FoundBundle | undefined {
  if (!layer.mediaType.startsWith(BUNDLE)) return annotated(layer.annotations ?? {}, bytes);
  const bundle = jsonOf(bytes);
  if (!isRecord(bundle) || !isRecord(bundle['dsseEnvelope'])) return undefined;
  return { bundle, ...envelopeBody(bundle['dsseEnvelope']) };
}

const envelopeBody = ({ payload, payloadType }: Readonly<Record<string, unknown>>) => ({
  body: Buffer.from(String(payload), 'base64'),
  type: String(payloadType),
});

/** Builds a bundle from cosign's annotations. */
function annotated(annotations: Readonly<Record<string, string>>, bytes: Buffer): FoundBundle | undefined {
  const {
    [CERTIFICATE]: certificate,
    [CHAIN]: chain = '',
    [SIGNATURE]: signature = '',
    [LOG_ENTRY]: entry,
  } = annotations;
  const log = entry === undefined ? undefined : logEntry(jsonOf(Buffer.from(entry)));
  if (certificate === undefined || log === undefined) return undefined;
  const certificates = [certificate, chain]
    .flatMap((pem) => pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [])
    .map((pem) => new X509Certificate(pem))
    // The root is one of ours, or it is none.
    .filter((one, i) => i === 0 || !one.checkIssued(one))
    .map(({ raw }) => ({ rawBytes: raw.toString('base64') }));
  const common = {
    mediaType: `${BUNDLE}+json;version=0.1`,
    verificationMaterial: { x509CertificateChain: { certificates }, tlogEntries: [log] },
  };
  const envelope = jsonOf(bytes);
  if (isRecord(envelope) && isRecord(first(envelope['signatures'])))
    return { bundle: { ...common, dsseEnvelope: envelope }, ...envelopeBody(envelope) };
  const messageDigest = { algorithm: 'SHA2_256', digest: createHash('sha256').update(bytes).digest('base64') };
  const bundle = { ...common, messageSignature: { messageDigest, signature } };
  return { bundle, artifact: bytes, body: bytes, type: 'simple' };
}

const first = (list: unknown): unknown => (Array.isArray(list) ? list[0] : undefined);

function logEntry(value: unknown): object | undefined {
  if (!isRecord(value) || !isRecord(value['Payload'])) return undefined;
  const { body, integratedTime, logIndex, logID } = value['Payload'];
  if (typeof body !== 'string' || typeof logID !== 'string') return undefined;
  const content = jsonOf(Buffer.from(body, 'base64'));
  if (!isRecord(content)) return undefined;
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logID, 'hex').toString('base64') },
    kindVersion: { kind: content['kind'], version: content['apiVersion'] },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp: value['SignedEntryTimestamp'] },
    canonicalizedBody: body,
  };
}

type Pattern = ReturnType<typeof goRegExp>;

function matcherOf({ issuer, issuerRegExp, subject, subjectRegExp }: Identity): ((signer: Signer) => boolean) | string {
  if (issuer === undefined && issuerRegExp === undefined)
    return 'one of its identities has neither issuer nor issuerRegExp, so any issuer is accepted; set the issuer';
  if (subject === undefined && subjectRegExp === undefined)
    return 'one of its identities has neither subject nor subjectRegExp, so any user of the issuer is accepted; set the subject';
  const patterns: [Pattern | undefined, Pattern | undefined] = [undefined, undefined];
  for (const [i, source] of [issuerRegExp, subjectRegExp].entries()) {
    if (source === undefined) continue;
    try {
      patterns[i] = goRegExp(source);
    } catch {
      return `${i === 0 ? 'issuerRegExp' : 'subjectRegExp'} ${JSON.stringify(source)} is no regular expression; correct it`;
    }
  }
  const [issuerPattern, subjectPattern] = patterns;
  return ({ identity }) => {
    const by = identity?.extensions?.issuer;
    const who = identity?.subjectAlternativeName;
    if (by === undefined || who === undefined) return false;
    if (issuer !== undefined && by !== issuer) return false;
    if (subject !== undefined && who !== subject) return false;
    return (issuerPattern?.test(by) ?? true) && (subjectPattern?.test(who) ?? true);
  };
}

const nameOf = ({ identity }: Signer) =>
  `${identity?.subjectAlternativeName ?? 'an unnamed signer'}, known to ${identity?.extensions?.issuer ?? 'no issuer'}`;
