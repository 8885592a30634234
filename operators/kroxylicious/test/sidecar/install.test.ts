// The installation of the webhook by the operator: its objects, their order and lifetime, and the status of configs.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  type Client,
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  type Kind,
  MutatingWebhookConfiguration,
  Namespace,
  PodDisruptionBudget,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { createKroxylicious, KroxyliciousSidecarConfig } from '../../src/index.ts';
import { condition } from '../fixtures.ts';
import { cluster, config } from './fixtures.ts';

const SYSTEM = 'kroxylicious-webhook';
const WEBHOOK = { namespace: SYSTEM, name: 'kroxylicious-webhook' };
const SECRET = { namespace: SYSTEM, name: 'kroxylicious-webhook-tls' };
const REGISTRATION = { name: 'kroxylicious-sidecar-injector' };

async function staged(
  check: (stage: Stage) => Promise<void>,
  given?: (client: Client) => Promise<void>,
  watchNamespaces?: string[],
) {
  const stage = await createStage({
    operators: [createKroxylicious()],
    ...(watchNamespaces && { world: { watchNamespaces } }),
    async given(client) {
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'demo-app' } });
      await given?.(client);
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

const without = ({ metadata, ...rest }: ReturnType<typeof config>) => ({
  ...rest,
  metadata: { namespace: metadata.namespace ?? '', name: metadata.name ?? '' },
});

async function add(stage: Stage, ...configs: ReturnType<typeof config>[]) {
  for (const one of configs) await stage.client.create(KroxyliciousSidecarConfig, without(one));
  await stage.settle();
}

async function run(stage: Stage, availableReplicas = 2) {
  const { metadata } = await stage.client.get(Deployment, WEBHOOK);
  const status = {
    observedGeneration: metadata.generation,
    replicas: 2,
    readyReplicas: availableReplicas,
    availableReplicas,
  };
  await stage.client.patch(Deployment, WEBHOOK, 'merge', { status }, { subresource: 'status' });
  await stage.settle();
}

const ready = async ({ client }: Stage, name = 'demo') =>
  condition(await client.get(KroxyliciousSidecarConfig, { namespace: 'demo-app', name }), 'Ready');
const text = (secret: Secret, key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');

test('nothing is installed before there is a config', () =>
  staged(async ({ client, settle }) => {
    await settle();
    assert.equal(await client.find(Deployment, WEBHOOK), undefined);
    assert.equal(await client.find(Namespace, { name: SYSTEM }), undefined);
  }));

describe('the first config', () => {
  test('installs the webhook, which the server calls once it runs, for requesting namespaces only', () =>
    staged(async (stage) => {
      const { client } = stage;
      await add(stage, config('demo'));
      const deployment = await client.get(Deployment, WEBHOOK);
      const [container] = deployment.spec?.template.spec?.containers ?? [];
      assert.deepEqual(container?.command, ['kroxylicious', 'webhook']);
      // The key of the authority is not mounted.
      const [volume] = deployment.spec?.template.spec?.volumes ?? [];
      assert.deepEqual(
        volume?.secret?.items?.map(({ key }) => key),
        ['tls.crt', 'tls.key'],
      );
      assert.equal(await client.find(MutatingWebhookConfiguration, REGISTRATION), undefined);
      assert.equal((await ready(stage))?.reason, 'WebhookNotRunning');

      await run(stage);
      const { webhooks = [] } = await client.get(MutatingWebhookConfiguration, REGISTRATION);
      const [webhook] = webhooks;
      assert.equal(webhook?.failurePolicy, 'Fail');
      assert.deepEqual(webhook?.namespaceSelector, {
        matchLabels: { 'sidecar.kroxylicious.io/injection': 'enabled' },
        matchExpressions: [
          {
            key: 'kubernetes.io/metadata.name',
            operator: 'NotIn',
            values: ['kube-system', 'kube-public', 'kube-node-lease', SYSTEM],
          },
        ],
      });
      const secret = await client.get(Secret, SECRET);
      assert.equal(webhook?.clientConfig.caBundle, secret.data?.['ca.crt']);
      const own = new X509Certificate(text(secret, 'tls.crt'));
      assert.ok(own.verify(new X509Certificate(text(secret, 'ca.crt')).publicKey));
      assert.ok(own.checkHost('kroxylicious-webhook.kroxylicious-webhook.svc'));
      assert.deepEqual(await ready(stage), { status: 'True', reason: 'Accepted', message: '' });
    }));

  test('is served with the rights of the installed role, which may only read configs', () =>
    staged(async (stage) => {
      await add(stage, config('demo'));
      const { rules } = await stage.client.get(ClusterRole, { name: WEBHOOK.name });
      assert.deepEqual(rules, [
        {
          apiGroups: ['sidecar.kroxylicious.io'],
          resources: ['kroxylicioussidecarconfigs'],
          verbs: ['get', 'list', 'watch'],
        },
      ]);
    }));
});

test('a stopped webhook stays registered: its namespaces start no pods without a sidecar, and the config reports it', () =>
  staged(async (stage) => {
    await add(stage, config('demo'));
    await run(stage);
    await run(stage, 0);
    assert.ok(await stage.client.find(MutatingWebhookConfiguration, REGISTRATION));
    const now = await ready(stage);
    assert.deepEqual([now?.status, now?.reason], ['False', 'WebhookNotRunning']);
    assert.match(now?.message ?? '', /Deployment kroxylicious-webhook\/kroxylicious-webhook .*; check its pods/);
  }));

test('the webhook is removed with the last config', () =>
  staged(async (stage) => {
    const { client } = stage;
    await add(stage, config('demo'), config('other'));
    await run(stage);
    await client.delete(KroxyliciousSidecarConfig, { namespace: 'demo-app', name: 'demo' });
    await stage.settle();
    assert.ok(await client.find(Deployment, WEBHOOK));
    await client.delete(KroxyliciousSidecarConfig, { namespace: 'demo-app', name: 'other' });
    await stage.settle();
    const kinds: Kind[] = [Deployment, Service, ServiceAccount, PodDisruptionBudget];
    for (const kind of kinds) assert.equal(await client.find(kind, WEBHOOK), undefined, kind.kind);
    const roles: Kind[] = [ClusterRole, ClusterRoleBinding];
    for (const kind of roles) assert.equal(await client.find(kind, { name: WEBHOOK.name }), undefined, kind.kind);
    assert.equal(await client.find(MutatingWebhookConfiguration, REGISTRATION), undefined);
    assert.equal(await client.find(Secret, SECRET), undefined);
  }));

test('an unusable config reports the reason, and recovers when it is corrected', () =>
  staged(async (stage) => {
    await add(stage, config('demo', { virtualClusters: [cluster({ bootstrapPort: 9082 })] }));
    await run(stage);
    const now = await ready(stage);
    assert.deepEqual([now?.status, now?.reason], ['False', 'Invalid']);
    assert.match(now?.message ?? '', /must not equal spec\.managementPort/);
    const body = { spec: { managementPort: 9999 } };
    await stage.client.patch(KroxyliciousSidecarConfig, { namespace: 'demo-app', name: 'demo' }, 'merge', body);
    await stage.settle();
    assert.equal((await ready(stage))?.status, 'True');
  }));

test('a certificate that a user broke is recreated', () =>
  staged(async (stage) => {
    const { client } = stage;
    await add(stage, config('demo'));
    await run(stage);
    await client.patch(Secret, SECRET, 'merge', { data: { 'tls.crt': Buffer.from('garbage').toString('base64') } });
    await stage.settle();
    const secret = await client.get(Secret, SECRET);
    assert.ok(
      new X509Certificate(text(secret, 'tls.crt')).verify(new X509Certificate(text(secret, 'ca.crt')).publicKey),
    );
  }));
test('an installation of the original is adopted: same Deployment, same registration, one webhook', () =>
  staged(
    async (stage) => {
      const { client } = stage;
      const before = await client.get(Deployment, WEBHOOK);
      await add(stage, config('demo'));
      await run(stage);
      const after = await client.get(Deployment, WEBHOOK);
      assert.equal(after.metadata.uid, before.metadata.uid);
      assert.deepEqual(
        after.spec?.template.spec?.containers.map(({ name, command }) => [name, command]),
        [['webhook', ['kroxylicious', 'webhook']]],
      );
      const { items } = await client.list(MutatingWebhookConfiguration, {});
      assert.equal(items.length, 1);
      assert.equal(items[0]?.webhooks?.length, 1);
      assert.equal(items[0]?.webhooks[0]?.clientConfig.caBundle, (await client.get(Secret, SECRET)).data?.['ca.crt']);
      assert.equal((await ready(stage))?.status, 'True');
    },
    async (client) => {
      const labels = { app: 'kroxylicious-webhook' };
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } });
      await client.create(Deployment, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: WEBHOOK,
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: 'webhook', image: 'quay.io/kroxylicious/webhook:0.23.0' }] },
          },
        },
      });
      await client.create(MutatingWebhookConfiguration, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: REGISTRATION,
        webhooks: [
          {
            name: 'sidecar-injector.kroxylicious.io',
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            failurePolicy: 'Fail',
            clientConfig: { service: { ...WEBHOOK, path: '/mutate' } },
            rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          },
        ],
      });
    },
  ));

test('an operator that watches only other namespaces installs nothing, and the config reports it', () =>
  staged(
    async (stage) => {
      await add(stage, config('demo', {}, 'default'));
      assert.equal(await stage.client.find(Deployment, WEBHOOK), undefined);
      const one = await stage.client.get(KroxyliciousSidecarConfig, { namespace: 'default', name: 'demo' });
      const now = condition(one, 'Ready');
      assert.deepEqual([now?.status, now?.reason], ['False', 'WebhookNotRunning']);
      assert.match(now?.message ?? '', /add it to --watch-namespaces/);
    },
    undefined,
    ['default'],
  ));
