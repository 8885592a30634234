import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import type { Type } from 'protobufjs';
import { readDescriptors } from '../../test/envoy/descriptors.ts';
import { encodeAnyBuffers, plainItems } from './composed.ts';
import { decode } from './decode.ts';
import { CONFIG_SOURCE, withoutDelivery } from './delivery.ts';
import { encode, encodeAny, Fragment, FragmentChunk, RenamedFragment } from './encode.ts';
import type { Listener, RouteConfiguration, VirtualHost } from './gen/types.ts';
import { TYPE_URL_PREFIX, typed } from './tables.ts';

const ROUTES = 'envoy.config.route.v3.RouteConfiguration';
const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';
const LISTENER = 'envoy.config.listener.v3.Listener';
const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

const host: VirtualHost = {
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
const routes: RouteConfiguration = { name: 'ingress_http', virtual_hosts: [host], ignore_port_in_host_matching: true };

suite('codec', () => {
  test('a value is the same after encoding and decoding', () => {
    const back = decode(ROUTES, encode(ROUTES, routes));
    // A weight of zero is a wrapper that is set; a default scalar is not written.
    assert.deepEqual(back, routes);
  });

  test('protobufjs, reading the descriptors, understands the bytes and writes ones that are understood here', () => {
    const type = readDescriptors().lookupType(ROUTES);
    const read = type.toObject(type.decode(encode(ROUTES, routes)), { enums: String, longs: Number }) as {
      virtual_hosts: {
        domains: string[];
        routes: { route: { timeout: unknown; weighted_clusters: { clusters: unknown[] } } }[];
      }[];
    };
    const [first] = read.virtual_hosts;
    assert.deepEqual(first?.domains, host.domains);
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

  test('chunks of fragments have the bytes of the list, and are buffers of a resource that are not encoded again', () => {
    const hosts = ['a', 'b', 'c'].map((name) => ({ ...host, name }));
    const [first, second, third] = hosts.map((each) => new Fragment(VIRTUAL_HOST, each, true));
    assert.ok(first && second && third);
    const chunks = [new FragmentChunk([first]), new FragmentChunk([second])];
    const composed = { ...routes, virtual_hosts: [...chunks, third] };
    const plain = { ...routes, virtual_hosts: hosts };
    assert.deepEqual(encode(ROUTES, composed), encode(ROUTES, plain));
    const buffers = encodeAnyBuffers(ROUTES, composed, 'grpc');
    assert.deepEqual(Buffer.concat(buffers), encodeAny(ROUTES, plain));
    const again = encodeAnyBuffers(ROUTES, { ...composed, name: 'other' }, 'ads');
    assert.deepEqual(
      again.map((buffer) => buffers.includes(buffer)),
      [false, true, true, false],
    );
  });

  test('a resource names the source that fits the delivery', () => {
    const listener: Listener = {
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
      const [chain] = plainItems(decode(LISTENER, encode(LISTENER, listener, delivery)).filter_chains);
      const config = chain?.filters?.[0]?.typed_config;
      return config?.['@type'] === `type.googleapis.com/${HCM}` ? config.rds?.config_source : undefined;
    };
    assert.deepEqual(source('ads'), { ads: {}, resource_api_version: 'V3' });
    assert.equal(source('grpc')?.api_config_source?.api_type, 'GRPC');
    assert.equal(source('delta')?.api_config_source?.api_type, 'DELTA_GRPC');
    // The bytes of one delivery are enough for those of every other one.
    const deliveries = ['grpc', 'delta', 'ads'] as const;
    for (const from of deliveries)
      for (const to of deliveries) {
        const message = withoutDelivery(decode(LISTENER, encode(LISTENER, listener, from)));
        assert.deepEqual(encode(LISTENER, message, to), encode(LISTENER, listener, to));
      }
  });

  test('the tables have the numbers, the types and the oneofs of the descriptors', () => {
    const root = readDescriptors();
    const { messages } = JSON.parse(readFileSync(new URL('./gen/messages.json', import.meta.url), 'utf8')) as {
      messages: Record<string, { fields: [number, string, string, { list?: true; key?: string; oneof?: string }?][] }>;
    };
    for (const [name, { fields }] of Object.entries(messages)) {
      const type = root.lookupType(name);
      for (const [number, field, valueType, more] of fields) {
        const described = type.fields[field]?.resolve();
        assert.ok(described, `${name}.${field}`);
        // An entry of a map is a message of its own.
        const value = more?.key === undefined ? described : (described.resolvedType as Type).fields['value']?.resolve();
        const full = value?.resolvedType?.fullName.slice(1) ?? value?.type;
        const oneof = described.partOf?.name.startsWith('_') === true ? undefined : described.partOf?.name;
        assert.deepEqual(
          [described.id, full, described.repeated, oneof],
          [number, valueType, more?.list === true || more?.key !== undefined, more?.oneof],
          `${name}.${field}`,
        );
      }
    }
  });

  test('an Any keeps its type and content', () => {
    const any = decode('google.protobuf.Any', encodeAny(ROUTES, routes));
    assert.deepEqual(any, { '@type': TYPE_URL_PREFIX + ROUTES, ...routes });
  });

  test('a field that Envoy does not have is an error that names it', () => {
    // @ts-expect-error The compiler refuses it as well.
    assert.throws(() => encode(ROUTES, { nam: 'x' }), /RouteConfiguration: there is no field nam/);
    // @ts-expect-error The compiler refuses it as well.
    assert.throws(() => encode(VIRTUAL_HOST, { require_tls: 'SOME' }), /require_tls: SOME is not a value of/);
  });

  test('numbers of every size survive', () => {
    const type = 'google.protobuf.UInt64Value';
    for (const value of [0, 1, 127, 128, 16_383, 16_384, 2 ** 21, 2 ** 28, 2 ** 31 - 1, 2 ** 31, 2 ** 40, 2 ** 53 - 1])
      assert.equal(decode(type, encode(type, value)), value);
    const int = 'google.protobuf.Int32Value';
    assert.equal(decode(int, encode(int, -5)), -5);
  });
});
