// A cluster switches from --package-runtime=Deployment to External, and back: running workloads continue, with their permissions and behind
// their webhooks, until the new owner removes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  Secret,
  Service,
  ServiceAccount,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { createLives } from '@capstan/testing';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { parsePackageRuntime } from '../src/runtime/index.ts';
import type { Settings } from '../src/settings.ts';
import {
  condition,
  crd,
  fakeRegistry,
  meta,
  operatorWith,
  provider,
  REGISTRY,
  ready,
  revisionName,
  SYSTEM,
  startOfStage,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1`;
const WEBHOOK = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'v' },
  webhooks: [
    { name: 'v.example.org', admissionReviewVersions: ['v1'], sideEffects: 'None', clientConfig: {}, rules: [] },
  ],
};

interface Scene {
  readonly client: Client;
  /** The Provider's only one. */
  readonly revision: string;
  /** Runs Crossplane with this --package-runtime until it rests, with all pods ready, and stops it. */
  run(runtime: string): Promise<void>;
  /** The reasons and objects of Events. */
  readonly reported: readonly string[];
}

/** A Provider with a webhook, which has run as a Deployment until now. */
async function goingOver(check: (scene: Scene) => Promise<void>): Promise<void> {
  const registry = fakeRegistry();
  const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket'), WEBHOOK]));
  const time = { now: startOfStage };
  const operatorsFor = (runtime: string) => {
    const packageRuntime = parsePackageRuntime(runtime) as Settings['packageRuntime'];
    return [operatorWith({ registry, settings: { packageRuntime, now: () => time.now() } })];
  };
  const reported: string[] = [];
  const lives = await createLives({
    operators: operatorsFor('Deployment'),
    runtime: {
      notify: (_world, _operator, { metadata }, { reason, note }) =>
        reported.push(`${reason} ${metadata.name}: ${note}`),
    },
  });
  time.now = () => lives.clock.now();
  const run = async (runtime: string) => {
    const life = await lives.begin(operatorsFor(runtime));
    await life.settle();
    for (const deployment of (await lives.client.list(Deployment, { namespace: SYSTEM })).items)
      await ready(lives.client, deployment);
    await life.settle();
    await life.end();
  };
  try {
    await lives.client.create(...provider('example', { package: IMAGE }));
    await run('Deployment');
    await check({ client: lives.client, revision, run, reported });
  } finally {
    await lives.close();
  }
}

/** All that the package runs with. */
async function runningOf({ client, revision }: Pick<Scene, 'client' | 'revision'>) {
  const system = `crossplane:provider:${revision}:system`;
  const certificate = await client.get(Secret, { namespace: SYSTEM, name: 'example-tls-server' });
  return {
    deployment: (await client.get(Deployment, { namespace: SYSTEM, name: revision })).spec,
    service: (await client.get(Service, { namespace: SYSTEM, name: revision })).spec,
    account: (await client.get(ServiceAccount, { namespace: SYSTEM, name: revision })).metadata.uid,
    certificate: certificate.metadata.resourceVersion,
    rules: (await client.get(ClusterRole, { name: system })).rules,
    subjects: (await client.get(ClusterRoleBinding, { name: system })).subjects,
    webhooks: (await client.get(ValidatingWebhookConfiguration, { name: 'crossplane-provider-example' })).webhooks,
  };
}

test('a running workload keeps its permissions and webhooks, with one notice, and switches back', () =>
  goingOver(async ({ client, revision, run, reported }) => {
    const before = await runningOf({ client, revision });
    assert.equal(before.subjects?.length, 1);
    assert.equal(before.webhooks?.[0]?.clientConfig.service?.name, revision);
    for (let life = 0; life < 2; life++) {
      await run('External');
      assert.deepEqual(await runningOf({ client, revision }), before);
    }
    const runsOn = reported.filter((line) => line.startsWith(`RuntimeRunsOn ${revision}: `));
    assert.equal(runsOn.length, 1);
    assert.match(runsOn[0] ?? '', /its certificates are not renewed any more/);
    assert.match(
      condition(await client.get(Provider, { name: 'example' }), 'Healthy')?.message ?? '',
      /ValidatingWebhookConfiguration .* wait for the certificate .*status\.tlsServerSecretName/,
    );
    await run('Deployment');
    assert.deepEqual(await runningOf({ client, revision }), before);
    assert.equal(condition(await client.get(Provider, { name: 'example' }), 'Healthy')?.status, 'True');
  }));

test('the external runtime that takes over names the certificate of its webhooks, and binds its account itself', () =>
  goingOver(async ({ client, revision, run }) => {
    await run('External');
    const name = `crossplane:provider:${revision}:system`;
    const subjects = [{ kind: 'ServiceAccount', namespace: 'cloud', name: 'runner' }];
    await client.patch(ClusterRoleBinding, { name }, 'merge', { subjects });
    const data = { 'ca.crt': Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64') };
    const metadata = { namespace: SYSTEM, name: 'theirs' };
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data });
    const status = { tlsServerSecretName: 'theirs' };
    await client.patch(ProviderRevision, { name: revision }, 'merge', { status }, { subresource: 'status' });
    await run('External');
    const [webhook] =
      (await client.get(ValidatingWebhookConfiguration, { name: 'crossplane-provider-example' })).webhooks ?? [];
    assert.deepEqual(
      [webhook?.clientConfig.service?.name, webhook?.clientConfig.caBundle],
      ['example', data['ca.crt']],
    );
    assert.deepEqual((await client.get(ClusterRoleBinding, { name })).subjects, subjects);
    assert.equal(condition(await client.get(Provider, { name: 'example' }), 'Healthy')?.status, 'True');
  }));
