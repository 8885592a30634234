// Every field of SesameConfiguration that reaches Envoy is edited and edited back under load, and no request fails.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Client, Namespace, Secret, Service } from '@capstan/kube';
import { freePort } from '@capstan/testing';
import { overlay } from '../../src/configuration/fields.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import type { ConfigurationSpec } from '../../src/kinds/index.ts';
import { IN_XDS } from '../configuration/field-effects.ts';
import { missingEnvoy, type NamedConfiguration, runUnderLoad } from './under-load.ts';

/** Fields that change the part of a client, or that need a file or an address which this machine does not have. */
const ELSEWHERE = [
  /^envoy\.listener\.useProxyProtocol$/,
  // Envoy opens its sockets again: the kernel resets connections that no worker has accepted yet (docs/sesame-configuration.md).
  /^envoy\.listener\.socketOptions\./,
  /^envoy\.https?\.(address|port|accessLog)$/,
  /^envoy\.(metrics|health)\./,
  /^httpproxy\.disablePermitInsecure$/,
];

/** No server answers for the ExtensionServices: requests pass while they fail open. */
const OPEN = { globalExtAuth: { failOpen: true }, rateLimitService: { failOpen: true } };

/** Limits that this load does not reach. */
const BREAKERS = ['maxConnections', 'maxPendingRequests', 'maxRequests', 'maxRetries', 'perHostMaxConnections'];
const breaker = (name: string): ConfigurationSpec => ({ envoy: { cluster: { circuitBreakers: { [name]: 5000 } } } });

/** Edits that leave a client of HTTP/1.1 with a host of the default class served. */
async function ownEdits(): Promise<Readonly<Record<string, ConfigurationSpec>>> {
  const port = await freePort();
  return {
    'ingress.className': { ingress: { className: 'special,sesame' } },
    'envoy.listener.maxConnectionsPerListener': { envoy: { listener: { maxConnectionsPerListener: 10_000 } } },
    'envoy.defaultHTTPVersions': { envoy: { defaultHTTPVersions: ['HTTP/1.1'] } },
    ...Object.fromEntries(BREAKERS.map((name) => [`envoy.cluster.circuitBreakers.${name}`, breaker(name)])),
    'envoy.network.adminPort': { envoy: { network: { adminPort: port } } },
    'envoy.omEnforcedHealth.address': { envoy: { omEnforcedHealth: { address: '127.0.0.5', port } } },
    'envoy.omEnforcedHealth.port': { envoy: { omEnforcedHealth: { port } } },
  };
}

async function configurations(): Promise<NamedConfiguration[]> {
  const own = await ownEdits();
  const open = (spec: ConfigurationSpec): object =>
    Object.entries(OPEN).reduce<object>(
      (sum, [key, value]) => (key in sum ? overlay(sum as never, { [key]: value }) : sum),
      spec,
    );
  return Object.entries(IN_XDS)
    .filter(([path]) => !ELSEWHERE.some((each) => each.test(path)))
    .flatMap(([path, { base = {}, edit }]) => [
      { name: `${path} before`, spec: open(base) },
      { name: path, spec: open(overlay(base as never, own[path] ?? edit)) },
    ]);
}

/** This test has a machine for itself nowhere, and it is about answers, not about their speed. */
const PATIENCE_MS = 60_000;

async function createObjects(client: Client): Promise<void> {
  const load = { namespace: 'default', name: 'load' };
  await client.patch(HTTPProxy, load, 'json', [
    { op: 'add', path: '/spec/ingressClassName', value: 'sesame' },
    { op: 'add', path: '/spec/routes/0/timeoutPolicy/response', value: `${PATIENCE_MS / 1000}s` },
  ]);
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
  const { type, data = {} } = await client.get(Secret, load);
  for (const [namespace, name] of [
    ['default', 'client'],
    ['default', 'fallback'],
    ['other', 'client'],
  ] as const)
    await client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      ...(type && { type }),
      data,
    });
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const }];
  for (const namespace of ['default', 'other'])
    await client.create(Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'silent', namespace },
      spec: { ports },
    });
  for (const [name, namespace] of [
    ['auth', 'default'],
    ['auth', 'other'],
    ['limits', 'default'],
    ['traces', 'default'],
  ] as const)
    await client.create(ExtensionService, {
      apiVersion: ExtensionService.apiVersion,
      kind: 'ExtensionService',
      metadata: { name, namespace },
      spec: { protocol: 'h2c', services: [{ name: 'silent', port: 80 }] },
    });
}

suite('edits of the configuration under load', { skip: missingEnvoy() }, () => {
  test('no request fails while each field is changed and changed back', { timeout: 280_000 }, async (t) => {
    const all = await configurations();
    const result = await runUnderLoad({
      changes: 0,
      requestsPerSecond: 40,
      mode: 'delta-ads',
      patienceMs: PATIENCE_MS,
      configurations: all,
      given: createObjects,
    });
    t.diagnostic(
      `${all.length / 2} fields, ${result.requests} requests, ${result.failures} failed, longest stall ${result.stallMs} ms`,
    );
    assert.deepEqual(result.failed, [], result.firstFailed.join('\n'));
    assert.deepEqual(result.refusals, []);
    assert.ok(all.length / 2 >= 80, `${all.length / 2} fields`);
  });
});
