import { createHash } from 'node:crypto';
import type { UserInfo } from '../core.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';

/** The credentials of a connection. */
export interface Credentials {
  /** The subject of a client certificate that our authority has signed. */
  certificate?: { commonName: string; organizations: readonly string[]; sha256?: string };
  /** The token of an Authorization header. */
  bearerToken?: string;
}

export interface StaticToken {
  /** A secret. */
  token: string;
  user: UserInfo;
}

export interface Authenticator {
  readonly tokens: ServiceAccountTokens | undefined;
  /** Undefined: not a known user. */
  authenticate(credentials: Credentials): UserInfo | undefined;
  /** For TokenReview; without audiences, for this server. */
  token(token: string, audiences: readonly string[]): { user: UserInfo; audiences: readonly string[] } | undefined;
}

export const ANONYMOUS: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const AUTHENTICATED = 'system:authenticated';
/** The field in which Kubernetes records the credential of a user. */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

export function createAuthenticator(
  tokens: ServiceAccountTokens | undefined,
  staticTokens: readonly StaticToken[],
): Authenticator {
  // By their digest: comparing secrets in a map gives nothing away about them by its timing.
  const known = new Map(staticTokens.map(({ token, user }) => [digest(token), user]));
  const fixed = (token: string) => known.get(digest(token));

  return {
    tokens,
    authenticate({ certificate, bearerToken }) {
      if (certificate && certificate.commonName !== '') {
        const { commonName, organizations, sha256 } = certificate;
        const extra = sha256 !== undefined && { extra: { [CREDENTIAL_ID]: [`X509SHA256=${sha256}`] } };
        return { name: commonName, groups: withAuthenticated(organizations), ...extra };
      }
      if (bearerToken === undefined || bearerToken === '') return undefined;
      return fixed(bearerToken) ?? tokens?.verify(bearerToken, tokens.audiences)?.user;
    },
    token(token, audiences) {
      const ours = tokens?.audiences ?? [];
      const user = fixed(token);
      if (user)
        return { user, audiences: audiences.length === 0 ? ours : audiences.filter((one) => ours.includes(one)) };
      return tokens?.verify(token, audiences.length === 0 ? ours : audiences);
    },
  };
}

/** The groups, and the one of everybody who has shown who he is. */
export function withAuthenticated(groups: readonly string[]): readonly string[] {
  return groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED];
}

const digest = (token: string) => createHash('sha256').update(token).digest('hex');
