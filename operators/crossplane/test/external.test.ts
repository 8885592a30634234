// --package-runtime=External: the revision and its objects are created, and nothing else.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  CustomResourceDefinition,
  conditions,
  Deployment,
  defineKind,
  type KindOf,
  type KubeObject,
  object as objectSchema,
  Secret,
  Service,
  ServiceAccount,
  string,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { apply, operator, plan, reconciler } from '@capstan/reconcile';
import { createStage } from '@capstan/testing';
import { parse } from 'yaml';
import { Lock, Provider, ProviderRevision } from '../src/kinds/index.ts';
import { parsePackageRuntime } from '../src/runtime/index.ts';
import type { Settings } from '../src/settings.ts';
import {
  crd,
  detail,
  fakeRegistry,
  meta,
  names,
  object,
  operatorWith,
  patch,
  provider,
  REGISTRY,
  revisionName,
  SYSTEM,
  staged,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1`;
const EXTERNAL: Partial<Settings> = { packageRuntime: parsePackageRuntime('External') as Settings['packageRuntime'] };

describe('an external runtime', () => {
  test('gets the revision with any kind of configuration, the types and the Lock; nothing is run', async () => {
    const registry = fakeRegistry();
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
    const ref = { apiVersion: 'pkg.example.org/v1', kind: 'CloudRunRuntimeConfig', name: 'default' };
    const objects = [provider('example', { package: IMAGE, runtimeConfigRef: ref })];
    await staged({ registry, settings: EXTERNAL, objects }, async (stage) => {
      assert.deepEqual((await stage.client.get(ProviderRevision, { name: revision })).spec.runtimeConfigRef, ref);
      await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
      assert.equal((await stage.client.get(Lock, { name: 'lock' })).packages?.length, 1);
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
      assert.deepEqual(await names(stage, Service, SYSTEM), []);
      assert.deepEqual(await names(stage, Secret, SYSTEM), []);
      assert.ok(!(await names(stage, ServiceAccount, SYSTEM)).includes(revision));
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('an external runtime of the design document is passed on as it stands', async () => {
    const registry = fakeRegistry();
    const seed = parse(
      readFileSync(new URL('./seed/external-provider.yaml', import.meta.url), 'utf8'),
    ) as KubeObject & { spec: { package: string; runtimeConfigRef: object } };
    const revision = revisionName(
      'provider-example',
      registry.push(seed.spec.package, [meta('Provider'), crd('Bucket')]),
    );
    await staged({ registry, settings: EXTERNAL, objects: [[Provider, seed]] }, async (stage) => {
      assert.deepEqual(
        (await stage.client.get(ProviderRevision, { name: revision })).spec.runtimeConfigRef,
        seed.spec.runtimeConfigRef,
      );
    });
  });

  test('leaves the reference out where the user did', async () => {
    const registry = fakeRegistry();
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
    await staged(
      { registry, settings: EXTERNAL, objects: [provider('example', { package: IMAGE })] },
      async (stage) => {
        const { spec } = await stage.client.get(ProviderRevision, { name: revision });
        assert.deepEqual([spec.runtimeConfigRef, spec.tlsServerSecretName], [undefined, undefined]);
      },
    );
  });

  test('is heard when it says how the runtime is doing', async () => {
    const registry = fakeRegistry();
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
    await staged(
      { registry, settings: EXTERNAL, objects: [provider('example', { package: IMAGE })] },
      async (stage) => {
        const { status } = await stage.client.get(ProviderRevision, { name: revision });
        const condition = {
          type: 'RuntimeHealthy',
          status: 'False',
          reason: 'Down',
          message: 'no capacity in the cloud',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        };
        const body = { status: { conditions: [...(status?.conditions ?? []), condition] } };
        await stage.client.patch(ProviderRevision, { name: revision }, 'merge', body, { subresource: 'status' });
        await stage.settle();
        const health = await detail(stage, Provider, 'example', 'Healthy');
        assert.deepEqual([health?.status, health?.message], ['False', 'no capacity in the cloud']);
      },
    );
  });

  test('does not inherit what was said of the runtime before it took over', async () => {
    const registry = fakeRegistry();
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
    const objects = [provider('example', { package: IMAGE })];
    await staged({ registry, settings: EXTERNAL, objects }, async (stage) => {
      const { status } = await stage.client.get(ProviderRevision, { name: revision });
      const left = ['RuntimeHealthy', 'ConfigWarning'].map((type) => ({
        type,
        status: 'False',
        reason: 'UnhealthyPackageRevision',
        message: 'as it was with --package-runtime=Deployment',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      }));
      const conditions = [...(status?.conditions ?? []), ...left];
      const before = { runtime: 'Deployment', tlsServerSecretName: 'example-tls-server', conditions };
      const ref = { name: revision };
      await stage.client.patch(ProviderRevision, ref, 'merge', { status: before }, { subresource: 'status' });
      await stage.settle();
      const after = await stage.client.get(ProviderRevision, ref);
      assert.deepEqual([after.status?.runtime, after.status?.tlsServerSecretName], [undefined, undefined]);
      for (const type of ['RuntimeHealthy', 'ConfigWarning'])
        assert.equal(await detail(stage, ProviderRevision, revision, type), undefined);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    });
  });

  test('is waited for only by what needs its certificate', async () => {
    const registry = fakeRegistry();
    const webhook = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'v' },
      webhooks: [
        { name: 'v.example.org', admissionReviewVersions: ['v1'], sideEffects: 'None', clientConfig: {}, rules: [] },
      ],
    };
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket'), webhook]));
    await staged(
      { registry, settings: EXTERNAL, objects: [provider('example', { package: IMAGE })] },
      async (stage) => {
        await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
        assert.deepEqual(await names(stage, ValidatingWebhookConfiguration), []);
        assert.match(
          (await detail(stage, Provider, 'example', 'Healthy'))?.message ?? '',
          /ValidatingWebhookConfiguration crossplane-provider-example wait for the certificate/,
        );
        const data = { 'ca.crt': Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64') };
        await stage.client.create(Secret, {
          ...object(Secret, 'theirs'),
          metadata: { namespace: SYSTEM, name: 'theirs' },
          data,
        });
        await stage.client.patch(
          ProviderRevision,
          { name: revision },
          'merge',
          { status: { tlsServerSecretName: 'theirs' } },
          { subresource: 'status' },
        );
        await stage.settle();
        assert.deepEqual(await names(stage, ValidatingWebhookConfiguration), ['crossplane-provider-example']);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      },
    );
  });

  test('may differ by the kind of package', async () => {
    const registry = fakeRegistry();
    registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
    const settings = { packageRuntime: parsePackageRuntime('Function=External') as Settings['packageRuntime'] };
    await staged({ registry, settings, objects: [provider('example', { package: IMAGE })] }, async (stage) => {
      assert.equal((await names(stage, Deployment, SYSTEM)).length, 1);
    });
  });
});

describe('a controller of one’s own', () => {
  const BatchRuntimeConfig = defineKind({
    group: 'pkg.example.org',
    version: 'v1',
    kind: 'BatchRuntimeConfig',
    scope: 'Cluster',
    spec: objectSchema({ queue: string() }),
    status: objectSchema({ conditions: conditions() }),
  });
  type BatchRuntimeConfig = KindOf<typeof BatchRuntimeConfig>;

  /** Runs every active revision as a Deployment in a namespace of its own, and shows how it does. docs/crossplane.md explains it. */
  const batch = operator({
    name: 'batch',
    kinds: [BatchRuntimeConfig],
    reconcilers: [
      reconciler<ProviderRevision>({
        name: 'batch-runtime',
        resource: ProviderRevision,
        primary: false,
        reads: [BatchRuntimeConfig],
        writes: [Deployment],
        reconcile({ object: revision, read }) {
          const { desiredState, runtimeConfigRef: ref } = revision.spec;
          const image = revision.status?.resolvedImage;
          if (desiredState !== 'Active' || ref?.kind !== 'BatchRuntimeConfig' || image === undefined) return plan();
          const config = read.get(BatchRuntimeConfig, { name: ref.name });
          if (config === undefined) return plan({ prune: false });
          const labels = { queue: config.spec.queue };
          const template = { metadata: { labels }, spec: { containers: [{ name: 'runner', image }] } };
          return plan({
            children: [
              apply(Deployment, {
                metadata: { namespace: 'default', name: revision.metadata.name ?? '', labels },
                spec: { selector: { matchLabels: labels }, template },
              }),
            ],
            conditions: [
              { type: 'RuntimeHealthy', status: 'True', reason: 'Running', message: `in queue ${config.spec.queue}` },
            ],
          });
        },
      }),
    ],
  });
  test('deploys a revision from a configuration kind of its own', async () => {
    const registry = fakeRegistry();
    const revision = revisionName('example', registry.push(IMAGE, [meta('Provider'), crd('Bucket')]));
    const ref = { apiVersion: 'pkg.example.org/v1', kind: 'BatchRuntimeConfig', name: 'fast' };
    const stage = await createStage({
      operators: [operatorWith({ registry, settings: EXTERNAL }), batch],
      async given(client) {
        await client.create(
          BatchRuntimeConfig,
          object(BatchRuntimeConfig, 'fast', { spec: { queue: 'blue' } }) as BatchRuntimeConfig,
        );
        await client.create(...provider('example', { package: IMAGE, runtimeConfigRef: ref }));
      },
    });
    try {
      await stage.settle();
      const deployment = await stage.client.get(Deployment, { namespace: 'default', name: revision });
      assert.equal(deployment.spec?.template.spec?.containers[0]?.image, IMAGE);
      assert.equal((await detail(stage, ProviderRevision, revision, 'RuntimeHealthy'))?.message, 'in queue blue');
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      await patch(stage, BatchRuntimeConfig, 'fast', { spec: { queue: 'green' } });
      await stage.settle();
      assert.equal((await detail(stage, ProviderRevision, revision, 'RuntimeHealthy'))?.message, 'in queue green');
    } finally {
      await stage.end();
    }
  });
});
