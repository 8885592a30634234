// A Deployment that keeps its name while its revision or its account changes: pods of before run until the new ones are ready.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRoleBinding,
  Deployment,
  type Kind,
  type KubeObject,
  Service,
  ServiceAccount,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { DeploymentRuntimeConfig, Provider } from '../src/kinds/index.ts';
import {
  allReady,
  crd,
  fakeRegistry,
  meta,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  revisionName,
  SYSTEM,
  staged,
} from './fixtures.ts';

const image = (version: string) => `${REGISTRY}/team/provider-example:${version}`;
const hook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'checks' },
  webhooks: [
    {
      name: 'check.example.org',
      clientConfig: { service: { name: 'x', namespace: 'y', path: '/check' } },
      rules: [{ apiGroups: ['example.org'], apiVersions: ['v1'], resources: ['buckets'], operations: ['CREATE'] }],
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
    },
  ],
};

function versions() {
  const registry = fakeRegistry();
  const one = registry.push(image('v1'), [meta('Provider'), crd('Bucket'), hook]);
  const two = registry.push(image('v2'), [meta('Provider', {}, { annotations: { n: '2' } }), crd('Bucket'), hook]);
  return { registry, first: revisionName('example', one), second: revisionName('example', two) };
}
const using = (config: object): [Kind, KubeObject][] => [
  [DeploymentRuntimeConfig, object(DeploymentRuntimeConfig, 'mine', { spec: config })],
  provider('example', { package: image('v1'), runtimeConfigRef: { name: 'mine' } }),
];
const runtimeConfigOf = (spec: object): [Kind, KubeObject] => [
  DeploymentRuntimeConfig,
  object(DeploymentRuntimeConfig, 'mine', { spec }),
];
const asked = async (stage: Stage) => {
  const { items } = await stage.client.list(ValidatingWebhookConfiguration, {});
  return items.map(({ webhooks }) => webhooks?.[0]?.clientConfig.service?.name);
};
const bound = async (stage: Stage) => {
  const { items } = await stage.client.list(ClusterRoleBinding, {});
  return items
    .filter(({ metadata }) => metadata.name?.startsWith('crossplane:provider:'))
    .flatMap(({ subjects = [] }) => subjects.map(({ name }) => name))
    .toSorted();
};
const accounts = async (stage: Stage) =>
  (await names(stage, ServiceAccount, SYSTEM)).filter((name) => name !== 'default');

describe('while a Deployment goes over in a rolling update', () => {
  test('the account, the Service and the permissions of the revision before stay, and webhooks ask its pods', async () => {
    const { registry, first, second } = versions();
    const fixed = { deploymentTemplate: { metadata: { name: 'runner' } } };
    await staged({ registry, objects: using(fixed) }, async (stage) => {
      await allReady(stage);
      assert.deepEqual(await asked(stage), [first]);
      await patch(stage, Provider, 'example', { spec: { package: image('v2') } });
      await stage.settle();
      assert.deepEqual(await names(stage, Deployment, SYSTEM), ['runner']);
      assert.deepEqual(await accounts(stage), [first, second].toSorted());
      assert.deepEqual(await names(stage, Service, SYSTEM), [first, second].toSorted());
      assert.deepEqual(await bound(stage), [first, second].toSorted());
      assert.deepEqual(await asked(stage), [first]);
      await allReady(stage);
      await stage.settle();
      assert.deepEqual(await accounts(stage), [second]);
      assert.deepEqual(await names(stage, Service, SYSTEM), [second]);
      assert.deepEqual(await bound(stage), [second]);
      assert.deepEqual(await asked(stage), [second]);
    });
  });

  test('a renamed account exists beside the old one until no pod uses the old one', async () => {
    const { registry } = versions();
    const named = (name: string) => ({ serviceAccountTemplate: { metadata: { name } } });
    await staged({ registry, objects: using(named('old')) }, async (stage) => {
      await allReady(stage);
      await patch(stage, DeploymentRuntimeConfig, 'mine', { spec: named('new') });
      await stage.settle();
      assert.deepEqual(await accounts(stage), ['new', 'old']);
      assert.deepEqual(await bound(stage), ['new', 'old']);
      await allReady(stage);
      await stage.settle();
      assert.deepEqual(await accounts(stage), ['new']);
      assert.deepEqual(await bound(stage), ['new']);
    });
  });
});

test('a Service with a name of its own leads to the active revision, and to both while it goes over', async () => {
  const { registry, first, second } = versions();
  const label = 'pkg.crossplane.io/revision';
  await staged({ registry, objects: using({ serviceTemplate: { metadata: { name: 'hooks' } } }) }, async (stage) => {
    const selected = async () =>
      (await stage.client.get(Service, { namespace: SYSTEM, name: 'hooks' })).spec?.selector?.[label];
    await allReady(stage);
    assert.equal(await selected(), first);
    await patch(stage, Provider, 'example', { spec: { package: image('v2') } });
    await stage.settle();
    assert.equal(await selected(), undefined);
    await allReady(stage);
    await stage.settle();
    assert.equal(await selected(), second);
  });
});

describe('a Deployment whose selector would have to change', () => {
  const named = (name: string) => using({ deploymentTemplate: { metadata: { name } } });
  const selectorOf = async (stage: Stage, name: string) => {
    const { metadata, spec } = await stage.client.get(Deployment, { namespace: SYSTEM, name });
    return { uid: metadata.uid, labels: spec?.selector.matchLabels };
  };
  const healthy = async (stage: Stage) =>
    (await stage.client.get(Provider, { name: 'example' })).status?.conditions?.find(({ type }) => type === 'Healthy');

  test('keeps it where its pods have the labels: a config names it like the revision, and later no more', async () => {
    const { registry, first } = versions();
    const [, package_] = using({});
    await staged({ registry, objects: [runtimeConfigOf({}), package_ as [Kind, KubeObject]] }, async (stage) => {
      await allReady(stage);
      const before = await selectorOf(stage, first);
      for (const name of [first, undefined]) {
        const deploymentTemplate = name === undefined ? null : { metadata: { name } };
        await patch(stage, DeploymentRuntimeConfig, 'mine', { spec: { deploymentTemplate } });
        await stage.settle();
        await allReady(stage);
        assert.equal((await healthy(stage))?.message, '');
        assert.deepEqual(await selectorOf(stage, first), before);
      }
    });
  });

  test('is replaced without a gap where they do not', async () => {
    const { registry, first, second } = versions();
    // The test recreates the Deployment as an earlier release left it.
    await staged({ registry, objects: named(first), ruled: '0034: restored' }, async (stage) => {
      // As a config without the name has left it: for one revision alone.
      const { metadata, spec } = await stage.client.get(Deployment, { namespace: SYSTEM, name: first });
      assert.ok(spec !== undefined);
      await stage.program.stop();
      await stage.client.delete(Deployment, { namespace: SYSTEM, name: first });
      const selector = { matchLabels: { ...spec.selector.matchLabels, 'pkg.crossplane.io/revision': first } };
      const { name, namespace, labels, annotations, ownerReferences } = metadata;
      await stage.client.create(Deployment, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name, namespace, labels, annotations, ownerReferences },
        spec: { ...spec, selector },
      });
      await stage.restart();
      await allReady(stage);
      await patch(stage, Provider, 'example', { spec: { package: image('v2') } });
      await stage.settle();
      const running = () => names(stage, Deployment, SYSTEM);
      assert.equal((await running()).length, 2, 'one is started beside it first');
      await allReady(stage);
      assert.equal((await running()).length, 2, 'then it is replaced');
      assert.equal((await selectorOf(stage, first)).labels?.['pkg.crossplane.io/revision'], undefined);
      await allReady(stage);
      await stage.settle();
      assert.deepEqual(await running(), [first]);
      assert.equal((await healthy(stage))?.message, '');
      const { spec: now } = await stage.client.get(Deployment, { namespace: SYSTEM, name: first });
      assert.equal(now?.template.metadata?.labels?.['pkg.crossplane.io/revision'], second);
    });
  });
});
