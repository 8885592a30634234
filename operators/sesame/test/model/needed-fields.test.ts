// Each field of the model, and of Envoy's messages, is needed in all fixtures: a field that is misspelt or left out is noticed.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createCa, issueCertificate } from '@capstan/kube';
import type { NamedSecret } from '../../src/model/certificate.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { EndpointSet } from '../../src/model/endpoints.ts';
import type { FilterChain } from '../../src/model/listener.ts';
import type { Route } from '../../src/model/route.ts';
import { mergeHost } from '../../src/routing/assembly/piece.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { clusterMessage } from '../../src/routing/envoy/cluster-message.ts';
import { endpointsMessage } from '../../src/routing/envoy/endpoints-message.ts';
import { chainMessage, FILTER_CHAIN, listenerMessage } from '../../src/routing/envoy/listener-message.ts';
import { clustersOf, routeMessage, VIRTUAL_HOST, virtualHostMessage } from '../../src/routing/envoy/route-message.ts';
import { secretMessage } from '../../src/routing/envoy/secret-message.ts';
import { hostChain } from '../../src/routing/listener/filter-chain.ts';
import {
  httpListener,
  type ListenerModel,
  ownListeners,
  secureListener,
} from '../../src/routing/listener/listeners.ts';
import type { HostContribution } from '../../src/routing/proxy/translate-root.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { type Case, readCases, translateIngressCase, translateProxyCase, translateRuleCase } from './cases.ts';
import { fieldsNotNeeded } from './needed-fields.ts';

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const ca = await createCa({ commonName: 'test', ...validity });
const issued = await issueCertificate({
  ca,
  commonName: 'a.test',
  dnsNames: ['a.test'],
  usages: ['server'],
  ...validity,
});
const certificates = { certificate: issued.certificate, key: issued.key, ca: ca.certificate };

const ROUTE = 'envoy.config.route.v3.Route';
const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const LISTENER = 'envoy.config.listener.v3.Listener';
const ENDPOINTS = 'envoy.config.endpoint.v3.ClusterLoadAssignment';
const SECRET = 'envoy.extensions.transport_sockets.tls.v3.Secret';

/** Fields of the model that explain reads and that Envoy does not get; clusters and secrets are messages of their own. */
const NOT_SENT = new Set(['permitInsecure', 'service', 'isPlain', 'caName', 'cluster', 'content']);

function checkRoutes(routes: readonly Route[]): string[] {
  return routes.flatMap((value) => [
    ...fieldsNotNeeded({
      name: 'route',
      value,
      type: ROUTE,
      translate: (route) => routeMessage(route),
      notSent: NOT_SENT,
    }),
    ...clustersOf(value).flatMap(checkCluster),
  ]);
}

function checkCluster(value: Cluster): string[] {
  return fieldsNotNeeded({ name: 'cluster', value, type: CLUSTER, translate: clusterMessage, notSent: NOT_SENT });
}

function checkHost(host: HostContribution, settings: RoutingSettings): string[] {
  const { fqdn, plain, policies, rateLimits, secure } = host;
  const chain = secure && hostChain(host, secure, settings);
  return [
    ...checkRoutes(secure && secure.routes.length > 0 ? [...plain, ...secure.routes] : plain),
    ...fieldsNotNeeded({
      name: 'virtual host',
      value: { fqdn, policies, rateLimits },
      type: VIRTUAL_HOST,
      translate: (value) => virtualHostMessage({ ...value, routes: [], origins: [] }),
    }),
    ...(chain ? checkChain(chain) : []),
    ...(secure?.tcp ?? []).flatMap(({ cluster }) => checkCluster(cluster)),
    ...(secure?.jwt?.clusters ?? []).flatMap(checkCluster),
  ];
}

function checkChain(value: FilterChain): string[] {
  return fieldsNotNeeded({
    name: 'filter chain',
    value,
    type: FILTER_CHAIN,
    translate: chainMessage,
    notSent: NOT_SENT,
  });
}

function checkListener({ chains, ...value }: ListenerModel): string[] {
  return [
    ...fieldsNotNeeded({ name: value.name, value, type: LISTENER, translate: (each) => listenerMessage(each, []) }),
    ...chains.flatMap(checkChain),
  ];
}

function checkSecret(value: NamedSecret): string[] {
  return fieldsNotNeeded({ name: value.name, value, type: SECRET, translate: secretMessage });
}

const files: Record<string, (each: Case) => string[]> = {
  './http-proxy.yaml': (each) => {
    const { parts, secrets, settings } = translateProxyCase(each, certificates);
    const host = mergeHost('a.test', parts);
    return [...(host ? checkHost(host, settings) : []), ...secrets.flatMap(checkSecret)];
  },
  './ingress.yaml': (each) => {
    const { parts, secrets, settings } = translateIngressCase(each, certificates);
    const host = mergeHost('a.test', [...parts.values()]);
    return [...(host ? checkHost(host, settings) : []), ...secrets.flatMap(checkSecret)];
  },
  './gateway.yaml': (each) => checkRoutes(translateRuleCase(each).routes),
};

for (const [file, check] of Object.entries(files))
  suite(`each field is needed in the fixtures of ${file}`, () => {
    for (const each of readCases(file))
      test(`${each.policy} needs each field of its routes, clusters, hosts, chains and secrets`, () =>
        assert.deepEqual(check(each), []));
  });

/** Settings that give listeners every field. */
const LISTENING = testSettings((settings) => {
  Object.assign(settings.envoy.listener, {
    useProxyProtocol: true,
    connectionBalancer: 'exact',
    perConnectionBufferLimitBytes: 32_768,
    maxConnectionsToAcceptPerSocketEvent: 7,
    socketOptions: { tos: 64, trafficClass: 64 },
  });
  settings.envoy.http.address = '::';
  settings.envoy.https.address = '::';
  settings.envoy.listener.tls.fingerprint = { ja3: true, ja4: true };
  settings.envoy.network.adminPort = 9001;
  settings.envoy.metrics.tls = { certFile: '/certs/tls.crt', keyFile: '/certs/tls.key', caFile: '/certs/ca.crt' };
});

suite('each field is needed of the listeners', () => {
  const all = [
    httpListener(LISTENING, undefined),
    secureListener('ingress_https', LISTENING, [], '', []),
    secureListener('ingress_http3', LISTENING, [], '', []),
    ...ownListeners(LISTENING).filter(({ type }) => type === 'lds'),
  ].map(({ model }) => model as ListenerModel);

  for (const listener of all)
    test(`${listener.name} needs each field`, () => assert.deepEqual(checkListener(listener), []));

  test('every field of a listener is in one of them', () => {
    const fields = new Set(
      all.flatMap((each) => Object.entries(each).flatMap(([name, value]) => (value === undefined ? [] : [name]))),
    );
    assert.deepEqual(
      [
        'socket',
        'tlsInspection',
        'isBalanced',
        'bufferLimitBytes',
        'maxConnectionsPerEvent',
        'ignoresConnectionLimit',
        'isQuic',
      ].filter((name) => !fields.has(name)),
      [],
    );
  });
});

test('endpoints need each field', () => {
  const origin = { kind: 'Service', namespace: 'default', name: 'shop', path: 'spec' };
  const value: EndpointSet = {
    name: 'default/shop/http',
    groups: [
      { zone: 'a', weight: 3, endpoints: [{ address: '10.0.0.1', port: 80 }] },
      {
        zone: 'b',
        weight: 4,
        endpoints: [
          { address: '10.0.0.2', port: 81 },
          { address: '10.0.0.3', port: 81 },
        ],
      },
    ],
    origin,
  };
  assert.deepEqual(fieldsNotNeeded({ name: 'endpoints', value, type: ENDPOINTS, translate: endpointsMessage }), []);
});

test('secrets of each kind need each field', () => {
  const origin = { kind: 'Secret', namespace: 'default', name: 'cert', path: 'data' };
  const bytes = Buffer.from('bytes');
  const secrets: NamedSecret[] = [
    { kind: 'certificate', name: 'a', chain: bytes, key: bytes, origin },
    { kind: 'certificate', name: 'b', chain: { file: '/a' }, key: { file: '/b' }, origin },
    { kind: 'authorities', name: 'c', certificates: bytes, origin },
    { kind: 'key', name: 'd', content: bytes, origin },
  ];
  assert.deepEqual(secrets.flatMap(checkSecret), []);
});
