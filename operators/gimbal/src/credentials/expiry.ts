// When credentials end, as far as they say so themselves: client certificates and tokens with an `exp`.
import { certificateValidity, parseKubeconfig, selectContext } from '@capstan/kube';
import type { EffectiveBackend } from '../kinds/index.ts';
import { decoded, type SecretData } from './secret-data.ts';

/** Milliseconds since the epoch; undefined when they do not say. */
export function expiryOf(type: EffectiveBackend['type'], data: SecretData): number | undefined {
  if (type !== 'kubernetes') return undefined;
  const [text] = Object.values(data);
  if (text === undefined) return undefined;
  const ends = kubeconfigEnds(decoded(text)).filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function kubeconfigEnds(text: string): (number | undefined)[] {
  try {
    const { user } = selectContext(parseKubeconfig(text, 'the Secret'), undefined);
    return [
      user.certData === undefined ? undefined : certificateEnd(decoded(user.certData)),
      user.token === undefined ? undefined : tokenEnd(user.token),
    ];
  } catch {
    // The verification reports a kubeconfig that cannot be read.
    return [];
  }
}

function certificateEnd(pem: string): number | undefined {
  try {
    return certificateValidity(pem).notAfter.getTime();
  } catch {
    return undefined;
  }
}

/** Returns the end of a JSON web token. Other tokens do not contain their end. */
export function tokenEnd(token: string): number | undefined {
  const [, payload] = token.split('.');
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const exp = typeof claims === 'object' && claims !== null && 'exp' in claims ? claims.exp : undefined;
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
