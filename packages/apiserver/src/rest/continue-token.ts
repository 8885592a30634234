import { badRequest } from '../errors.ts';

/** Where a paged list goes on: after a key, at a revision (undefined: now, when the old one is gone). */
export interface ContinueToken {
  revision: number | undefined;
  after: string;
}

/** Opaque to clients, the same form as Kubernetes' own: version, revision, key. */
export function encodeContinue(token: ContinueToken): string {
  const text = JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision ?? -1, start: token.after });
  return Buffer.from(text, 'utf8').toString('base64url');
}

export function decodeContinue(text: string): ContinueToken {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<string, unknown>;
    if (v === 'meta.k8s.io/v1' && typeof rv === 'number' && rv !== 0 && typeof start === 'string') {
      return { revision: rv < 0 ? undefined : rv, after: start };
    }
  } catch {
    // Told below: whatever it is, it is not ours.
  }
  throw badRequest('continue key is not valid: it was not made by this server');
}
