// Every kind that a package may bring, and the revisions of every kind of package: the generated role must allow them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, externalKind, type Kind, type KubeObject } from '@capstan/kube';
import {
  Configuration,
  ConfigurationRevision,
  FunctionPackage,
  FunctionRevision,
  Provider,
} from '../../src/kinds/index.ts';
import {
  allReady,
  crd,
  detail,
  fakeRegistry,
  meta,
  names,
  object,
  patch,
  provider,
  REGISTRY,
  staged,
} from '../fixtures.ts';

const EXTENSIONS = 'apiextensions.crossplane.io';
const OPERATIONS = 'ops.crossplane.io';
const image = (version: string) => `${REGISTRY}/team/brought:${version}`;

/** The plural that Crossplane's own definitions have. */
function served(group: string, version: string, kind: string): [kind: Kind, definition: KubeObject] {
  const plural = kind.endsWith('y') ? `${kind.toLowerCase().slice(0, -1)}ies` : `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const spec = {
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [{ name: version, served: true, storage: true, schema }],
  };
  const definition = { ...crd(kind, group, { spec }), metadata: { name: `${plural}.${group}` } };
  return [externalKind({ group, version, kind, plural, scope: 'Cluster' }), definition];
}

async function bring(of: 'Provider' | 'Configuration', kinds: readonly [Kind, KubeObject][], more: object[] = []) {
  const registry = fakeRegistry();
  const had = of === 'Configuration' ? 1 : 0;
  const objects = kinds.map(([kind]) => object(kind, 'brought', { spec: {} }));
  registry.push(image('v1'), [meta(of), ...objects, ...more]);
  const given = [
    ...kinds.map(([, definition]): [Kind, KubeObject] => [CustomResourceDefinition, definition]),
    // A user has created it: it is kept as the package has it, and given back.
    ...kinds.slice(0, had).map(([kind]): [Kind, KubeObject] => [kind, object(kind, 'brought', { spec: {} })]),
  ];
  const kind = of === 'Provider' ? Provider : Configuration;
  const one: [Kind, KubeObject] = [kind, object(kind, 'example', { spec: { package: image('v1') } })];
  await staged({ registry, objects: [...given, one] }, async (stage) => {
    if (of === 'Provider') await allReady(stage);
    assert.equal((await detail(stage, kind, 'example', 'Healthy'))?.message, '');
    for (const [brought] of kinds) assert.deepEqual(await names(stage, brought), ['brought']);
    await stage.client.delete(kind, { name: 'example' });
    await stage.collected();
    assert.deepEqual(await names(stage, kind), []);
    for (const [index, [brought]] of kinds.entries())
      assert.deepEqual(await names(stage, brought), index < had ? ['brought'] : []);
  });
}

test('a Configuration brings objects of every kind of Crossplane, and leaves the one that a user had', () =>
  bring('Configuration', [
    served(EXTENSIONS, 'v1', 'Composition'),
    served(EXTENSIONS, 'v1', 'CompositeResourceDefinition'),
    served(EXTENSIONS, 'v1alpha1', 'ManagedResourceActivationPolicy'),
    served(OPERATIONS, 'v1alpha1', 'Operation'),
    served(OPERATIONS, 'v1alpha1', 'CronOperation'),
    served(OPERATIONS, 'v1alpha1', 'WatchOperation'),
  ]));

test('a Provider brings managed resource definitions and mutating webhooks', () =>
  bring(
    'Provider',
    [served(EXTENSIONS, 'v1alpha1', 'ManagedResourceDefinition')],
    [
      crd('Bucket'),
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name: 'mutating' },
        webhooks: [
          {
            name: 'm.example.org',
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            clientConfig: { service: { name: 'x', namespace: 'y', path: '/mutate' } },
            rules: [],
          },
        ],
      },
    ],
  ));

describe('revisions beyond the limit go', () => {
  for (const [kind, revision] of [
    [FunctionPackage, FunctionRevision],
    [Configuration, ConfigurationRevision],
  ] as const)
    test(`revisions of a ${kind.kind} beyond the limit are removed`, async () => {
      const registry = fakeRegistry();
      for (const n of [1, 2, 3]) registry.push(image(`v${n}`), [meta(kind.kind, {}, { annotations: { n: `${n}` } })]);
      const one: [Kind, KubeObject] = [kind, object(kind, 'example', { spec: { package: image('v1') } })];
      await staged({ registry, objects: [one, provider('other', { package: image('v9') })] }, async (stage) => {
        for (const version of ['v2', 'v3']) {
          await allReady(stage);
          await patch(stage, kind, 'example', { spec: { package: image(version) } });
          await stage.settle();
        }
        await allReady(stage);
        assert.equal((await names(stage, revision)).length, 2);
      });
    });
});
