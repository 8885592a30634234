import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { Fragment } from './encode.ts';
import type { Messages, Route, RouteMatch } from './gen/types.ts';
import type { MessageName } from './message-types.ts';
import type { RuleSet } from './tables.ts';
import { typed } from './tables.ts';
import { validate } from './validate.ts';

const route = (match: RouteMatch, more: Route = { route: { cluster: 'a' } }) => ({
  name: 'r',
  virtual_hosts: [{ name: 'h', domains: ['*'], routes: [{ match, ...more }] }],
});

// Some values are wrong for the compiler, too.
const cases: [name: string, type: MessageName, value: object, path: string | undefined][] = [
  ['a valid route', 'envoy.config.route.v3.RouteConfiguration', route({ prefix: '/' }), undefined],
  [
    'a virtual host without domains',
    'envoy.config.route.v3.RouteConfiguration',
    { name: 'r', virtual_hosts: [{ name: 'h' }] },
    'virtual_hosts[0].domains',
  ],
  ['a map of matches without an entry', 'xds.type.matcher.v3.Matcher.MatcherTree.MatchMap', { map: {} }, 'map'],
  ['a map of matches that is absent', 'xds.type.matcher.v3.Matcher.MatcherTree.MatchMap', {}, 'map'],
  [
    'a match without a path',
    'envoy.config.route.v3.RouteConfiguration',
    route({ headers: [] }),
    'virtual_hosts[0].routes[0].match.path_specifier',
  ],
  [
    'two paths',
    'envoy.config.route.v3.RouteConfiguration',
    route({ prefix: '/', path: '/a' } as object),
    'virtual_hosts[0].routes[0].match.path',
  ],
  [
    'a look-ahead, which RE2 does not have',
    'envoy.config.route.v3.RouteConfiguration',
    route({ safe_regex: { regex: '/(?=a)' } }),
    'virtual_hosts[0].routes[0].match.safe_regex.regex',
  ],
  [
    'a segment prefix that ends in a slash',
    'envoy.config.route.v3.RouteConfiguration',
    route({ path_separated_prefix: '/a/' }),
    'virtual_hosts[0].routes[0].match.path_separated_prefix',
  ],
  [
    'a port that is none',
    'envoy.config.core.v3.Address',
    { socket_address: { address: '127.0.0.1', port_value: 70_000 } },
    'socket_address.port_value',
  ],
  ['a cluster name that is empty', 'envoy.config.route.v3.RouteAction', { cluster: '' }, 'cluster'],
  ['a time-out of zero', 'envoy.config.cluster.v3.Cluster', { name: 'c', connect_timeout: '0s' }, 'connect_timeout'],
  ['a header value with a line break', 'envoy.config.core.v3.HeaderValue', { key: 'a', value: 'b\nc' }, 'value'],
  [
    'a direct response with no HTTP status',
    'envoy.config.route.v3.RouteConfiguration',
    route({ prefix: '/' }, { direct_response: { status: 99 } }),
    'virtual_hosts[0].routes[0].direct_response.status',
  ],
  ['a number of more than 32 bits', 'envoy.config.route.v3.RetryPolicy', { num_retries: 4_294_967_296 }, 'num_retries'],
  [
    'weights that do not fit into 32 bits together',
    'envoy.config.route.v3.WeightedCluster',
    {
      clusters: [
        { name: 'a', weight: 4_294_967_295 },
        { name: 'b', weight: 1 },
      ],
    },
    'clusters',
  ],
  [
    'a duration that Envoy cannot count',
    'envoy.config.route.v3.RouteAction',
    { cluster: 'a', timeout: '9300000000s' },
    'timeout',
  ],
  [
    'a negative duration without a constraint',
    'envoy.config.cluster.v3.Cluster.SlowStartConfig',
    { slow_start_window: '-1s' },
    'slow_start_window',
  ],
  [
    'a negative duration in an Any',
    'envoy.config.core.v3.TypedExtensionConfig',
    {
      name: 'x',
      typed_config: typed('envoy.extensions.upstreams.http.v3.HttpProtocolOptions', {
        common_http_protocol_options: { idle_timeout: '-0.5s' },
        explicit_http_config: { http_protocol_options: {} },
      }),
    },
    'typed_config.common_http_protocol_options.idle_timeout',
  ],
  [
    'a key of a map that is empty',
    'envoy.config.core.v3.Metadata',
    { filter_metadata: { '': {} } },
    'filter_metadata[""]',
  ],
  ['a map that is empty', 'xds.type.matcher.v3.Matcher.MatcherTree.MatchMap', { map: {} }, 'map'],
  ['a map that is missing', 'xds.type.matcher.v3.Matcher.MatcherTree.MatchMap', {}, 'map'],
  [
    'bytes that are too long',
    'envoy.config.core.v3.HeaderValue',
    { key: 'a', raw_value: Buffer.alloc(16_385) },
    'raw_value',
  ],
  [
    'a Host that is removed',
    'envoy.config.route.v3.VirtualHost',
    { name: 'h', domains: ['*'], response_headers_to_remove: ['x', 'Host'] },
    'response_headers_to_remove[1]',
  ],
  [
    'a pseudo-header that is set',
    'envoy.config.route.v3.VirtualHost',
    { name: 'h', domains: ['*'], request_headers_to_add: [{ header: { key: ':path', value: '/' } }] },
    'request_headers_to_add[0]',
  ],
  [
    'an error inside an Any',
    'envoy.config.core.v3.TypedExtensionConfig',
    {
      name: 'x',
      typed_config: typed('envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', { stat_prefix: '' }),
    },
    'typed_config.stat_prefix',
  ],
];

const CHECKED =
  /^(any\.required|bool\.const|bytes\.(min|max)_len|duration\.(gte?|lte?|required)|enum\.(defined_only|not_in)|map\.(keys\.string\.min_len|min_pairs)|message\.required|repeated\.(min_items|max_items|unique)|(repeated\.items\.)?(uint32|uint64|double)\.(gte?|lte?)|repeated\.items\.enum\.defined_only|(repeated\.items\.)?string\.(min_len|max_bytes|prefix|suffix|ignore_empty|in|pattern|strict|well_known_regex))$/;

suite('validate', () => {
  for (const [name, type, value, path] of cases) {
    test(path === undefined ? `${name} passes` : `${name} is reported with its path`, () => {
      assert.deepEqual(
        validate(type, value as Messages[MessageName]).map((violation) => violation.path),
        path === undefined ? [] : [path],
      );
    });
  }

  test('every kind of constraint of the tables is checked', () => {
    const tables = JSON.parse(readFileSync(new URL('./gen/messages.json', import.meta.url), 'utf8')) as {
      messages: Record<string, { fields: [number, string, string, { rules?: Record<string, RuleSet> }?][] }>;
    };
    const kinds = new Set<string>();
    const add = (kind: string, rule: unknown): void => {
      if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) kinds.add(kind);
      else for (const [name, each] of Object.entries(rule)) add(`${kind}.${name}`, each);
    };
    for (const { fields } of Object.values(tables.messages))
      for (const [, , , more] of fields)
        for (const [kind, rule] of Object.entries(more?.rules ?? {}))
          if (kind === 'duration') for (const name of Object.keys(rule)) kinds.add(`duration.${name}`);
          else add(kind, rule);
    // A new one needs a check in validate.ts, and a line here.
    assert.deepEqual([...kinds].filter((kind) => !CHECKED.test(kind)).sort(), []);
  });

  test('an error inside a fragment has the path from the resource', () => {
    const host = new Fragment('envoy.config.route.v3.VirtualHost', { name: 'h', domains: [] });
    const violations = validate('envoy.config.route.v3.RouteConfiguration', { name: 'r', virtual_hosts: [host] });
    assert.deepEqual(
      violations.map(({ path, problem }) => `${path} ${problem}`),
      ['virtual_hosts[0].domains has 0 items; at least 1 are needed'],
    );
  });
});
