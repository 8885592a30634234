import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { HTTPRouteRule, RouteFilter } from '../api/objects.ts';
import { GATEWAY_GROUP } from '../api/references.ts';
import { servedRoute, service, translateRules } from '../gateway.test-support.ts';

const to = (name: string, more: object = {}) => ({ name, port: 80, ...more });
const first = (
  rule: HTTPRouteRule,
  ...more: [Parameters<typeof translateRules>[1]?, Parameters<typeof translateRules>[2]?]
) => {
  const { routes, ...rest } = translateRules([rule], ...more);
  const [entry] = routes;
  const value = entry ? servedRoute(entry) : {};
  return { ...rest, entry, value, route: (value.route ?? {}) as Record<string, unknown> };
};
const reasons = ({ refProblems }: { refProblems: readonly { reason: string }[] }) =>
  refProblems.map(({ reason }) => reason);

suite('matches of an HTTPRoute', () => {
  const match = (given: NonNullable<HTTPRouteRule['matches']>[number]) => {
    const { entry } = first({ matches: [given], backendRefs: [to('a')] });
    return entry && servedRoute(entry).match;
  };

  test('an HTTPRoute without matches matches everything', () => {
    const { entry } = first({ backendRefs: [to('a')] });
    assert.deepEqual(entry && servedRoute(entry).match, { prefix: '/' });
  });

  test('prefixes are whole segments, with or without a slash at the end', () => {
    assert.deepEqual(match({ path: { type: 'PathPrefix', value: '/a/' } }), { path_separated_prefix: '/a' });
    assert.deepEqual(match({ path: { value: '/a' } }), { path_separated_prefix: '/a' });
    assert.deepEqual(match({ path: { type: 'Exact', value: '/a/' } }), { path: '/a/' });
  });

  test('headers, query parameters and methods; of two with the same name the first counts', () => {
    assert.deepEqual(
      match({
        headers: [
          { name: 'Version', value: 'one' },
          { name: 'version', value: 'two' },
          { name: 'color', type: 'RegularExpression', value: 'r.*' },
        ],
        queryParams: [
          { name: 'q', value: '1' },
          { name: 'Q', value: '2' },
        ],
        method: 'POST',
      }),
      {
        prefix: '/',
        headers: [
          { name: 'Version', string_match: { exact: 'one' } },
          { name: 'color', string_match: { safe_regex: { regex: 'r.*' } } },
          { name: ':method', string_match: { exact: 'POST' } },
        ],
        query_parameters: [
          { name: 'q', string_match: { exact: '1' } },
          { name: 'Q', string_match: { exact: '2' } },
        ],
      },
    );
  });

  test('an expression that RE2 refuses drops its rule and no other', () => {
    const rule = (value: string): HTTPRouteRule => ({
      matches: [{ path: { type: 'RegularExpression', value } }],
      backendRefs: [to('a')],
    });
    const { routes, invalidRules, ruleCount } = translateRules([rule('/(?=x)'), rule('/y.*')]);
    assert.equal(routes.length, 1);
    assert.equal(ruleCount, 2);
    assert.match(
      invalidRules.join(),
      /^spec\.rules\[0\]\.matches\[0\]\.path\.value: "\/\(\?=x\)" is not a regular expression/,
    );
  });
});

suite('backends of an HTTPRoute', () => {
  test('weights are kept; a backend that cannot be used answers its share with 500', () => {
    const result = first({ backendRefs: [to('a', { weight: 8 }), to('missing', { weight: 2 })] });
    assert.deepEqual(reasons(result), ['BackendNotFound']);
    const { clusters } = result.route['weighted_clusters'] as { clusters: { name: string; weight: number }[] };
    assert.deepEqual(
      clusters.map(({ name, weight }) => [name.split('/')[1] ?? name, weight]),
      [
        ['a', 8],
        ['no-backend', 2],
      ],
    );
    assert.equal(result.route['cluster_not_found_response_code'], 'INTERNAL_SERVER_ERROR');
  });

  test('an HTTPRoute without backends, or with nothing but zero weights, answers 500', () => {
    for (const backendRefs of [[], [to('a', { weight: 0 })]])
      assert.deepEqual(first({ backendRefs }).value['direct_response'], { status: 500 });
  });

  test('kinds, ports and namespaces are checked', () => {
    const problem = (ref: object, fixture = {}) => reasons(first({ backendRefs: [to('a', ref)] }, {}, fixture));
    assert.deepEqual(problem({}), []);
    assert.deepEqual(problem({ kind: 'ConfigMap' }), ['InvalidKind']);
    assert.deepEqual(problem({ group: 'example.com' }), ['InvalidKind']);
    assert.deepEqual(problem({ port: 81 }), ['BackendNotFound']);
    assert.deepEqual(problem({ namespace: 'other' }), ['RefNotPermitted']);
    const services = [service('a', { namespace: 'other' })];
    const from = { group: GATEWAY_GROUP, kind: 'HTTPRoute', namespace: 'default' };
    const grants = { other: [{ from: [from], to: [{ group: '', kind: 'Service', name: 'a' }] }] };
    assert.deepEqual(problem({ namespace: 'other' }, { services, grants }), []);
  });

  test('two Gateways that show different certificates to a backend do not share its cluster', () => {
    const services = [
      service('a', { ports: [{ name: '', port: 80, protocol: 'TCP', appProtocol: 'https', targetPort: 1 }] }),
    ];
    const nameWith = (name: string | undefined) =>
      first(
        { backendRefs: [to('a')] },
        { clientCertificate: name === undefined ? undefined : ({ name } as never) },
        { services },
      ).route['cluster'];
    assert.equal(new Set([nameWith(undefined), nameWith('default/one'), nameWith('default/two')]).size, 3);
  });
});

suite('filters of an HTTPRoute', () => {
  const filtered = (...filters: RouteFilter[]) => first({ filters, backendRefs: [to('a')] });
  const under = (path: string, filter: RouteFilter) =>
    first({ matches: [{ path: { value: path } }], filters: [filter], backendRefs: [to('a')] });

  test('headers are set, added and removed, and percent signs are plain text', () => {
    const modifier = { set: [{ name: 'a', value: '100%' }], add: [{ name: 'b', value: '1' }], remove: ['c'] };
    const { value } = filtered({ type: 'RequestHeaderModifier', requestHeaderModifier: modifier });
    assert.deepEqual(value['request_headers_to_add'], [
      { header: { key: 'a', value: '100%%' }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
      { header: { key: 'b', value: '1' }, append_action: 'APPEND_IF_EXISTS_OR_ADD' },
    ]);
    assert.deepEqual(value['request_headers_to_remove'], ['c']);
  });

  test('a redirect keeps the port of its listener, unless it names a scheme or the port is usual', () => {
    const location = (requestRedirect: object, listener: { scheme: 'http' | 'https'; port: number }) =>
      (
        first({ filters: [{ type: 'RequestRedirect', requestRedirect }] }, { listener }).value['redirect'] as {
          port_redirect?: number;
        }
      ).port_redirect;
    const plain = { scheme: 'http', port: 80 } as const;
    const other = { scheme: 'http', port: 8080 } as const;
    assert.equal(location({}, plain), undefined);
    assert.equal(location({}, other), 8080);
    assert.equal(location({ scheme: 'https' }, other), undefined);
    assert.equal(location({ port: 8443, scheme: 'https' }, plain), 8443);
    assert.equal(location({ port: 80 }, other), undefined);
    assert.equal(location({ port: 443 }, plain), 443);
  });

  test('a prefix is replaced without doubled or lost slashes', () => {
    const rewrite = (path: string, replacePrefixMatch: string) => {
      const { route } = under(path, {
        type: 'URLRewrite',
        urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch } },
      });
      if (route['prefix_rewrite'] !== undefined)
        return (request: string) => request.replace(path, String(route['prefix_rewrite']));
      const { pattern, substitution } = route['regex_rewrite'] as { pattern: { regex: string }; substitution: string };
      return (request: string) => request.replace(new RegExp(pattern.regex), substitution);
    };
    assert.equal(rewrite('/foo', '/bar')('/foo/x'), '/bar/x');
    assert.equal(rewrite('/foo', '/bar/')('/foo/x'), '/bar/x');
    assert.equal(rewrite('/foo', '/bar')('/foo'), '/bar');
    assert.equal(rewrite('/foo', '/')('/foo/x'), '/x');
    assert.equal(rewrite('/foo', '')('/foo'), '/');
    assert.equal(rewrite('/', '/bar')('/x'), '/bar/x');
  });

  test('mirrors send a share of the requests; one that cannot be used is reported and left out', () => {
    const mirror = (name: string, more: object = {}): RouteFilter => ({
      type: 'RequestMirror',
      requestMirror: { backendRef: to(name), ...more },
    });
    const { route, ...rest } = filtered(
      mirror('b'),
      mirror('b', { percent: 20 }),
      mirror('b', { fraction: { numerator: 1, denominator: 8 } }),
      mirror('missing'),
    );
    assert.deepEqual(reasons(rest), ['BackendNotFound']);
    const policies = route['request_mirror_policies'] as { runtime_fraction?: { default_value: object } }[];
    assert.deepEqual(
      policies.map((policy) => policy.runtime_fraction?.default_value),
      [undefined, { numerator: 20, denominator: 'HUNDRED' }, { numerator: 125_000, denominator: 'MILLION' }],
    );
  });

  test('a filter that is not known is not skipped: the answer is 500', () => {
    const { value, ...rest } = filtered({ type: 'ExtensionRef' });
    assert.deepEqual(value['direct_response'], { status: 500 });
    assert.deepEqual(reasons(rest), ['InvalidKind']);
  });

  test('header modifiers of a backend are for its share alone', () => {
    const filters = [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x', value: '1' }] } }];
    const { route, value } = first({ backendRefs: [to('a', { filters }), to('b')] });
    const { clusters } = route['weighted_clusters'] as { clusters: Record<string, unknown>[] };
    assert.equal(value['request_headers_to_add'], undefined);
    assert.deepEqual(
      clusters.map((cluster) => cluster['request_headers_to_add'] !== undefined),
      [true, false],
    );
  });

  test('CORS answers preflights of other origins itself', () => {
    const cors = { allowOrigins: ['https://a.test', 'https://*.b.test'], allowMethods: ['GET'], maxAge: 5 };
    const { value } = filtered({ type: 'CORS', cors });
    const config = (value['typed_per_filter_config'] as Record<string, Record<string, unknown>>)[
      'envoy.filters.http.cors'
    ];
    assert.deepEqual(config?.['allow_origin_string_match'], [
      { exact: 'https://a.test' },
      { safe_regex: { regex: 'https://[^/]+\\.b\\.test' } },
    ]);
    assert.equal(config?.['forward_not_matching_preflights'], false);
    assert.equal(config?.['max_age'], '5');
  });
});

suite('timeouts and retries of an HTTPRoute', () => {
  const route = (rule: HTTPRouteRule) => first({ backendRefs: [to('a')], ...rule }).route;

  test('a limit for a try is not cut short by Envoy’s limit for the whole', () => {
    const { timeout, retry_policy: policy } = route({ timeouts: { backendRequest: '500ms' } });
    assert.equal(timeout, '0s');
    assert.deepEqual(policy, { num_retries: 0, per_try_timeout: '0.5s' });
    assert.equal(route({ timeouts: { request: '1s', backendRequest: '500ms' } })['timeout'], '1s');
    assert.equal(route({ timeouts: { request: '0s' } })['timeout'], '0s');
    assert.equal(route({})['timeout'], undefined);
  });

  test('retries are for the codes that are named and for connections that failed', () => {
    assert.deepEqual(route({ retry: { codes: [503], attempts: 2, backoff: '100ms' } })['retry_policy'], {
      retry_on: 'connect-failure,refused-stream,reset,retriable-status-codes',
      num_retries: 2,
      retriable_status_codes: [503],
      retry_back_off: { base_interval: '0.1s' },
    });
  });

  test('a session stays with its endpoint by a cookie or a header', () => {
    assert.deepEqual(route({ sessionPersistence: { sessionName: 's' } })['hash_policy'], [
      { cookie: { name: 's', ttl: '0s', path: '/' } },
    ]);
    assert.deepEqual(route({ sessionPersistence: { sessionName: 's', type: 'Header' } })['hash_policy'], [
      { header: { header_name: 's' } },
    ]);
  });
});
