import { verify } from 'node:crypto';
import { isRecord } from '@capstan/kube';
import type { PublicKey } from './public-key.ts';

/** Whether the signature is of this key over these bytes. */
export function verifies({ key, hash }: PublicKey, bytes: Buffer, signature: Buffer): boolean {
  try {
    return verify(hash, bytes, key, signature);
  } catch {
    // Some signatures are refused before they are compared.
    return false;
  }
}

/** The digest that a signed statement is about; undefined when it is not such a statement. */
export function signedDigest(payload: Buffer): string | undefined {
  const value = jsonOf(payload);
  const critical = isRecord(value) ? value['critical'] : undefined;
  if (!isRecord(critical) || critical['type'] !== 'cosign container image signature') return undefined;
  const digest = isRecord(critical['image']) ? critical['image']['docker-manifest-digest'] : undefined;
  return typeof digest === 'string' ? digest : undefined;
}

export function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
