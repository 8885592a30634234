// Packages that break the rules: the cause and the remedy are on the package, nothing is installed, and existing objects are untouched.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, Deployment, Pod, ValidatingWebhookConfiguration } from '@capstan/kube';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import {
  allReady,
  crd,
  detail,
  fakeRegistry,
  meta,
  minutes,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  ready,
  revisionName,
  SYSTEM,
  staged,
} from './fixtures.ts';

const GOOD = `${REGISTRY}/team/provider-example:v1`;
const BAD = `${REGISTRY}/team/provider-example:v2`;

const invalidCrd = () => crd('Broken', 'example.org', { spec: { scope: 'Everywhere' } });

const cases: { name: string; documents: object[]; message: RegExp; isRefused?: boolean }[] = [
  {
    name: 'two metas',
    documents: [meta('Provider'), meta('Provider')],
    message: /2 objects of the group meta\.pkg\.crossplane\.io/,
  },
  { name: 'no meta', documents: [crd('Bucket')], message: /it has no object of the group meta\.pkg\.crossplane\.io/ },
  {
    name: 'an unsupported kind',
    documents: [meta('Provider'), { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }],
    message: /ConfigMap "x".*is a kind that a Provider package may not hold/,
  },
  {
    name: 'another type of package',
    documents: [meta('Configuration')],
    message: /the package is a Configuration and was installed as a Provider; create a Configuration/,
  },
  {
    name: 'a version of Crossplane that this is not',
    documents: [meta('Provider', { crossplane: { version: '>=v99.0.0' } })],
    message: /asks for Crossplane >=v99\.0\.0, and this is 1\.20\.0; .*ignoreCrossplaneConstraints/,
  },
  {
    name: 'an object that the server refuses',
    documents: [meta('Provider'), crd('Fresh'), invalidCrd()],
    isRefused: false,
    message: /CustomResourceDefinition brokens\.example\.org/,
  },
];

describe('a package with', () => {
  for (const { name, documents, message, isRefused = true } of cases)
    test(`${name} changes nothing, and its cause is on the package`, async () => {
      const registry = fakeRegistry();
      const good = revisionName('example', registry.push(GOOD, [meta('Provider'), crd('Bucket')]));
      registry.push(BAD, documents);
      await staged({ registry, objects: [provider('example', { package: GOOD })] }, async (stage) => {
        await allReady(stage);
        const before = await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
        await patch(stage, Provider, 'example', { spec: { package: BAD } });
        await stage.settle();
        const health = await detail(stage, Provider, 'example', 'Healthy');
        assert.equal(health?.status, 'False');
        assert.match(health?.message ?? '', message);
        assert.deepEqual(await names(stage, Deployment, SYSTEM), [good]);
        const { spec } = await stage.client.get(ProviderRevision, { name: good });
        if (isRefused) assert.equal(spec.desiredState, 'Active');
        const after = await stage.client.get(CustomResourceDefinition, { name: 'buckets.example.org' });
        assert.equal(after.metadata.generation, before.metadata.generation);
        assert.ok(!(await names(stage, CustomResourceDefinition)).includes('freshs.example.org'));
        // A retry cannot help: the registry gets no further request.
        const { length } = registry.asked;
        await stage.clock.advance(minutes(5));
        await stage.settle();
        assert.equal(registry.asked.length, length);
        await patch(stage, Provider, 'example', { spec: { package: GOOD } });
        await stage.settle(600_000);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      });
    });

  test('a version of Crossplane that this is not is installed all the same where that is asked for', async () => {
    const registry = fakeRegistry();
    registry.push(GOOD, [meta('Provider', { crossplane: { version: '>=v99.0.0' } }), crd('Bucket')]);
    await staged(
      { registry, objects: [provider('example', { package: GOOD, ignoreCrossplaneConstraints: true })] },
      async (stage) => {
        await allReady(stage);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      },
    );
  });

  test('a type that another package has is refused by name, and the other is left alone', async () => {
    const registry = fakeRegistry();
    registry.push(GOOD, [meta('Provider'), crd('Bucket')]);
    registry.push(`${REGISTRY}/team/other:v1`, [meta('Provider'), crd('Volume'), crd('Bucket')]);
    await staged({ registry, objects: [provider('example', { package: GOOD })] }, async (stage) => {
      await allReady(stage);
      await stage.client.create(...provider('other', { package: `${REGISTRY}/team/other:v1` }));
      await stage.settle();
      const health = await detail(stage, Provider, 'other', 'Healthy');
      assert.match(
        health?.message ?? '',
        /CustomResourceDefinition buckets\.example\.org is already controlled by ProviderRevision example-/,
      );
      assert.ok(!(await names(stage, CustomResourceDefinition)).includes('volumes.example.org'));
      await stage.client.delete(Provider, { name: 'example' }, { propagationPolicy: 'Foreground' });
      await stage.client.delete(CustomResourceDefinition, { name: 'buckets.example.org' });
      await stage.settle(600_000);
      assert.ok((await names(stage, CustomResourceDefinition)).includes('volumes.example.org'));
    });
  });

  test('a type that a user installed by hand uses it with its data, and leaves it when the package goes', async () => {
    const registry = fakeRegistry();
    registry.push(GOOD, [meta('Provider'), crd('Bucket')]);
    await staged(
      { registry, objects: [[CustomResourceDefinition, crd('Bucket')], provider('example', { package: GOOD })] },
      async (stage) => {
        await allReady(stage);
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.message, '');
        const ref = { name: crd('Bucket').metadata.name ?? '' };
        const { uid } = (await stage.client.get(CustomResourceDefinition, ref)).metadata;
        await stage.client.delete(Provider, { name: 'example' });
        await stage.collected();
        const { metadata } = await stage.client.get(CustomResourceDefinition, ref);
        assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [uid, undefined]);
        assert.equal(metadata.labels?.['capstan.dev/inventory'], undefined, 'it is given back');
      },
    );
  });
});

describe('a runtime that does not start', () => {
  const pod = (revision: string, state: object) => ({
    ...object(Pod, `${revision}-x`),
    metadata: { namespace: SYSTEM, name: `${revision}-x`, labels: { 'pkg.crossplane.io/revision': revision } },
    spec: { serviceAccountName: revision, containers: [{ name: 'package-runtime', image: GOOD }] },
    status: {
      phase: 'Pending',
      containerStatuses: [
        { name: 'package-runtime', image: GOOD, imageID: '', ready: false, restartCount: 3, ...state },
      ],
    },
  });
  const states: { name: string; state: object; message: RegExp }[] = [
    {
      name: 'its image cannot be pulled',
      state: { state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } } },
      message: /pod .* waits: ImagePullBackOff: Back-off pulling image/,
    },
    {
      name: 'it crashes',
      state: {
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
        lastState: {
          terminated: {
            exitCode: 1,
            message: 'first line\ncannot reach the cloud',
            reason: 'Error',
            startedAt: null,
            finishedAt: null,
          },
        },
      },
      message: /pod .* ended with code 1: cannot reach the cloud$/,
    },
  ];
  for (const { name, state, message } of states)
    test(`because ${name} says so on the package`, async () => {
      const registry = fakeRegistry();
      const revision = revisionName('example', registry.push(GOOD, [meta('Provider'), crd('Bucket')]));
      await staged({ registry, objects: [provider('example', { package: GOOD })] }, async (stage) => {
        const created = pod(revision, state);
        await stage.client.create(Pod, created);
        await stage.client.patch(
          Pod,
          { namespace: SYSTEM, name: `${revision}-x` },
          'merge',
          { status: created.status },
          { subresource: 'status' },
        );
        await stage.settle();
        const health = await detail(stage, Provider, 'example', 'Healthy');
        assert.match(health?.message ?? '', message);
        assert.equal((await detail(stage, ProviderRevision, revision, 'RevisionHealthy'))?.status, 'True');
        assert.equal((await detail(stage, ProviderRevision, revision, 'RuntimeHealthy'))?.status, 'False');
        await ready(stage.client, await stage.client.get(Deployment, { namespace: SYSTEM, name: revision }));
        await stage.settle();
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      });
    });
});

test('webhooks are led to the package’s Service, with the authority of its certificate', async () => {
  const registry = fakeRegistry();
  const webhook = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'validating' },
    webhooks: [
      {
        name: 'v.example.org',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { service: { name: 'x', namespace: 'y', path: '/validate' } },
        rules: [],
      },
    ],
  };
  const revision = revisionName('example', registry.push(GOOD, [meta('Provider'), crd('Bucket'), webhook]));
  await staged({ registry, objects: [provider('example', { package: GOOD })] }, async (stage) => {
    const found = await stage.client.get(ValidatingWebhookConfiguration, { name: 'crossplane-provider-example' });
    const { service, caBundle } = found.webhooks?.[0]?.clientConfig ?? {};
    assert.deepEqual(service, { name: revision, namespace: SYSTEM, path: '/validate', port: 9443 });
    assert.match(Buffer.from(caBundle ?? '', 'base64').toString(), /BEGIN CERTIFICATE/);
  });
});
