// Generated objects: each case has hosts of its own, and all cases share a few Services, Secrets and ExtensionServices. Most values are
// valid; some are not, and some name objects that do not exist.
import type { KubeObject } from '@capstan/kube';
import { createRandom, type SeededRandom } from '@capstan/testing';

export interface Case {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly objects: readonly KubeObject[];
}

type Json = Record<string, unknown>;

export function createCases(seed: number, count: number): Case[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, index) => {
    const own = random.fork(String(index));
    return own.chance(0.2) ? ingressCase(index, own) : proxyCase(index, own);
  });
}

/** The objects that every case may use. */
export function sharedObjects(secrets: readonly KubeObject[]): KubeObject[] {
  const service = (name: string, spec: Json, annotations: Record<string, string> = {}, namespace = 'default') =>
    object('v1', 'Service', { name, namespace, annotations }, spec);
  const ports = [
    { name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 },
    { name: 'metrics', port: 9090, protocol: 'TCP', targetPort: 9090 },
  ];
  return [
    ...secrets,
    service('shop', { ports }),
    service('cart', { ports }, { 'projectcontour.io/upstream-protocol.h2c': '80' }),
    service('limited', { ports }, { 'projectcontour.io/max-connections': '7', 'projectcontour.io/max-retries': '3' }),
    service('secure', { ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 8443 }] }),
    service('external', {
      type: 'ExternalName',
      externalName: 'example.com',
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    }),
    service('shop', { ports }, {}, 'other'),
    object(
      'projectcontour.io/v1alpha1',
      'ExtensionService',
      { name: 'auth', namespace: 'default' },
      { protocol: 'h2c', services: [{ name: 'shop', port: 80 }] },
    ),
    object(
      'projectcontour.io/v1alpha1',
      'ExtensionService',
      { name: 'limits', namespace: 'default' },
      { protocol: 'h2c', services: [{ name: 'cart', port: 80 }] },
    ),
    object(
      'projectcontour.io/v1',
      'TLSCertificateDelegation',
      { name: 'shared', namespace: 'other' },
      {
        delegations: [{ secretName: 'tls', targetNamespaces: ['*'] }],
      },
    ),
  ];
}

function object(apiVersion: string, kind: string, metadata: KubeObject['metadata'], spec: object): KubeObject {
  return { apiVersion, kind, metadata, spec } as KubeObject;
}

const proxy = (name: string, spec: object, namespace = 'default') =>
  object('projectcontour.io/v1', 'HTTPProxy', { name, namespace }, spec);

function proxyCase(index: number, random: SeededRandom): Case {
  const name = `case-${index}`;
  const fqdn = random.chance(0.1) ? `*.wild-${index}.test` : `host-${index}.test`;
  const children: KubeObject[] = [];
  const include = (at: number): Json => {
    const child = `${name}-part-${at}`;
    const namespace = random.pick(['default', 'default', 'other']);
    if (!random.chance(0.1)) children.push(proxy(child, { routes: routes(random, 2) }, namespace));
    return {
      name: child,
      namespace,
      ...maybe(random, 0.7, () => ({ conditions: conditions(random, `/part-${at}`, true) })),
    };
  };
  const isTcp = random.chance(0.08);
  const host = virtualhost(random, fqdn, isTcp);
  const includes = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, (_, at) => include(at));
  const root = proxy(name, {
    virtualhost: host,
    ...(isTcp && { tcpproxy: { services: services(random), ...maybe(random, 0.3, () => balancing(random)) } }),
    ...((!isTcp || random.chance(0.3)) && { routes: routes(random, random.integer(1, 4)) }),
    ...(includes.length > 0 && { includes }),
  });
  const orphan = random.chance(0.04) ? [proxy(`${name}-orphan`, { routes: routes(random, 1) })] : [];
  const second = random.chance(0.04)
    ? [proxy(`${name}-second`, { virtualhost: { fqdn }, routes: routes(random, 1) })]
    : [];
  return { name, hosts: [fqdn], objects: [...children, root, ...orphan, ...second] };
}

function maybe(random: SeededRandom, probability: number, make: () => Json): Json {
  return random.chance(probability) ? make() : {};
}

function virtualhost(random: SeededRandom, fqdn: string, isTcp: boolean): Json {
  const isSecure = isTcp || random.chance(0.4);
  const tls = () => ({
    tls:
      isTcp && random.chance(0.5)
        ? { passthrough: true }
        : {
            secretName: random.pick(['tls', 'tls', 'tls', 'other/tls', 'missing', 'other/ca']),
            ...maybe(random, 0.2, () => ({ minimumProtocolVersion: random.pick(['1.2', '1.3']) })),
            ...maybe(random, 0.15, () => ({ maximumProtocolVersion: random.pick(['1.2', '1.3']) })),
            ...maybe(random, 0.15, () => ({
              clientValidation: random.pick<Json>([
                { caSecret: 'ca' },
                { caSecret: 'ca', optionalClientCertificate: true },
                { skipClientCertValidation: true },
                { caSecret: 'missing' },
                { caSecret: 'ca', forwardClientCertificate: { subject: true, uri: true } },
              ]),
            })),
          },
  });
  return {
    fqdn,
    ...(isSecure && tls()),
    ...maybe(random, 0.12, () => ({
      corsPolicy: {
        allowOrigin: random.pick([['*'], ['https://a.test', 'https://b.test'], ['http://[']]),
        allowMethods: ['GET', 'POST'],
        ...maybe(random, 0.5, () => ({ allowHeaders: ['x-a', 'x-b'], exposeHeaders: ['x-c'] })),
        ...maybe(random, 0.5, () => ({ maxAge: random.pick(['10m', '0s', '0']) })),
        ...maybe(random, 0.3, () => ({ allowCredentials: true })),
      },
    })),
    ...maybe(random, 0.12, () => ({ rateLimitPolicy: rateLimit(random) })),
    ...maybe(random, isSecure ? 0.12 : 0.02, () => ({
      authorization: {
        ...maybe(random, 0.9, () => ({
          extensionRef: { name: random.pick(['auth', 'auth', 'missing']), namespace: 'default' },
        })),
        ...maybe(random, 0.3, () => ({ responseTimeout: '250ms' })),
        ...maybe(random, 0.3, () => ({ failOpen: true })),
        ...maybe(random, 0.4, () => ({ authPolicy: random.pick<Json>([{ disabled: true }, { context: { a: 'b' } }]) })),
        ...maybe(random, 0.2, () => ({ withRequestBody: { maxRequestBytes: 100, allowPartialMessage: true } })),
      },
    })),
    ...maybe(random, isSecure ? 0.1 : 0.02, () => ({
      jwtProviders: [
        {
          name: 'keys',
          issuer: 'issuer.test',
          ...maybe(random, 0.5, () => ({ default: true })),
          ...maybe(random, 0.3, () => ({ forwardJWT: true, audiences: ['a'] })),
          remoteJWKS: {
            uri: random.pick(['https://example.com/keys', 'http://example.com:8080/keys', 'ftp://example.com']),
            ...maybe(random, 0.3, () => ({ timeout: '2s', cacheDuration: '1m' })),
          },
        },
      ],
    })),
    ...maybe(random, 0.08, () => ipFilter(random)),
  };
}

function ipFilter(random: SeededRandom): Json {
  const rules = random.pick([
    [{ source: 'Peer', cidr: '10.0.0.0/8' }],
    [
      { source: 'Remote', cidr: '192.168.1.7' },
      { source: 'Peer', cidr: '2001:db8::/32' },
    ],
    [{ source: 'Peer', cidr: 'none' }],
  ]);
  return random.chance(0.5) ? { ipAllowPolicy: rules } : { ipDenyPolicy: rules };
}

function rateLimit(random: SeededRandom): Json {
  return {
    ...maybe(random, 0.8, () => ({
      local: {
        requests: random.integer(1, 100),
        unit: random.pick(['second', 'minute', 'hour']),
        ...maybe(random, 0.5, () => ({ burst: random.integer(0, 20) })),
        ...maybe(random, 0.3, () => ({ responseStatusCode: 503 })),
        ...maybe(random, 0.3, () => ({ responseHeadersToAdd: [{ name: 'x-limited', value: 'yes' }] })),
      },
    })),
    ...maybe(random, 0.3, () => ({
      global: {
        descriptors: [
          {
            entries: [
              random.pick<Json>([
                { genericKey: { value: 'all' } },
                { remoteAddress: {} },
                { requestHeader: { headerName: 'x-user', descriptorKey: 'user' } },
                { requestHeaderValueMatch: { headers: [{ name: 'x-a', exact: 'b' }], value: 'matched' } },
              ]),
            ],
          },
        ],
      },
    })),
  };
}

function routes(random: SeededRandom, count: number): Json[] {
  return Array.from({ length: count }, (_, at) =>
    route(random, at === 0 && random.chance(0.5) ? undefined : `/r${at}`),
  );
}

function conditions(random: SeededRandom, path: string, isInclude: boolean): Json[] {
  const kinds: Json[] = [{ prefix: path }, { prefix: `${path}/` }, { prefix: '/' }];
  if (!isInclude)
    kinds.push({ exact: path }, { regex: `${path}/.*` }, { regex: `${path}/(` }, { prefix: path.slice(1) });
  const header = () =>
    random.pick<Json>([
      { name: 'x-a', exact: 'b' },
      { name: 'X-A', contains: 'b', ignoreCase: true },
      { name: 'x-a', present: true },
      { name: 'x-a', notpresent: true },
      { name: 'x-a', notexact: 'b', treatMissingAsEmpty: true },
      { name: 'x-a', notcontains: 'b' },
      { name: 'x-a', regex: 'b.*' },
      { name: 'x-a', regex: '(' },
    ]);
  const query = () =>
    random.pick<Json>([
      { name: 'q', exact: 'b' },
      { name: 'q', prefix: 'b', ignoreCase: true },
      { name: 'q', suffix: 'b' },
      { name: 'q', contains: 'b' },
      { name: 'q', regex: 'b.*' },
      { name: 'q', present: true },
    ]);
  return [
    random.pick(kinds.slice(0, random.chance(0.8) ? 4 : kinds.length)),
    ...(random.chance(0.25) ? [{ header: header() }] : []),
    ...(random.chance(0.1) ? [{ header: header() }] : []),
    ...(random.chance(0.15) ? [{ queryParameter: query() }] : []),
  ];
}

function services(random: SeededRandom): Json[] {
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, at) => {
    const name = random.pick([
      'shop',
      'shop',
      'cart',
      'limited',
      'secure',
      'shop',
      'external',
      random.chance(0.3) ? 'missing' : 'shop',
    ]);
    return {
      name,
      port: name === 'secure' ? 443 : random.pick([80, 80, 80, 9090, random.chance(0.2) ? 81 : 80]),
      ...maybe(random, 0.3, () => ({ weight: random.pick([0, 1, 10, 90]) })),
      ...maybe(random, 0.12, () => ({ protocol: random.pick(['h2', 'h2c', 'tls']) })),
      ...maybe(random, 0.05, () => ({
        validation: { caSecret: random.pick(['ca', 'missing']), subjectName: 'shop.test' },
        protocol: 'tls',
      })),
      ...(at > 0 ? maybe(random, 0.15, () => ({ mirror: true })) : {}),
      ...maybe(random, 0.08, () => ({ requestHeadersPolicy: headers(random) })),
      ...maybe(random, 0.08, () => ({ responseHeadersPolicy: headers(random) })),
      ...maybe(random, 0.05, () => ({ slowStartPolicy: { window: '10s', aggression: random.pick(['1.0', '1.5']) } })),
    };
  });
}

function headers(random: SeededRandom): Json {
  return {
    set: [
      random.pick([
        { name: 'x-added', value: 'yes' },
        { name: 'X-Host', value: '%HOSTNAME%' },
        { name: 'x-percent', value: '100%' },
        { name: 'x-namespace', value: '%CONTOUR_NAMESPACE%' },
        { name: 'Host', value: 'other.test' },
        { name: 'x-request', value: '%REQ(X-Foo)%' },
      ]),
    ],
    ...maybe(random, 0.4, () => ({ remove: [random.pick(['x-removed', 'X-Removed-Too'])] })),
  };
}

function balancing(random: SeededRandom): Json {
  return {
    loadBalancerPolicy: random.pick<Json>([
      { strategy: 'Random' },
      { strategy: 'WeightedLeastRequest' },
      { strategy: 'RoundRobin' },
      { strategy: 'Cookie' },
      {
        strategy: 'RequestHash',
        requestHashPolicies: [{ headerHashOptions: { headerName: 'X-User' }, terminal: true }],
      },
      {
        strategy: 'RequestHash',
        requestHashPolicies: [{ hashSourceIP: true }, { queryParameterHashOptions: { parameterName: 'q' } }],
      },
      { strategy: 'RequestHash', requestHashPolicies: [{}] },
      { strategy: 'Unknown' },
    ]),
  };
}

function route(random: SeededRandom, path: string | undefined): Json {
  const match = path === undefined ? {} : { conditions: conditions(random, path, false) };
  const common = {
    ...match,
    ...maybe(random, 0.1, () => ({ permitInsecure: true })),
    ...maybe(random, 0.1, () => ({ requestHeadersPolicy: headers(random) })),
    ...maybe(random, 0.1, () => ({ responseHeadersPolicy: headers(random) })),
    ...maybe(random, 0.06, () => ({ rateLimitPolicy: rateLimit(random) })),
    ...maybe(random, 0.06, () => ipFilter(random)),
    ...maybe(random, 0.06, () => ({ authPolicy: random.pick<Json>([{ disabled: true }, { context: { c: 'd' } }]) })),
    ...maybe(random, 0.04, () => ({
      jwtVerificationPolicy: random.pick<Json>([{ disabled: true }, { require: 'keys' }, { require: 'none' }]),
    })),
    ...maybe(random, 0.05, () => ({
      cookieRewritePolicies: [{ name: 'session', secure: true, sameSite: 'Strict', pathRewrite: { value: '/' } }],
    })),
  };
  if (random.chance(0.08))
    return {
      ...common,
      requestRedirectPolicy: {
        ...maybe(random, 0.5, () => ({ scheme: 'https' })),
        ...maybe(random, 0.5, () => ({ hostname: 'new.test' })),
        ...maybe(random, 0.4, () => ({ port: 8443 })),
        ...maybe(random, 0.4, () => ({ path: '/new' })),
        ...maybe(random, 0.2, () => ({ prefix: '/new' })),
        ...maybe(random, 0.4, () => ({ statusCode: random.pick([301, 302, 303, 307, 308]) })),
      },
    };
  if (random.chance(0.08))
    return {
      ...common,
      directResponsePolicy: {
        statusCode: random.pick([200, 404, 503]),
        ...maybe(random, 0.6, () => ({ body: 'hello' })),
      },
      ...maybe(random, 0.05, () => ({ services: services(random) })),
    };
  return {
    ...common,
    ...(random.chance(0.97) && { services: services(random) }),
    ...maybe(random, 0.1, () => ({ enableWebsockets: true })),
    ...maybe(random, 0.15, () => ({
      timeoutPolicy: {
        ...maybe(random, 0.7, () => ({ response: random.pick(['5s', 'infinity', '1m30s', '.s']) })),
        ...maybe(random, 0.4, () => ({ idle: random.pick(['10s', 'infinity']) })),
        ...maybe(random, 0.4, () => ({ idleConnection: '20s' })),
      },
    })),
    ...maybe(random, 0.15, () => ({
      retryPolicy: {
        ...maybe(random, 0.7, () => ({ count: random.pick([0, 1, 3, -1]) })),
        ...maybe(random, 0.5, () => ({ perTryTimeout: random.pick(['1s', 'infinity']) })),
        ...maybe(random, 0.4, () => ({ retryOn: ['gateway-error', 'connect-failure'] })),
        ...maybe(random, 0.3, () => ({ retriableStatusCodes: [503], retryOn: ['retriable-status-codes'] })),
      },
    })),
    ...maybe(random, 0.1, () => ({
      healthCheckPolicy: {
        path: '/healthy',
        ...maybe(random, 0.5, () => ({ intervalSeconds: 7, timeoutSeconds: 3 })),
        ...maybe(random, 0.5, () => ({ unhealthyThresholdCount: 4, healthyThresholdCount: 1 })),
        ...maybe(random, 0.3, () => ({ host: 'probe.test' })),
        ...maybe(random, 0.3, () => ({ expectedStatuses: [{ start: 200, end: random.pick([300, 205, 200]) }] })),
      },
    })),
    ...maybe(random, 0.12, () => balancing(random)),
    ...maybe(random, 0.1, () => ({
      pathRewritePolicy: {
        replacePrefix: random.pick([
          [{ replacement: '/new' }],
          [{ prefix: '/r1', replacement: '/' }],
          [{ replacement: '/a' }, { replacement: '/b' }],
        ]),
      },
    })),
    ...maybe(random, 0.06, () => ({
      internalRedirectPolicy: {
        ...maybe(random, 0.5, () => ({ maxInternalRedirects: 3 })),
        ...maybe(random, 0.5, () => ({ redirectResponseCodes: [301, 302] })),
        ...maybe(random, 0.5, () => ({ allowCrossSchemeRedirect: random.pick(['Always', 'SafeOnly']) })),
        ...maybe(random, 0.5, () => ({ denyRepeatedRouteRedirect: true })),
      },
    })),
  };
}

function ingressCase(index: number, random: SeededRandom): Case {
  const name = `case-${index}`;
  const host = random.chance(0.15) ? `*.wild-${index}.test` : `host-${index}.test`;
  const path = (at: number): Json => ({
    path: random.pick(['/', `/p${at}`, `/p${at}/`, `/p${at}/.*`, `/p[${at}]+`]),
    pathType: random.pick(['Prefix', 'Exact', 'ImplementationSpecific']),
    backend: {
      service: {
        name: random.pick(['shop', 'cart', 'limited', random.chance(0.3) ? 'missing' : 'shop']),
        port: random.pick<Json>([{ number: 80 }, { name: 'metrics' }]),
      },
    },
  });
  const annotations: Record<string, string> = {};
  const annotate = (probability: number, key: string, values: readonly string[]) => {
    if (random.chance(probability)) annotations[key] = random.pick(values);
  };
  annotate(0.2, 'projectcontour.io/response-timeout', ['5s', 'infinity', 'soon']);
  annotate(0.2, 'projectcontour.io/retry-on', ['5xx,gateway-error']);
  annotate(0.2, 'projectcontour.io/num-retries', ['3', '-1', '0']);
  annotate(0.15, 'projectcontour.io/per-try-timeout', ['1s']);
  annotate(0.1, 'projectcontour.io/websocket-routes', ['/p0,/']);
  annotate(0.15, 'ingress.kubernetes.io/force-ssl-redirect', ['true', 'false']);
  annotate(0.1, 'kubernetes.io/ingress.allow-http', ['false']);
  annotate(0.1, 'projectcontour.io/tls-minimum-protocol-version', ['1.3', '1.2', '1.1']);
  const hasTls = random.chance(0.4);
  const spec = {
    ...(hasTls && { tls: [{ hosts: [host], secretName: random.pick(['tls', 'tls', 'missing']) }] }),
    rules: [{ host, http: { paths: Array.from({ length: random.integer(1, 3) }, (_, at) => path(at)) } }],
  };
  return {
    name,
    hosts: [host],
    objects: [object('networking.k8s.io/v1', 'Ingress', { name, namespace: 'default', annotations }, spec)],
  };
}
