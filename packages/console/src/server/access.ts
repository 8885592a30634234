// One-time codes and session tokens. A code is in the fragment of the printed address, is valid once and for five minutes, and is
// exchanged for a token. Both are compared by their digests, so that the time of a comparison shows nothing.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Access {
  /** A new code of 128 random bits. */
  createCode(): string;
  /** The token for a code; undefined for one that is wrong, used or expired. */
  redeem(code: string): string | undefined;
  isValid(token: string): boolean;
  /** After ten wrong codes or tokens in a minute nothing is compared. */
  readonly isBlocked: boolean;
}

const CODE_MS = 5 * 60_000;
const WINDOW_MS = 60_000;
const MAX_FAILURES = 10;
const MAX_CODES = 16;
const MAX_TOKENS = 256;

export function createAccess(now: () => number): Access {
  const codes = new Map<string, { readonly digest: Buffer; readonly until: number }>();
  const tokens: Buffer[] = [];
  let failures: number[] = [];

  const isBlocked = () => {
    failures = failures.filter((at) => now() - at < WINDOW_MS);
    return failures.length >= MAX_FAILURES;
  };
  const fail = () => {
    failures.push(now());
  };

  return {
    createCode() {
      const code = randomBytes(16).toString('base64url');
      codes.set(code, { digest: digestOf(code), until: now() + CODE_MS });
      for (const oldest of codes.keys()) if (codes.size > MAX_CODES) codes.delete(oldest);
      return code;
    },
    redeem(code) {
      if (isBlocked()) return undefined;
      const given = digestOf(code);
      for (const [known, { digest, until }] of codes) {
        if (!timingSafeEqual(given, digest)) continue;
        codes.delete(known);
        if (now() >= until) break;
        const token = randomBytes(32).toString('base64url');
        tokens.push(digestOf(token));
        tokens.splice(0, tokens.length - MAX_TOKENS);
        return token;
      }
      fail();
      return undefined;
    },
    isValid(token) {
      if (isBlocked()) return false;
      const given = digestOf(token);
      if (tokens.some((known) => timingSafeEqual(given, known))) return true;
      fail();
      return false;
    },
    get isBlocked() {
      return isBlocked();
    },
  };
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
