import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';

/** A new private key, in base64. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('x25519');
  return Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url').toString('base64');
}

/** The public key that goes with a private one, both in base64. */
export function publicKeyOf(privateKey: string): string {
  // The fixed head of an X25519 private key in PKCS #8.
  const head = Buffer.from('302e020100300506032b656e04220420', 'hex');
  const key = createPrivateKey({
    key: Buffer.concat([head, Buffer.from(privateKey, 'base64')]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('base64');
}

/** WireGuard's pre-shared key from that of the cluster set: the same raw bytes give the same key on both ends. */
export function presharedKeyOf(psk: Uint8Array): string {
  return createHash('sha256').update(psk).digest('base64');
}
