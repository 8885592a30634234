// `crossplane beta trace`: the tree of a package, and of a resource with references, as text, JSON and graph.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, type KubeObject, systemClock, type Transport } from '@capstan/kube';
import type { Io } from '@capstan/reconcile/command-line';
import { parseFlags } from '@capstan/reconcile/command-line';
import { assertReport, createRandom, createTestCluster } from '@capstan/testing';
import { parse } from 'yaml';
import { REPORT_SCHEMAS } from '../src/commands/report-schemas.ts';
import traceCommand from '../src/commands/trace-command.ts';
import { Configuration, Provider } from '../src/kinds/index.ts';
import { createCrossplane } from '../src/operator.ts';
import { createFinder } from '../src/trace/tree.ts';
import { allReady, crd, fakeRegistry, meta, object, REGISTRY, staged } from './fixtures.ts';

const source = (name: string) => `${REGISTRY}/team/${name}`;
const image = (name: string) => `${source(name)}:v1.0.0`;
const types = ['CompositeResourceDefinition', 'Composition'].map(
  (kind) =>
    [
      CustomResourceDefinition,
      crd(kind, 'apiextensions.crossplane.io', { fields: { anything: { type: 'string' } } }),
    ] as never,
);

function packages() {
  const registry = fakeRegistry();
  registry.push(image('provider-a'), [meta('Provider'), crd('Bucket')]);
  registry.push(image('function-b'), [
    meta('Function', { dependsOn: [{ provider: source('provider-a'), version: '*' }] }),
  ]);
  registry.push(image('platform'), [
    meta('Configuration', {
      dependsOn: [
        { provider: source('provider-a'), version: '*' },
        { function: source('function-b'), version: '*' },
      ],
    }),
  ]);
  const platform = [Configuration, object(Configuration, 'platform', { spec: { package: image('platform') } })];
  return { registry, objects: [...types, platform as never] };
}

/** Runs the command as the program does. */
async function trace(
  { transport }: { transport: Transport },
  positionals: string[],
  given: Record<string, string[]> = {},
): Promise<string> {
  const { options, run } = traceCommand;
  let text = '';
  const io = {
    stdout: (part: string) => {
      text += part;
    },
    stderr: () => {},
    env: {},
    files: {},
    signal: new AbortController().signal,
    connect: () =>
      Promise.resolve({ ...transport, close: () => Promise.resolve(), namespace: 'default', context: 'stage' }),
  };
  const args = { command: 'crossplane beta trace', flags: parseFlags(options, given), positionals, operatorFlags: {} };
  assert.equal(await run(args, io as unknown as Io), 0);
  return text;
}

/** Replaces the parts that are derived from digests. */
const plain = (text: string) => text.replaceAll(/-[0-9a-f]{12}\b/g, '-DIGEST').replaceAll(/ {2,}/g, '  ');

describe('crossplane beta trace', () => {
  test('shows a package with its revision and its dependencies, each once', async () => {
    const { registry, objects } = packages();
    await staged({ registry, objects }, async (stage) => {
      await allReady(stage);
      await allReady(stage);
      assert.equal(
        plain(await trace(stage, ['configuration/platform'])),
        [
          'NAME  VERSION  INSTALLED  HEALTHY  STATE  STATUS',
          'Configuration/platform  v1.0.0  True  True  -  HealthyPackageRevision',
          '├─ ConfigurationRevision/platform-DIGEST  v1.0.0  -  True  Active  HealthyPackageRevision',
          '├─ Provider/team-provider-a  v1.0.0  True  True  -  HealthyPackageRevision',
          '│  └─ ProviderRevision/team-provider-a-DIGEST  v1.0.0  -  True  Active  HealthyPackageRevision',
          '└─ Function/team-function-b  v1.0.0  True  True  -  HealthyPackageRevision',
          '  └─ FunctionRevision/team-function-b-DIGEST  v1.0.0  -  True  Active  HealthyPackageRevision',
          '',
        ].join('\n'),
      );
      const all = plain(
        await trace(stage, ['configurations.pkg.crossplane.io', 'platform'], {
          'show-package-dependencies': ['all'],
          'show-package-revisions': ['none'],
        }),
      );
      assert.equal(all.match(/Provider\/team-provider-a/g)?.length, 2);
      assert.doesNotMatch(all, /Revision\//);
      const wide = plain(
        await trace(stage, ['provider', 'team-provider-a'], {
          output: ['wide'],
          'show-package-objects': ['true'],
          'show-package-runtime-configs': ['true'],
        }),
      );
      assert.match(wide, /^NAME {2}PACKAGE {2}VERSION/);
      assert.match(wide, /Provider\/team-provider-a {2}registry\.example\/team\/provider-a {2}v1\.0\.0/);
      assert.match(wide, /├─ DeploymentRuntimeConfig\/default/);
      assert.match(wide, /CustomResourceDefinition\/buckets\.example\.org {2}- {2}True/);
    });
  });

  test('shows what is wrong: the end of a message, or all of it', async () => {
    const registry = fakeRegistry();
    const broken = [Provider, object(Provider, 'broken', { spec: { package: image('none') } })];
    await staged({ registry, objects: [broken as never] }, async (stage) => {
      const text = await trace(stage, ['provider/broken']);
      const wide = await trace(stage, ['provider/broken'], { output: ['wide'] });
      assert.match(text, /^Provider\/broken +v1\.0\.0 +False /m);
      assert.match(text, /: \.\.\./);
      assert.doesNotMatch(wide, /: \.\.\./);
      assert.match(wide, /none:v1\.0\.0/);
    });
  });

  test('prints every format, by the documented schema, and a graph', async () => {
    const { registry, objects } = packages();
    await staged({ registry, objects }, async (stage) => {
      await allReady(stage);
      interface Node {
        object: KubeObject;
        children?: Node[];
      }
      const tree = JSON.parse(await trace(stage, ['configuration', 'platform'], { output: ['json'] })) as Node;
      assert.equal(tree.object.kind, 'Configuration');
      assert.deepEqual(
        tree.children?.map(({ object: { kind } }) => kind),
        ['ConfigurationRevision', 'Provider', 'Function'],
      );
      assertReport(REPORT_SCHEMAS['crossplane beta trace'], tree);
      assert.deepEqual(parse(await trace(stage, ['configuration', 'platform'], { output: ['yaml'] })), tree);
      assert.match(
        await trace(stage, ['configuration', 'platform'], { output: ['name'] }),
        /^configuration\.pkg\.crossplane\.io\/platform\nconfigurationrevision\.pkg\.crossplane\.io\/platform-/,
      );
      assert.equal(
        await trace(stage, ['configuration', 'platform'], { output: ['default'] }),
        await trace(stage, ['configuration', 'platform']),
      );
      const graph = await trace(stage, ['configuration', 'platform'], { output: ['dot'] });
      assert.match(graph, /^graph {2}\{\n/);
      assert.match(
        graph,
        /n1\[label="Name: platform\\nApiVersion: pkg\.crossplane\.io\/v1\\nPackage: registry\.example\/team\/platform:v1\.0\.0/,
      );
      assert.equal(graph.match(/n1--n\d+;/g)?.length, 3);
    });
  });

  test('follows the references of any other resource, and shows those that lead nowhere', async (t) => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const kinds = ['XApp', 'Bucket'].map(
      (kind) => [CustomResourceDefinition, crd(kind, 'example.org', { spec: { versions } }) as never] as const,
    );
    const cluster = await createTestCluster({
      clock: systemClock,
      random: createRandom(1),
      operators: [createCrossplane()],
    });
    t.after(() => cluster.close());
    const stage = { client: cluster.client, transport: cluster.transport() };
    for (const [kind, definition] of kinds) await stage.client.create(kind, definition);

    const { find } = createFinder(stage.client);
    const [app, bucket] = [await find('example.org/v1', 'XApp'), await find('example.org/v1', 'Bucket')];
    assert.ok(app && bucket);
    const status = {
      conditions: [
        { type: 'Synced', status: 'True', reason: 'ReconcileSuccess' },
        { type: 'Ready', status: 'False', reason: 'Creating', message: 'the bucket is being created' },
      ],
    };
    const refs = ['one', 'two'].map((name) => ({ apiVersion: 'example.org/v1', kind: 'Bucket', name }));
    await stage.client.create(bucket, { ...object(bucket, 'one'), status } as never);
    // A resource that refers to itself ends.
    const self = { apiVersion: 'example.org/v1', kind: 'XApp', name: 'app' };
    const gone = { apiVersion: 'example.org/v9', kind: 'Gone', name: 'x' };
    await stage.client.create(app, {
      ...object(app, 'app'),
      spec: { crossplane: { resourceRefs: [...refs, self, gone] } },
    } as never);
    assert.deepEqual(
      plain(await trace(stage, ['xapp.example.org/app']))
        .split('\n')
        .slice(0, 5),
      [
        'NAME  SYNCED  READY  STATUS',
        'XApp/app  -  -',
        '├─ Bucket/one  True  False  Creating: the bucket is being created',
        '├─ Bucket/two  -  -  Error: it is not there',
        '└─ Gone/x  -  -  Error: its kind is not installed',
      ],
    );
  });

  test('refuses what names nothing, with an example', async () => {
    await staged({ registry: fakeRegistry() }, async (stage) => {
      for (const wrong of [[], ['provider'], ['provider/a', 'b'], ['a/b/c'], ['unicorn', 'a']])
        await assert.rejects(trace(stage, wrong), /crossplane beta trace/, wrong.join(' '));
      await assert.rejects(trace(stage, ['provider', 'none']), /not found/);
    });
  });
});
