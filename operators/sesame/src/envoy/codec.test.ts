import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { decode } from './decode.ts';
import {
  CONFIG_SOURCE,
  encode,
  encodeAny,
  encodeAnyPieces,
  Fragment,
  FragmentChunk,
  type Message,
  RenamedFragment,
  typed,
  withoutDelivery,
} from './encode.ts';
import { TYPE_URL_PREFIX } from './tables.ts';

const ROUTES = 'envoy.config.route.v3.RouteConfiguration';
const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';
const LISTENER = 'envoy.config.listener.v3.Listener';
const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

const host: Message = {
  name: 'shop.example.com',
  domains: ['shop.example.com', 'größe.example.com'],
  routes: [
    {
      match: { prefix: '/', headers: [{ name: 'x-a', string_match: { exact: '' }, invert_match: true }] },
      route: {
        weighted_clusters: {
          clusters: [
            { name: 'default/shop/80', weight: 300 },
            { name: 'default/new/80', weight: 0 },
          ],
        },
        timeout: '1.5s',
        idle_timeout: '0s',
        retry_policy: { retry_on: '5xx', num_retries: 3, retriable_status_codes: [503, 70_000] },
      },
      metadata: { filter_metadata: { 'envoy.access_loggers.file': { kind: 'HTTPProxy', n: 1.5, list: [true, null] } } },
      typed_per_filter_config: {
        'envoy.filters.http.cors': typed('envoy.extensions.filters.http.cors.v3.CorsPolicy', {
          allow_credentials: true,
        }),
      },
    },
  ],
};
const routes: Message = { name: 'ingress_http', virtual_hosts: [host], ignore_port_in_host_matching: true };

suite('codec', () => {
  test('a value is the same after encoding and decoding', () => {
    const back = decode(ROUTES, encode(ROUTES, routes));
    // A weight of zero is a wrapper that is set; a default scalar is not written.
    assert.deepEqual(back, routes);
  });

  test('protobufjs, reading the .proto files, understands the bytes and writes ones that are understood here', () => {
    const type = protobufjs().lookupType(ROUTES);
    const read = type.toObject(type.decode(encode(ROUTES, routes)), { enums: String, longs: Number }) as {
      virtual_hosts: {
        domains: string[];
        routes: { route: { timeout: unknown; weighted_clusters: { clusters: unknown[] } } }[];
      }[];
    };
    const [first] = read.virtual_hosts;
    assert.deepEqual(first?.domains, host['domains']);
    const action = first?.routes[0]?.route;
    assert.deepEqual(action?.timeout, { seconds: 1, nanos: 500_000_000 });
    assert.deepEqual(action?.weighted_clusters.clusters[0], { name: 'default/shop/80', weight: { value: 300 } });
    const written = type
      .encode(type.fromObject({ name: 'x', virtual_hosts: [{ name: 'y', domains: ['z'] }] }))
      .finish();
    assert.deepEqual(decode(ROUTES, written), { name: 'x', virtual_hosts: [{ name: 'y', domains: ['z'] }] });
  });

  test('a fragment has the bytes of its value, also when only the bytes are kept', () => {
    for (const fragment of [new Fragment(VIRTUAL_HOST, host), new Fragment(VIRTUAL_HOST, host, true)]) {
      assert.deepEqual(encode(ROUTES, { ...routes, virtual_hosts: [fragment] }), encode(ROUTES, routes));
      assert.equal(fragment.hash(), new Fragment(VIRTUAL_HOST, fragment.value).hash());
    }
  });

  test('a fragment that is a resource under another name has the bytes of the message with that name', () => {
    const name = `ingress_http/${'x'.repeat(200)}.example.com`;
    const fragment = new RenamedFragment(VIRTUAL_HOST, 'shop', encodeAny(VIRTUAL_HOST, { ...host, name }));
    const renamed = { ...host, name: 'shop' };
    assert.deepEqual(fragment.bytes('grpc'), encode(VIRTUAL_HOST, renamed));
    assert.equal(fragment.hash(), new Fragment(VIRTUAL_HOST, renamed).hash());
    assert.deepEqual(
      encode(ROUTES, { ...routes, virtual_hosts: [fragment] }),
      encode(ROUTES, { ...routes, virtual_hosts: [renamed] }),
    );
    assert.throws(() => new RenamedFragment(VIRTUAL_HOST, 'shop', encodeAny(VIRTUAL_HOST, { domains: ['a'] })), /name/);
  });

  test('chunks of fragments have the bytes of the list, and are pieces of a resource that are not encoded again', () => {
    const hosts = ['a', 'b', 'c'].map((name) => ({ ...host, name }));
    const [first, second, third] = hosts.map((each) => new Fragment(VIRTUAL_HOST, each, true));
    assert.ok(first && second && third);
    const chunks = [new FragmentChunk([first]), new FragmentChunk([second])];
    const composed = { ...routes, virtual_hosts: [...chunks, third] };
    const plain = { ...routes, virtual_hosts: hosts };
    assert.deepEqual(encode(ROUTES, composed), encode(ROUTES, plain));
    const pieces = encodeAnyPieces(ROUTES, composed, 'grpc');
    assert.deepEqual(Buffer.concat(pieces), encodeAny(ROUTES, plain));
    const again = encodeAnyPieces(ROUTES, { ...composed, name: 'other' }, 'ads');
    assert.deepEqual(
      again.map((piece) => pieces.includes(piece)),
      [false, true, true, false],
    );
  });

  test('a resource names the source that fits the delivery', () => {
    const listener = {
      name: 'ingress_http',
      filter_chains: [
        {
          filters: [
            {
              name: 'hcm',
              typed_config: typed(HCM, { rds: { route_config_name: 'ingress_http', config_source: CONFIG_SOURCE } }),
            },
          ],
        },
      ],
    };
    const source = (delivery: 'grpc' | 'delta' | 'ads') => {
      const back = decode(LISTENER, encode(LISTENER, listener, delivery)) as {
        filter_chains: { filters: { typed_config: { rds: { config_source: Record<string, unknown> } } }[] }[];
      };
      return back.filter_chains[0]?.filters[0]?.typed_config.rds.config_source;
    };
    const apiType = (delivery: 'grpc' | 'delta') =>
      (source(delivery)?.['api_config_source'] as Message | undefined)?.['api_type'];
    assert.deepEqual(source('ads'), { ads: {}, resource_api_version: 'V3' });
    assert.equal(apiType('grpc'), 'GRPC');
    assert.equal(apiType('delta'), 'DELTA_GRPC');
    // The bytes of one delivery are enough for those of every other one.
    const deliveries = ['grpc', 'delta', 'ads'] as const;
    for (const from of deliveries)
      for (const to of deliveries) {
        const message = withoutDelivery(decode(LISTENER, encode(LISTENER, listener, from)));
        assert.deepEqual(encode(LISTENER, message, to), encode(LISTENER, listener, to));
      }
  });

  test('an Any keeps its type and content', () => {
    const any = decode('google.protobuf.Any', encodeAny(ROUTES, routes));
    assert.deepEqual(any, { '@type': TYPE_URL_PREFIX + ROUTES, ...routes });
  });

  test('a field that Envoy does not have is an error that names it', () => {
    assert.throws(() => encode(ROUTES, { nam: 'x' }), /RouteConfiguration: there is no field nam/);
    assert.throws(() => encode(VIRTUAL_HOST, { require_tls: 'SOME' }), /require_tls: SOME is not a value of/);
  });

  test('numbers of every size survive', () => {
    const type = 'google.protobuf.UInt64Value';
    for (const value of [0, 1, 127, 128, 16_383, 16_384, 2 ** 21, 2 ** 28, 2 ** 31 - 1, 2 ** 31, 2 ** 40, 2 ** 53 - 1])
      assert.equal(decode(type, encode(type, value as unknown as Message)), value);
    const int = 'google.protobuf.Int32Value';
    assert.equal(decode(int, encode(int, -5 as unknown as Message)), -5);
  });
});

interface ProtobufRoot {
  lookupType(name: string): {
    decode(bytes: Uint8Array): unknown;
    encode(message: unknown): { finish(): Uint8Array };
    fromObject(value: unknown): unknown;
    toObject(message: unknown, options: object): unknown;
  };
}

/** The second implementation: protobufjs on the .proto files themselves. */
function protobufjs(): ProtobufRoot {
  const client = dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json'));
  const require = createRequire(join(client, 'package.json'));
  const deps = join(client, 'deps');
  const folders = readdirSync(deps).map((name) => join(deps, name));
  // It brings the files of google.protobuf.
  const loader: unknown = require('@grpc/proto-loader');
  assert.ok(loader);
  const proto = createRequire(require.resolve('@grpc/proto-loader'))('protobufjs') as {
    Root: new () => ProtobufRoot & {
      resolvePath(origin: string, target: string): string | null;
      loadSync(file: string, options: object): ProtobufRoot;
    };
  };
  const root = new proto.Root();
  const own = root.resolvePath.bind(root);
  root.resolvePath = (origin, target) =>
    folders.map((folder) => join(folder, target)).find((path) => existsSync(path)) ?? own(origin, target);
  return root.loadSync('envoy/config/route/v3/route.proto', { keepCase: true });
}
