// Packages, objects and moves that the scenarios share.
import { hash } from 'node:crypto';
import {
  type Client,
  ClusterRole,
  type Condition,
  Deployment,
  findCondition,
  isAlreadyExists,
  type Kind,
  type KubeObject,
  Namespace,
  parseDuration,
  type UnknownObject,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { chosenServer, createStage, type Stage } from '@capstan/testing';
import type { PackageFault, PackageSource } from '../src/facts/package-source.ts';
import { DeploymentRuntimeConfig, Provider } from '../src/kinds/index.ts';
import { createCrossplane } from '../src/operator.ts';
import { BASE_RULES } from '../src/rbac/bound.ts';
import type { Settings } from '../src/settings.ts';
import { PackageError } from '../src/xpkg/errors.ts';
import { friendlyId } from '../src/xpkg/names.ts';
import { type ParsedPackage, parsePackage } from '../src/xpkg/package.ts';

export const SYSTEM = 'crossplane-system';
export const REGISTRY = 'registry.example';

/** A registry in memory, which counts its requests. */
export interface FakeRegistry extends PackageSource {
  /** Puts a package there; its digest. */
  push(image: string, documents: readonly object[]): string;
  untag(image: string): void;
  /** Answers nothing but this from now on; undefined fixes it. */
  breakDown(problem: string | undefined): void;
  /** `resolve IMAGE`, `pull IMAGE`, `tags REPOSITORY`, `verify IMAGE`. */
  readonly asked: string[];
  /** Names of pull secrets that it was given. */
  readonly logins: string[];
  readonly signed: Map<string, string>;
}

export function fakeRegistry(): FakeRegistry {
  const tags = new Map<string, string>();
  const contents = new Map<string, ParsedPackage | PackageFault>();
  const cache = new Map<string, ParsedPackage | PackageFault>();
  const asked: string[] = [];
  const logins: string[] = [];
  const signed = new Map<string, string>();
  let broken: string | undefined;
  const ask = (what: string) => {
    asked.push(what);
    if (broken !== undefined) throw new Error(broken);
  };
  return {
    asked,
    logins,
    signed,
    push(image, documents) {
      const digest = `sha256:${hash('sha256', JSON.stringify(documents), 'hex')}`;
      tags.set(image, digest);
      contents.set(digest, parsed(documents));
      return digest;
    },
    untag: (image) => void tags.delete(image),
    breakDown: (problem) => {
      broken = problem;
    },
    async resolve(image, { secrets }) {
      ask(`resolve ${image}`);
      logins.push(...secrets.map(({ name }) => name));
      const digest = tags.get(image);
      if (digest === undefined) throw new Error(`MANIFEST_UNKNOWN: there is no ${image}; check the tag`);
      return digest;
    },
    async pull(image) {
      const digest = image.slice(image.indexOf('@') + 1);
      const cached = cache.get(digest);
      if (cached !== undefined) return cached;
      ask(`pull ${image}`);
      const found = contents.get(digest);
      if (found === undefined) throw new Error(`MANIFEST_UNKNOWN: there is no ${image}`);
      cache.set(digest, found);
      return found;
    },
    cached: async (image) => cache.get(image.slice(image.indexOf('@') + 1)) ?? cache.get(tags.get(image) ?? ''),
    async tags(repository) {
      ask(`tags ${repository}`);
      return [...tags.keys()].flatMap((image) => {
        const [name, tag] = splitTag(image);
        return name === repository ? [tag] : [];
      });
    },
    async verify(image, authorities) {
      ask(`verify ${image}`);
      const by = authorities.find(({ publicKey }) => signed.get(image.slice(image.indexOf('@') + 1)) === publicKey);
      if (by === undefined)
        throw new Error(`none of ${authorities.map(({ name }) => name).join(', ')} has signed ${image}`);
      return by.name;
    },
  };
}

function splitTag(image: string): [string, string] {
  const colon = image.lastIndexOf(':');
  return [image.slice(0, colon), image.slice(colon + 1)];
}

function parsed(documents: readonly object[]): ParsedPackage | PackageFault {
  try {
    return parsePackage(
      documents.map((value, index) => ({ line: index + 1, value })),
      undefined,
      'report',
    );
  } catch (error) {
    if (!(error instanceof PackageError)) throw error;
    return { fault: error.message };
  }
}

export const meta = (kind: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'meta.pkg.crossplane.io/v1',
  kind,
  metadata: { name: 'example', ...metadata },
  spec,
});

export function crd(kind: string, group = 'example.org', more: { spec?: object; fields?: object } = {}): UnknownObject {
  const plural = `${kind.toLowerCase()}s`;
  const properties = { spec: { type: 'object', properties: more.fields ?? { size: { type: 'integer' } } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: 'Cluster',
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties } } },
      ],
      ...more.spec,
    },
  };
}

export function object(kind: Kind, name: string, parts: object = {}): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name }, ...parts };
}

export interface Scene {
  registry: FakeRegistry;
  objects?: readonly [Kind, KubeObject][];
  settings?: Partial<Settings>;
  /** Default: all. */
  watchNamespaces?: readonly string[];
  /** The ruling under which objects that were not created on the stage may go: see StageOptions. */
  ruled?: string;
  /** Gets the Events: `TYPE KIND REASON: NOTE`. */
  readonly reported?: string[];
}

export function operatorWith({ registry, settings }: Pick<Scene, 'registry' | 'settings'>): Operator {
  return createCrossplane({ source: registry, bound: BOUND, ...settings });
}

/** The groups of the packages that random histories install. */
const GROUPS = ['one', 'two', 'three'].map((name) => `${name}.example.org`);

/** An administrator has allowed the groups of these packages. */
export const BOUND = {
  role: 'packages',
  roles: [
    object(ClusterRole, 'packages', {
      rules: [
        ...BASE_RULES,
        {
          apiGroups: ['example.org', 'block.example.org', 'storage.demo.example', ...GROUPS],
          resources: ['*'],
          verbs: ['*'],
        },
        { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'create'] },
      ],
    }),
  ],
};

/** Where a stage's clock begins: certificates are created before the stage is there to ask. */
export const startOfStage = () => (chosenServer() === 'real' ? Date.now() : Date.UTC(2026, 0, 1));

/** Runs a check on a cluster in which Crossplane has come to rest. */
export async function staged(
  { registry, objects = [], settings, watchNamespaces, ruled, reported }: Scene,
  check: (stage: Stage) => Promise<void>,
): Promise<void> {
  const start = startOfStage();
  const clock = { now: () => start };
  const stage = await createStage({
    operators: [operatorWith({ registry, settings: { now: () => clock.now(), ...settings } })],
    ...(watchNamespaces && { world: { watchNamespaces } }),
    ...(ruled && { ruled }),
    ...(reported && {
      runtime: {
        notify: (_world, _operator, { kind }, { type = 'Normal', reason, note }) =>
          reported.push(`${type} ${kind} ${reason}: ${note}`),
      },
    }),
    async given(client) {
      for (const [kind, one] of objects) await client.create(kind, one).catch(unlessBrought(kind));
    },
  });
  clock.now = () => stage.clock.now();
  try {
    const patient = patientStage(stage);
    await patient.settle();
    await check(patient);
  } finally {
    await stage.end();
  }
}

/** The namespace of Crossplane comes with its Roles. */
export function unlessBrought({ kind }: Kind): (error: unknown) => void {
  return (error) => {
    if (kind !== Namespace.kind || !isAlreadyExists(error)) throw error;
  };
}

/** Keys are created in the thread pool, which no virtual clock sees: wait for the running work. */
function patientStage(stage: Stage): Stage {
  const settle: Stage['settle'] = async (maxMs) => {
    await stage.settle(maxMs);
    for (let turn = 0; turn < 2000 && !stage.program.runtime.isIdle; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await stage.settle(maxMs);
    }
  };
  const restart: Stage['restart'] = async (changes) => {
    await stage.restart(changes);
    await settle();
  };
  return Object.assign(Object.create(stage) as Stage, { settle, restart });
}

/** Plays the Deployment controller for everything that is there: all pods are ready. */
export async function allReady(stage: Stage): Promise<void> {
  const { items } = await stage.client.list(Deployment, { namespace: SYSTEM });
  for (const deployment of items) await ready(stage.client, deployment);
  await stage.settle();
}

export async function ready(client: Client, { metadata, spec }: Deployment): Promise<void> {
  const replicas = spec?.replicas ?? 1;
  const status = {
    observedGeneration: metadata.generation,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    conditions: [
      {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      },
    ],
  };
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  await client.patch(Deployment, ref, 'merge', { status }, { subresource: 'status' });
}

export function condition(
  from: KubeObject,
  type: string,
): Pick<Condition, 'status' | 'reason' | 'message'> | undefined {
  const { status } = from as KubeObject & { status?: { conditions?: Condition[] } };
  const found = findCondition(status?.conditions, type);
  return found && { status: found.status, reason: found.reason, message: found.message };
}

export const minutes = (count: number) => parseDuration(`${count}m`);

export const provider = (name: string, spec: object): [Kind, KubeObject] => [
  Provider,
  object(Provider, name, { spec }),
];

export const runtimeConfig = (name: string, spec: object): [Kind, KubeObject] => [
  DeploymentRuntimeConfig,
  object(DeploymentRuntimeConfig, name, { spec }),
];

/** The package of most tests: a provider with one type. */
export const EXAMPLE = `${REGISTRY}/team/provider-example:v1`;

/** A registry that has it, and the name of its revision. */
export function example() {
  const registry = fakeRegistry();
  const digest = registry.push(EXAMPLE, [meta('Provider'), crd('Bucket')]);
  return { registry, name: revisionName('example', digest) };
}

/** The Provider `example`, with a runtime configuration. */
export const using = (name: string) => provider('example', { package: EXAMPLE, runtimeConfigRef: { name } });

export const patch = (stage: Stage, kind: Kind, name: string, body: object, namespace?: string) =>
  stage.client.patch(kind, namespace === undefined ? { name } : { namespace, name }, 'merge', body);

/** Returns the condition of a package, for assertions that show all of it when they fail. */
export async function detail(stage: Stage, kind: Kind, name: string, type: string) {
  return condition(await stage.client.get(kind, { name }), type);
}

export async function names(stage: Stage, kind: Kind, namespace?: string): Promise<string[]> {
  const { items } = await stage.client.list(kind, namespace === undefined ? {} : { namespace });
  return items.map(({ metadata }) => metadata.name ?? '').toSorted();
}

export const revisionName = (packageName: string, digest: string) =>
  friendlyId(packageName, digest.slice('sha256:'.length));

/** A Deployment that a user has created; another selector than that of a package cannot be taken over. */
export function deploymentOfUser(name: string): [Kind, KubeObject] {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx:1' }] } };
  const own = object(Deployment, name, { spec: { selector: { matchLabels: labels }, template } });
  return [Deployment, { ...own, metadata: { name, namespace: SYSTEM } }];
}
