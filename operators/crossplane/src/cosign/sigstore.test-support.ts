// A Sigstore of a test's own: a certificate authority that certifies identities for some minutes, a log of certificates and a
// transparency log, as Fulcio, its CT log and Rekor do. Only *.test.ts import it.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { canonicalJson } from '@capstan/kube';

const keys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
export const pemOfKey = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' });

export interface Certified {
  readonly certificate: string;
  readonly privateKey: KeyObject;
}

export interface CertifyOptions {
  readonly subject?: string;
  readonly issuer?: string;
  /** When the certificate is given out; valid ten minutes. */
  readonly at?: number;
  /** False: it is not in the log of certificates. */
  readonly isLogged?: boolean;
}

/** The parts needed to sign as an identity, and to check such signatures. */
export function createSigstore(now = Date.now()) {
  const [ca, rekor, ctlog] = [keys(), keys(), keys()];
  const name = distinguishedName('test fulcio');
  const root = certificate({
    issuer: name,
    subject: name,
    publicKey: ca.publicKey,
    signer: ca.privateKey,
    from: now - HOUR,
    until: now + 24 * HOUR,
    extensions: [
      extension('2.5.29.19', sequence(Buffer.from([1, 1, 255])), true),
      extension('2.5.29.15', Buffer.from([3, 2, 1, 6]), true),
      extension('2.5.29.14', octets(sha256(spki(ca.publicKey)).subarray(0, 20))),
    ],
  });
  let index = 0;

  function certify({
    subject = 'https://ci.example/shop/build',
    issuer = 'https://issuer.example',
    at = now,
    isLogged = true,
  }: CertifyOptions = {}): Certified {
    const own = keys();
    const san = tagged(0x86, Buffer.from(subject));
    const extensions = [
      extension('2.5.29.15', Buffer.from([3, 2, 7, 128]), true),
      extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.3'))),
      extension('2.5.29.35', sequence(tagged(0x80, sha256(spki(ca.publicKey)).subarray(0, 20)))),
      extension('2.5.29.17', sequence(san), true),
      extension('1.3.6.1.4.1.57264.1.1', Buffer.from(issuer)),
    ];
    const parts = {
      issuer: name,
      subject: sequence(),
      publicKey: own.publicKey,
      signer: ca.privateKey,
      from: at,
      until: at + 10 * 60_000,
      extensions,
      serial: randomBytes(8),
    };
    const sct = isLogged ? [extension('1.3.6.1.4.1.11129.2.4.2', octets(sctList(tbs(parts), at)))] : [];
    return {
      certificate: pem(certificate({ ...parts, extensions: [...extensions, ...sct] })),
      privateKey: own.privateKey,
    };
  }

  function sctList(precertificate: Buffer, at: number): Buffer {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(at));
    const signed = Buffer.concat([
      Buffer.from([0, 0]),
      time,
      Buffer.from([0, 1]),
      sha256(spki(ca.publicKey)),
      lengthOf(precertificate, 3),
      precertificate,
      Buffer.from([0, 0]),
    ]);
    const signature = sign('sha256', signed, ctlog.privateKey);
    const sct = Buffer.concat([
      Buffer.from([0]),
      sha256(spki(ctlog.publicKey)),
      time,
      Buffer.from([0, 0, 4, 3]),
      lengthOf(signature, 2),
      signature,
    ]);
    const entry = Buffer.concat([lengthOf(sct, 2), sct]);
    return Buffer.concat([lengthOf(entry, 2), entry]);
  }

  /** Returns the entry of the log for an object that was put into it. */
  function logged(body: object, at = now) {
    const payload = {
      body: Buffer.from(canonicalJson(body)).toString('base64'),
      integratedTime: Math.floor(at / 1000),
      logIndex: index++,
      logID: sha256(spki(rekor.publicKey)).toString('hex'),
    };
    const promise = sign('sha256', Buffer.from(canonicalJson(payload)), rekor.privateKey).toString('base64');
    return { SignedEntryTimestamp: promise, Payload: payload };
  }

  return {
    /** PEM. */
    root: pem(root),
    rekorKey: pemOfKey(rekor.publicKey),
    ctlogKey: pemOfKey(ctlog.publicKey),
    certify,
    logged,
  };
}
export type Sigstore = ReturnType<typeof createSigstore>;

/** The entry of a log for a signature over bytes. */
export const hashedRekord = (bytes: Buffer, signature: Buffer, certificatePem: string) => ({
  apiVersion: '0.0.1',
  kind: 'hashedrekord',
  spec: {
    data: { hash: { algorithm: 'sha256', value: sha256(bytes).toString('hex') } },
    signature: {
      content: signature.toString('base64'),
      publicKey: { content: Buffer.from(certificatePem).toString('base64') },
    },
  },
});

/** The entry of a log for an envelope. */
export const dsseEntry = (envelope: { payload: string; signatures: { sig: string }[] }, certificatePem: string) => ({
  apiVersion: '0.0.1',
  kind: 'dsse',
  spec: {
    payloadHash: { algorithm: 'sha256', value: sha256(Buffer.from(envelope.payload, 'base64')).toString('hex') },
    envelopeHash: { algorithm: 'sha256', value: sha256(Buffer.from(JSON.stringify(envelope))).toString('hex') },
    signatures: envelope.signatures.map(({ sig }) => ({
      signature: sig,
      verifier: Buffer.from(certificatePem).toString('base64'),
    })),
  },
});

const HOUR = 3_600_000;

interface Parts {
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  signer: KeyObject;
  from: number;
  until: number;
  extensions: Buffer[];
  serial?: Buffer;
}

const ECDSA_SHA256 = () => sequence(oid('1.2.840.10045.4.3.2'));

function tbs({ issuer, subject, publicKey, from, until, extensions, serial = Buffer.from([1]) }: Parts): Buffer {
  return sequence(
    tagged(0xa0, Buffer.from([2, 1, 2])),
    tagged(2, Buffer.concat([Buffer.from([0x7f]), serial])),
    ECDSA_SHA256(),
    issuer,
    sequence(time(from), time(until)),
    subject,
    spki(publicKey),
    tagged(0xa3, sequence(...extensions)),
  );
}

function certificate(parts: Parts): Buffer {
  const content = tbs(parts);
  const signature = sign('sha256', content, parts.signer);
  return sequence(content, ECDSA_SHA256(), tagged(3, Buffer.concat([Buffer.from([0]), signature])));
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function tagged(tag: number, content: Buffer): Buffer {
  const short = content.length < 128;
  const length = short ? Buffer.from([content.length]) : lengthOf(content, content.length < 256 ? 1 : 2);
  return Buffer.concat([Buffer.from([tag]), ...(short ? [] : [Buffer.from([0x80 + length.length])]), length, content]);
}

function lengthOf({ length }: Buffer, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(length, 0, bytes);
  return buffer;
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function octets(content: Buffer): Buffer {
  return tagged(4, content);
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const base128 = (value: number): number[] => {
    const bytes = [value & 0x7f];
    for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128))
      bytes.unshift((left & 0x7f) | 0x80);
    return bytes;
  };
  return tagged(6, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function extension(id: string, content: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [Buffer.from([1, 1, 255])] : []), octets(content));
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('2.5.4.3'), tagged(12, Buffer.from(commonName)))));
}

function time(at: number): Buffer {
  const text = new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${text}Z`));
}
