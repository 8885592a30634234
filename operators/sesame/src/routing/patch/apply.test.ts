// Patches of messages: the values that they may change, and those that they may not. The messages have everything that protects a host.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatPointer } from '@capstan/kube';
import fc from 'fast-check';
import type { EnvoyPatchOperation } from '../../configuration/envoy-patches.ts';
import {
  CONFIG_SOURCE,
  decode,
  type Envoy,
  encode,
  type MessageName,
  validate,
  withoutDelivery,
} from '../../envoy/index.ts';
import { testSettings } from '../default-settings.ts';
import { chainMessage, FILTER_CHAIN } from '../envoy/listener-message.ts';
import { VIRTUAL_HOST } from '../envoy/route-message.ts';
import { hostChain } from '../listener/filter-chain.ts';
import { applyPatch, type Message } from './apply.ts';

const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const LISTENER = 'envoy.config.listener.v3.Listener';
const ANY = 'type.googleapis.com/';
const HCM = '/filters/0/typed_config';

const cluster: Message = {
  name: 'default/web/80/da39a3ee5e',
  type: 'EDS',
  eds_cluster_config: { eds_config: CONFIG_SOURCE, service_name: 'default/web/http' },
  connect_timeout: '2s',
  transport_socket: {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${ANY}envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
      sni: 'web.test',
      common_tls_context: { validation_context: { trusted_ca: { inline_bytes: new Uint8Array([1, 2]) } } },
    },
  },
};

/** With a client certificate, tokens and a service for authorization. */
const chain = plainFilters(
  chainMessage(
    hostChain(
      { fqdn: 'shop.test', origins: [] },
      {
        routes: [],
        tls: {
          secret: { name: 'default/cert' },
          minimumVersion: '1.2',
          clientValidation: { ca: Buffer.from('ca'), acceptsUntrusted: false },
          requiresClientCertificate: true,
        },
        authorization: {
          cluster: 'extension/default/auth',
          protocol: { kind: 'grpc', authority: 'auth' },
          timeout: undefined,
          failOpen: false,
          body: undefined,
        },
      } as never,
      testSettings(),
    ),
  ),
);

const host: Message = {
  name: 'shop.test',
  domains: ['shop.test'],
  routes: [
    {
      match: { prefix: '/admin' },
      route: { cluster: 'default/admin/80/da39a3ee5e' },
      typed_per_filter_config: {
        'envoy.filters.http.rbac': { '@type': `${ANY}envoy.extensions.filters.http.rbac.v3.RBACPerRoute` },
      },
    },
    { match: { prefix: '/' }, route: { cluster: 'default/web/80/da39a3ee5e', timeout: '15s' } },
  ],
};

const listener: Message = {
  name: 'ingress_http',
  address: { socket_address: { address: '0.0.0.0', port_value: 8080 } },
  filter_chains: [chain],
};

/** As a resource has it that was served. */
function plainFilters(value: Envoy.FilterChain): Message {
  return withoutDelivery(decode(FILTER_CHAIN, encode(FILTER_CHAIN, value))) as Message;
}

const add = (path: string, value: unknown): EnvoyPatchOperation => ({ op: 'add', path, value });
const set = (path: string, value: unknown): EnvoyPatchOperation => ({ op: 'replace', path, value });
const remove = (path: string): EnvoyPatchOperation => ({ op: 'remove', path });

function outcome(type: MessageName, message: Message, ...operations: EnvoyPatchOperation[]): string {
  const result = applyPatch(type, message, { operations });
  return result.isOk ? 'patched' : `${result.problem.at} ${result.problem.reason}: ${result.problem.message}`;
}

suite('a patch of a message', () => {
  const lua = { '@type': `${ANY}envoy.extensions.filters.http.lua.v3.Lua`, default_source_code: { inline_string: '' } };
  const limit = {
    '@type': `${ANY}envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit`,
    stat_prefix: 'limit',
    token_bucket: { max_tokens: 10, fill_interval: '1s' },
  };
  const filter = (name: string, config: object) => add(`${HCM}/http_filters/0`, { name, typed_config: config });

  test('changes values that belong to no owner', () => {
    const keepalive = add('/upstream_connection_options', { tcp_keepalive: { keepalive_time: 30 } });
    assert.equal(outcome(CLUSTER, cluster, set('/connect_timeout', '5s'), keepalive), 'patched');
    const window = add(`${HCM}/http2_protocol_options`, { initial_stream_window_size: 65_535 });
    assert.equal(outcome(FILTER_CHAIN, chain, window, add(`${HCM}/max_request_headers_kb`, 96)), 'patched');
    assert.equal(outcome(FILTER_CHAIN, chain, filter('limit', limit)), 'patched');
    const retries = add('/routes/1/route/retry_policy', { retry_on: 'reset', num_retries: 2 });
    assert.equal(outcome(VIRTUAL_HOST, host, retries, set('/routes/1/route/timeout', '30s')), 'patched');
    const nested = add('/filter_chains/0/filters/0/typed_config/via', 'edge');
    assert.equal(outcome(LISTENER, listener, add('/tcp_backlog_size', 1024), nested), 'patched');
  });

  test('leaves the message as it was', () => {
    const before = structuredClone({ ...cluster, eds_cluster_config: undefined });
    outcome(CLUSTER, cluster, set('/connect_timeout', '5s'), remove('/transport_socket/typed_config/sni'));
    assert.deepEqual({ ...cluster, eds_cluster_config: undefined }, before);
  });

  test('is refused where it does not apply, has a wrong type or breaks a constraint of Envoy', () => {
    const cases: [MessageName, Message, EnvoyPatchOperation[], RegExp][] = [
      [
        CLUSTER,
        cluster,
        [remove('/circuit_breakers')],
        /^\.operations\[0\] NotFound: does not apply \(remove \/circuit/,
      ],
      [CLUSTER, cluster, [set('/connect_timeout', '3s'), add('/a/b', 1)], /^\.operations\[1\] NotFound/],
      [CLUSTER, cluster, [set('/connect_timeout', 5)], /WrongType: \/connect_timeout must be a duration in seconds/],
      [CLUSTER, cluster, [set('/connect_timeout', '-5s')], /WrongType/],
      [CLUSTER, cluster, [add('/nonsense', 5)], /WrongType: \/nonsense is not a field of envoy\.config\.cluster/],
      [CLUSTER, cluster, [add('/per_connection_buffer_limit_bytes', '5')], /must be an integer from 0 to 4294967295/],
      [CLUSTER, cluster, [add('/per_connection_buffer_limit_bytes', 2 ** 32)], /WrongType/],
      [CLUSTER, cluster, [add('/wait_for_warm_on_init', 'yes')], /must be true or false \("yes"\)/],
      [CLUSTER, cluster, [add('/dns_lookup_family', 'V5')], /must be one of AUTO/],
      [CLUSTER, cluster, [add('/circuit_breakers', [])], /must be an object/],
      [CLUSTER, cluster, [add('/connect_timeout', '0s')], /InvalidValue: \/connect_timeout is 0s; it must be longer/],
      [CLUSTER, cluster, [add('/outlier_detection', { max_ejection_percent: 101 })], /InvalidValue.*at most 100/],
      [VIRTUAL_HOST, host, [add('/retry_policy', { retry_back_off: {} })], /retry_back_off\/base_interval is required/],
      [
        FILTER_CHAIN,
        chain,
        [filter('wasm', { '@type': `${ANY}envoy.extensions.filters.http.wasm.v3.Wasm` })],
        /not a type/,
      ],
      [CLUSTER, cluster, [{ op: 'test', path: '/name', value: 'other' }], /NotFound: does not apply \(test \/name\)/],
      [CLUSTER, cluster, [set('', {})], /NotFound|Protected/],
    ];
    for (const [type, message, operations, expected] of cases)
      assert.match(outcome(type, message, ...operations), expected, JSON.stringify(operations));
  });

  test('is refused where it concerns names, TLS, secrets, destinations, files or filters that protect a host', () => {
    const file = { filename: '/certs/tls.key' };
    const cases: [MessageName, Message, EnvoyPatchOperation][] = [
      [CLUSTER, cluster, set('/name', 'default/other/80')],
      [CLUSTER, cluster, remove('/transport_socket')],
      [CLUSTER, cluster, set('/transport_socket/typed_config/sni', 'other')],
      [CLUSTER, cluster, remove('/transport_socket/typed_config/common_tls_context/validation_context')],
      [CLUSTER, cluster, set('/eds_cluster_config/service_name', 'other/secret/http')],
      [CLUSTER, cluster, set('/type', 'ORIGINAL_DST')],
      [CLUSTER, cluster, add('/original_dst_lb_config', { use_http_header: true })],
      [CLUSTER, cluster, add('/load_assignment', { cluster_name: 'x', endpoints: [] })],
      [CLUSTER, cluster, add('/upstream_bind_config', { source_address: { address: '127.0.0.1', port_value: 1 } })],
      [CLUSTER, cluster, add('/health_checks', [])],
      [LISTENER, listener, set('/address/socket_address/port_value', 9901)],
      [LISTENER, listener, remove('/filter_chains/0')],
      [LISTENER, listener, add('/filter_chains/-', {})],
      [LISTENER, listener, add('/access_log', [{ name: 'x' }])],
      [FILTER_CHAIN, chain, set('/filter_chain_match/server_names/0', 'bank.test')],
      [FILTER_CHAIN, chain, add('/transport_socket/typed_config/require_client_certificate', false)],
      [FILTER_CHAIN, chain, set(`${HCM}/rds/route_config_name`, 'https/bank.test')],
      [FILTER_CHAIN, chain, remove(`${HCM}/http_filters/0`)],
      [FILTER_CHAIN, chain, { op: 'move', from: `${HCM}/http_filters/0`, path: `${HCM}/http_filters/3` }],
      [FILTER_CHAIN, chain, add(`${HCM}/http_filters/0/disabled`, true)],
      [FILTER_CHAIN, chain, filter('lua', lua)],
      [FILTER_CHAIN, chain, filter('router', limit)],
      [FILTER_CHAIN, chain, add(`${HCM}/http_filters/-`, { name: 'last', typed_config: limit })],
      [FILTER_CHAIN, chain, set(`${HCM}/normalize_path`, false)],
      [FILTER_CHAIN, chain, set(`${HCM}/use_remote_address`, false)],
      [FILTER_CHAIN, chain, add(`${HCM}/forward_client_cert_details`, 'ALWAYS_FORWARD_ONLY')],
      [FILTER_CHAIN, chain, add(`${HCM}/upgrade_configs`, [{ upgrade_type: 'CONNECT' }])],
      [FILTER_CHAIN, chain, add(`${HCM}/local_reply_config`, { mappers: [] })],
      [FILTER_CHAIN, chain, add(`${HCM}/via`, '%ENVIRONMENT(HOME)%')],
      [VIRTUAL_HOST, host, add('/domains/-', 'bank.test')],
      [VIRTUAL_HOST, host, add('/routes/-', { match: { prefix: '/x' }, direct_response: { status: 200, body: file } })],
      [VIRTUAL_HOST, host, set('/routes/0', { match: { prefix: '/' }, direct_response: { status: 200, body: file } })],
      [VIRTUAL_HOST, host, remove('/routes/0/typed_per_filter_config')],
      [VIRTUAL_HOST, host, set('/routes/0/route/cluster', 'envoy-admin')],
      [VIRTUAL_HOST, host, add('/routes/0/route/cluster_header', 'x-cluster')],
      [VIRTUAL_HOST, host, add('/routes/0/request_headers_to_add', [])],
      [VIRTUAL_HOST, host, add('/request_mirror_policies', [{ cluster: 'sesame' }])],
      [VIRTUAL_HOST, host, { op: 'copy', from: '/routes/1/route', path: '/routes/0/route' }],
    ];
    for (const [type, message, operation] of cases)
      assert.match(outcome(type, message, operation), /Protected|WrongType/, JSON.stringify(operation));
    assert.match(
      outcome(VIRTUAL_HOST, host, set('/routes/0/route/cluster', 'envoy-admin')),
      /^\.operations\[0\] Protected/,
    );
  });

  test('never changes a protected value, whatever its operations are', () => {
    const pointers = pointersOf(chain);
    const path = fc.oneof(
      fc.constantFrom(...pointers),
      fc
        .tuple(
          fc.constantFrom(...pointers),
          fc.constantFrom(
            '-',
            '0',
            'via',
            'disabled',
            'cluster',
            'typed_config',
            'http2_protocol_options',
            'constructor',
            '__proto__',
          ),
        )
        .map(([base, name]) => `${base}/${name}`),
    );
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        true,
        false,
        0,
        1,
        '',
        '5s',
        'x',
        null,
        {},
        [],
        lua,
        limit,
        { name: 'limit', typed_config: limit },
        { name: 'lua', typed_config: lua },
        { filename: '/certs/tls.key' },
      ),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const operation = fc.record({
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy'),
      path,
      from: path,
      value,
    });
    let patched = 0;
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 3 }), (operations) => {
        const result = applyPatch(FILTER_CHAIN, chain, { operations });
        if (!result.isOk) return;
        patched += 1;
        assert.deepEqual(protectedValues(result.value), protectedValues(chain));
        assert.deepEqual(validate(FILTER_CHAIN, result.value as never), []);
        encode(FILTER_CHAIN, result.value as never);
      }),
      { numRuns: 5_000, seed: 28 },
    );
    assert.ok(patched > 20, `${patched} of the patches were applied`);
  });
});

function pointersOf(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return [formatPointer(path)];
  return [formatPointer(path), ...Object.entries(value).flatMap(([name, part]) => pointersOf(part, [...path, name]))];
}

/** The values that protect a host, found by other means than those of the program. */
function protectedValues(message: Message): unknown {
  interface Chain {
    filter_chain_match?: unknown;
    transport_socket?: unknown;
    name?: string;
    filters?: { name?: string; typed_config?: Record<string, unknown> }[];
  }
  const { filter_chain_match, transport_socket, name, filters = [] } = message as Chain;
  const managers = filters.map(({ typed_config: manager = {}, ...more }) => {
    const { rds, access_log, normalize_path, merge_slashes, use_remote_address, upgrade_configs } = manager;
    const guards = ((manager['http_filters'] ?? []) as { name: string }[]).filter(
      (filter) => !/compressor|router|limit$/.test(filter.name),
    );
    return { more, rds, access_log, normalize_path, merge_slashes, use_remote_address, upgrade_configs, guards };
  });
  return { filter_chain_match, transport_socket, name, managers };
}
