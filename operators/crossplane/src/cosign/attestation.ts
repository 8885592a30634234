// Attestations: an in-toto statement in a DSSE envelope. The signature covers the statement together with its type, both with their lengths
// (the pre-authentication encoding), so that one cannot be passed off as the other.
import { isRecord } from '@capstan/kube';
import type { PublicKey } from './public-key.ts';
import { jsonOf, verifies } from './signature.ts';

export const STATEMENT = 'application/vnd.in-toto+json';
/** Media types of Sigstore's bundles, whatever their version. */
export const BUNDLE = 'application/vnd.dev.sigstore.bundle';
/** The statement of a bundle that only states that the image is signed. */
export const COSIGN_STATEMENT = 'https://sigstore.dev/cosign/sign/v1';

/** Short names that may stand for types of statements. */
const URIS: Readonly<Record<string, string>> = {
  custom: 'https://cosign.sigstore.dev/attestation/v1',
  slsaprovenance: 'https://slsa.dev/provenance/v0.2',
  slsaprovenance02: 'https://slsa.dev/provenance/v0.2',
  slsaprovenance1: 'https://slsa.dev/provenance/v1',
  spdx: 'https://spdx.dev/Document',
  spdxjson: 'https://spdx.dev/Document',
  cyclonedx: 'https://cyclonedx.org/bom',
  link: 'https://in-toto.io/Link/v1',
  vuln: 'https://cosign.sigstore.dev/attestation/vuln/v1',
  openvex: 'https://openvex.dev/ns',
};

/** The URI of a type of statement. */
export function predicateUri(type: string): string {
  return Object.hasOwn(URIS, type) ? (URIS[type] ?? type) : type;
}

/**
 * Returns the types of the attestations of the digest in an envelope, or in the envelope of a bundle, if the key signed it: one or none.
 */
export function attestedTypes(bytes: Buffer, key: PublicKey, digest: string): string[] {
  const value = jsonOf(bytes);
  const envelope = isRecord(value) && isRecord(value['dsseEnvelope']) ? value['dsseEnvelope'] : value;
  if (!isRecord(envelope)) return [];
  const { payloadType, payload, signatures } = envelope;
  if (payloadType !== STATEMENT || typeof payload !== 'string' || !Array.isArray(signatures)) return [];
  const body = Buffer.from(payload, 'base64');
  const signed = preAuthenticated(payloadType, body);
  const isSigned = signatures.some(
    (each: unknown) =>
      isRecord(each) && typeof each['sig'] === 'string' && verifies(key, signed, Buffer.from(each['sig'], 'base64')),
  );
  if (!isSigned) return [];
  const statement = jsonOf(body);
  if (!isRecord(statement) || !isAbout(statement['subject'], digest)) return [];
  return typeof statement['predicateType'] === 'string' ? [statement['predicateType']] : [];
}

/** Returns the bytes of an envelope that the signature covers. */
export function preAuthenticated(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `), body]);
}

/** Whether the subjects of a statement have the digest among them. */
export function isAbout(subject: unknown, digest: string): boolean {
  const hex = digest.slice('sha256:'.length);
  return (
    Array.isArray(subject) &&
    subject.some((each: unknown) => isRecord(each) && isRecord(each['digest']) && each['digest']['sha256'] === hex)
  );
}
