// The access rules of the registry: open to all clients, to users with passwords (Basic), or to holders of tokens that the registry itself
// issues at /token (Bearer). Tokens are random texts that are kept until they expire.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@capstan/kube';

export type RegistryAccess =
  | { readonly type: 'open' }
  | { readonly type: 'basic'; readonly users: Users; readonly anonymousPull?: boolean }
  | { readonly type: 'token'; readonly users: Users; readonly anonymousPull?: boolean; readonly lifeMs?: number };

/** Passwords by user. */
export type Users = Readonly<Record<string, string>>;

export interface Gate {
  /** undefined when it may; otherwise the challenge of the 401, or nothing for a 403. */
  refuses(
    authorization: string | undefined,
    repository: string,
    access: 'pull' | 'push',
    host: string,
  ): Refusal | undefined;
  /** A token, or undefined when the password is wrong. */
  token(authorization: string | undefined, scope: string): { token: string; expiresIn: number } | undefined;
}

export type Refusal = { status: 401; challenge: string } | { status: 403 };

export function createGate(access: RegistryAccess, clock: Clock): Gate {
  const tokens = new Map<string, { repository: string; actions: readonly string[]; until: number }>();
  const users = access.type === 'open' ? {} : access.users;

  function challenge(repository: string, wanted: string, host: string): Refusal {
    return {
      status: 401,
      challenge:
        access.type === 'token'
          ? `Bearer realm="${host}/token",service="capstan-registry",scope="repository:${repository}:${wanted}"`
          : 'Basic realm="capstan-registry"',
    };
  }

  return {
    refuses(authorization, repository, wanted, host) {
      if (access.type === 'open') return undefined;
      if (access.type === 'basic') {
        if (access.anonymousPull === true && wanted === 'pull' && authorization === undefined) return undefined;
        return isUser(users, authorization) ? undefined : challenge(repository, wanted, host);
      }
      const known = tokens.get(authorization?.replace(/^Bearer /, '') ?? '');
      if (known === undefined || known.until <= clock.now()) return challenge(repository, wanted, host);
      // A request for no repository in particular (`/v2/`) needs any token at all.
      if (repository === '') return undefined;
      if (known.repository !== repository || !known.actions.includes(wanted)) return { status: 403 };
      return undefined;
    },
    token(authorization, scope) {
      if (access.type !== 'token') return undefined;
      const [, repository = '', asked = ''] = /^repository:([^:]+):([a-z,*]+)$/.exec(scope) ?? [];
      const user = isUser(users, authorization);
      if (!user && (authorization !== undefined || access.anonymousPull !== true)) return undefined;
      const actions = asked.split(',').filter((action) => user || action === 'pull');
      const token = randomBytes(24).toString('base64url');
      const lifeMs = access.lifeMs ?? 300_000;
      tokens.set(token, { repository, actions, until: clock.now() + lifeMs });
      return { token, expiresIn: lifeMs / 1000 };
    },
  };
}

function isUser(users: Users, authorization: string | undefined): boolean {
  const encoded = authorization === undefined ? undefined : /^Basic (.*)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return false;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const user = pair.slice(0, Math.max(colon, 0));
  const password = Object.hasOwn(users, user) ? users[user] : undefined;
  return password !== undefined && isSame(pair.slice(colon + 1), password);
}

// By digest, so that neither content nor length shows in the time that it takes.
function isSame(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
