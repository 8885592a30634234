// Pods as the server stores them after the webhook. The server accepts the pod for every config.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import {
  type Client,
  CustomResourceDefinition,
  createCa,
  issueCertificate,
  type KubeObject,
  MutatingWebhookConfiguration,
  Namespace,
  Pod,
  ServiceAccount,
  silentLogger,
  systemClock,
} from '@capstan/kube';
import type { KeyPair, WebhookServer } from '@capstan/reconcile/webhook';
import { chosenServer, createRandom, createTestCluster, startRealCluster } from '@capstan/testing';
import { createKroxylicious, KroxyliciousSidecarConfig } from '../../src/index.ts';
import { serveWebhook } from '../../src/sidecar/serve.ts';
import { until } from '../real/programs.ts';
import { cluster, config, pod } from './fixtures.ts';

const NAMESPACE = 'demo-app';
let client: Client;
let server: WebhookServer;
let pair: KeyPair;
const stopping = new AbortController();
const ends: (() => unknown)[] = [];

async function issued(): Promise<{ pair: KeyPair; ca: string }> {
  const validity = { notBefore: systemClock.now() - 60_000, notAfter: systemClock.now() + 3_600_000 };
  const ca = await createCa({ commonName: 'test', ...validity });
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], usages: ['server'] as const };
  const { certificate, key } = await issueCertificate({ ca, commonName: 'webhook', ...names, ...validity });
  return { pair: { cert: certificate, key }, ca: ca.certificate };
}

before(async () => {
  const operators = [createKroxylicious()];
  if (chosenServer() === 'real') {
    const real = await startRealCluster({});
    ends.push(() => real.close());
    ({ client } = real);
    const crd = KroxyliciousSidecarConfig.crd() as KubeObject;
    await client.create(CustomResourceDefinition, crd as never);
  } else {
    const embedded = await createTestCluster({ clock: systemClock, random: createRandom(1), operators });
    ends.push(() => embedded.close());
    ({ client } = embedded);
  }
  const created = await issued();
  ({ pair } = created);
  const started = Promise.withResolvers<WebhookServer>();
  const serving = serveWebhook(
    {
      client,
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      host: '127.0.0.1',
      port: 0,
      image: 'quay.io/kroxylicious/proxy:0.23.0',
      denyUninjected: false,
      gates: {},
      readPair: () => Promise.resolve(pair),
      started: started.resolve,
    },
    stopping.signal,
  );
  serving.catch(started.reject);
  ends.unshift(async () => {
    stopping.abort();
    await serving;
  });
  server = await started.promise;
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: NAMESPACE, name: 'default' } };
  if ((await client.find(ServiceAccount, account.metadata)) === undefined) await client.create(ServiceAccount, account);
  await client.create(MutatingWebhookConfiguration, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'sidecars' },
    webhooks: [
      {
        name: 'sidecar-injector.kroxylicious.io',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        clientConfig: {
          url: `https://127.0.0.1:${server.port}/mutate`,
          caBundle: Buffer.from(created.ca).toString('base64'),
        },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
      },
    ],
  });
});
after(async () => {
  for (const end of ends) await end();
});

/** Returns a pod that is created once the webhook knows the config. */
async function admittedWith(
  name: string,
  more: object,
  given: { metadata?: object; spec?: object } = {},
): Promise<Pod> {
  const { metadata: _metadata, ...rest } = config(name, more);
  await client.create(KroxyliciousSidecarConfig, { ...rest, metadata: { namespace: NAMESPACE, name } });
  const annotations = { 'sidecar.kroxylicious.io/config': name };
  const one = pod({ ...given, metadata: { namespace: NAMESPACE, name, annotations, ...given.metadata } });
  const isReviewed = async () => {
    const dry = await client.create(Pod, one, { dryRun: true });
    return dry.metadata.labels?.['sidecar.kroxylicious.io/injection-skipped'] !== 'no-KroxyliciousSidecarConfig';
  };
  await until('the webhook knows the config', isReviewed);
  return client.create(Pod, one);
}

const sidecarOf = ({ spec }: Pod) =>
  [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(({ name }) => name === 'kroxylicious-proxy');

describe('the server accepts a pod', () => {
  const long = 'l'.repeat(63);
  const cases: Record<string, [object, { metadata?: object; spec?: object }?]> = {
    'with what a config has by default': [{}],
    'with everything that a config can have': [
      {
        virtualClusters: [
          cluster({
            nodeIdRange: { startInclusive: 0, endInclusive: 40 },
            targetClusterTls: { trustAnchorSecretRef: { name: 'ca', key: 'ca.crt' } },
          }),
        ],
        managementPort: 19_000,
        proxyImage: 'example.org/proxy:1',
        resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '512Mi' } },
        filterDefinitions: [{ name: 'f', type: 'T', config: { text: 'a: "b" \u2028 ❤️', list: [1, null, true] } }],
        secretMounts: [{ name: long, secretName: 'kms' }],
        plugins: [{ name: long, image: { reference: 'example.org/plugin:1', pullPolicy: 'Never' } }],
      },
    ],
    'that has much of its own, under names of ours': [
      { secretMounts: [{ name: 'key', secretName: 'kms' }] },
      {
        metadata: { labels: { app: 'x' } },
        spec: {
          initContainers: [{ name: 'init', image: 'i' }],
          containers: [
            {
              name: 'one',
              image: 'i',
              env: [{ name: 'KAFKA_BOOTSTRAP_SERVERS', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
            },
            { name: 'two', image: 'i', ports: [{ name: 'management', containerPort: 80 }] },
          ],
          volumes: [
            { name: 'kroxylicious-config', emptyDir: {} },
            { name: 'secret-key', emptyDir: {} },
          ],
        },
      },
    ],
  };
  for (const [what, [more, given]] of Object.entries(cases))
    test(what, async () => {
      const name = `case-${Object.keys(cases).indexOf(what)}`;
      const stored = await admittedWith(name, more, given);
      const sidecar = sidecarOf(stored);
      assert.ok(sidecar, JSON.stringify(stored.metadata.labels));
      for (const { name: container, env = [] } of stored.spec?.containers ?? [])
        if (container !== 'kroxylicious-proxy')
          assert.equal(env.find((one) => one.name === 'KAFKA_BOOTSTRAP_SERVERS')?.value, 'localhost:9092');
      const text = stored.metadata.annotations?.['sidecar.kroxylicious.io/proxy-config'];
      assert.match(text ?? '', /^---\n/);
      assert.equal(stored.metadata.annotations?.['sidecar.kroxylicious.io/config-generation'], '1');
    });

  test('the server accepts a pod whose config would make it unusable, without a sidecar and with a label that gives the reason', async () => {
    const stored = await admittedWith('unusable', { virtualClusters: [cluster({ bootstrapPort: 9082 })] });
    assert.equal(sidecarOf(stored), undefined);
    assert.equal(
      stored.metadata.labels?.['sidecar.kroxylicious.io/injection-skipped'],
      'invalid-KroxyliciousSidecarConfig',
    );
  });
});

describe('the webhook', () => {
  const ask = (path: string, init: RequestInit = {}) => request(`https://127.0.0.1:${server.port}${path}`, init);

  test('answers a body that is not a review with an error, and continues', async () => {
    assert.equal((await ask('/livez')).status, 200);
    assert.equal((await ask('/other')).status, 404);
    assert.equal((await ask('/mutate')).status, 405);
    assert.equal((await ask('/mutate', { method: 'POST', body: 'no JSON' })).status, 400);
    assert.equal((await ask('/mutate', { method: 'POST', body: '[1]' })).status, 400);
    const strange = { request: { uid: 'u', object: { kind: 'Pod', spec: { containers: 'none' } } } };
    assert.equal((await ask('/mutate', { method: 'POST', body: JSON.stringify(strange) })).status < 600, true);
    const empty = await ask('/mutate', { method: 'POST', body: '{}' });
    assert.deepEqual(
      [empty.status, (JSON.parse(empty.body) as { response: object }).response],
      [200, { uid: '', allowed: true }],
    );
  });

  test('serves a renewed certificate to the next connection', async () => {
    const before = (await ask('/livez')).fingerprint;
    const next = await issued();
    assert.throws(() => server.renew({ ...next.pair, key: 'none' }));
    assert.equal((await ask('/livez')).fingerprint, before);
    server.renew(next.pair);
    assert.notEqual((await ask('/livez')).fingerprint, before);
  });
});

async function request(url: string, { method = 'GET', body }: RequestInit) {
  const https = await import('node:https');
  return new Promise<{ status: number; body: string; fingerprint: string }>((resolve, reject) => {
    const sent = https.request(url, { method, rejectUnauthorized: false, agent: false }, (response) => {
      const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, fingerprint: fingerprint256 }));
    });
    sent.on('error', reject);
    sent.end(body as string | undefined);
  });
}
