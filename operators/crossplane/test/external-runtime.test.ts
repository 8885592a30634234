// With --package-runtime=External: everything but the runtime, and a controller of one's own that makes it. It is loaded as
// `capstan run --operator docs/examples/daemon-set-runtime.ts` does it.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  type Kind,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { createStage, type Stage } from '@capstan/testing';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { createCrossplane } from '../src/operator.ts';
import {
  BOUND,
  crd,
  detail,
  fakeRegistry,
  meta,
  names,
  object,
  patch,
  REGISTRY,
  revisionName,
  SYSTEM,
} from './fixtures.ts';

const IMAGE = `${REGISTRY}/team/provider-example:v1.0.0`;
const EXAMPLE = new URL('../../../docs/examples/daemon-set-runtime.ts', import.meta.url);
const all = { Provider: 'External', Function: 'External', Configuration: 'External' } as const;

let external: { default: Operator; DaemonSetRuntimeConfig: Kind };
before(async () => {
  external = (await import(EXAMPLE.href)) as typeof external;
});

/** Crossplane and, unless it is alone, the example; a Provider that names a DaemonSetRuntimeConfig. */
async function staged(isAlone: boolean, check: (stage: Stage, revision: string) => Promise<void>): Promise<void> {
  const registry = fakeRegistry();
  const digest = registry.push(IMAGE, [meta('Provider'), crd('Bucket')]);
  const runtimeConfigRef = { apiVersion: 'pkg.example.org/v1', kind: 'DaemonSetRuntimeConfig', name: 'edge' };
  const stage = await createStage({
    operators: [
      createCrossplane({
        source: registry,
        bound: BOUND,
        packageRuntime: all,
        now: () => Date.parse('2026-01-01T00:00:00Z'),
      }),
      ...(isAlone ? [] : [external.default]),
    ],
    async given(client) {
      await client.create(
        Provider,
        object(Provider, 'example', { spec: { package: IMAGE, runtimeConfigRef } }) as Provider,
      );
    },
  });
  try {
    await stage.settle();
    await check(stage, revisionName('example', digest));
  } finally {
    await stage.end();
  }
}

describe('an external runtime', () => {
  test('a package without an external runtime is delivered, healthy, and nothing of a runtime is made', () =>
    staged(true, async (stage, revision) => {
      const { spec } = await stage.client.get(ProviderRevision, { name: revision });
      assert.deepEqual(spec.runtimeConfigRef, {
        apiVersion: 'pkg.example.org/v1',
        kind: 'DaemonSetRuntimeConfig',
        name: 'edge',
      });
      assert.ok((await names(stage, CustomResourceDefinition)).includes('buckets.example.org'));
      for (const kind of [Deployment, Service, ServiceAccount]) assert.deepEqual(await names(stage, kind, SYSTEM), []);
      assert.ok(!(await names(stage, Secret, SYSTEM)).some((name) => name.includes('-tls-')));
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
    }));

  test('the example runs the revision by a config of its own kind, and its word counts', () =>
    staged(false, async (stage, revision) => {
      const missing = await detail(stage, ProviderRevision, revision, 'RuntimeHealthy');
      assert.deepEqual([missing?.status, missing?.reason], ['False', 'NoConfig']);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'False');

      const config = external.DaemonSetRuntimeConfig;
      const spec = { nodeSelector: { site: 'edge' }, args: ['--debug'] };
      await stage.client.create(config, object(config, 'edge', { spec }));
      await stage.settle();
      const ref = { namespace: SYSTEM, name: revision };
      const pod = (await stage.client.get(DaemonSet, ref)).spec?.template.spec;
      assert.deepEqual(pod?.nodeSelector, { site: 'edge' });
      assert.deepEqual(pod.containers[0]?.args, ['--debug']);
      assert.match(pod.containers[0]?.image ?? '', /^registry\.example\/team\/provider-example/);
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'False');

      const status = {
        observedGeneration: 1,
        numberAvailable: 3,
        desiredNumberScheduled: 3,
        currentNumberScheduled: 3,
        numberMisscheduled: 0,
        numberReady: 3,
      };
      await stage.client.patch(DaemonSet, ref, 'merge', { status }, { subresource: 'status' });
      await stage.settle();
      assert.equal((await detail(stage, ProviderRevision, revision, 'RuntimeHealthy'))?.status, 'True');
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.status, 'True');
      assert.deepEqual(await names(stage, Deployment, SYSTEM), []);
    }));

  test('an edit of the config reaches the pods, field removals included, and a deactivated revision runs nothing', () =>
    staged(false, async (stage, revision) => {
      const config = external.DaemonSetRuntimeConfig;
      await stage.client.create(config, object(config, 'edge', { spec: { nodeSelector: { site: 'edge' } } }));
      await stage.settle();
      await patch(stage, config, 'edge', { spec: { nodeSelector: null } });
      await stage.settle();
      const { spec } = await stage.client.get(DaemonSet, { namespace: SYSTEM, name: revision });
      assert.deepEqual(spec?.template.spec?.nodeSelector ?? {}, {});
      await patch(stage, Provider, 'example', { spec: { revisionActivationPolicy: 'Manual' } });
      await patch(stage, ProviderRevision, revision, { spec: { desiredState: 'Inactive' } });
      await stage.settle();
      assert.deepEqual(await names(stage, DaemonSet, SYSTEM), []);
    }));

  test('a restart of both writes nothing', () =>
    staged(false, async (stage) => {
      const config = external.DaemonSetRuntimeConfig;
      await stage.client.create(config, object(config, 'edge', { spec: {} }));
      await stage.settle();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    }));
});
