// Exact children on a server: the handling of fields that other clients add, and their preview.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConfigMap,
  changesBetween,
  conditions,
  Deployment,
  defineKind,
  type KindOf,
  object,
  Service,
  string,
} from '@capstan/kube';
import { createRandom, createStage } from '@capstan/testing';
import { EXACT_ANNOTATION } from '../marks.ts';
import { operator } from '../operator.ts';
import { type ApplyChildOptions, apply, plan } from '../plan/index.ts';
import { preview } from '../preview/index.ts';
import { reconciler } from '../reconciler.ts';

const Owner = defineKind({
  group: 'exact.capstan.dev',
  version: 'v1',
  kind: 'Owner',
  scope: 'Namespaced',
  spec: object({ value: string() }),
  status: object({ conditions: conditions() }),
});
type Owner = KindOf<typeof Owner>;

const AT = { namespace: 'default', name: 'one' };
const KIND = { apiVersion: Owner.apiVersion, kind: Owner.kind };

function owners(options: ApplyChildOptions = {}) {
  return reconciler<Owner>({
    name: 'owner',
    resource: Owner,
    writes: [ConfigMap, Service, Deployment],
    reconcile: ({ object: { spec } }) =>
      plan({
        children: [
          apply(ConfigMap, { metadata: AT, data: { value: spec.value } }, options),
          apply(
            Service,
            { metadata: AT, spec: { selector: { app: spec.value }, ports: [{ name: 'http', port: 80 }] } },
            options,
          ),
          apply(
            Deployment,
            {
              metadata: AT,
              spec: {
                selector: { matchLabels: { app: 'one' } },
                template: {
                  metadata: { labels: { app: 'one' } },
                  spec: { containers: [{ name: 'main', image: spec.value, env: [{ name: 'A', value: 'a' }] }] },
                },
              },
            },
            options,
          ),
        ],
      }),
  });
}

type Stage = Awaited<ReturnType<typeof createStage>>;

async function onStage(check: (stage: Stage) => Promise<void>, options: ApplyChildOptions = {}): Promise<void> {
  const stage = await createStage({
    operators: [operator({ name: 'exact', kinds: [Owner], reconcilers: [owners(options)] })],
    given: async (client) => {
      await client.create(Owner, { ...KIND, metadata: AT, spec: { value: 'a' } });
    },
  });
  try {
    await stage.settle();
    await check(stage);
  } finally {
    await stage.end();
  }
}

type Kinds = typeof ConfigMap | typeof Service | typeof Deployment;

/** Writes as another client does. */
async function edit(stage: Stage, kind: Kinds, patch: object, manager = 'kubectl-edit'): Promise<void> {
  await stage.client.patch(kind, AT, 'strategic', patch, { fieldManager: manager });
  await stage.settle();
}

async function conditionOf(stage: Stage, type: string) {
  return (await stage.client.get(Owner, AT)).status?.conditions?.find((condition) => condition.type === type);
}

test('a port and an environment variable that another client adds are removed', () =>
  onStage(async (stage) => {
    await edit(stage, Service, { spec: { ports: [{ name: 'extra', port: 8443 }] } });
    const { spec } = await stage.client.get(Service, AT);
    assert.deepEqual(
      spec?.ports?.map(({ name }) => name),
      ['http'],
    );
    const container = { name: 'main', env: [{ name: 'B', value: 'b' }] };
    await edit(stage, Deployment, { spec: { template: { spec: { containers: [container] } } } });
    const deployment = await stage.client.get(Deployment, AT);
    assert.deepEqual(deployment.spec?.template.spec?.containers[0]?.env, [{ name: 'A', value: 'a' }]);
    await edit(stage, ConfigMap, { data: { other: 'x' } });
    assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { value: 'a' });
    assert.equal(await conditionOf(stage, 'ForeignFields'), undefined);
  }));

test('fields of others stay on a shared child', () =>
  onStage(
    async (stage) => {
      await edit(stage, ConfigMap, { data: { other: 'x' } });
      assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { other: 'x', value: 'a' });
    },
    { fields: 'shared' },
  ));

test('counts, restarts, pauses, labels, annotations and allocated addresses of others stay', () =>
  onStage(async (stage) => {
    stage.transport.clear();
    await stage.client.patch(Deployment, AT, 'merge', { spec: { replicas: 3, paused: true } });
    const restart = { 'kubectl.kubernetes.io/restartedAt': '2026-01-01T00:00:00Z' };
    const metadata = { annotations: restart, labels: { 'example.com/mesh': 'on' } };
    await edit(stage, Deployment, { metadata, spec: { template: { metadata } } }, 'kubectl-rollout');
    await edit(stage, Service, { metadata, spec: { ports: [{ port: 80, nodePort: 30080 }], type: 'NodePort' } });
    const deployment = await stage.client.get(Deployment, AT);
    assert.deepEqual([deployment.spec?.replicas, deployment.spec?.paused], [3, true]);
    assert.equal(
      deployment.spec?.template.metadata?.annotations?.['kubectl.kubernetes.io/restartedAt'] !== undefined,
      true,
    );
    const service = await stage.client.get(Service, AT);
    assert.equal(service.metadata.labels?.['example.com/mesh'], 'on');
    assert.equal(await conditionOf(stage, 'ForeignFields'), undefined);
  }));

test('a controller that adds its field again and again is reported after three removals', () =>
  onStage(async (stage) => {
    for (let write = 1; write <= 6; write++) await edit(stage, ConfigMap, { data: { other: `${write}` } }, 'injector');
    assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { other: '6', value: 'a' });
    const condition = await conditionOf(stage, 'ForeignFields');
    assert.match(
      condition?.message ?? '',
      /ConfigMap default\/one: data\.other \(set by injector\) is not part of the plan/,
    );
    stage.transport.clear();
    await stage.settle();
    assert.deepEqual(stage.transport.writes, []);
    // A new plan for the child starts again.
    await stage.client.patch(Owner, AT, 'merge', { spec: { value: 'b' } });
    await stage.settle();
    assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { value: 'b' });
    assert.equal(await conditionOf(stage, 'ForeignFields'), undefined);
  }));

test('fields that were there before a child was kept exact are reported, and stay', () =>
  onStage(async (stage) => {
    // As an earlier version left it: without the mark.
    const unmarked = { metadata: { annotations: { [EXACT_ANNOTATION]: null } }, data: { other: 'x' } };
    await stage.restart({
      meanwhile: async (client) => {
        await client.patch(ConfigMap, AT, 'merge', unmarked, { fieldManager: 'kubectl-edit' });
      },
    });
    await stage.settle();
    assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { other: 'x', value: 'a' });
    assert.match((await conditionOf(stage, 'ForeignFields'))?.message ?? '', /data\.other/);
    await stage.client.patch(Owner, AT, 'merge', { spec: { value: 'b' } });
    await stage.settle();
    assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { other: 'x', value: 'b' });
    // From then on, others are removed.
    await edit(stage, ConfigMap, { data: { third: 'y' } }, 'another');
    assert.deepEqual((await stage.client.get(ConfigMap, AT)).data, { other: 'x', value: 'b' });
  }));

const EDITS = 40;

for (const fields of ['exact', 'shared'] as const)
  test(`${EDITS} random edits, with fields of others on ${fields} children, end as their previews show`, () =>
    onStage(
      async (stage) => {
        const random = createRandom(28);
        const foreign = [
          () =>
            edit(
              stage,
              ConfigMap,
              { data: { [random.pick(['x', 'y'])]: random.pick(['1', '2']) } },
              random.pick(['a', 'b']),
            ),
          () => {
            const port = random.pick([81, 82]);
            return edit(stage, Service, { spec: { ports: [{ name: `more-${port}`, port }] } });
          },
          () => edit(stage, Service, { spec: { sessionAffinity: random.pick(['ClientIP', 'None']) } }),
          () => edit(stage, Deployment, { spec: { minReadySeconds: random.pick([1, 2]) } }),
          () => {
            const container = {
              name: 'main',
              env: [{ name: random.pick(['B', 'C']), value: random.pick(['1', '2']) }],
            };
            return edit(stage, Deployment, { spec: { template: { spec: { containers: [container] } } } }, 'injector');
          },
        ];
        for (let at = 0; at < EDITS; at++) {
          for (const add of foreign) if (random.chance(0.4)) await add();
          const spec = { value: random.pick(['a', 'b', 'c']) };
          const edited = { ...KIND, metadata: AT, spec };
          const shown = await preview(stage.program.runtime, [{ kind: Owner, object: edited }]);
          const before = await contents(stage);
          await stage.client.patch(Owner, AT, 'merge', { spec });
          await stage.settle();
          const after = await contents(stage);
          for (const kind of Object.keys(before)) {
            const writes = shown.writes.filter(({ object: written }) => written.startsWith(`${kind} `));
            assert.deepEqual(
              [...new Set(writes.flatMap(({ paths }) => paths.filter(isContent)))].toSorted(),
              changesBetween(before[kind], after[kind], 20)
                .map(({ path }) => path)
                .filter(isContent)
                .toSorted(),
              `edit ${at} to ${spec.value}: ${kind}`,
            );
          }
        }
      },
      { fields },
    ));

const isContent = (path: string) => !/^(?:metadata|status)\b|capstan\.dev/.test(path);

async function contents(stage: Stage): Promise<Record<string, object>> {
  return {
    ConfigMap: await stage.client.get(ConfigMap, AT),
    Service: await stage.client.get(Service, AT),
    Deployment: await stage.client.get(Deployment, AT),
  };
}
