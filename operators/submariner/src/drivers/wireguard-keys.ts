// The keys of WireGuard: their sources, and the rotation of a gateway's own key.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { type Clock, parseDuration } from '@capstan/kube';

export interface KeyRotation {
  /** Adopts the key of a running interface, since its peers know it. */
  adopt(found: string | undefined): void;
  privateKey(): string;
  published(): { readonly publicKey: string; readonly nextPublicKey?: string };
  /** Does the next step if it is due: announces a key, or starts to use the announced one. */
  next(): 'announced' | 'switched' | undefined;
  isRotating(): boolean;
}

/** The time for which a key is announced before it is used, so that all other gateways know it. */
const ANNOUNCE_MS = 10_000;

/**
 * Rotates the private key of a gateway at the end of its lifetime. The next key is announced first. Other gateways are ready when it comes
 * into use, so that a pair is without a session only for a moment. A key of unknown age counts from now.
 */
export function createKeyRotation(
  clock: Clock,
  lifetime: () => string | undefined,
  announceMs = ANNOUNCE_MS,
): KeyRotation {
  let current: string | undefined;
  let since = clock.now();
  let announced: { readonly key: string; readonly until: number } | undefined;
  const privateKey = () => {
    current ??= newPrivateKey();
    return current;
  };
  return {
    adopt(found) {
      if (found === undefined || found === current) return;
      current = found;
      since = clock.now();
    },
    privateKey,
    published: () => ({
      publicKey: publicKeyOf(privateKey()),
      ...(announced !== undefined && { nextPublicKey: publicKeyOf(announced.key) }),
    }),
    next() {
      const now = clock.now();
      if (announced !== undefined && now >= announced.until) {
        current = announced.key;
        since = now;
        announced = undefined;
        return 'switched';
      }
      const limit = lifetime();
      if (announced !== undefined || limit === undefined || now - since < parseDuration(limit)) return undefined;
      announced = { key: newPrivateKey(), until: now + announceMs };
      return 'announced';
    },
    isRotating: () => announced !== undefined,
  };
}

/** Creates a private key, in base64. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('x25519');
  return Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url').toString('base64');
}

/** Returns the public key for a private key, both in base64. */
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

/** Derives WireGuard's pre-shared key from the key of the cluster set. The same raw bytes give the same key on both ends. */
export function presharedKeyOf(psk: Uint8Array): string {
  return createHash('sha256').update(psk).digest('base64');
}
