// Property: the same manifests in any two namespaces give the same objects, of which each differs by the name of its namespace alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  DaemonSet,
  Deployment,
  type Kind,
  type KubeObject,
  Namespace,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import { createRandom, runs, type SeededRandom, type Stage } from '@capstan/testing';
import { SesameConfiguration, SesameDeployment } from '../../src/index.ts';
import { deployment, staged } from './fixtures.ts';

const WRITTEN: readonly Kind[] = [
  SesameDeployment,
  SesameConfiguration,
  Deployment,
  DaemonSet,
  Service,
  ServiceAccount,
  Role,
  RoleBinding,
  ClusterRole,
  ClusterRoleBinding,
  Secret,
  PodDisruptionBudget,
];

/** Names that defaults have, and names that nothing knows. */
function namespaces(random: SeededRandom): [string, string] {
  const name = () => `n${random.integer(100_000, 999_999)}`;
  const usual = random.pick(['projectsesame', 'projectcontour', 'kube-public', name()]);
  return [usual, `${name()}-${random.pick(['a', 'edge', 'x'.repeat(20)])}`];
}

function randomSpec(random: SeededRandom): object {
  const some = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.5)));
  return some({
    replicas: random.integer(1, 3),
    envoy: some({ workloadType: 'Deployment', xdsMode: 'sotw' }),
    sesame: some({ contourCompat: true, disabledFeatures: ['tlsroutes'] }),
    configuration: some({
      leaderElection: { configmap: { name: 'lock', namespace: 'elsewhere' } },
      envoy: some({ http: { port: 9080 }, timeouts: { requestTimeout: random.pick(['8s', 'soon']) } }),
      health: { port: random.pick([8100, 0]) },
    }),
  });
}

/** Everything that is there for the instance, with the name of its namespace replaced. A real server has Roles in kube-public before. */
async function writtenFor(stage: Stage, namespace: string, before: ReadonlySet<string>): Promise<unknown[]> {
  const found = await objectsOf(stage, namespace);
  return found
    .filter(({ object }) => !before.has(object.metadata.uid ?? ''))
    .map(({ kind, object }) => shown(kind, object, namespace));
}

async function objectsOf({ client }: Stage, namespace: string): Promise<{ kind: Kind; object: KubeObject }[]> {
  const found: { kind: Kind; object: KubeObject }[] = [];
  for (const kind of WRITTEN) {
    const { items } = await client.list(kind, kind.scope === 'Namespaced' ? { namespace } : {});
    const own = items.filter(({ metadata }) => kind.scope === 'Namespaced' || metadata.name?.includes(namespace));
    found.push(...own.map((object) => ({ kind, object })));
  }
  return found;
}

function shown(kind: Kind, object: KubeObject, namespace: string): unknown {
  const { metadata, ...rest } = object;
  const { name, labels, annotations, finalizers, ownerReferences = [] } = metadata;
  const owners = ownerReferences.map(({ kind: of, name: owner, controller }) => ({ of, owner, controller }));
  const content = { ...rest, kind: kind.kind, metadata: { name, labels, annotations, finalizers, owners } };
  const isLeftOut = (key: string) => VOLATILE.has(key) || key.startsWith('capstan.dev/');
  const text = JSON.stringify(content, (key, value: unknown) => (isLeftOut(key) ? undefined : value));
  // The groups of the kinds have the names of usual namespaces in them.
  return JSON.parse(text.replaceAll(new RegExp(`${namespace}(?!\\.io)`, 'g'), 'NAMESPACE'));
}

/** Addresses that the server chose, times, and certificates; the records of the runtime are left out too, which have digests of names. */
const VOLATILE = new Set(['clusterIP', 'clusterIPs', 'nodePort', 'healthCheckNodePort', 'data', 'lastTransitionTime']);

for (let seed = 1; seed <= runs(4, 40); seed++)
  test(`the same manifests in two namespaces give the same objects (seed ${seed})`, () =>
    staged([], async (stage) => {
      const random = createRandom(seed);
      const names = namespaces(random);
      const manifest = deployment(randomSpec(random));
      const before = new Set<string>();
      for (const namespace of names) {
        if ((await stage.client.find(Namespace, { name: namespace })) === undefined)
          await stage.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
        for (const { object } of await objectsOf(stage, namespace)) before.add(object.metadata.uid ?? '');
        await stage.client.create(SesameDeployment, { ...manifest, metadata: { name: 'edge', namespace } });
      }
      await stage.settle();
      const [first, second] = [await writtenFor(stage, names[0], before), await writtenFor(stage, names[1], before)];
      assert.ok(first.length >= 1, 'objects are there');
      assert.deepEqual(second, first);
    }));
