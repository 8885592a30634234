// cert-manager on the embedded API server: its definitions, its controller, its webhook and its CA injector with their defaults.
// `npm run setup:real -- cert-manager` builds the program (scripts/real/cert-manager).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ApiRequest, systemClock, type UnknownObject } from '@capstan/kube';
import { createRandom, freePort } from '@capstan/testing';
import { parse } from 'yaml';
import { startCluster, writeKubeconfig } from '../../src/index.ts';

const real = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
const folder = join(real, 'cert-manager');
const program = join(folder, 'cert-manager');
const skip = existsSync(program)
  ? false
  : 'cert-manager is not there: npm run setup:real -- cert-manager, with Go installed';
const LIMIT_MS = 120_000;
const NAMESPACE = 'cert-manager';
const CERTIFICATES = '/apis/cert-manager.io/v1/namespaces/default/certificates';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1';

async function start(t: TestContext) {
  const data = await mkdtemp(join(tmpdir(), 'capstan-cert-manager-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  const cluster = await startCluster({ clock: systemClock, random: createRandom(process.pid), data, port: 0 });
  t.after(() => cluster.close());
  const kubeconfig = join(data, 'kubeconfig');
  await writeKubeconfig(kubeconfig, cluster.kubeconfig);
  const transport = cluster.clusters[0]?.server.transport({ userAgent: 'test/1.0' }) ?? assert.fail('no cluster');
  const send = async (method: ApiRequest['method'], path: string, body?: object) => {
    const { status, body: answer } = await transport.request({ method, path, ...(body && { body }) });
    return { status, answer: answer as UnknownObject & { message?: string } };
  };
  const create = async (path: string, body: object) => {
    const { status, answer } = await send('POST', path, body);
    assert.equal(status, 201, JSON.stringify(answer));
  };
  const logs: string[] = [];
  const run = (...args: string[]) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.setEncoding('utf8').on('data', (text: string) => logs.push(text));
    const ended = once(child, 'exit');
    t.after(async () => {
      child.kill('SIGKILL');
      await ended;
    });
  };
  /** Waits until the object is there and as wanted. */
  const eventually = async (path: string, isWanted: (object: UnknownObject) => boolean): Promise<UnknownObject> => {
    let last: unknown;
    for (const end = Date.now() + LIMIT_MS; Date.now() < end; ) {
      const { status, answer } = await send('GET', path);
      last = answer;
      if (status === 200 && isWanted(answer)) return answer;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return assert.fail(`${path} stayed ${JSON.stringify(last)}\n${logs.join('').slice(-4_000)}`);
  };
  return { kubeconfig, send, create, run, eventually };
}

const isReady = (object: UnknownObject) => {
  const { conditions = [] } = (object['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
};

const named = (apiVersion: string, kind: string, name: string, rest: object, annotations?: object) => ({
  apiVersion,
  kind,
  metadata: { name, ...(annotations && { annotations }) },
  ...rest,
});

const webhooks = (port: number, path: string, operations: string[], resources: string[]) => ({
  webhooks: [
    {
      name: 'webhook.cert-manager.io',
      rules: [{ apiGroups: ['cert-manager.io', 'acme.cert-manager.io'], apiVersions: ['v1'], operations, resources }],
      admissionReviewVersions: ['v1'],
      matchPolicy: 'Equivalent',
      failurePolicy: 'Fail',
      sideEffects: 'None',
      clientConfig: { url: `https://localhost:${port}${path}` },
    },
  ],
});

interface Configuration {
  webhooks?: { clientConfig: { caBundle?: string } }[];
  spec?: { caBundle?: string };
}

test('cert-manager issues certificates, with its webhooks and its CA injector', {
  skip,
  timeout: 400_000,
}, async (t) => {
  const { kubeconfig, send, create, run, eventually } = await start(t);
  await create('/api/v1/namespaces', named('v1', 'Namespace', NAMESPACE, {}));
  for (const file of readdirSync(join(folder, 'crds')).filter((name) => name.endsWith('.yaml'))) {
    const definition = parse(readFileSync(join(folder, 'crds', file), 'utf8')) as object;
    await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  }
  const [port, healthPort] = [await freePort(), await freePort()];
  const injected = { 'cert-manager.io/inject-ca-from-secret': `${NAMESPACE}/cert-manager-webhook-ca` };
  const registration = 'admissionregistration.k8s.io/v1';
  await create(
    `${WEBHOOKS}/mutatingwebhookconfigurations`,
    named(
      registration,
      'MutatingWebhookConfiguration',
      'cert-manager-webhook',
      webhooks(port, '/mutate', ['CREATE'], ['certificaterequests']),
      injected,
    ),
  );
  await create(
    `${WEBHOOKS}/validatingwebhookconfigurations`,
    named(
      registration,
      'ValidatingWebhookConfiguration',
      'cert-manager-webhook',
      webhooks(port, '/validate', ['CREATE', 'UPDATE'], ['*/*']),
      injected,
    ),
  );
  run('cainjector', kubeconfig);
  run('webhook', kubeconfig, NAMESPACE, String(port), String(healthPort));
  run('controller', kubeconfig);

  // The webhook creates its CA, which the injector puts into both configurations. Until then, writes are refused.
  for (const kind of ['mutating', 'validating']) {
    await eventually(`${WEBHOOKS}/${kind}webhookconfigurations/cert-manager-webhook`, (object) =>
      ((object as Configuration).webhooks ?? []).every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== ''),
    );
  }
  const api = 'cert-manager.io/v1';
  const selfSigned = named(api, 'ClusterIssuer', 'self-signed', { spec: { selfSigned: {} } });
  for (const end = Date.now() + LIMIT_MS; ; ) {
    const { status, answer } = await send('POST', '/apis/cert-manager.io/v1/clusterissuers', selfSigned);
    if (status === 201) break;
    assert.ok(Date.now() < end, JSON.stringify(answer));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }

  const authority = named(api, 'Certificate', 'ca', {
    spec: {
      isCA: true,
      commonName: 'an authority',
      secretName: 'ca',
      privateKey: { algorithm: 'ECDSA', size: 256 },
      issuerRef: { kind: 'ClusterIssuer', name: 'self-signed' },
    },
  });
  await create(CERTIFICATES, authority);
  await eventually(`${CERTIFICATES}/ca`, isReady);
  const issuers = '/apis/cert-manager.io/v1/namespaces/default/issuers';
  await create(issuers, named(api, 'Issuer', 'ca', { spec: { ca: { secretName: 'ca' } } }));
  await eventually(`${issuers}/ca`, isReady);
  const leaf = named(api, 'Certificate', 'web', {
    spec: { secretName: 'web', dnsNames: ['web.example.com'], issuerRef: { name: 'ca' } },
  });
  await create(CERTIFICATES, leaf);
  await eventually(`${CERTIFICATES}/web`, isReady);

  const { answer: secret } = await send('GET', '/api/v1/namespaces/default/secrets/web');
  const { 'tls.crt': certificate = '', 'ca.crt': ca = '' } = secret['data'] as Record<string, string>;
  const issued = new X509Certificate(Buffer.from(certificate, 'base64'));
  assert.equal(issued.subjectAltName, 'DNS:web.example.com');
  assert.ok(issued.verify(new X509Certificate(Buffer.from(ca, 'base64')).publicKey), 'the authority signed it');

  // The webhook gets the objects that it must refuse, and the injector takes the CA of a Certificate for an APIService.
  const { status, answer } = await send(
    'POST',
    CERTIFICATES,
    named(api, 'Certificate', 'wrong', { spec: { secretName: 'x', issuerRef: { name: 'ca' } } }),
  );
  assert.ok(status >= 400 && status < 500, String(status));
  assert.match(
    answer.message ?? '',
    /admission webhook "webhook.cert-manager.io" denied the request: .*at least one of/,
  );
  await create(
    '/apis/apiregistration.k8s.io/v1/apiservices',
    named(
      'apiregistration.k8s.io/v1',
      'APIService',
      'v1.example.com',
      {
        spec: {
          group: 'example.com',
          version: 'v1',
          groupPriorityMinimum: 1000,
          versionPriority: 15,
          service: { namespace: 'default', name: 'web' },
        },
      },
      { 'cert-manager.io/inject-ca-from': 'default/web' },
    ),
  );
  const service = await eventually(
    '/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com',
    (object) => ((object as Configuration).spec?.caBundle ?? '') !== '',
  );
  assert.equal((service as Configuration).spec?.caBundle, ca);

  // An Ingress with an issuer gets its certificate too.
  await create(
    '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
    named(
      'networking.k8s.io/v1',
      'Ingress',
      'shop',
      {
        spec: {
          tls: [{ hosts: ['shop.example.com'], secretName: 'shop' }],
          defaultBackend: { service: { name: 'shop', port: { number: 80 } } },
        },
      },
      { 'cert-manager.io/issuer': 'ca' },
    ),
  );
  await eventually(`${CERTIFICATES}/shop`, isReady);
});
