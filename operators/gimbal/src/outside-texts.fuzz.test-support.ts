// Texts of clouds and of users: answers of Keystone and Octavia, schedules, windows.
import { type ApiResponse, CodedError, systemClock, type Transport } from '@capstan/kube';
import type { FuzzTarget } from '@capstan/testing';
import { listListeners, listLoadBalancers, listMembers, listPools, listProjects } from './discover/openstack/cloud.ts';
import { mapLoadBalancer } from './discover/openstack/map-load-balancer.ts';
import { createSession } from './discover/openstack/session.ts';
import { parseCron } from './schedule/cron.ts';
import { parseWindow } from './schedule/window.ts';

const isRefusal = (error: unknown) => error instanceof CodedError || error instanceof SyntaxError;

const schedules: FuzzTarget = {
  name: 'schedules',
  seeds: [
    '*/5 * * * *',
    '0 3 1-7 jan,mar MON-FRI',
    '@daily',
    'Sat 02:00-04:00',
    '22:00-06:00',
    'Mon-Fri 09:00-17:00',
    '59 23 31 12 7',
  ],
  tokens: ['*/', '-', ',', ' ', 'L', '#', '@', ':', '99', '0', 'Sun', 'feb', '24:00', '/0', '1-'],
  maxBytes: 32 * 1024,
  read(input) {
    const text = input.toString();
    for (const zone of ['UTC', 'Europe/Berlin']) {
      parseCron(text, zone);
      parseWindow(text, zone);
    }
  },
  isRefusal,
};

const LOGIN = {
  token: {
    expires_at: '2026-01-02T03:04:05.000000Z',
    catalog: [
      {
        type: 'load-balancer',
        id: 'lb',
        endpoints: [{ interface: 'public', url: 'https://octavia.example.com/v2.0/' }],
      },
    ],
  },
};
const CLOUD = {
  projects: [{ id: 'p', name: 'project' }],
  loadbalancers: [
    {
      id: 'b1',
      name: 'web',
      project_id: 'p',
      provisioning_status: 'ACTIVE',
      operating_status: 'ONLINE',
      admin_state_up: true,
      updated_at: '2026-01-01',
    },
  ],
  listeners: [
    {
      id: 'l1',
      protocol: 'HTTP',
      protocol_port: 80,
      default_pool_id: 'o1',
      loadbalancers: [{ id: 'b1' }],
      admin_state_up: true,
      provisioning_status: 'ACTIVE',
    },
  ],
  pools: [{ id: 'o1', loadbalancers: [{ id: 'b1' }], members: [{ id: 'm1' }], admin_state_up: true }],
  members: [
    {
      id: 'm1',
      address: '10.0.0.1',
      protocol_port: 8080,
      weight: 1,
      backup: false,
      admin_state_up: true,
      operating_status: 'ONLINE',
    },
    { id: 'm2', address: 'fe80::1', protocol_port: 0 },
  ],
};

/** All answers of a cloud as one text: the login, and the lists. Bodies of pages are the same at every address. */
const openstack: FuzzTarget = {
  name: 'openstack-answers',
  seeds: [
    JSON.stringify({ login: LOGIN, ...CLOUD }),
    JSON.stringify({ login: LOGIN, projects: [], loadbalancers: null }),
  ],
  tokens: [
    'null',
    '[]',
    '{}',
    '-1',
    '70000',
    '"id":5,',
    '"links":{"next":"https://x/y?marker=1"},',
    '"pools_links":[{"rel":"next","href":"/z"}],',
    '"__proto__":{',
    '"catalog":[null],',
    '"endpoints":{}',
    '"expires_at":"x"',
    '"address":"::"',
    '"name":"__proto__"',
  ],
  maxBytes: 64 * 1024,
  async read(input) {
    const answers: unknown = JSON.parse(input.toString());
    const body = typeof answers === 'object' && answers !== null ? (answers as Record<string, unknown>) : {};
    let requests = 0;
    const request = async ({ path }: { path: string }): Promise<ApiResponse> => {
      requests += 1;
      if (requests > 10_000) throw new Error('the pages of a list do not end');
      const isLogin = path.includes('/auth/tokens');
      return { status: isLogin ? 201 : 200, body: isLogin ? body['login'] : body, headers: { 'x-subject-token': 't' } };
    };
    const transport = { request, close: async () => {} } as unknown as Transport;
    const session = createSession({
      credentials: {
        authUrl: 'https://keystone.example.com/v3',
        login: { id: 'i', secret: 's' },
        region: undefined,
        ca: undefined,
      },
      interface: 'public',
      open: () => transport,
      clock: systemClock,
      timeoutMs: 1_000,
    });
    const [projects, balancers, listeners, pools] = [
      await listProjects(session),
      await listLoadBalancers(session),
      await listListeners(session),
      await listPools(session),
    ];
    const members = new Map<string, Awaited<ReturnType<typeof listMembers>>>();
    for (const pool of pools.slice(0, 5)) members.set(pool.id, await listMembers(session, pool.id));
    for (const balancer of balancers) {
      const own = listeners.filter(({ balancerIds }) => balancerIds.includes(balancer.id));
      mapLoadBalancer(
        {
          balancer,
          project: projects[0]?.name ?? 'p',
          listeners: own,
          pools: new Map(pools.map((pool) => [pool.id, pool])),
          members,
        },
        'backend',
        true,
      );
    }
  },
  isRefusal,
};

export const targets: readonly FuzzTarget[] = [schedules, openstack];
