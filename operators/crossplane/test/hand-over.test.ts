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

  test('an account that the configuration names anew is beside the old one until no pod has that', async () => {
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
