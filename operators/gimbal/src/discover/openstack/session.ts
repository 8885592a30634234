// A login at Keystone with the addresses from its catalog, and requests with its token. A token is renewed before it ends. A token that is
// refused earlier is replaced once per request; earlier refusals do not count.
import { type ApiResponse, type Clock, type Transport, withoutTrailing } from '@capstan/kube/cluster';
import { DiscoverErrors } from '../errors.ts';
import type { CloudCredentials } from './credentials.ts';
import { arrayAt, recordAt, textAt } from './json.ts';

export interface SessionOptions {
  credentials: CloudCredentials;
  /** The interface of the catalog's endpoints: public, internal or admin. */
  interface: string;
  /** A transport to an address. */
  open(address: string): Transport;
  clock: Clock;
  timeoutMs: number;
}

export interface Session {
  /** Asks Keystone. */
  identity(path: string, query?: Record<string, string>): Promise<unknown>;
  /** Asks Octavia; `path` begins after `/v2/lbaas`. */
  balancer(path: string, query?: Record<string, string>): Promise<unknown>;
  /** A fresh login, whatever token there is. */
  login(): Promise<void>;
  /** Who the cloud is: the id of its load-balancing service. */
  readonly cloud: string | undefined;
  close(): Promise<void>;
}

interface Token {
  readonly text: string;
  /** When it is better replaced. */
  readonly renewAt: number;
  readonly balancer: string;
  readonly cloud: string | undefined;
}

/** How long before its end a token is replaced, at most. */
const MARGIN_MS = 300_000;

export function createSession(options: SessionOptions): Session {
  const { credentials, clock, timeoutMs } = options;
  const transports = new Map<string, Transport>();
  let token: Token | undefined;
  let renewal: Promise<Token> | undefined;

  function transport(address: string): Transport {
    const known = transports.get(address) ?? options.open(address);
    transports.set(address, known);
    return known;
  }

  async function renew(): Promise<Token> {
    const answer = await transport(credentials.authUrl).request({
      method: 'POST',
      path: '/auth/tokens',
      body: { auth: authOf(credentials) },
      timeoutMs,
    });
    if (answer.status === 401 || answer.status === 403) {
      throw DiscoverErrors.AuthRefused(credentials.authUrl, detailIn(answer));
    }
    if (answer.status >= 300) throw DiscoverErrors.BadAnswer('the login', `${answer.status} ${detailIn(answer)}`);
    const text = answer.headers['x-subject-token'];
    const body = recordAt(answer.body, 'token');
    if (!text || body === undefined) throw DiscoverErrors.BadAnswer('the login', 'it holds no token');
    const now = clock.now();
    const ends = Date.parse(textAt(body, 'expires_at') ?? '');
    // A fifth of its life, five minutes at most; an end that cannot be read is taken for an hour from now.
    const life = Number.isNaN(ends) ? 3_600_000 : Math.max(0, ends - now);
    const found = endpointOf(body, options.interface, credentials.region);
    token = { text, renewAt: now + life - Math.min(MARGIN_MS, life / 5), ...found };
    return token;
  }

  /** One login at a time, however many wait for it. */
  function login(): Promise<Token> {
    renewal ??= renew().finally(() => {
      renewal = undefined;
    });
    return renewal;
  }

  function current(): Promise<Token> | Token {
    return token !== undefined && clock.now() < token.renewAt ? token : login();
  }

  async function get(
    baseOf: (token: Token) => string,
    path: string,
    query: Record<string, string> = {},
  ): Promise<unknown> {
    for (let isSecondTry = false; ; isSecondTry = true) {
      const used = await current();
      const answer = await transport(baseOf(used)).request({
        method: 'GET',
        path,
        query,
        headers: { 'x-auth-token': used.text },
        timeoutMs,
      });
      if (answer.status === 401 && !isSecondTry) {
        if (token === used) token = undefined;
        continue;
      }
      if (answer.status === 401) throw DiscoverErrors.AuthRefused(baseOf(used), detailIn(answer));
      if (answer.status >= 500) throw DiscoverErrors.BadAnswer(path, `${answer.status} ${detailIn(answer)}`);
      if (answer.status >= 300) throw DiscoverErrors.Refused(path, answer.status, detailIn(answer));
      return answer.body;
    }
  }

  return {
    identity: (path, query) => get(() => credentials.authUrl, path, query),
    balancer: (path, query) => get(({ balancer }) => balancer, path, query),
    async login() {
      await login();
    },
    get cloud() {
      return token?.cloud;
    },
    async close() {
      await Promise.all([...transports.values()].map((each) => each.close()));
    },
  };
}

function authOf({ login }: CloudCredentials): unknown {
  if ('secret' in login) {
    return {
      identity: { methods: ['application_credential'], application_credential: { id: login.id, secret: login.secret } },
    };
  }
  const { username, password, userDomain, project, projectDomain } = login;
  return {
    identity: { methods: ['password'], password: { user: { name: username, domain: { name: userDomain }, password } } },
    scope: { project: { name: project, domain: { name: projectDomain } } },
  };
}

/** Returns the address of Octavia in the catalog. The address may contain the version. */
function endpointOf(
  token: Record<string, unknown>,
  kind: string,
  region: string | undefined,
): Pick<Token, 'balancer' | 'cloud'> {
  const service = arrayAt(token, 'catalog')?.find((each) => textAt(each, 'type') === 'load-balancer');
  const endpoints = arrayAt(service, 'endpoints') ?? [];
  const endpoint = endpoints.find(
    (each) =>
      textAt(each, 'interface') === kind &&
      (region === undefined || textAt(each, 'region') === region || textAt(each, 'region_id') === region),
  );
  const url = textAt(endpoint, 'url');
  if (url === undefined || !URL.canParse(url)) throw DiscoverErrors.NotInCatalog(`${kind} load-balancer`, region);
  const base = withoutTrailing(url, '/').replace(/\/v2(\.\d+)?$/, '');
  return { balancer: `${base}/v2/lbaas`, cloud: textAt(service, 'id') };
}

/** Returns the message of an error, in the forms of Keystone and Octavia, or plain text. */
function detailIn({ body }: ApiResponse): string {
  if (typeof body === 'string') return body.slice(0, 200);
  const detail = textAt(recordAt(body, 'error'), 'message') ?? textAt(body, 'faultstring');
  return detail ?? 'it says nothing';
}
