// The log-in data that a registry demands. Its first 401 names them: a password (Basic), or a token of its token service (Bearer), which is
// fetched with the password, with an identity token, or with nothing. Challenge and tokens are kept, so that a pull of twenty layers asks
// once. A token is renewed shortly before it expires, and dropped if the registry refuses it.
import { createHash } from 'node:crypto';
import type { Clock } from '@capstan/kube';
import { parseChallenges } from './challenge.ts';
import { RegistryErrors } from './errors.ts';
import type { Credentials } from './keychain.ts';

export interface Authorizer {
  /** The Authorization header, if this registry is known to want one. */
  headerFor(ask: Authorization): Promise<string | undefined>;
  /** Remembers the challenge of a 401; false if it cannot be met. */
  learn(origin: string, wwwAuthenticate: string | readonly string[] | undefined): boolean;
  /** Forgets a token that was refused. */
  forget(ask: Authorization): void;
}

export interface Authorization {
  /** Scheme, host and port of the registry. */
  readonly origin: string;
  /** `repository:NAME:pull`. */
  readonly scope: string;
  readonly credentials: Credentials | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Asks a token service: GET, or POST when there is a form. Throws RegistryError for no answer. */
export type TokenFetch = (request: {
  url: string;
  authorization: string | undefined;
  form: string | undefined;
  signal: AbortSignal | undefined;
}) => Promise<{ status: number; body: string }>;

const DEFAULT_LIFE_MS = 60_000;
const MARGIN_MS = 10_000;
const CLIENT_ID = 'capstan';

export function createAuthorizer({ fetch, clock }: { fetch: TokenFetch; clock: Clock }): Authorizer {
  const wants = new Map<string, Want>();
  const tokens = new Map<string, Token>();

  async function tokenFor(ask: Authorization, want: BearerWant): Promise<string> {
    const key = keyOf(ask);
    const known = tokens.get(key);
    if (known !== undefined && known.until > clock.now()) return known.text;
    const token = await fetchToken(fetch, ask, want, clock.now());
    // Tokens are small and few: expired ones are removed when the next one comes.
    for (const [each, { until }] of tokens) if (until <= clock.now()) tokens.delete(each);
    tokens.set(key, token);
    return token.text;
  }

  return {
    async headerFor(ask) {
      const want = wants.get(ask.origin);
      const { credentials } = ask;
      if (want === undefined) return undefined;
      if (credentials?.type === 'bearer') return `Bearer ${credentials.token}`;
      if (want.scheme === 'bearer') return `Bearer ${await tokenFor(ask, want)}`;
      return credentials?.type === 'basic' ? basic(credentials) : undefined;
    },
    learn(origin, header) {
      const challenges = parseChallenges(header);
      const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
      const realm = bearer?.parameters['realm'];
      if (bearer !== undefined && realm !== undefined && URL.canParse(realm)) {
        // A password that came to the registry encrypted does not leave in the clear.
        if (origin.startsWith('https:') && !realm.startsWith('https:')) return false;
        wants.set(origin, { scheme: 'bearer', realm, service: bearer.parameters['service'] });
        return true;
      }
      if (!challenges.some(({ scheme }) => scheme === 'basic')) return false;
      wants.set(origin, { scheme: 'basic' });
      return true;
    },
    forget(ask) {
      tokens.delete(keyOf(ask));
    },
  };
}

type Want = { scheme: 'basic' } | BearerWant;

interface BearerWant {
  scheme: 'bearer';
  realm: string;
  service: string | undefined;
}

interface Token {
  text: string;
  until: number;
}

function keyOf({ origin, scope, credentials }: Authorization): string {
  const identity = createHash('sha256')
    .update(JSON.stringify(credentials ?? null))
    .digest('base64');
  return `${origin} ${scope} ${identity}`;
}

function basic({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

async function fetchToken(fetch: TokenFetch, ask: Authorization, want: BearerWant, now: number): Promise<Token> {
  const { scope, credentials, signal } = ask;
  const parameters = new URLSearchParams({ ...(want.service !== undefined && { service: want.service }), scope });
  const url = new URL(want.realm);
  const isIdentity = credentials?.type === 'identity';
  if (isIdentity) {
    for (const [key, value] of Object.entries({
      client_id: CLIENT_ID,
      grant_type: 'refresh_token',
      refresh_token: credentials.token,
    }))
      parameters.set(key, value);
  } else for (const [key, value] of parameters) url.searchParams.set(key, value);
  const { status, body } = await fetch({
    url: url.href,
    authorization: credentials?.type === 'basic' ? basic(credentials) : undefined,
    form: isIdentity ? parameters.toString() : undefined,
    signal,
  });
  const what = `a token for ${scope} from ${url.host}`;
  if (status === 401 || status === 403) throw RegistryErrors.Unauthorized(what, credentials !== undefined);
  if (status === 429) throw RegistryErrors.TooManyRequests(what, undefined);
  if (status >= 500) throw RegistryErrors.Unavailable(what, `it answered ${status}`, undefined);
  if (status !== 200) throw RegistryErrors.Refused(what, status, '');
  return tokenIn(body, what, now);
}

function tokenIn(body: string, what: string, now: number): Token {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw RegistryErrors.Malformed(what, 'the answer is not JSON');
  }
  const { token, access_token: accessToken, expires_in: seconds } = (value ?? {}) as Record<string, unknown>;
  const text = typeof token === 'string' && token !== '' ? token : accessToken;
  if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text))
    throw RegistryErrors.Malformed(what, 'the answer holds no token');
  const life = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : DEFAULT_LIFE_MS;
  return { text, until: now + Math.max(life - MARGIN_MS, life / 2) };
}
