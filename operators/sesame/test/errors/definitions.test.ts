// Values that the server refuses before any Sesame sees them: those that Contour's CustomResourceDefinitions refuse.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';

/** A value of a wrong type or of no enum leaves rules unchecked, which the server reports without a field. */
const fieldOf = ({ field }: { readonly field: string }) => (field === NO_FIELD ? [] : field);
const NO_FIELD = '<nil>';

const services = [{ name: 'shop', port: 80 }];
const metadata = { namespace: 'default', name: 'shop' };
const problems = (spec: object) =>
  HTTPProxy.validate({ apiVersion: HTTPProxy.apiVersion, kind: 'HTTPProxy', metadata, spec }).flatMap(fieldOf);
const route = (more: object) => ({ routes: [{ services, ...more }] });
const host = (more: object) => ({ virtualhost: { fqdn: 'shop.test', ...more }, routes: [{ services }] });
const cookie = (more: object) => route({ cookieRewritePolicies: [{ name: 'session', secure: true, ...more }] });
const redirect = (more: object) => ({ routes: [{ requestRedirectPolicy: more }] });
const balancing = (hash: object) =>
  route({ loadBalancerPolicy: { strategy: 'RequestHash', requestHashPolicies: [hash] } });
const authorization = (more: object) => host({ authorization: { extensionRef: { name: 'auth' }, ...more } });
const token = (more: object) => host({ jwtProviders: [{ name: 'a', localJWKS: { secretName: 'keys' }, ...more }] });
const service = (more: object) => ({ routes: [{ services: [{ name: 'shop', port: 80, ...more }] }] });

/** The path of the field, an object that is refused for it, and one that is not. */
const CASES: readonly (readonly [path: string, refused: object, taken: object])[] = [
  ['virtualhost.fqdn', host({ fqdn: 'Shop.test' }), host({ fqdn: '*.shop.test' })],
  ['virtualhost.fqdn', host({ fqdn: 'a.*.test' }), host({ fqdn: '*' })],
  [
    'routes[0].timeoutPolicy.response',
    route({ timeoutPolicy: { response: '10' } }),
    route({ timeoutPolicy: { response: '1m2.5s' } }),
  ],
  [
    'routes[0].timeoutPolicy.idle',
    route({ timeoutPolicy: { idle: '-1s' } }),
    route({ timeoutPolicy: { idle: 'infinity' } }),
  ],
  [
    'routes[0].retryPolicy.perTryTimeout',
    route({ retryPolicy: { perTryTimeout: 'soon' } }),
    route({ retryPolicy: { perTryTimeout: '1h' } }),
  ],
  ['routes[0].cookieRewritePolicies[0].name', cookie({ name: 'a;b' }), cookie({ name: 'a.b' })],
  ['routes[0].cookieRewritePolicies[0].sameSite', cookie({ sameSite: 'strict' }), cookie({ sameSite: 'Strict' })],
  [
    'routes[0].cookieRewritePolicies[0].pathRewrite.value',
    cookie({ pathRewrite: { value: '/a;b' } }),
    cookie({ pathRewrite: { value: '/a' } }),
  ],
  [
    'routes[0].cookieRewritePolicies[0].domainRewrite.value',
    cookie({ domainRewrite: { value: '.a.test' } }),
    cookie({ domainRewrite: { value: 'a.test' } }),
  ],
  ['routes[0].requestRedirectPolicy.statusCode', redirect({ statusCode: 304 }), redirect({ statusCode: 308 })],
  ['routes[0].requestRedirectPolicy.hostname', redirect({ hostname: 'a_b' }), redirect({ hostname: 'a.test' })],
  ['routes[0].requestRedirectPolicy.scheme', redirect({ scheme: 'ftp' }), redirect({ scheme: 'https' })],
  ['routes[0].requestRedirectPolicy.path', redirect({ path: 'a' }), redirect({ path: '/a' })],
  [
    'routes[0].internalRedirectPolicy.redirectResponseCodes[0]',
    route({ internalRedirectPolicy: { redirectResponseCodes: [300] } }),
    route({ internalRedirectPolicy: { redirectResponseCodes: [301] } }),
  ],
  [
    'routes[0].internalRedirectPolicy.allowCrossSchemeRedirect',
    route({ internalRedirectPolicy: { allowCrossSchemeRedirect: 'never' } }),
    route({ internalRedirectPolicy: { allowCrossSchemeRedirect: 'Never' } }),
  ],
  [
    'routes[0].ipAllowPolicy[0].source',
    route({ ipAllowPolicy: [{ source: 'peer', cidr: '10.0.0.0/8' }] }),
    route({ ipAllowPolicy: [{ source: 'Peer', cidr: '10.0.0.0/8' }] }),
  ],
  [
    'routes[0].loadBalancerPolicy.requestHashPolicies[0].headerHashOptions.headerName',
    balancing({ headerHashOptions: {} }),
    balancing({ headerHashOptions: { headerName: 'x' } }),
  ],
  [
    'routes[0].rateLimitPolicy.local.unit',
    route({ rateLimitPolicy: { local: { requests: 1, unit: 'day' } } }),
    route({ rateLimitPolicy: { local: { requests: 1, unit: 'hour' } } }),
  ],
  ['routes[0].services[0].protocol', service({ protocol: 'http' }), service({ protocol: 'h2c' })],
  [
    'routes[0].services[0].slowStartPolicy.window',
    service({ slowStartPolicy: { window: '5' } }),
    service({ slowStartPolicy: { window: '5s' } }),
  ],
  [
    'routes[0].services[0].slowStartPolicy.aggression',
    service({ slowStartPolicy: { window: '5s', aggression: 'x' } }),
    service({ slowStartPolicy: { window: '5s', aggression: '.5' } }),
  ],
  [
    'routes[0].services[0].validation',
    service({ validation: { caSecret: 'ca', subjectName: 'a', subjectNames: ['b'] } }),
    service({ validation: { caSecret: 'ca', subjectName: 'a', subjectNames: ['a', 'b'] } }),
  ],
  [
    'virtualhost.authorization.serviceType',
    authorization({ serviceType: 'GRPC' }),
    authorization({ serviceType: 'grpc' }),
  ],
  [
    'virtualhost.authorization',
    authorization({ httpSettings: {} }),
    authorization({ serviceType: 'http', httpSettings: {} }),
  ],
  [
    'virtualhost.authorization.httpSettings.allowedUpstreamHeaders[0]',
    authorization({ serviceType: 'http', httpSettings: { allowedUpstreamHeaders: [{ exact: 'a', prefix: 'b' }] } }),
    authorization({ serviceType: 'http', httpSettings: { allowedUpstreamHeaders: [{ exact: 'a' }] } }),
  ],
  [
    'virtualhost.corsPolicy.allowMethods[0]',
    host({ corsPolicy: { allowOrigin: ['*'], allowMethods: ['GET,PUT'] } }),
    host({ corsPolicy: { allowOrigin: ['*'], allowMethods: ['GET'], maxAge: '0' } }),
  ],
  ['virtualhost.jwtProviders[0]', token({ remoteJWKS: { uri: 'https://a.test' } }), token({})],
];

suite('the server refuses', () => {
  for (const [path, refused, taken] of CASES)
    test(`a value of ${path} that Contour refuses, and takes another one`, () => {
      assert.deepEqual(problems(refused), [`spec.${path}`]);
      assert.deepEqual(problems(taken), []);
    });

  test('protocols of an ExtensionService that are not known', () => {
    const of = (protocol: string) =>
      ExtensionService.validate({
        apiVersion: ExtensionService.apiVersion,
        kind: 'ExtensionService',
        metadata,
        spec: { services, protocol },
      }).flatMap(fieldOf);
    assert.deepEqual([of('h2c'), of('http/1.1'), of('http')], [[], [], ['spec.protocol']]);
  });

  test('nothing of a new HTTPProxy, whose status shows that no Sesame has read it', () => {
    const created = HTTPProxy.withDefaults({ apiVersion: HTTPProxy.apiVersion, kind: 'HTTPProxy', metadata, spec: {} });
    assert.deepEqual(created.status, { currentStatus: 'NotReconciled', description: 'Waiting for controller' });
  });
});
