// Children of a kind that may not be installed: without it everything else is created and pruned as ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, ConfigMap, CustomResourceDefinition, externalKind, Service } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { operator } from '../../operator.ts';
import { apply, type Child, plan } from '../../plan/index.ts';
import { reading, reconciler } from '../../reconciler.ts';

const Gadget = externalKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  scope: 'Namespaced',
});

const web = reconciler<ConfigMap>({
  name: 'web',
  resource: ConfigMap,
  reads: [reading(Gadget, 'owned', { optional: true })],
  writes: [Service, Gadget],
  reconcile({ object, read }) {
    const { name = '', namespace = '' } = object.metadata;
    const metadata = { namespace, name };
    const children: Child[] = [];
    if (object.data?.['service'] === 'yes')
      children.push(apply(Service, { metadata, spec: { ports: [{ port: 80, protocol: 'TCP' }] } }));
    if (object.data?.['gadget'] === 'yes' && read.access(Gadget) === 'served')
      children.push(apply(Gadget, { metadata }));
    return plan({ children });
  },
});

async function installGadgets(client: Client): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const names = { kind: 'Gadget', listKind: 'GadgetList', plural: 'gadgets', singular: 'gadget' };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  await client.create(CustomResourceDefinition, {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.example.capstan.dev' },
    spec: { group: 'example.capstan.dev', names, scope: 'Namespaced', versions },
  });
}

test('other children are created and pruned without an optional kind, and with it that kind too', async (t) => {
  const stage = await createStage({
    operators: [operator({ name: 'test', kinds: [], reconcilers: [web] })],
    given: async (client) => {
      const metadata = { namespace: 'default', name: 'web' };
      await client.create(ConfigMap, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data: { service: 'yes', gadget: 'yes' },
      });
    },
  });
  t.after(() => stage.end());
  const { client, clock, settle } = stage;
  const ref = { namespace: 'default', name: 'web' };
  const want = (data: Record<string, string>) => client.patch(ConfigMap, ref, 'merge', { data });
  assert.ok(await client.find(Service, ref));
  await want({ service: 'no' });
  await settle();
  assert.equal(await client.find(Service, ref), undefined);
  await installGadgets(client);
  await clock.advance(120_000);
  await settle();
  assert.ok(await client.find(Gadget, ref));
  await want({ gadget: 'no' });
  await settle();
  assert.equal(await client.find(Gadget, ref), undefined);
});
