import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decode, FragmentChunk } from '../../envoy/index.ts';
import type { Cluster } from '../../model/cluster.ts';
import { testSettings } from '../../routing/default-settings.ts';
import { sharedRoutes } from '../../routing/envoy/route-message.ts';
import type { Resource } from '../../xds/index.ts';
import type { Listener } from '../api/objects.ts';
import { certificate, type Fixture, gatewaySpec, listener, lookupOf } from '../gateway.test-support.ts';
import { gatewayState } from '../listeners/listener-state.ts';
import { hostRoutes } from './host-routes.ts';
import { type PortContent, portResources } from './port-listener.ts';

const GATEWAY = { kind: 'Gateway', namespace: 'default', name: 'edge', path: 'spec.listeners' };

/** Returns the resources that Envoy would get. */
function served(listeners: Listener[], content: Partial<PortContent> = {}, fixture: Fixture = {}) {
  const state = gatewayState(gatewaySpec(...listeners), 'default', lookupOf(fixture));
  const port = listeners[0]?.port ?? 80;
  const { listener: opened, configurations } = portResources(
    { port, listeners: state.listeners, hosts: [], streams: [], origin: GATEWAY, ...content },
    { address: '0.0.0.0', ports: { 443: 8443 } },
    testSettings(),
  );
  const resources = [
    ...configurations.map(({ name, more }) =>
      sharedRoutes(name, [new FragmentChunk(content.hosts?.map(fragmentOf) ?? [])], name, [], more),
    ),
    ...(opened ? [opened] : []),
  ];
  for (const resource of resources) assert.deepEqual(resource.violations(), [], resource.key);
  return Object.fromEntries(resources.map((resource) => [resource.key, valueOf(resource)]));
}

interface Served {
  readonly virtual_hosts?: readonly { readonly name: string; readonly domains: readonly string[] }[];
  readonly filter_chains?: readonly {
    readonly name: string;
    readonly filter_chain_match?: object;
    readonly transport_socket?: object;
    readonly filters: readonly { readonly name: string }[];
  }[];
  readonly address?: { readonly socket_address: { readonly port_value: number } };
}

function valueOf(resource: Resource): Served {
  return decode('google.protobuf.Any', resource.bytes('grpc', 'whole')) as unknown as Served;
}

const hostsOf = (routes: Served | undefined) => (routes?.virtual_hosts ?? []).map(({ name }) => name);
const host = (name: string, of: string) => ({ listener: of, host: name });
const fragmentOf = ({ host: name }: { host: string }) => hostRoutes('test', name, []).fragment;

suite('Envoy’s listener for a port of a Gateway', () => {
  test('plain listeners share one; a name without a route is not left to a wider listener', () => {
    const found = served([listener('all'), listener('own', { hostname: 'own.test' })], { hosts: [host('*', 'all')] });
    assert.deepEqual(Object.keys(found), ['rds/http-80', 'lds/http-80']);
    assert.deepEqual(hostsOf(found['rds/http-80']), ['*', 'empty/own.test']);
  });

  test('listeners with TLS have a chain and routes each; names of the others are misdirected', async () => {
    const { secret } = await certificate('good');
    const https = (name: string, hostname?: string) =>
      listener(name, { port: 443, protocol: 'HTTPS', hostname, tls: { certificateRefs: [{ name: 'good' }] } });
    const found = served([https('all'), https('wild', '*.test'), https('one', 'one.test')], {}, { secrets: [secret] });
    const { filter_chains: chains = [], address } = found['lds/https-443'] ?? {};
    assert.equal(address?.socket_address.port_value, 8443);
    assert.deepEqual(
      chains.map(({ name, filter_chain_match: match }) => [name, match]),
      [
        ['*', { transport_protocol: 'tls' }],
        ['*.test', { server_names: ['*.test'] }],
        ['one.test', { server_names: ['one.test'] }],
      ],
    );
    assert.deepEqual(hostsOf(found['rds/https-443/all']), ['misdirected/*.test', 'misdirected/one.test']);
    assert.deepEqual(hostsOf(found['rds/https-443/wild']), ['misdirected/one.test', 'misdirected/*', 'empty/*.test']);
    assert.deepEqual(hostsOf(found['rds/https-443/one']), ['misdirected/*', 'empty/one.test']);
  });

  test('TLS is passed through or terminated by name, beside HTTPS; of two routes for a name the first counts', async () => {
    const { secret } = await certificate('good');
    const tls = { certificateRefs: [{ name: 'good' }] };
    const listeners = [
      listener('https', { port: 443, protocol: 'HTTPS', hostname: 'a.test', tls }),
      listener('pass', { port: 443, protocol: 'TLS', hostname: 'b.test', tls: { mode: 'Passthrough' } }),
      listener('own', { port: 443, protocol: 'TLS', hostname: 'c.test', tls }),
    ];
    const target = (name: string) => ({
      destinations: [{ cluster: { name } as Cluster, weight: 1 }],
      refProblems: [],
      origin: undefined,
    });
    const stream = (of: string, name: string, cluster: string) => ({
      listener: of,
      host: name,
      target: target(cluster),
    });
    const streams = [stream('pass', 'b.test', 'old'), stream('pass', 'b.test', 'new'), stream('own', 'c.test', 'own')];
    const { filter_chains: chains = [] } = served(listeners, { streams }, { secrets: [secret] })['lds/https-443'] ?? {};
    assert.deepEqual(
      chains.map(({ name, transport_socket: socket, filters }) => [name, socket !== undefined, filters[0]?.name]),
      [
        ['a.test', true, 'envoy.filters.network.http_connection_manager'],
        ['b.test', false, 'envoy.filters.network.tcp_proxy'],
        ['c.test', true, 'envoy.filters.network.tcp_proxy'],
      ],
    );
    assert.match(JSON.stringify(chains[1]), /"old"/);
    assert.doesNotMatch(JSON.stringify(chains[1]), /"new"/);
  });

  test('a TCP port is opened with its first route, and closes connections without a backend', () => {
    const tcp = listener('tcp', { port: 5432, protocol: 'TCP' });
    assert.deepEqual(served([tcp]), {});
    const target = { destinations: [], refProblems: [], origin: undefined };
    const found = served([tcp], { streams: [{ listener: 'tcp', host: '*', target }] });
    assert.match(JSON.stringify(found['lds/tcp-5432']), /"no-backend"/);
  });
});
