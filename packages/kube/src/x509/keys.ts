// Keys and signatures, created in Node's thread pool: never on the event loop.
import { createHash, generateKeyPair, type KeyObject, sign as nodeSign } from 'node:crypto';
import { promisify } from 'node:util';
import { type Der, nothing, oid, sequence } from './der.ts';

/** ECDSA P-256 unless a user needs RSA (3072 bits). */
export type KeyType = 'ecdsa' | 'rsa';

export interface KeyPair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

const generate = promisify(generateKeyPair);

export function generateKeys(type: KeyType = 'ecdsa'): Promise<KeyPair> {
  return type === 'rsa' ? generate('rsa', { modulusLength: 3072 }) : generate('ec', { namedCurve: 'P-256' });
}

/** PKCS #8, PEM. */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' });
}

/** SubjectPublicKeyInfo. */
export function publicKeyDer(key: KeyObject): Der {
  return key.export({ type: 'spki', format: 'der' });
}

/** SHA-1 of the public key, as RFC 5280 (4.2.1.2) suggests for identifiers; it names a key and protects nothing. */
export function keyIdentifier(key: KeyObject): Buffer {
  const spki = publicKeyDer(key);
  return createHash('sha1').update(bitStringIn(spki)).digest();
}

/** SHA-256 with the key's algorithm. */
export function sign(data: Buffer, key: KeyObject): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    nodeSign('sha256', data, key, (error, signature) => (error === null ? resolve(signature) : reject(error)));
  });
}

/** Returns the AlgorithmIdentifier of the signatures that `sign` creates. */
export function signatureAlgorithm(key: KeyObject): Der {
  return key.asymmetricKeyType === 'rsa'
    ? sequence(oid('1.2.840.113549.1.1.11'), nothing())
    : sequence(oid('1.2.840.10045.4.3.2'));
}

// SubjectPublicKeyInfo is SEQUENCE { SEQUENCE algorithm, BIT STRING key }: skip to the content of the bit string.
function bitStringIn(spki: Buffer): Buffer {
  const algorithm = header(spki, header(spki, 0).content);
  const key = header(spki, algorithm.content + algorithm.length);
  return spki.subarray(key.content + 1, key.content + key.length);
}

function header(der: Buffer, at: number): { content: number; length: number } {
  const first = der[at + 1] ?? 0;
  if (first < 0x80) return { content: at + 2, length: first };
  const bytes = first & 0x7f;
  return { content: at + 2 + bytes, length: der.readUIntBE(at + 2, bytes) };
}
