// JSON web tokens of one test, with the key set that verifies them.
import { generateKeyPairSync, sign } from 'node:crypto';

export interface Tokens {
  /** The key set, as JSON. */
  readonly jwks: string;
  sign(claims: Readonly<Record<string, unknown>>): string;
}

export function createTokens(): Tokens {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'test', alg: 'ES256' }] }),
    sign(claims) {
      const content = `${text({ alg: 'ES256', kid: 'test', typ: 'JWT' })}.${text(claims)}`;
      const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${content}.${signature.toString('base64url')}`;
    },
  };
}
