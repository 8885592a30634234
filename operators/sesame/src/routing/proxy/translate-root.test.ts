import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { HTTPProxy } from '../../kinds/http-proxy.ts';
import { testSettings } from '../default-settings.ts';
import { routeMessage } from '../envoy/route-message.ts';
import type { Lookup, ServiceView } from '../lookup.ts';
import { hostTokens } from '../policy/jwt.ts';
import { translateRoot } from './translate-root.ts';

type Spec = HTTPProxy['spec'];

const shop: ServiceView = {
  namespace: 'default',
  name: 'shop',
  type: 'ClusterIP',
  externalName: undefined,
  ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: undefined, targetPort: 8080 }],
  annotations: {},
};
const services = [{ name: 'shop', port: 80 }];
const route = { services };
const host = { fqdn: 'a.test' };

function proxy(name: string, spec: Spec, namespace = 'default'): HTTPProxy {
  return { apiVersion: 'projectsesame.io/v1', kind: 'HTTPProxy', metadata: { name, namespace }, spec };
}

function lookup(others: readonly HTTPProxy[] = []): Lookup {
  return {
    proxy: (namespace, name) =>
      others.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
    service: (namespace, name) => {
      if (name === 'external') return { ...shop, name, type: 'ExternalName', externalName: 'localhost' };
      return namespace === 'default' && name === 'shop' ? shop : undefined;
    },
    secret: () => undefined,
    extensionService: () => undefined,
    delegations: () => [],
  };
}

/** Returns the problems that are reported on the root, as `Type/Reason`. */
function problems(spec: Spec, others: readonly HTTPProxy[] = [], olderRoot?: string): string[] {
  const { findings } = translateRoot(proxy('root', spec), lookup(others), testSettings(), {
    olderRoots: new Map(olderRoot === undefined ? [] : [['a.test', olderRoot]]),
  });
  const { errors = [], warnings = [] } = findings.get('default/root') ?? {};
  return [
    ...errors.map(({ type, reason }) => `${type}/${reason}`),
    ...warnings.map(({ type, reason }) => `warning ${type}/${reason}`),
  ];
}

const withRoute = (more: object): Spec => ({ virtualhost: host, routes: [{ services, ...more }] });
const withHost = (more: object): Spec => ({ virtualhost: { ...host, ...more }, routes: [route] });
const withService = (more: object): Spec =>
  ({ virtualhost: host, routes: [{ services: [{ ...services[0], ...more }] }] }) as Spec;
const conditions = (...list: object[]) => withRoute({ conditions: list });
const child = (name: string, spec: Spec) => proxy(name, spec);

const cases: [what: string, spec: Spec, expected: string[], others?: HTTPProxy[]][] = [
  ['a plain root', withRoute({}), []],
  ['no fqdn', { virtualhost: {}, routes: [route] }, ['VirtualHostError/FQDNNotSpecified']],
  [
    'an fqdn that is no name',
    { virtualhost: { fqdn: 'a..b' }, routes: [route] },
    ['VirtualHostError/FQDNNotSpecified'],
  ],
  [
    'a global limit by a header that no request can have',
    withHost({
      rateLimitPolicy: {
        global: { descriptors: [{ entries: [{ requestHeader: { headerName: 'a\nb', descriptorKey: 'x' } }] }] },
      },
    }),
    ['VirtualHostError/RefusedByEnvoy'],
  ],
  ['nothing at all', { virtualhost: host }, ['SpecError/NothingDefined']],
  ['a path without a slash', conditions({ prefix: 'api' }), ['RouteError/PathMatchConditionsNotValid']],
  ['an exact path without a slash', conditions({ exact: 'api' }), ['RouteError/PathMatchConditionsNotValid']],
  ['a regex without a slash', conditions({ regex: '[a-z]' }), ['RouteError/PathMatchConditionsNotValid']],
  ['a look-ahead', conditions({ regex: '/(?=a)' }), ['RouteError/PathMatchConditionsNotValid']],
  ['a back-reference', conditions({ regex: '/(a)\\1' }), ['RouteError/PathMatchConditionsNotValid']],
  ['an open bracket', conditions({ regex: '/[a' }), ['RouteError/PathMatchConditionsNotValid']],
  ['two prefixes', conditions({ prefix: '/a' }, { prefix: '/b' }), ['RouteError/PathMatchConditionsNotValid']],
  [
    'a prefix and an exact path',
    conditions({ prefix: '/a' }, { exact: '/b' }),
    ['RouteError/PathMatchConditionsNotValid'],
  ],
  [
    'two exact values of one header',
    conditions({ header: { name: 'x', exact: 'a' } }, { header: { name: 'X', exact: 'b' } }),
    ['RouteError/HeaderMatchConditionsNotValid'],
  ],
  [
    'a header that contains and does not',
    conditions({ header: { name: 'x', contains: 'a' } }, { header: { name: 'x', notcontains: 'a' } }),
    ['RouteError/HeaderMatchConditionsNotValid'],
  ],
  [
    'a header regex that RE2 refuses',
    conditions({ header: { name: 'x', regex: '(?!a)' } }),
    ['RouteError/HeaderMatchConditionsNotValid'],
  ],
  [
    'a query parameter without a condition',
    conditions({ queryParameter: { name: 'q' } }),
    ['RouteError/QueryParameterMatchConditionsNotValid'],
  ],
  [
    'a query parameter with two conditions',
    conditions({ queryParameter: { name: 'q', exact: 'a', prefix: 'b' } }),
    ['RouteError/QueryParameterMatchConditionsNotValid'],
  ],
  ['no action', { virtualhost: host, routes: [{}] }, ['RouteError/RouteActionCountNotValid']],
  ['two actions', withRoute({ directResponsePolicy: { statusCode: 200 } }), ['RouteError/RouteActionCountNotValid']],
  ['a Service that is missing', withService({ name: 'gone' }), ['ServiceError/ServiceUnresolvedReference']],
  ['a port that the Service does not have', withService({ port: 81 }), ['ServiceError/ServiceUnresolvedReference']],
  [
    'a health port that the Service does not have',
    withService({ healthPort: 81 }),
    ['ServiceError/ServiceUnresolvedReference'],
  ],
  ['a port that is none', withService({ port: 70_000 }), ['ServiceError/ServicePortInvalid']],
  ['an ExternalName, which is off', withService({ name: 'external' }), ['ServiceError/ServiceUnresolvedReference']],
  ['a protocol that does not exist', withService({ protocol: 'h3' }), ['ServiceError/UnsupportedProtocol']],
  [
    'two mirrors',
    {
      virtualhost: host,
      routes: [{ services: [...services, { ...services[0], mirror: true }, { ...services[0], mirror: true }] }],
    } as Spec,
    ['ServiceError/OnlyOneMirror'],
  ],
  [
    'a CA that is missing',
    withService({ protocol: 'tls', validation: { caSecret: 'ca', subjectName: 'x' } }),
    ['ServiceError/TLSUpstreamValidation'],
  ],
  [
    'a CA of another namespace that is not delegated',
    withService({ protocol: 'tls', validation: { caSecret: 'other/ca', subjectName: 'x' } }),
    ['TLSError/CACertificateNotDelegated'],
  ],
  [
    'a slow start without a duration',
    withService({ slowStartPolicy: { window: 'long' } }),
    ['ServiceError/SlowStartInvalid'],
  ],
  [
    'a slow start with random choice',
    {
      virtualhost: host,
      routes: [
        {
          services: [{ ...services[0], slowStartPolicy: { window: '1s' } }],
          loadBalancerPolicy: { strategy: 'Random' },
        },
      ],
    } as Spec,
    ['ServiceError/SlowStartInvalid'],
  ],
  [
    'a timeout that is no duration',
    withRoute({ timeoutPolicy: { response: 'soon' } }),
    ['RouteError/TimeoutPolicyNotValid'],
  ],
  ['a negative timeout', withRoute({ timeoutPolicy: { idle: '-1s' } }), ['RouteError/TimeoutPolicyNotValid']],
  [
    'a header set twice',
    withRoute({
      requestHeadersPolicy: {
        set: [
          { name: 'x-a', value: '1' },
          { name: 'X-A', value: '2' },
        ],
      },
    }),
    ['RouteError/RequestHeadersPolicyInvalid'],
  ],
  [
    'a header removed twice',
    withRoute({ requestHeadersPolicy: { remove: ['x', 'X'] } }),
    ['RouteError/RequestHeadersPolicyInvalid'],
  ],
  [
    'a header name with a colon',
    withRoute({ requestHeadersPolicy: { set: [{ name: ':path', value: 'x' }] } }),
    ['RouteError/RequestHeadersPolicyInvalid'],
  ],
  [
    'Host in a response',
    withRoute({ responseHeadersPolicy: { set: [{ name: 'Host', value: 'x' }] } }),
    ['RouteError/ResponseHeaderPolicyInvalid'],
  ],
  [
    'Host of a service from a header',
    withService({ requestHeadersPolicy: { set: [{ name: 'Host', value: '%REQ(X)%' }] } }),
    ['ServiceError/RequestHeadersPolicyInvalid'],
  ],
  [
    'a cookie without a rewrite',
    withRoute({ cookieRewritePolicies: [{ name: 'a' }] }),
    ['RouteError/CookieRewritePoliciesInvalid'],
  ],
  [
    'a cookie twice',
    withRoute({
      cookieRewritePolicies: [
        { name: 'a', secure: true },
        { name: 'a', secure: false },
      ],
    }),
    ['RouteError/CookieRewritePoliciesInvalid'],
  ],
  [
    'a limit with an unknown unit',
    withRoute({ rateLimitPolicy: { local: { requests: 1, unit: 'day' } } }),
    ['RouteError/RateLimitPolicyNotValid'],
  ],
  ['a limit of nothing', withRoute({ rateLimitPolicy: {} }), []],
  [
    'a descriptor entry with two kinds',
    withRoute({
      rateLimitPolicy: { global: { descriptors: [{ entries: [{ genericKey: { value: 'a' }, remoteAddress: {} }] }] } },
    }),
    ['RouteError/RateLimitPolicyNotValid'],
  ],
  [
    'a limit of the host with an unknown unit',
    withHost({ rateLimitPolicy: { local: { requests: 1, unit: 'x' } } }),
    ['VirtualHostError/RateLimitPolicyNotValid'],
  ],
  [
    'a health check path without a slash',
    withRoute({ healthCheckPolicy: { path: 'healthz' } }),
    ['RouteError/HealthCheckPolicyInvalid'],
  ],
  [
    'a redirect with path and prefix',
    { virtualhost: host, routes: [{ requestRedirectPolicy: { path: '/a', prefix: '/b' } }] },
    ['RouteError/RequestRedirectPolicy'],
  ],
  [
    'a redirect status that is none',
    { virtualhost: host, routes: [{ requestRedirectPolicy: { statusCode: 200 } }] },
    ['RouteError/RequestRedirectPolicy'],
  ],
  [
    'a prefix replacement of an exact path',
    withRoute({ conditions: [{ exact: '/a' }], pathRewritePolicy: { replacePrefix: [{ replacement: '/b' }] } }),
    ['PrefixReplaceError/MustHavePrefix'],
  ],
  [
    'the same prefix replaced twice',
    withRoute({
      conditions: [{ prefix: '/a' }],
      pathRewritePolicy: {
        replacePrefix: [
          { prefix: '/a', replacement: '/b' },
          { prefix: '/a', replacement: '/c' },
        ],
      },
    }),
    ['PrefixReplaceError/DuplicateReplacement'],
  ],
  [
    'two replacements for all prefixes',
    withRoute({
      conditions: [{ prefix: '/a' }],
      pathRewritePolicy: { replacePrefix: [{ replacement: '/b' }, { replacement: '/c' }] },
    }),
    ['PrefixReplaceError/AmbiguousReplacement'],
  ],
  [
    'allowed and denied addresses',
    withRoute({
      ipAllowPolicy: [{ source: 'Peer', cidr: '10.0.0.0/8' }],
      ipDenyPolicy: [{ source: 'Peer', cidr: '10.0.0.1' }],
    }),
    ['IPFilterError/IncompatibleIPAddressFilters'],
  ],
  [
    'a CIDR that is none',
    withHost({ ipAllowPolicy: [{ source: 'Peer', cidr: '10.0.0.0/99' }] }),
    ['IPFilterError/InvalidCIDR'],
  ],
  [
    'a source that is none',
    withHost({ ipDenyPolicy: [{ source: 'Elsewhere', cidr: '10.0.0.1' }] }),
    ['IPFilterError/IPFilterPolicyNotValid'],
  ],
  [
    'a CORS origin that is no pattern',
    withHost({ corsPolicy: { allowOrigin: ['**'], allowMethods: ['GET'] } }),
    ['CORSError/PolicyDidNotParse'],
  ],
  [
    'a negative CORS age',
    withHost({ corsPolicy: { allowOrigin: ['*'], allowMethods: ['GET'], maxAge: '-5s' } }),
    ['CORSError/PolicyDidNotParse'],
  ],
  ['a Secret that is missing', withHost({ tls: { secretName: 'gone' } }), ['TLSError/SecretNotValid']],
  [
    'a Secret that is not delegated',
    withHost({ tls: { secretName: 'other/gone' } }),
    ['TLSError/DelegationNotPermitted'],
  ],
  ['TLS without a Secret', withHost({ tls: {} }), ['TLSError/TLSConfigNotValid']],
  [
    'TLS with a Secret and passthrough',
    withHost({ tls: { secretName: 'a', passthrough: true } }),
    ['TLSError/TLSConfigNotValid'],
  ],
  [
    'a minimum above the maximum',
    withHost({ tls: { secretName: 'a', minimumProtocolVersion: '1.3', maximumProtocolVersion: '1.2' } }),
    ['TLSError/TLSConfigNotValid'],
  ],
  [
    'JWT without TLS',
    withHost({ jwtProviders: [{ name: 'a', localJWKS: { secretName: 'x' } }] }),
    ['JWTVerificationError/JWTVerificationNotPermitted'],
  ],
  [
    'authorization without TLS by a service that is missing',
    withHost({ authorization: { extensionRef: { name: 'a' } } }),
    ['AuthError/ExtensionServiceNotFound'],
  ],
  [
    'a JWT provider that is not defined',
    withRoute({ jwtVerificationPolicy: { require: 'a' } }),
    ['JWTVerificationError/JWTProviderNotDefined'],
  ],
  [
    'JWT required and disabled',
    withRoute({ jwtVerificationPolicy: { require: 'a', disabled: true } }),
    ['JWTVerificationError/InvalidJWTVerificationPolicy'],
  ],
  ['a TCP proxy without TLS', { virtualhost: host, tcpproxy: { services } }, ['TCPProxyError/TLSMustBeConfigured']],
  [
    'an empty TCP proxy',
    { virtualhost: { ...host, tls: { passthrough: true } }, tcpproxy: {} },
    ['TCPProxyError/NothingDefined'],
  ],
  [
    'a TCP proxy with services and an include',
    { virtualhost: { ...host, tls: { passthrough: true } }, tcpproxy: { services, include: { name: 'x' } } },
    ['TCPProxyError/NoServicesAndInclude'],
  ],
  [
    'a TCP include that is missing',
    { virtualhost: { ...host, tls: { passthrough: true } }, tcpproxy: { include: { name: 'x' } } },
    ['TCPProxyIncludeError/IncludeNotFound'],
  ],
  [
    'a TCP proxy to a missing Service',
    { virtualhost: { ...host, tls: { passthrough: true } }, tcpproxy: { services: [{ name: 'gone', port: 1 }] } },
    ['TCPProxyError/ServiceUnresolvedReference'],
  ],
  [
    'a TCP proxy by cookie',
    {
      virtualhost: { ...host, tls: { passthrough: true } },
      tcpproxy: { services, loadBalancerPolicy: { strategy: 'Cookie' } },
    },
    ['warning TCPProxyError/IgnoredField'],
  ],
  ['an include that is missing', { virtualhost: host, includes: [{ name: 'gone' }] }, ['IncludeError/IncludeNotFound']],
  [
    'an include of a root',
    { virtualhost: host, includes: [{ name: 'b' }] },
    ['IncludeError/RootIncludesRoot'],
    [child('b', { virtualhost: { fqdn: 'b.test' } })],
  ],
  [
    'an include with an exact path',
    { virtualhost: host, includes: [{ name: 'b', conditions: [{ exact: '/a' }] }] },
    ['IncludeError/PathMatchConditionsNotValid'],
    [child('b', { routes: [route] })],
  ],
  [
    'the same conditions twice',
    {
      virtualhost: host,
      includes: [
        { name: 'b', conditions: [{ prefix: '/a' }] },
        { name: 'c', conditions: [{ prefix: '/a' }] },
      ],
    },
    ['IncludeError/DuplicateMatchConditions'],
    [child('b', { routes: [route] }), child('c', { routes: [route] })],
  ],
  [
    'a hash without policies',
    withRoute({ loadBalancerPolicy: { strategy: 'RequestHash' } }),
    ['warning SpecError/IgnoredField'],
  ],
  ['an unknown strategy', withRoute({ loadBalancerPolicy: { strategy: 'Best' } }), ['warning SpecError/IgnoredField']],
  [
    'a retry condition that Envoy does not know',
    withRoute({ retryPolicy: { retryOn: ['5xx', 'gateway-errors'] } }),
    ['warning SpecError/IgnoredField'],
  ],
  [
    'a body of an answer that has none',
    { virtualhost: host, routes: [{ directResponsePolicy: { statusCode: 204, body: 'gone' } }] },
    ['warning SpecError/IgnoredField'],
  ],
  [
    'a weight that Envoy refuses',
    withRoute({
      conditions: [{ prefix: '/a' }],
      rateLimitPolicy: { local: { requests: 1, unit: 'second', responseHeadersToAdd: [{ name: 'x', value: 'a\nb' }] } },
    }),
    ['RouteError/RefusedByEnvoy'],
  ],
];

suite('problems of a root HTTPProxy', () => {
  for (const [what, spec, expected, others] of cases) {
    test(`${what}: ${expected.join(', ') || 'valid'}`, () => assert.deepEqual(problems(spec, others), expected));
  }

  test('two roots of one host: DuplicateVhost', () => {
    assert.deepEqual(problems(withRoute({}), [], 'other/older'), ['VirtualHostError/DuplicateVhost']);
  });

  test('a cycle of includes is reported where it closes, and the rest is served', () => {
    const b = child('b', { includes: [{ name: 'c' }], routes: [{ ...route, conditions: [{ prefix: '/b' }] }] });
    const c = child('c', { includes: [{ name: 'b' }], routes: [{ ...route, conditions: [{ prefix: '/c' }] }] });
    const root = proxy('root', { virtualhost: host, includes: [{ name: 'b' }] });
    const {
      parts: [part],
      findings,
    } = translateRoot(root, lookup([b, c]), testSettings());
    assert.deepEqual(
      findings.get('default/c')?.errors.map(({ reason }) => reason),
      ['IncludeCreatesCycle'],
    );
    assert.deepEqual(findings.get('default/root')?.errors, []);
    assert.deepEqual(part?.plain.map(({ match }) => match.path.value).sort(), ['/b', '/c']);
  });

  test('conditions of includes are joined, and the leaf decides the kind of the path', () => {
    const b = child('b', { routes: [{ ...route, conditions: [{ exact: '/leaf' }] }, route] });
    const root = proxy('root', {
      virtualhost: host,
      includes: [{ name: 'b', conditions: [{ prefix: '/api/' }, { header: { name: 'x', present: true } }] }],
    });
    const {
      parts: [part],
    } = translateRoot(root, lookup([b]), testSettings());
    assert.deepEqual(
      part?.plain.map(({ match }) => [match.path, match.headers.length]),
      [
        [{ kind: 'exact', value: '/api/leaf' }, 1],
        [{ kind: 'prefix', value: '/api/' }, 1],
      ],
    );
  });

  test('a form of a replaced prefix that an included proxy routes itself is left to it', () => {
    const b = child('b', {
      routes: [
        { ...route, conditions: [{ prefix: '/foo/' }] },
        {
          ...route,
          conditions: [{ prefix: '/foo' }],
          pathRewritePolicy: { replacePrefix: [{ replacement: '/bar' }] },
        },
      ],
    });
    const root = proxy('root', { virtualhost: host, includes: [{ name: 'b', conditions: [{ prefix: '/api' }] }] });
    const {
      parts: [part],
    } = translateRoot(root, lookup([b]), testSettings());
    assert.deepEqual(
      part?.plain.map((route) => [route.match.path.value, routeMessage(route).route?.prefix_rewrite]),
      [
        ['/api/foo/', undefined],
        ['/api/foo', '/bar'],
      ],
    );
  });

  test('providers of tokens that fetch keys from one address in different ways have clusters of their own', () => {
    const keys = (more: object) => ({ remoteJWKS: { uri: 'https://issuer.test/keys', ...more } });
    const jwtProviders = [
      { name: 'a', ...keys({}) },
      { name: 'b', ...keys({}) },
      { name: 'c', ...keys({ dnsLookupFamily: 'v6' }) },
    ];
    const { verification, clusters } =
      hostTokens(jwtProviders, { kind: 'HTTPProxy', namespace: 'default', name: 'root' }, lookup(), testSettings(), {
        error: assert.fail,
        warn: assert.fail,
      }) ?? {};
    const named =
      verification?.providers.map(({ keys: found }) => (found.kind === 'remote' ? found.cluster.name : '')) ?? [];
    assert.equal(named[0], 'dnsname/https/issuer.test');
    assert.deepEqual([named[0] === named[1], named[0] === named[2]], [true, false]);
    assert.deepEqual(new Set(clusters?.map(({ name }) => name)), new Set(named));
  });
});
