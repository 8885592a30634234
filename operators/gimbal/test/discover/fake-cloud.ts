// A cloud in memory: Keystone and Octavia as far as a discoverer asks them, with pages, tokens that end, and faults on request.
import type { ApiRequest, ApiResponse, Clock, Transport } from '@capstan/kube';

export interface FakeCloud {
  readonly projects: { id: string; name: string }[];
  readonly balancers: FakeElement[];
  readonly listeners: FakeElement[];
  readonly pools: FakeElement[];
  /** By pool. */
  readonly members: Map<string, FakeElement[]>;
  /** `METHOD path` of everything that was asked. */
  readonly asked: string[];
  readonly settings: {
    password: string;
    pageSize: number;
    tokenLifeMs: number;
    /** Answers instead of the cloud's own. */
    fault?: ((request: ApiRequest) => ApiResponse | Error | undefined) | undefined;
  };
  /** No token from before is accepted any more. */
  revoke(): void;
  readonly logins: number;
  open(address: string): Transport;
  /** A load balancer with a listener and a pool. */
  add(id: string, project: string, members: readonly (string | FakeElement)[], parts?: FakeElement): void;
}

export type FakeElement = Record<string, unknown>;

export function createFakeCloud(clock: Clock): FakeCloud {
  const tokens = new Map<string, number>();
  let logins = 0;
  const json = (status: number, body: unknown, headers: Record<string, string> = {}): ApiResponse => ({
    status,
    headers,
    body,
  });

  const cloud: FakeCloud = {
    projects: [],
    balancers: [],
    listeners: [],
    pools: [],
    members: new Map(),
    asked: [],
    settings: { password: 's3cr3t', pageSize: 1000, tokenLifeMs: 3_600_000 },
    revoke: () => tokens.clear(),
    get logins() {
      return logins;
    },
    open: (address) => ({
      address,
      async request(request) {
        cloud.asked.push(`${request.method} ${new URL(address).pathname}${request.path}`);
        const fault = cloud.settings.fault?.(request);
        if (fault instanceof Error) throw fault;
        return fault ?? answer(address, request);
      },
      watch: () => Promise.reject(new Error('a cloud cannot be watched')),
      close: () => Promise.resolve(),
    }),
    add(id, project, members, parts = {}) {
      cloud.balancers.push({ id, project_id: project, name: `lb ${id}`, updated_at: '1', ...parts });
      cloud.pools.push({
        id: `pool-${id}`,
        loadbalancers: [{ id }],
        members: members.map((_, index) => ({ id: `${index}` })),
      });
      cloud.listeners.push({
        id: `listener-${id}`,
        protocol: 'HTTP',
        protocol_port: 80,
        default_pool_id: `pool-${id}`,
        loadbalancers: [{ id }],
      });
      cloud.members.set(
        `pool-${id}`,
        members.map((member, index) => ({
          id: `${index}`,
          protocol_port: 8080,
          weight: 1,
          ...(typeof member === 'string' ? { address: member } : member),
        })),
      );
    },
  };

  function answer(address: string, { method, path, query = {}, headers = {}, body }: ApiRequest): ApiResponse {
    if (method === 'POST' && path === '/auth/tokens') return login(body);
    const ends = tokens.get(headers['x-auth-token'] ?? '');
    if (ends === undefined || ends <= clock.now()) return json(401, { error: { message: 'the token is not valid' } });
    if (path === '/projects') return page('projects', cloud.projects, query);
    const [, kind = '', pool, last] = path.split('/');
    if (kind === 'loadbalancers') return page(kind, cloud.balancers, query);
    if (kind === 'listeners') return page(kind, cloud.listeners, query);
    if (kind === 'pools' && pool === undefined) return page(kind, cloud.pools, query);
    const members = cloud.members.get(pool ?? '');
    if (kind === 'pools' && last === 'members' && members) return page('members', members, query);
    return json(404, { faultstring: `${address}${path} is not there` });
  }

  function login(body: unknown): ApiResponse {
    const text = JSON.stringify(body);
    if (!text.includes(`"password":"${cloud.settings.password}"`) && !text.includes('"secret":"app-secret"')) {
      return json(401, { error: { code: 401, message: 'The request you have made requires authentication.' } });
    }
    const token = `token-${++logins}`;
    const ends = clock.now() + cloud.settings.tokenLifeMs;
    tokens.set(token, ends);
    const url = 'http://cloud.example:9876/v2.0';
    const catalog = [
      { type: 'identity', id: 'identity', endpoints: [] },
      { type: 'load-balancer', id: 'octavia-1', endpoints: [{ interface: 'public', region: 'one', url }] },
    ];
    return json(201, { token: { expires_at: new Date(ends).toISOString(), catalog } }, { 'x-subject-token': token });
  }

  function page(name: string, all: readonly FakeElement[], { marker }: Record<string, string>): ApiResponse {
    const start = marker === undefined ? 0 : all.findIndex(({ id }) => id === marker) + 1;
    const items = all.slice(start, start + cloud.settings.pageSize);
    const isLast = start + items.length >= all.length;
    const href = `http://elsewhere.example/x?limit=${cloud.settings.pageSize}&marker=${String(items.at(-1)?.['id'])}`;
    const links =
      name === 'projects'
        ? { links: { next: isLast ? null : href } }
        : { [`${name}_links`]: isLast ? [] : [{ rel: 'next', href }] };
    return json(200, { [name]: items, ...links });
  }

  return cloud;
}
