// Keys of WireGuard: where they come from, and how a gateway replaces its own.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { type Clock, parseDuration } from '@capstan/kube';

export interface KeyRotation {
  /** Takes over the key of an interface that is up: its peers know it. */
  adopt(found: string | undefined): void;
  privateKey(): string;
  published(): { readonly publicKey: string; readonly nextPublicKey?: string };
  /** What is due now: a key was announced, or the announced one is in use from now on. */
  next(): 'announced' | 'switched' | undefined;
  isRotating(): boolean;
}

/** How long a key is announced before it is used, so that all other gateways have heard of it. */
const ANNOUNCE_MS = 10_000;

/**
 * The private key of a gateway, replaced at the end of its lifetime. The next key is announced first: other gateways are ready
 * for it when it comes into use, so a pair is without a session for a moment only. A key whose age is not known counts from now.
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
