import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, findCondition, type KindInputOf, type KindOf, Service } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import websites, { Website } from './website-operator.ts';

const ref = { namespace: 'default', name: 'home' };
const home: KindInputOf<typeof Website> = {
  apiVersion: Website.apiVersion,
  kind: Website.kind,
  metadata: ref,
  spec: { pages: { 'index.html': 'hello' } },
};

async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [websites],
    given: async (client) => {
      await client.create(Website, home as KindOf<typeof Website>);
    },
  });
  try {
    await check(stage);
  } finally {
    await stage.end();
  }
}

const readyOf = (site: KindOf<typeof Website>) => findCondition(site.status?.conditions, 'Ready');
const pagesOf = (deployment: Deployment) =>
  deployment.spec?.template.metadata?.annotations?.['example.capstan.dev/pages'];

describe('the example of an operator in one file', () => {
  test('has less than 60 lines', () => {
    const lines = readFileSync(new URL('website-operator.ts', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n');
    assert.ok(lines.length < 60, `it has ${lines.length}`);
  });

  test('makes what serves the website, with the defaults of its schema', () =>
    staged(async ({ client }) => {
      assert.deepEqual((await client.get(ConfigMap, ref)).data, { 'index.html': 'hello' });
      const deployment = await client.get(Deployment, ref);
      assert.equal(deployment.spec?.replicas, 2);
      assert.equal(deployment.spec.template.spec?.containers[0]?.image, 'nginx:1.29');
      assert.equal((await client.get(Service, ref)).spec?.ports?.[0]?.port, 80);
      const site = await client.get(Website, ref);
      assert.equal(site.status?.url, 'http://home.default.svc:80');
      assert.equal(readyOf(site)?.reason, 'Starting');
    }));

  test('is ready when its pods are', () =>
    staged(async ({ client, settle }) => {
      const status = { replicas: 2, readyReplicas: 2, availableReplicas: 2 };
      await client.patch(Deployment, ref, 'merge', { status }, { subresource: 'status' });
      await settle();
      assert.equal(readyOf(await client.get(Website, ref))?.status, 'True');
    }));

  test('corrects what a user changed by hand', () =>
    staged(async ({ client, settle }) => {
      await client.patch(ConfigMap, ref, 'merge', { data: { 'index.html': 'defaced' } });
      await client.delete(Service, ref);
      await settle();
      assert.deepEqual((await client.get(ConfigMap, ref)).data, { 'index.html': 'hello' });
      assert.ok(await client.find(Service, ref));
    }));

  test('rolls the pods when a page changes, and not when the number of pods does', () =>
    staged(async ({ client, settle }) => {
      const before = pagesOf(await client.get(Deployment, ref));
      assert.ok(before);
      await client.patch(Website, ref, 'merge', { spec: { replicas: 3 } });
      await settle();
      const scaled = await client.get(Deployment, ref);
      assert.equal(scaled.spec?.replicas, 3);
      assert.equal(pagesOf(scaled), before);
      await client.patch(Website, ref, 'merge', { spec: { pages: { 'index.html': 'hello again' } } });
      await settle();
      assert.notEqual(pagesOf(await client.get(Deployment, ref)), before);
    }));

  test('has a Service for as long as it has a port', () =>
    staged(async ({ client, settle }) => {
      await client.patch(Website, ref, 'merge', { spec: { port: 0 } });
      await settle();
      assert.equal(await client.find(Service, ref), undefined);
      assert.equal((await client.get(Website, ref)).status?.url, undefined);
      assert.ok(await client.find(Deployment, ref));
    }));

  test('leaves nothing to write on a settled cluster after a restart', () =>
    staged(async (stage) => {
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));
});
