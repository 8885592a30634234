// The effects of a change beyond the first writes: facts that only read, pods that become ready, and objects of others.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  Deployment,
  defineKind,
  type KindOf,
  map,
  object,
  optional,
  ServiceAccount,
  string,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, conditionType, plan } from '../plan/index.ts';
import { type FactDefinition, fact } from '../read/index.ts';
import { reconciler } from '../reconciler.ts';
import { type PreviewLater, type PreviewWrite, preview } from './preview.ts';

const Site = defineKind({
  group: 'later.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ image: string(), data: optional(map(string())), account: optional(string()) }),
  status: object({ conditions: conditions() }),
});
type Site = KindOf<typeof Site>;
const ready = conditionType<'Running' | 'Starting'>('Serving');
const ref = (name: string) => ({ namespace: 'default', name });

function sites(content: FactDefinition<string>) {
  return operator({
    name: 'sites',
    kinds: [Site],
    reconcilers: [
      reconciler<Site>({
        name: 'site',
        resource: Site,
        reads: [Deployment],
        writes: [Deployment, ConfigMap, ServiceAccount],
        reconcile({ object: { metadata, spec }, read }) {
          const { name = '' } = metadata;
          const pulled = read.fact(content, spec.image).value ?? 'nothing';
          const labels = { app: name };
          const running = read.get(Deployment, ref(name));
          const { observedGeneration, readyReplicas = 0 } = running?.status ?? {};
          const isReady =
            readyReplicas > 0 &&
            observedGeneration === running?.metadata.generation &&
            running?.spec?.template.spec?.containers[0]?.image === pulled;
          return plan({
            children: [
              apply(ConfigMap, { metadata: ref(name), data: spec.data ?? {} }),
              ...(spec.account === undefined ? [] : [apply(ServiceAccount, { metadata: ref(spec.account) })]),
              apply(Deployment, {
                metadata: ref(name),
                spec: {
                  selector: { matchLabels: labels },
                  template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: pulled }] } },
                },
              }),
              ...(isReady ? [apply(ConfigMap, { metadata: ref(`${name}-serves`), data: { image: pulled } })] : []),
            ],
            conditions: [isReady ? ready.isTrue('Running') : ready.isFalse('Starting', 'its pods are not ready')],
          });
        },
      }),
    ],
  });
}

const site = (name: string, spec: Site['spec']): Site => ({
  apiVersion: Site.apiVersion,
  kind: Site.kind,
  metadata: ref(name),
  spec,
});

async function staged(content: Partial<FactDefinition<string>>, check: (stage: Stage) => Promise<void>): Promise<void> {
  const facts = fact<string>({ name: 'content', fetch: (image) => Promise.resolve(`pulled ${image}`), ...content });
  const stage = await createStage({
    operators: [sites(facts)],
    given: async (client) => {
      await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref('theirs') });
      await client.create(Site, site('home', { image: 'a:1', data: { a: '1', b: '2' } }));
    },
  });
  try {
    await stage.settle();
    await becomeReady(stage, 'home');
    await check(stage);
  } finally {
    await stage.end();
  }
}

async function becomeReady({ client, settle }: Stage, name: string): Promise<void> {
  const { generation } = (await client.get(Deployment, ref(name))).metadata;
  const status = { observedGeneration: generation, replicas: 1, readyReplicas: 1, updatedReplicas: 1 };
  await client.patch(Deployment, ref(name), 'merge', { status }, { subresource: 'status' });
  await settle();
}

const shown = (writes: readonly (PreviewWrite | PreviewLater)[]) =>
  writes
    .filter(({ verb }) => verb !== 'status')
    .map(({ object: what, disturbs, ...write }) =>
      [`${write.verb} ${what}`, disturbs, 'until' in write ? `once ${write.until}` : undefined]
        .filter(Boolean)
        .join(', '),
    );
const fetching = ({ clock }: Stage) => ({ clock, signal: new AbortController().signal });

describe('a preview', () => {
  test('performs a fact that only reads, and shows what follows once pods are ready', () =>
    staged({ readOnly: true }, async (stage) => {
      const changed = site('home', { image: 'a:2', data: { a: '1', b: '2' } });
      const asked: string[] = [];
      const { writes, later, unknowns, problems } = await preview(
        stage.program.runtime,
        [{ kind: Site, object: changed }],
        {
          ...fetching(stage),
          onFact: (what) => asked.push(what),
        },
      );
      assert.deepEqual(asked, ['content of a:2']);
      assert.deepEqual(shown(writes).toSorted(), [
        'apply Deployment default/home, rolls pods',
        'delete ConfigMap default/home-serves',
      ]);
      assert.deepEqual(shown(later), ['apply ConfigMap default/home-serves, once pods are ready']);
      assert.deepEqual(unknowns, []);
      assert.deepEqual(problems, [], 'a condition that is True once pods are ready is no problem');
      await stage.client.patch(Site, ref('home'), 'merge', { spec: { image: 'a:2' } });
      await stage.settle();
      assert.equal(await stage.client.find(ConfigMap, ref('home-serves')), undefined);
      await becomeReady(stage, 'home');
      assert.ok(await stage.client.find(ConfigMap, ref('home-serves')));
    }));

  test('leaves a fact unknown that is not declared as reading only', () => {
    let fetched = 0;
    const fetch = (image: string) => {
      fetched++;
      return Promise.resolve(`pulled ${image}`);
    };
    return staged({ fetch }, async (stage) => {
      const before = fetched;
      const { writes, unknowns } = await preview(
        stage.program.runtime,
        [{ kind: Site, object: site('home', { image: 'a:2' }) }],
        fetching(stage),
      );
      assert.deepEqual([fetched, writes], [before, []]);
      assert.match(unknowns.join(), /^content of a:2: finding it out may change something outside/);
    });
  });

  test('performs no fact offline, and lists what it does not know', async () => {
    const content = fact<string>({ name: 'content', fetch: () => assert.fail('it is fetched'), readOnly: true });
    const stage = await createStage({ operators: [sites(content)], runtime: { facts: 'none' } });
    try {
      await stage.settle();
      const change = { kind: Site, object: site('home', { image: 'a:1' }) };
      const { writes, unknowns } = await preview(stage.program.runtime, [change], fetching(stage));
      assert.deepEqual(writes, []);
      assert.deepEqual(unknowns, [
        'content of a:1: facts are not fetched (--offline); what follows from it is not known',
      ]);
    } finally {
      await stage.end();
    }
  });

  test('shows the key of a map that a child loses', () =>
    staged({}, async (stage) => {
      const { writes } = await preview(stage.program.runtime, [
        { kind: Site, object: site('home', { image: 'a:1', data: { a: '1' } }) },
      ]);
      const [config] = writes.filter(({ object: what }) => what === 'ConfigMap default/home');
      assert.deepEqual(config?.changes, [{ path: 'data.b', before: '2' }]);
    }));

  test('does not announce the deletion of a child that has another owner', () =>
    staged({}, async (stage) => {
      await stage.client.create(Site, site('one', { image: 'a:1', account: 'shared' }));
      const { metadata } = await stage.client.create(Site, site('two', { image: 'a:1' }));
      await stage.settle();
      const { ownerReferences = [] } = (await stage.client.get(ServiceAccount, ref('shared'))).metadata;
      const second = { apiVersion: Site.apiVersion, kind: Site.kind, name: 'two', uid: metadata.uid ?? '' };
      const owners = { metadata: { ownerReferences: [...ownerReferences, second] } };
      await stage.client.patch(ServiceAccount, ref('shared'), 'merge', owners);
      await stage.settle();
      const gone = (name: string) => ({ kind: Site, ref: ref(name), gone: true as const });
      const { writes } = await preview(stage.program.runtime, [gone('one')]);
      assert.ok(!shown(writes).includes('delete ServiceAccount default/shared'), shown(writes).join());
      const both = await preview(stage.program.runtime, [gone('one'), gone('two')]);
      assert.ok(shown(both.writes).includes('delete ServiceAccount default/shared'), shown(both.writes).join());
    }));
});
