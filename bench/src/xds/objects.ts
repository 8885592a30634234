// N HTTPProxies of three routes and two Services, half of them with TLS, written over plain connections: the same objects for each
// control plane that is measured, in a namespace of its own.
import { createCa, issueCertificate } from '@capstan/kube';
import { type Address, type Connection, openConnection, requestBytes } from '../apiserver/connection.ts';

/** Where the objects of one control plane are. */
export interface Place {
  readonly namespace: string;
  /** API group of its HTTPProxies. */
  readonly group: string;
}

/** A certificate and its key, in base64. */
export interface KeyPair {
  readonly 'tls.crt': string;
  readonly 'tls.key': string;
}

/** Every second host has TLS. */
export const isSecure = (index: number) => index % 2 === 0;
export const hostOf = (index: number) => `host-${index}.example.com`;
export const proxiesIn = ({ namespace, group }: Place) => `/apis/${group}/v1/namespaces/${namespace}/httpproxies`;

const WRITERS = 32;
const VALIDITY_MS = 30 * 86_400_000;

/** One certificate for each host with TLS: as many different ones as a cluster would have. */
export async function createKeyPairs(count: number): Promise<KeyPair[]> {
  const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + VALIDITY_MS };
  const ca = await createCa({ commonName: 'bench', ...validity });
  const pairs: KeyPair[] = [];
  for (let index = 0; index < count; index++) {
    const name = hostOf(index * 2);
    const issued = await issueCertificate({ ca, commonName: name, dnsNames: [name], usages: ['server'], ...validity });
    pairs.push({ 'tls.crt': base64(issued.certificate), 'tls.key': base64(issued.key) });
  }
  return pairs;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Everything but the HTTPProxies: Services, their endpoints, Secrets. */
export function backendRequests({ namespace }: Place, from: number, to: number, pairs: readonly KeyPair[]): Buffer[] {
  const requests: Buffer[] = [];
  for (let index = from; index < to; index++) {
    for (const part of ['a', 'b']) {
      const name = `service-${index}-${part}`;
      requests.push(
        requestBytes('POST', `/api/v1/namespaces/${namespace}/services`, {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name },
          spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
        }),
        requestBytes('POST', slicesIn(namespace), {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { name, labels: { 'kubernetes.io/service-name': name } },
          addressType: 'IPv4',
          endpoints: [endpoint(`10.${index >> 8}.${index & 255}.1`)],
          ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        }),
      );
    }
    if (isSecure(index) && pairs.length > 0)
      requests.push(
        requestBytes('POST', `/api/v1/namespaces/${namespace}/secrets`, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: `tls-${index}` },
          type: 'kubernetes.io/tls',
          data: pairs[(index / 2) % pairs.length],
        }),
      );
  }
  return requests;
}

export function proxyRequests(place: Place, from: number, to: number): Buffer[] {
  const requests: Buffer[] = [];
  for (let index = from; index < to; index++) {
    const services = (weight: number) => [
      { name: `service-${index}-a`, port: 80, weight },
      { name: `service-${index}-b`, port: 80, weight: 100 - weight },
    ];
    const tls = isSecure(index) ? { tls: { secretName: `tls-${index}` } } : {};
    requests.push(
      requestBytes('POST', proxiesIn(place), {
        apiVersion: `${place.group}/v1`,
        kind: 'HTTPProxy',
        metadata: { name: `proxy-${index}` },
        spec: {
          virtualhost: { fqdn: hostOf(index), ...tls },
          routes: [
            { conditions: [{ prefix: '/' }], services: services(90) },
            { conditions: [{ prefix: '/api' }], services: services(50), timeoutPolicy: { response: '10s' } },
            {
              conditions: [{ prefix: '/static' }, { header: { name: 'x-beta', exact: 'yes' } }],
              services: services(10),
            },
          ],
        },
      }),
    );
  }
  return requests;
}

/** Another prefix of a route: text that is found in the bytes of the new route and nowhere else. */
export function routeEdit(place: Place, index: number, mark: string): Buffer {
  const patch = [{ op: 'replace', path: '/spec/routes/1/conditions/0/prefix', value: mark }];
  return requestBytes('PATCH', `${proxiesIn(place)}/proxy-${index}`, patch, 'application/json-patch+json');
}

export function endpointEdit({ namespace }: Place, index: number, address: string): Buffer {
  const path = `${slicesIn(namespace)}/service-${index}-a`;
  return requestBytes('PATCH', path, { endpoints: [endpoint(address)] }, 'application/merge-patch+json');
}

const slicesIn = (namespace: string) => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
const endpoint = (address: string) => ({ addresses: [address], conditions: { ready: true } });

/** Sends all requests, some at a time. */
export async function writeAll(address: Address, requests: readonly Buffer[]): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(WRITERS, requests.length) }, async () => {
      const connection = await openConnection(address);
      try {
        for (let request = requests[next++]; request !== undefined; request = requests[next++])
          await connection.exchange(request);
      } finally {
        connection.close();
      }
    }),
  );
}

/** How many HTTPProxies have a status that reports them as valid. */
export async function countValid(connection: Connection, place: Place): Promise<number> {
  const { body } = await connection.exchange(requestBytes('GET', proxiesIn(place)));
  let count = 0;
  for (let at = body.indexOf(VALID); at >= 0; at = body.indexOf(VALID, at + 1)) count += 1;
  return count;
}

const VALID = '"currentStatus":"valid"';
