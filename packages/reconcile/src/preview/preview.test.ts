import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  Deployment,
  defineKind,
  type KindOf,
  object,
  optional,
  Secret,
  string,
  systemClock,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, conditionType, type Minter, mint, plan } from '../plan/index.ts';
import { derivation, fact } from '../read/index.ts';
import { reconciler, writing } from '../reconciler.ts';
import { type PreviewChange, type PreviewResult, preview } from './preview.ts';

const Leaf = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Leaf',
  scope: 'Namespaced',
  spec: object({ value: string(), asks: optional(string()) }),
  status: object({ conditions: conditions(), hash: optional(string()) }),
});
type Leaf = KindOf<typeof Leaf>;
const Tree = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Tree',
  scope: 'Namespaced',
  spec: object({ leaf: string(), key: optional(string()) }),
  status: object({ conditions: conditions(), hash: optional(string()) }),
});
type Tree = KindOf<typeof Tree>;

const ready = conditionType<'Hashed'>('Ready');
const outside = fact<string>({ name: 'outside', fetch: () => new Promise(() => {}) });
const leafHash = derivation<string>({
  name: 'leaf-hash',
  compute({ key, read, digest }) {
    const [namespace = '', name = ''] = key.split('/');
    const spec = read.get(Leaf, { namespace, name }, (found) => found.spec);
    if (spec?.asks) read.fact(outside, spec.asks);
    return digest(spec?.value);
  },
});

const leaf = reconciler<Leaf>({
  name: 'leaf',
  resource: Leaf,
  reconcile: ({ object: { metadata }, read }) =>
    plan({
      conditions: [ready.isTrue('Hashed')],
      status: { hash: read.derived(leafHash, `${metadata.namespace}/${metadata.name}`) },
    }),
});

const key: Minter<object, Secret> = {
  name: 'key',
  // An object that a preview creates has no content.
  valid: ({ data }) => data?.['key'] !== undefined,
  make: () => Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { key: 'c2VjcmV0' } }),
};

const local: typeof key = { ...key, name: 'local-key', readOnly: true };

const tree = reconciler<Tree>({
  name: 'tree',
  resource: Tree,
  reads: [Leaf],
  writes: [Deployment, ConfigMap, writing(Secret, 'mint')],
  reconcile({ object: { metadata, spec }, read }) {
    const { name = '', namespace = '' } = metadata;
    const hash = read.derived(leafHash, `${namespace}/${spec.leaf}`);
    const template = {
      metadata: { labels: { app: name }, annotations: { hash } },
      spec: { containers: [{ name: 'main', image: 'a' }] },
    };
    return plan({
      groups: [
        {
          children: [
            apply(ConfigMap, { metadata: { name: `${name}-config`, namespace }, data: { hash } }),
            ...(spec.key === undefined ? [] : [mint(Secret, { namespace, name: spec.key }, key, {})]),
          ],
        },
        {
          children: [
            apply(Deployment, {
              metadata: { name, namespace },
              spec: { selector: { matchLabels: { app: name } }, template },
            }),
          ],
        },
      ],
      conditions: [ready.isTrue('Hashed')],
      status: { hash },
    });
  },
});

const operators = [operator({ name: 'test', kinds: [Leaf, Tree], reconcilers: [leaf, tree] })];
const ref = (name: string) => ({ namespace: 'default', name });
const leafOf = (spec: Leaf['spec']): Leaf => ({
  apiVersion: Leaf.apiVersion,
  kind: 'Leaf',
  metadata: ref('leaf'),
  spec,
});
const treeOf = (spec: Tree['spec'], name = 'tree'): Tree => ({
  apiVersion: Tree.apiVersion,
  kind: 'Tree',
  metadata: ref(name),
  spec,
});

async function staged(
  check: (stage: Stage, changed: (spec: Partial<Leaf['spec']>) => Promise<PreviewChange>) => Promise<void>,
): Promise<void> {
  const stage = await createStage({
    operators,
    given: async (client) => {
      await client.create(Leaf, leafOf({ value: '1' }));
      await client.create(Tree, treeOf({ leaf: 'leaf' }));
    },
  });
  const changed = async (spec: Partial<Leaf['spec']>) => {
    const dry = await stage.client.patch(Leaf, ref('leaf'), 'merge', { spec }, { dryRun: true });
    return { kind: Leaf, object: dry };
  };
  try {
    await check(stage, changed);
  } finally {
    await stage.end();
  }
}

const summary = (writes: readonly { verb: string; object: string; disturbs?: string }[]) =>
  writes.map(({ verb, object: name, disturbs }) => `${verb} ${name}${disturbs ? ` (${disturbs})` : ''}`);

describe('a preview', () => {
  test('shows every write that would follow, through all levels, with what it disturbs', () =>
    staged(async ({ program, transport }, changed) => {
      transport.clear();
      const { writes, unknowns } = await preview(program.runtime, [await changed({ value: '2' })]);
      assert.deepEqual(summary(writes), [
        'status Leaf default/leaf',
        'apply ConfigMap default/tree-config',
        'status Tree default/tree',
        'apply Deployment default/tree (rolls pods)',
      ]);
      assert.deepEqual(writes.find(({ object: name }) => name === 'ConfigMap default/tree-config')?.paths, [
        'data.hash',
      ]);
      assert.deepEqual(unknowns, []);
      assert.deepEqual(transport.writes, []);
    }));

  test('names a closed gate and what it waits for, and shows nothing behind it', async () => {
    const gated = reconciler<Tree>({
      name: 'gated',
      resource: Tree,
      writes: [ConfigMap],
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          groups: [
            {
              name: 'rollout',
              open: spec.leaf !== 'closed',
              waitingFor: 'the maintenance window',
              children: [apply(ConfigMap, { metadata: ref(`${metadata.name}-config`), data: { leaf: spec.leaf } })],
            },
          ],
        }),
    });
    const stage = await createStage({
      operators: [operator({ name: 'test', kinds: [Tree], reconcilers: [gated] })],
      given: async (client) => {
        await client.create(Tree, treeOf({ leaf: 'open' }));
      },
    });
    try {
      const dry = await stage.client.patch(Tree, ref('tree'), 'merge', { spec: { leaf: 'closed' } }, { dryRun: true });
      const { writes, unknowns, mayFollow } = await preview(stage.program.runtime, [{ kind: Tree, object: dry }]);
      assert.deepEqual(unknowns, ['Tree default/tree: rollout waits for the maintenance window']);
      assert.deepEqual(mayFollow, ['ConfigMap default/tree-config', 'Tree default/tree']);
      assert.deepEqual(
        summary(writes).filter((line) => line.includes('ConfigMap')),
        [],
      );
    } finally {
      await stage.end();
    }
  });

  test('has conditions of the generation that there would be, so that what waits for them goes on', () =>
    staged(async ({ program }, changed) => {
      const { writes } = await preview(program.runtime, [await changed({ value: '2' })]);
      const paths = writes.find(({ object: name }) => name === 'Leaf default/leaf')?.paths;
      assert.ok(paths?.includes('status.conditions[0].observedGeneration'), paths?.join(', ') ?? '');
    }));

  test('says the same as applying the change', () =>
    staged(async ({ client, program, transport, settle }, changed) => {
      const { writes } = await preview(program.runtime, [await changed({ value: '2' })]);
      transport.clear();
      await client.patch(Leaf, ref('leaf'), 'merge', { spec: { value: '2' } });
      await settle();
      assert.equal(transport.writes.length, writes.length);
    }));

  test('a preview of a change that nothing reads, or of none, is empty', () =>
    staged(async ({ client, program }, changed) => {
      assert.deepEqual((await preview(program.runtime, [await changed({ value: '1' })])).writes, []);
      const labelled = await client.patch(
        Leaf,
        ref('leaf'),
        'merge',
        { metadata: { labels: { a: 'b' } } },
        { dryRun: true },
      );
      assert.deepEqual((await preview(program.runtime, [{ kind: Leaf, object: labelled }])).writes, []);
    }));

  test('a preview of a new object shows its children, and that minted content is not known', () =>
    staged(async ({ client, program }) => {
      const added = await client.create(Tree, treeOf({ leaf: 'leaf', key: 'k' }, 'other'), { dryRun: true });
      const { writes, unknowns } = await preview(program.runtime, [{ kind: Tree, object: added }]);
      assert.deepEqual(summary(writes), [
        'apply ConfigMap default/other-config',
        'mint Secret default/k',
        'status Tree default/other',
        'apply Deployment default/other (starts pods)',
      ]);
      assert.deepEqual(unknowns, ['Secret default/k: its content is created when it is written']);
    }));

  test('opens a gate that waits for content which a minter can make without effect, and shows none of it', async () => {
    const gated = reconciler<Tree>({
      name: 'gated',
      resource: Tree,
      reads: [Secret],
      writes: [ConfigMap, writing(Secret, 'mint')],
      reconcile({ object: { metadata, spec }, read }) {
        const secret = ref(`${metadata.name}-key`);
        const content = read.get(Secret, secret, ({ data }) => data?.['key']);
        const minter = spec.leaf === 'outside' ? key : local;
        const children = content === undefined ? [] : [apply(ConfigMap, { metadata: ref(`${metadata.name}-config`) })];
        return plan({
          groups: [
            { children: [mint(Secret, secret, minter, {})] },
            { name: 'config', open: content !== undefined, waitingFor: 'the key', children },
          ],
        });
      },
    });
    const stage = await createStage({
      operators: [operator({ name: 'test', kinds: [Tree], reconcilers: [gated] })],
    });
    try {
      const previewed = async (leaf: string) => {
        const object = await stage.client.create(Tree, treeOf({ leaf }), { dryRun: true });
        const fetching = { clock: systemClock, signal: new AbortController().signal };
        return preview(stage.program.runtime, [{ kind: Tree, object }], fetching);
      };
      const objects = ({ writes }: PreviewResult) => summary(writes.filter(({ verb }) => verb !== 'status'));
      const opened = await previewed('here');
      assert.deepEqual(objects(opened), ['mint Secret default/tree-key', 'apply ConfigMap default/tree-config']);
      assert.deepEqual(opened.unknowns, ['Secret default/tree-key: its content is created when it is written']);
      assert.deepEqual(opened.mayFollow, []);
      assert.ok(!JSON.stringify(opened).includes('c2VjcmV0'));
      const closed = await previewed('outside');
      assert.deepEqual(objects(closed), ['mint Secret default/tree-key']);
      assert.deepEqual(closed.mayFollow, ['Secret default/tree-key', 'Tree default/tree']);
    } finally {
      await stage.end();
    }
  });

  test('a preview of a deletion shows the objects that go with it', () =>
    staged(async ({ program }) => {
      const { writes } = await preview(program.runtime, [{ kind: Tree, ref: ref('tree'), gone: true }]);
      assert.deepEqual(summary(writes).toSorted(), [
        'delete ConfigMap default/tree-config',
        'delete Deployment default/tree (stops pods)',
      ]);
    }));

  test('lists what depends on the outside as unknown', () =>
    staged(async ({ program }, changed) => {
      const asking = await changed({ value: '2', asks: 'weather' });
      const { writes, unknowns, undecided } = await preview(program.runtime, [asking]);
      assert.deepEqual(writes, []);
      assert.deepEqual(undecided, ['Leaf default/leaf', 'Tree default/tree']);
      assert.deepEqual(unknowns, [
        'outside of weather: finding it out may change something outside, so that a preview does not; what follows from it is not known',
      ]);
    }));

  test('changes nothing: the program goes on as if it had not been asked', () =>
    staged(async ({ client, program, transport, settle }, changed) => {
      await preview(program.runtime, [await changed({ value: '2' })]);
      transport.clear();
      await settle();
      assert.deepEqual(transport.writes, []);
      assert.equal((await client.get(Leaf, ref('leaf'))).spec.value, '1');
    }));
});
