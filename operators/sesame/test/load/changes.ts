// Edits of everything that a running ingress is built from, one after the other, in an order that is always the same.
import { type CertificateAndKey, type Client, EndpointSlice, Secret } from '@capstan/kube';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';

export interface Changed {
  readonly client: Client;
  readonly addresses: readonly string[];
  readonly services: readonly string[];
  /** The certificates of one length of validity: the possible renewals. */
  readonly certificates: readonly CertificateAndKey[];
  /** Puts other settings of listeners in force. */
  configure(spec: object): Promise<void>;
}

export const HOST = 'load.test';
const NAMESPACE = 'default';

/** The kind of the changed object. */
export type ChangeKind = 'route' | 'endpoints' | 'certificate' | 'listener' | 'host';

/** Among ten changes four are of routes, three of endpoints, and one each of certificates, listeners and other hosts. */
const ORDER: readonly ChangeKind[] = [
  'route',
  'endpoints',
  'certificate',
  'route',
  'endpoints',
  'listener',
  'route',
  'endpoints',
  'host',
  'route',
];

export function kindOf(turn: number): ChangeKind {
  return ORDER[turn % ORDER.length] ?? 'route';
}

export async function change(turn: number, stage: Changed): Promise<ChangeKind> {
  const kind = kindOf(turn);
  if (kind === 'route') await stage.client.patch(HTTPProxy, at('load'), 'merge', { spec: proxySpec(turn, stage) });
  else if (kind === 'endpoints') await changeEndpoints(turn, stage);
  else if (kind === 'certificate') {
    const { certificate, key } = stage.certificates[turn % stage.certificates.length] ?? { certificate: '', key: '' };
    const text = (value: string) => Buffer.from(value).toString('base64');
    const data = { 'tls.crt': text(certificate), 'tls.key': text(key) };
    await stage.client.patch(Secret, at('load'), 'merge', { data });
  } else if (kind === 'listener') await stage.configure(listenerSettings(turn));
  else await changeHosts(turn, stage);
  return kind;
}

const at = (name: string) => ({ namespace: NAMESPACE, name });

/** Weights, paths, timeouts, headers, retries and Services come and go; the path that is asked for is always there. */
export function proxySpec(turn: number, { services }: Pick<Changed, 'services'>): HTTPProxy['spec'] {
  const name = (offset: number) => services[(turn + offset) % services.length] ?? '';
  const isSplit = turn % 3 === 0;
  return {
    virtualhost: { fqdn: HOST, tls: { secretName: 'load' } },
    routes: [
      {
        permitInsecure: true,
        services: [
          { name: name(0), port: 80, ...(isSplit && { weight: 1 + (turn % 90) }) },
          ...(isSplit ? [{ name: name(1), port: 80, weight: 100 - (turn % 90) }] : []),
        ],
        timeoutPolicy: { response: `${10 + (turn % 20)}s`, ...(turn % 5 === 0 && { idleConnection: `${30 + turn}s` }) },
        ...(turn % 4 === 0 && { requestHeadersPolicy: { set: [{ name: 'X-Turn', value: String(turn) }] } }),
        ...(turn % 7 === 0 && { loadBalancerPolicy: { strategy: 'Random' } }),
        ...(turn % 6 === 0 && { retryPolicy: { count: 1 } }),
      },
      { conditions: [{ prefix: `/turn-${turn}` }], services: [{ name: name(2), port: 80 }] },
    ],
  };
}

async function changeEndpoints(turn: number, { client, services, addresses }: Changed): Promise<void> {
  const name = services[turn % services.length] ?? '';
  const kept = addresses.filter((_, index) => (turn + index) % addresses.length !== 0 || addresses.length === 1);
  const endpoints = kept.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  await client.patch(EndpointSlice, at(name), 'merge', { endpoints });
}

/** Another host with TLS for every second turn: its filter chain comes and goes on the same listener. */
async function changeHosts(turn: number, { client, services }: Changed): Promise<void> {
  const name = `extra-${turn % 40}`;
  const existing = await client.find(HTTPProxy, at(name));
  if (existing) {
    await client.delete(HTTPProxy, at(name));
    return;
  }
  await client.create(HTTPProxy, {
    apiVersion: 'projectsesame.io/v1',
    kind: 'HTTPProxy',
    metadata: at(name),
    spec: {
      virtualhost: { fqdn: `${name}.test`, ...(turn % 20 < 10 && { tls: { secretName: 'load' } }) },
      routes: [{ services: [{ name: services[0] ?? '', port: 80 }] }],
    },
  });
}

/** Fields of the connection manager, of the filters, of TLS and of the socket. */
function listenerSettings(turn: number): object {
  const choices: readonly object[] = [
    { timeouts: { requestTimeout: `${20 + (turn % 30)}s` } },
    { timeouts: { connectionIdleTimeout: `${60 + (turn % 30)}s`, streamIdleTimeout: '5m' } },
    { listener: { serverHeaderTransformation: turn % 20 < 10 ? 'append_if_absent' : 'overwrite' } },
    { listener: { compression: { algorithm: turn % 20 < 10 ? 'disabled' : 'gzip' } } },
    { listener: { tls: { minimumProtocolVersion: turn % 20 < 10 ? '1.3' : '1.2' } } },
    { listener: { perConnectionBufferLimitBytes: 32_768 + (turn % 100) } },
    { listener: { httpMaxConcurrentStreams: 100 + (turn % 50) } },
    { network: { numTrustedHops: turn % 3 } },
  ];
  return choices[Math.floor(turn / 10) % choices.length] ?? {};
}
