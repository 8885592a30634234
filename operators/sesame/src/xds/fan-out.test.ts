// Many clients of one server. The counters count the reads of the codec: a value is read once for each time that it is encoded.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CONFIG_SOURCE, type Envoy, Fragment, FragmentChunk, typeUrl } from '../envoy/index.ts';
import type { DiscoveryMethod } from './discovery-stream.ts';
import { placeMetadata } from './listener-place.ts';
import { createResource, type Resource } from './resource.ts';
import { createXdsStage, endpoints, put } from './xds.test-support.ts';
import { connectXds, type XdsStream } from './xds-client.ts';

const CLIENTS = 12;
const WORLD: DiscoveryMethod = { type: undefined, isDelta: false };
const DELTA: DiscoveryMethod = { type: undefined, isDelta: true };
const VIRTUAL_HOST = 'envoy.config.route.v3.VirtualHost';
const FILTER_CHAIN = 'envoy.config.listener.v3.FilterChain';

/** Counts how often each value was encoded. */
function createCounter() {
  const counts = new Map<string, number>();
  const count = (id: string) => counts.set(id, (counts.get(id) ?? 0) + 1);
  return {
    counts,
    count,
    /** The same value, which counts when its name is read. */
    counted<Value extends { readonly name: string }>(id: string, value: Value): Value {
      const { name } = value;
      return Object.defineProperty({ ...value }, 'name', { enumerable: true, get: () => (count(id), name) });
    },
  };
}

type Counter = ReturnType<typeof createCounter>;

function resourcesOf({ counted, count }: Counter, version: number): Resource[] {
  const host = { name: 'shop', domains: ['shop.example.com'], response_headers_to_remove: [`x-${version}`] };
  const hosts = [new FragmentChunk([new Fragment(VIRTUAL_HOST, counted(`host ${version}`, host), true)])];
  const chain = { name: `shop-${version}`, filter_chain_match: { server_names: ['shop.example.com'] } };
  const chains = [new FragmentChunk([new Fragment(FILTER_CHAIN, counted(`chain ${version}`, chain))])];
  const address = { socket_address: { address: '0.0.0.0', port_value: 8443 } };
  const composed = (id: string) => {
    count(`${id} ${version}`);
    return {};
  };
  const cluster: Envoy.Cluster & { readonly name: string } = {
    name: 'shop',
    type: 'EDS',
    connect_timeout: `${version}s`,
    eds_cluster_config: { service_name: 'shop', eds_config: CONFIG_SOURCE },
  };
  return [
    createResource({
      type: 'cds',
      name: 'shop',
      value: counted(`cluster ${version}`, cluster),
      requires: ['eds/shop'],
    }),
    endpoints('shop', 8000 + version),
    createResource({
      type: 'rds',
      name: 'all',
      contentHash: `00000000000000${10 + version}`,
      value: () => ({ ...composed('routes'), name: 'all', virtual_hosts: hosts }),
    }),
    createResource({
      type: 'lds',
      name: 'https',
      contentHash: `00000000000000${20 + version}`,
      value: () => ({ ...composed('listener'), name: 'https', address, filter_chains: chains }),
    }),
  ];
}

const SUBSCRIPTIONS = [
  ['cds', '*'],
  ['eds', 'shop'],
  ['lds', '*'],
  ['rds', 'all'],
] as const;

/** A client that only acknowledges; `received` resolves when it has one more response of each type. */
function openClient(context: TestContext, port: number, method: DiscoveryMethod, nodeId: string, bound?: string) {
  const metadata = placeMetadata({ address: bound }) as Envoy.Node['metadata'];
  const client = connectXds({ host: '127.0.0.1', port, nodeId, metadata });
  context.after(() => client.close());
  const stream: XdsStream = client.open(method);
  for (const [type, name] of SUBSCRIPTIONS)
    stream.request({
      type_url: typeUrl(type),
      ...(method.isDelta ? { resource_names_subscribe: [name] } : { resource_names: name === '*' ? [] : [name] }),
    });
  return {
    async received() {
      const awaited = new Set<string>(SUBSCRIPTIONS.map(([type]) => typeUrl(type)));
      while (awaited.size > 0) {
        const response = await stream.next();
        const [, name = ''] = SUBSCRIPTIONS.find(([type]) => typeUrl(type) === response.typeUrl) ?? [];
        stream.ack(response, name === '*' ? [] : [name]);
        if (response.resources.size > 0) awaited.delete(response.typeUrl);
      }
    },
  };
}

/** Serves two versions to some clients, and returns how often each value of both was encoded. */
async function encodings(context: TestContext, clients: number, method: DiscoveryMethod, bound?: string) {
  const { store, server } = await createXdsStage(context);
  const counter = createCounter();
  put(store, ...resourcesOf(counter, 1));
  const all = Array.from({ length: clients }, (_, at) =>
    openClient(context, server.port, method, `envoy-${at}`, bound),
  );
  await Promise.all(all.map((client) => client.received()));
  put(store, ...resourcesOf(counter, 2));
  await Promise.all(all.map((client) => client.received()));
  return counter.counts;
}

for (const [way, method, bound] of [
  ['aggregated delta streams', DELTA, undefined],
  ['aggregated streams in state of the world', WORLD, undefined],
  ['aggregated delta streams with listeners at another address', DELTA, '127.64.0.9'],
] as const)
  test(`a resource is encoded once for all clients on ${way}`, async (context) => {
    const forOne = await encodings(context, 1, method, bound);
    for (const id of ['cluster', 'routes', 'host', 'listener', 'chain'])
      for (const version of [1, 2]) assert.ok((forOne.get(`${id} ${version}`) ?? 0) > 0, `${id} is counted`);
    assert.deepEqual(await encodings(context, CLIENTS, method, bound), forOne);
  });
