// X.509 v3 certificates (RFC 5280): a private certificate authority and the certificates that it issues. They are for webhooks, for the
// embedded server and for its kubeconfigs, not for the public web.
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { RequestErrors } from '../errors.ts';
import {
  bitString,
  boolean,
  type Der,
  explicit,
  implicit,
  integer,
  namedBits,
  octetString,
  oid,
  sequence,
  set,
  smallInteger,
  time,
  utf8,
} from './der.ts';
import {
  generateKeys,
  type KeyType,
  keyIdentifier,
  privateKeyPem,
  publicKeyDer,
  sign,
  signatureAlgorithm,
} from './keys.ts';

export interface CertificateAndKey {
  /** PEM. */
  certificate: string;
  /** PKCS #8, PEM. A secret. */
  key: string;
}

export interface Validity {
  /** Milliseconds since the epoch: the time from which it is valid, usually a little before now because clocks differ. */
  notBefore: number;
  notAfter: number;
}

export interface CaOptions extends Validity {
  commonName: string;
  keyType?: KeyType;
}

export interface IssueOptions extends Validity {
  ca: CertificateAndKey;
  /** For client certificates: the user's name. */
  commonName: string;
  /** For client certificates: the user's groups. */
  organizations?: readonly string[];
  dnsNames?: readonly string[];
  ipAddresses?: readonly string[];
  usages: readonly ('server' | 'client')[];
  keyType?: KeyType;
}

/** A self-signed authority that may issue leaf certificates, and no further authorities. */
export async function createCa(options: CaOptions): Promise<CertificateAndKey> {
  const { privateKey, publicKey } = await generateKeys(options.keyType);
  const subject = distinguishedName(options.commonName, []);
  const id = keyIdentifier(publicKey);
  const extensions = [
    extension(OID.basicConstraints, sequence(boolean(true), smallInteger(0)), true),
    extension(OID.keyUsage, namedBits([KEY_USAGE.digitalSignature, KEY_USAGE.certSign, KEY_USAGE.crlSign]), true),
    extension(OID.subjectKeyId, octetString(id)),
  ];
  const certificate = await build({
    validity: options,
    issuer: subject,
    subject,
    publicKey,
    extensions,
    signer: privateKey,
  });
  return { certificate, key: privateKeyPem(privateKey) };
}

/** A leaf certificate with a key of its own, signed by the authority. */
export async function issueCertificate(options: IssueOptions): Promise<CertificateAndKey> {
  const signer = createPrivateKey(options.ca.key);
  const { privateKey, publicKey } = await generateKeys(options.keyType);
  const names = alternativeNames(options);
  const usages = options.usages.map((usage) => oid(usage === 'server' ? OID.serverAuth : OID.clientAuth));
  const keyUsage = [KEY_USAGE.digitalSignature, ...(options.keyType === 'rsa' ? [KEY_USAGE.keyEncipherment] : [])];
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    extension(OID.keyUsage, namedBits(keyUsage), true),
    extension(OID.extendedKeyUsage, sequence(...usages)),
    extension(OID.subjectKeyId, octetString(keyIdentifier(publicKey))),
    extension(OID.authorityKeyId, sequence(implicit(0, keyIdentifier(createPublicKey(signer))))),
    ...(names.length > 0 ? [extension(OID.subjectAltName, sequence(...names))] : []),
  ];
  const certificate = await build({
    validity: options,
    // The issuer must be byte for byte the subject of the authority, or chains do not verify.
    issuer: subjectOf(options.ca.certificate),
    subject: distinguishedName(options.commonName, options.organizations ?? []),
    publicKey,
    extensions,
    signer,
  });
  return { certificate, key: privateKeyPem(privateKey) };
}

interface Parts {
  validity: Validity;
  issuer: Der;
  subject: Der;
  publicKey: KeyObject;
  extensions: readonly Der[];
  signer: KeyObject;
}

async function build({ validity, issuer, subject, publicKey, extensions, signer }: Parts): Promise<string> {
  const algorithm = signatureAlgorithm(signer);
  const body = sequence(
    explicit(0, smallInteger(2)), // v3
    integer(serialNumber()),
    algorithm,
    issuer,
    sequence(time(new Date(validity.notBefore)), time(new Date(validity.notAfter))),
    subject,
    publicKeyDer(publicKey),
    explicit(3, sequence(...extensions)),
  );
  return toPem('CERTIFICATE', sequence(body, algorithm, bitString(await sign(body, signer))));
}

/** 127 random bits: unique, positive, never zero, within the 20 bytes that are allowed. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

const KEY_USAGE = { digitalSignature: 0, keyEncipherment: 2, certSign: 5, crlSign: 6 } as const;

function extension(id: string, value: Der, isCritical = false): Der {
  return sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octetString(value));
}

function distinguishedName(commonName: string, organizations: readonly string[]): Der {
  const attribute = (id: string, value: string) => set(sequence(oid(id), utf8(value)));
  return sequence(
    ...organizations.map((organization) => attribute(OID.organization, organization)),
    attribute(OID.commonName, commonName),
  );
}

function alternativeNames({ dnsNames = [], ipAddresses = [] }: IssueOptions): Der[] {
  return [
    ...dnsNames.map((name) => implicit(2, Buffer.from(name, 'ascii'))),
    ...ipAddresses.map((address) => implicit(7, addressBytes(address))),
  ];
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (!isIPv6(address) || address.includes('%')) throw RequestErrors.NotAnAddress(address);
  // The URL parser writes ::ffff:1.2.3.4 and the like in hexadecimal groups.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const middle = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => 0);
  return Buffer.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

function groups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

// TBSCertificate: [0] version, serial, algorithm, issuer, validity, subject. Every one of ours has a version.
function subjectOf(certificate: string): Der {
  const { raw } = new X509Certificate(certificate);
  const outer = elementAt(raw, 0);
  const body = elementAt(raw, outer.content);
  let element = elementAt(raw, body.content);
  for (let skipped = 0; skipped < 5; skipped++) element = elementAt(raw, element.end);
  return raw.subarray(element.start, element.end);
}

function elementAt(der: Buffer, start: number): { start: number; content: number; end: number } {
  const first = der[start + 1] ?? 0;
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const length = lengthBytes === 0 ? first : der.readUIntBE(start + 2, lengthBytes);
  const content = start + 2 + lengthBytes;
  return { start, content, end: content + length };
}

function toPem(label: string, der: Der): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
