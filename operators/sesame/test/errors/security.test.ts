// No setting of one object weakens the security of another: a rule for each setting that is inherited or merged.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, suite, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { parse } from 'yaml';
import { type Mutable, testSettings } from '../../src/routing/default-settings.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { createSecrets } from './secrets.ts';
import { type Outcome, outcomeOf } from './served.ts';

const world = parse(readFileSync(`${import.meta.dirname}/world.yaml`, 'utf8')) as KubeObject[];
const services = [{ name: 'shop', port: 80 }];
const tls = { secretName: 'tls' };
const AUTH = { extensionRef: { name: 'auth' } };
const GLOBAL = { extensionRef: { namespace: 'default', name: 'auth' } };
const OFF = /ExtAuthzPerRoute","disabled":true/;

const object = (apiVersion: string, kind: string, namespace: string, name: string, more: object) =>
  ({
    apiVersion,
    kind,
    metadata: { namespace, name, ...('metadata' in more ? (more.metadata as object) : {}) },
    ...('spec' in more && { spec: more.spec }),
  }) as KubeObject;
const proxy = (virtualhost: object, more: object = {}) =>
  object('projectsesame.io/v1', 'HTTPProxy', 'default', 'host', {
    spec: { virtualhost: { fqdn: 'host.test', ...virtualhost }, routes: [{ services }], ...more },
  });
const ingress = (name: string, path: string, { annotations = {}, isSecure = true, createdAt = '' } = {}) =>
  object('networking.k8s.io/v1', 'Ingress', 'default', name, {
    metadata: { annotations, ...(createdAt !== '' && { creationTimestamp: createdAt }) },
    spec: {
      ...(isSecure && { tls: [{ hosts: ['host.test'], secretName: 'tls' }] }),
      rules: [
        {
          host: 'host.test',
          http: { paths: [{ path, pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }] },
        },
      ],
    },
  });

suite('the security of an object is its own', () => {
  let secrets: KubeObject[] = [];
  before(async () => {
    secrets = await createSecrets();
  });
  const outcome = (objects: readonly KubeObject[], change?: (settings: Mutable<RoutingSettings>) => void): Outcome =>
    outcomeOf([...world, ...secrets, ...objects], testSettings(change), ['host.test']);
  const content = (...args: Parameters<typeof outcome>): string => outcome(...args).content('host.test');

  test('a host with an authorization service of its own inherits nothing from the global one', () => {
    const own = content([proxy({ tls, authorization: AUTH })]);
    for (const more of [
      { failOpen: true },
      { responseTimeout: '9s' },
      { withRequestBody: { allowPartialMessage: true } },
      { authPolicy: { context: { tenant: 'global' } } },
      { authPolicy: { disabled: true } },
    ]) {
      const inherited = content([proxy({ tls, authorization: AUTH })], (settings) => {
        settings.globalExtAuth = { ...GLOBAL, ...more };
      });
      assert.equal(inherited, own, JSON.stringify(more));
    }
    assert.match(own, /"failure_mode_allow":false/);
  });

  test('a wildcard does not serve the names of an HTTPProxy that is not valid', () => {
    const broken = proxy({ tls: { secretName: 'gone' } });
    const wildcard = (fqdn: string) =>
      object('projectsesame.io/v1', 'HTTPProxy', 'other', 'wildcard', {
        spec: { virtualhost: { fqdn }, routes: [{ directResponsePolicy: { statusCode: 200 } }] },
      });
    assert.deepEqual(outcome([broken]).served('host.test'), []);
    assert.deepEqual(outcome([broken, wildcard('*.other')]).served('host.test'), []);
    for (const fqdn of ['*', '*.test']) {
      const { served, content: of } = outcome([broken, wildcard(fqdn)]);
      assert.deepEqual(served('host.test'), ['/', 'tls'], fqdn);
      assert.match(of('host.test'), /"direct_response":\{"status":404\}/);
      assert.match(of('host.test'), /TcpProxy","stat_prefix":"ingress_https","cluster":"no-backend"/);
    }
  });

  test('an HTTPProxy that is younger gets none of the names of an older one, and keeps its others', () => {
    const named = (namespace: string, createdAt: string, fqdns: string[]) =>
      object('projectsesame.io/v1', 'HTTPProxy', namespace, 'named', {
        metadata: { creationTimestamp: createdAt },
        spec: {
          virtualhost: { fqdn: `${namespace}.test`, fqdns },
          routes: [{ conditions: [{ prefix: `/${namespace}` }], services }],
        },
      });
    const older = named('default', '2026-01-01T00:00:00Z', ['host.test', '*']);
    const younger = named('other', '2026-01-02T00:00:00Z', ['host.test', '*', 'other-too.test']);
    const { served, reports } = outcomeOf([...world, ...secrets, younger, older], testSettings(), [
      'host.test',
      '*',
      'other.test',
      'other-too.test',
    ]);
    assert.deepEqual([served('host.test'), served('*')], [['/default'], ['/default']]);
    assert.deepEqual([served('other.test'), served('other-too.test')], [['/other'], ['/other']]);
    assert.equal(reports.filter((each) => each.includes('DuplicateVhost')).length, 2);
  });

  test('a host without a service of its own has the global one whole, and cannot loosen it', () => {
    const { reports, content: of } = outcome([proxy({ tls, authorization: { failOpen: true } })], (settings) => {
      settings.globalExtAuth = GLOBAL;
    });
    assert.match(of('host.test'), /"failure_mode_allow":false/);
    assert.match(
      reports.join(),
      /warning SpecError\/IgnoredField spec.virtualhost.authorization.failOpen: it is ignored/,
    );
  });

  test('the authorization of a plain host holds for an Ingress of the same host, whose TLS keeps the global one', () => {
    const { reports, content: of } = outcome(
      [ingress('other', '/other'), proxy({ authorization: AUTH })],
      (settings) => {
        settings.globalExtAuth = GLOBAL;
      },
    );
    assert.deepEqual(reports, []);
    const [plain, , ...resources] = JSON.parse(of('host.test')) as {
      name?: string;
      typed_per_filter_config?: object;
      virtual_hosts?: object[];
    }[];
    assert.deepEqual(Object.keys(plain?.typed_per_filter_config ?? {}), ['envoy.filters.http.ext_authz.grpc']);
    const secure = resources.find(({ name }) => name === 'https/host.test')?.virtual_hosts?.[0];
    assert.ok(secure);
    assert.doesNotMatch(JSON.stringify(secure), OFF);
  });

  test('a host with logins serves nothing over plain HTTP that is behind them, and its keys are in no other resource', () => {
    const oidc = {
      authorizationEndpoint: 'https://login.test/authorize',
      tokenEndpoint: { uri: 'https://login.test/token' },
      clientID: 'shop',
      secretName: 'login',
    };
    const open = { services, permitInsecure: true, oidcPolicy: { disabled: true }, conditions: [{ prefix: '/open' }] };
    const routes = [{ services, permitInsecure: true }, open];
    const { reports, content: of } = outcome([proxy({ tls, oidc }, { routes }), ingress('other', '/other')]);
    assert.deepEqual(reports, [
      'HTTPProxy default/host: warning SpecError/IgnoredField spec.routes[0].permitInsecure: it is ignored, because clients of the host log in over TLS; remove it, or set oidcPolicy.disabled',
    ]);
    const [plain, chain, ...resources] = JSON.parse(of('host.test')) as {
      '@type'?: string;
      routes?: { match?: object; redirect?: object }[];
    }[];
    const served = (plain?.routes ?? []).filter(({ redirect }) => redirect === undefined);
    assert.deepEqual(
      served.map(({ match }) => match),
      [{ path_separated_prefix: '/other' }, { prefix: '/open' }],
    );
    // The chain of the host has the filter for the routes of an Ingress too.
    assert.match(JSON.stringify(chain), /envoy\.filters\.http\.oauth2/);
    const others = resources.filter((each) => each['@type']?.endsWith('.Secret') !== true);
    assert.doesNotMatch(JSON.stringify([plain, chain, others]), /0123456789abcdef0123456789abcdef/);
  });

  test('a host may opt out of the authorization without naming a service, with and without TLS', () => {
    for (const virtualhost of [{}, { tls }])
      for (const shared of [undefined, GLOBAL, { extensionRef: { namespace: 'default', name: 'gone' } }]) {
        const { reports, content: of } = outcome(
          [proxy({ ...virtualhost, authorization: { authPolicy: { disabled: true } } })],
          (settings) => {
            settings.globalExtAuth = shared;
          },
        );
        assert.deepEqual(reports, []);
        assert.equal(OFF.test(of('host.test')), shared !== undefined || 'tls' in virtualhost);
      }
  });

  test('a route with a policy is authorized unless the policy disables it', () => {
    const routes = [{ services, authPolicy: { context: { tenant: 'route' } } }];
    const text = content([proxy({ tls, authorization: { ...AUTH, authPolicy: { disabled: true } } }, { routes })]);
    assert.match(text, /check_settings":\{"context_extensions":\{"tenant":"route"/);
  });

  test('an Ingress of the same host disables no authorization of an HTTPProxy', () => {
    const text = content([ingress('other', '/other'), proxy({ tls, authorization: AUTH })], (settings) => {
      settings.globalExtAuth = { ...GLOBAL, authPolicy: { disabled: true } };
    });
    const isOff = (path: string) =>
      routeOf(text, path)
        .filter((route) => route.includes('"cluster"'))
        .some((route) => OFF.test(route));
    assert.deepEqual([isOff('"path_separated_prefix":"/other"'), isOff('"prefix":"/"')], [true, false]);
  });

  test('the strictest minimum version of TLS counts where objects share a host', () => {
    const strict = { annotations: { 'projectsesame.io/tls-minimum-protocol-version': '1.3' } };
    for (const objects of [
      [ingress('strict', '/strict', strict), proxy({ tls })],
      [ingress('loose', '/loose'), proxy({ tls: { ...tls, minimumProtocolVersion: '1.3' } })],
      [ingress('loose', '/loose'), ingress('strict', '/strict', strict)],
    ])
      assert.match(content(objects), /"tls_minimum_protocol_version":"TLSv1_3"/);
  });

  test('client certificates, tokens and addresses of an HTTPProxy hold whatever an Ingress of the same host has', () => {
    const virtualhost = {
      tls: { ...tls, clientValidation: { caSecret: 'ca' } },
      ipAllowPolicy: [{ source: 'Peer', cidr: '10.0.0.0/8' }],
      jwtProviders: [{ name: 'local', default: true, localJWKS: { secretName: 'jwks' } }],
    };
    const text = content([ingress('other', '/other'), proxy(virtualhost)]);
    assert.match(text, /"require_client_certificate":true/);
    assert.match(text, /"address_prefix":"10.0.0.0"/);
    assert.ok(routeOf(text, '"prefix":"/"').some((route) => route.includes('"requirement_name":"local"')));
  });

  test('a local rate limit does not drop the global one of all hosts', () => {
    const global = { descriptors: [{ entries: [{ genericKey: { value: 'all-hosts' } }] }] };
    const change = (settings: Mutable<RoutingSettings>) => {
      settings.rateLimitService = {
        extensionService: 'default/limits',
        domain: '',
        failOpen: false,
        enableXRateLimitHeaders: false,
        enableResourceExhaustedCode: false,
        defaultGlobalRateLimitPolicy: global,
      };
    };
    const local = { local: { requests: 1, unit: 'second' } };
    assert.match(content([proxy({ rateLimitPolicy: local })], change), /"descriptor_value":"all-hosts"/);
    assert.doesNotMatch(content([proxy({ rateLimitPolicy: { global: { disabled: true } } })], change), /all-hosts/);
  });

  test('routes beside a tcpproxy redirect to HTTPS unless they permit plain HTTP', () => {
    const text = content([
      proxy(
        { tls },
        {
          tcpproxy: { services },
          routes: [{ services }, { conditions: [{ prefix: '/open' }], services, permitInsecure: true }],
        },
      ),
    ]);
    assert.ok(routeOf(text, '"prefix":"/"').every((route) => route.includes('https_redirect')));
    assert.ok(routeOf(text, '"prefix":"/open"').every((route) => route.includes('"cluster"')));
  });

  test('the oldest Ingress keeps a path, and the other one gets an Event', () => {
    const [old, young] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'];
    const { reports, content: of } = outcome([
      ingress('a-young', '/path/', { isSecure: false, createdAt: young }),
      ingress('z-old', '/path', { isSecure: false, createdAt: old }),
    ]);
    assert.deepEqual(reports, [
      'Ingress default/a-young: Event/IngressNotValid spec.rules: the path /path/ of host.test is that of Ingress default/z-old, which is older and keeps it; use another path or host',
    ]);
    assert.match(of('host.test'), /"io.projectsesame.name":"z-old"/);
    assert.doesNotMatch(of('host.test'), /"io.projectsesame.name":"a-young"/);
  });
});

/** Routes with this match, as text. */
function routeOf(text: string, match: string): string[] {
  return text.split('{"match":').filter((route) => route.startsWith(`{${match}}`));
}
