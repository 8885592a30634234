// Random edits of routes: each is previewed, made and compared with the deliveries to Envoys.
// On the embedded server only: minutes pass at once there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCa,
  Ingress,
  IngressClass,
  issueCertificate,
  type Kind,
  type KubeObject,
  refOf,
  Secret,
  Service,
} from '@capstan/kube';
import {
  assertForetold,
  createRandom,
  createStage,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  toRest,
} from '@capstan/testing';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { sharedGateways } from '../conformance/shared-gateways.ts';
import { at, gateway, gatewayClass, httpRoute, installKinds, kinds, service } from '../gateway/fixtures.ts';

const HOSTS = ['a.example', 'b.example'];
const SERVICES = ['shop', 'api'];
const object = (kind: Kind, name: string, spec: object): [Kind, KubeObject] => [
  kind,
  { apiVersion: kind.apiVersion, kind: kind.kind, metadata: at(name), spec } as KubeObject,
];

async function certificate(): Promise<Secret> {
  const validity = { notBefore: Date.UTC(2025, 0), notAfter: Date.UTC(2036, 0) };
  const ca = await createCa({ commonName: 'test', ...validity });
  const pair = await issueCertificate({ ca, commonName: 'a', dnsNames: HOSTS, usages: ['server'], ...validity });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const data = { 'tls.crt': base64(pair.certificate), 'tls.key': base64(pair.key) };
  return { apiVersion: 'v1', kind: 'Secret', metadata: at('cert'), type: 'kubernetes.io/tls', data };
}
const secret = await certificate();

const some = (random: SeededRandom, fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.3)));
const backend = (random: SeededRandom) => ({ name: random.pick([...SERVICES, 'absent']), port: 80 });
const routes = (random: SeededRandom) => [
  {
    services: [backend(random), ...(random.chance(0.3) ? [{ ...backend(random), weight: 3 }] : [])],
    ...some(random, {
      conditions: [{ prefix: random.pick(['/', '/api']) }],
      timeoutPolicy: { response: random.pick(['5s', 'none', 'wrong']) },
      requestHeadersPolicy: { set: [{ name: 'X-A', value: random.pick(['1', '2']) }] },
    }),
  },
];

type Make = (random: SeededRandom) => readonly [Kind, KubeObject];
const proxy =
  (name: string): Make =>
  (random) =>
    object(HTTPProxy, name, {
      virtualhost: {
        fqdn: random.pick(HOSTS),
        ...some(random, { tls: { secretName: random.pick(['cert', 'none']) } }),
      },
      ...(random.chance(0.8)
        ? { routes: routes(random) }
        : { includes: [{ name: 'child', conditions: [{ prefix: '/' }] }] }),
    });
const OBJECTS: readonly Make[] = [
  proxy('one'),
  proxy('two'),
  (random) => object(HTTPProxy, 'child', { routes: routes(random) }),
  (random) =>
    object(Ingress, 'web', {
      ...some(random, { tls: [{ secretName: 'cert', hosts: [HOSTS[0]] }] }),
      rules: [
        {
          host: random.pick(HOSTS),
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: backend(random).name, port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    }),
  (random) => [
    kinds.Gateway,
    gateway('edge', {
      listeners: [
        {
          name: 'http',
          port: random.pick([80, 8080]),
          protocol: 'HTTP',
          ...some(random, { hostname: random.pick(['a.example', '*.example']) }),
        },
      ],
    }),
  ],
  (random) => [
    kinds.HTTPRoute,
    httpRoute('route', random.pick(['edge', 'absent']), {
      rules: [{ backendRefs: [backend(random)] }],
      ...some(random, { hostnames: [random.pick(HOSTS)] }),
    }),
  ],
  () => [kinds.GatewayClass, gatewayClass()],
  ...SERVICES.map(
    (name): Make =>
      () => [Service, service(name)],
  ),
  () => [Secret, secret],
  () => object(TLSCertificateDelegation, 'all', { delegations: [{ secretName: 'cert', targetNamespaces: ['*'] }] }),
  (random) => object(ExtensionService, 'auth', { protocol: random.pick(['h2', 'h2c']), services: [backend(random)] }),
];

for (const { seed, edits, variety } of foretoldRuns(15))
  test(`${edits} random edits of routes do what their previews show (seed ${seed})`, async (t) => {
    const random = createRandom(seed);
    const next = (): RandomEdit => {
      const [kind, one] = random.pick(OBJECTS)(random);
      return random.chance(0.15) ? { kind, gone: refOf(one) } : { kind, object: one };
    };
    const { operator } = sharedGateways(testSettings(), { placement: { address: '127.0.0.1' } });
    const stage = await createStage({
      operators: [operator],
      async given(client) {
        await installKinds(client);
        await client.create(IngressClass, {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'IngressClass',
          metadata: { name: 'sesame' },
          spec: { controller: 'projectsesame.io/sesame' },
        });
        await client.create(kinds.GatewayClass, gatewayClass());
        for (const name of SERVICES) await client.create(Service, service(name));
        await client.create(Secret, secret);
      },
    });
    try {
      await stage.settle();
      await toRest(stage);
      const { writes } = await assertForetold({ stage, edits, next, variety, report: (line) => t.diagnostic(line) });
      assert.ok(writes > 0, 'the edits do something');
    } finally {
      await stage.end();
    }
  });
