// The objects of a package, as a tree: its revisions, their objects, and the packages that it depends on, each with its own objects. For
// any other resource, the tree follows its references, as composite resources and claims have them.
import { type Client, externalKind, isNotFound, isRecord, type Kind, type KubeObject, reasonOf } from '@capstan/kube';
import { LOCK_NAME, Lock } from '../kinds/index.ts';
import { PACKAGE_KINDS, type PackageKind } from '../packages/package-kind.ts';
import { toDnsLabel } from '../xpkg/names.ts';

export interface TraceNode {
  readonly object: KubeObject;
  readonly error?: string;
  readonly children: TraceNode[];
}

export interface TraceOptions {
  readonly dependencies: 'unique' | 'all' | 'none';
  readonly revisions: 'active' | 'all' | 'none';
  readonly runtimeConfigs: boolean;
  /** Whether the installed objects of a revision are shown. */
  readonly objects: boolean;
}

const PARENT_LABEL = 'pkg.crossplane.io/package';
/** Packages that depend on each other end here, and so does a resource that refers to itself. */
const MAX_DEPTH = 32;

export type Finder = (apiVersion: string, kind: string) => Promise<Kind | undefined>;

/** The tree of a package. */
export async function packageTree(
  client: Client,
  kind: PackageKind,
  name: string,
  options: TraceOptions,
  find: Finder,
): Promise<TraceNode> {
  const { packages = [] } = (await client.find(Lock, { name: LOCK_NAME })) ?? {};
  const seen = new Set<string>();
  return nodeOf(kind, await client.get(kind.package, { name }), 0);

  async function nodeOf(of: PackageKind, object: KubeObject, depth: number): Promise<TraceNode> {
    const children: TraceNode[] = [];
    const { spec = {}, status = {} } = object as { spec?: Record<string, unknown>; status?: Record<string, unknown> };
    if (options.runtimeConfigs && isRecord(spec['runtimeConfigRef'])) {
      const { apiVersion = 'pkg.crossplane.io/v1beta1', kind: config = 'DeploymentRuntimeConfig' } =
        spec['runtimeConfigRef'];
      children.push(await referred({ apiVersion, kind: config, name: spec['runtimeConfigRef']['name'] }));
    }
    if (options.revisions !== 'none') children.push(...(await revisionsOf(of, object.metadata.name ?? '')));
    const locked = packages.find((one) => one.name === status['currentRevision']);
    if (options.dependencies === 'none' || locked === undefined || depth >= MAX_DEPTH) return { object, children };
    for (const dependency of locked.dependencies ?? []) {
      const source = dependency.package;
      if (options.dependencies === 'unique' && seen.has(source)) continue;
      seen.add(source);
      children.push(await dependencyOf(dependency, depth));
    }
    return { object, children };
  }

  async function dependencyOf(
    dependency: { package: string; type?: string; kind?: string },
    depth: number,
  ): Promise<TraceNode> {
    const { package: source } = dependency;
    const wanted = dependency.kind ?? dependency.type;
    const of = PACKAGE_KINDS.find((one) => one.kind === wanted);
    const revision = packages.find((one) => one.source === source)?.name;
    const named = toDnsLabel(source.replace(/^[^/]*[.:][^/]*\//, ''));
    if (of === undefined)
      return missing({ apiVersion: '', kind: wanted ?? 'Package', name: named }, 'its kind is not known');
    const found = revision === undefined ? undefined : await client.find(of.revision, { name: revision });
    const owner = found?.metadata.ownerReferences?.find((one) => one.controller && one.kind === of.package.kind);
    const at = owner?.name ?? named;
    const object = await client.find(of.package, { name: at });
    return object === undefined
      ? missing({ apiVersion: of.package.apiVersion, kind: of.package.kind, name: at }, 'it is not installed')
      : nodeOf(of, object, depth + 1);
  }

  async function revisionsOf(of: PackageKind, parent: string): Promise<TraceNode[]> {
    const { items } = await client.list(of.revision, { labelSelector: `${PARENT_LABEL}=${parent}` });
    const wanted = (items as unknown as Traced[])
      .filter(({ spec }) => options.revisions === 'all' || spec?.['desiredState'] === 'Active')
      .toSorted((left, right) => (timeOf(left) < timeOf(right) ? -1 : 1));
    const nodes: TraceNode[] = [];
    for (const object of wanted) {
      const refs = options.objects ? object.status?.['objectRefs'] : undefined;
      const children: TraceNode[] = [];
      for (const ref of Array.isArray(refs) ? refs : []) if (isRecord(ref)) children.push(await referred(ref));
      nodes.push({ object, children });
    }
    return nodes;
  }

  function referred(ref: Readonly<Record<string, unknown>>): Promise<TraceNode> {
    return load(client, find, ref, undefined);
  }
}

type Traced = KubeObject & { spec?: Record<string, unknown>; status?: Record<string, unknown> };

const timeOf = ({ metadata }: KubeObject) => metadata.creationTimestamp ?? '';

function missing(
  { apiVersion, kind, name }: { apiVersion: string; kind: string; name: string },
  error: string,
): TraceNode {
  return { object: { apiVersion, kind, metadata: { name } }, error, children: [] };
}

async function load(
  client: Client,
  find: Finder,
  ref: Readonly<Record<string, unknown>>,
  namespace: string | undefined,
): Promise<TraceNode> {
  const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((field) => textOf(ref[field]));
  const at = { apiVersion: apiVersion ?? '', kind: kind ?? '', name: name ?? '' };
  try {
    const of = await find(at.apiVersion, at.kind);
    if (of === undefined) return missing(at, 'its kind is not installed');
    const own = typeof ref['namespace'] === 'string' ? ref['namespace'] : namespace;
    const isInNamespace = of.scope === 'Namespaced' && own !== undefined;
    const object = await client.get(of, { name: at.name, ...(isInNamespace && { namespace: own }) });
    return { object, children: [] };
  } catch (error) {
    return missing(at, isNotFound(error) ? 'it is not there' : reasonOf(error));
  }
}

/** The tree of any other resource: its references, and their references. */
export async function resourceTree(client: Client, root: KubeObject, find: Finder): Promise<TraceNode> {
  const seen = new Set([root.metadata.uid]);
  return grow({ object: root, children: [] }, 0);

  async function grow(node: TraceNode, depth: number): Promise<TraceNode> {
    if (depth >= MAX_DEPTH) return node;
    for (const ref of referencesOf(node.object)) {
      const child = await load(client, find, ref, node.object.metadata.namespace);
      const { uid } = child.object.metadata;
      if (uid !== undefined && seen.has(uid)) continue;
      seen.add(uid);
      node.children.push(await grow(child, depth + 1));
    }
    return node;
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

/** Those of a claim, of a composite resource, and of one as version 2 has it. */
function referencesOf({ spec = {} }: KubeObject & { spec?: Record<string, unknown> }): Record<string, unknown>[] {
  const crossplane = isRecord(spec['crossplane']) ? spec['crossplane'] : {};
  const lists = [spec['resourceRefs'], crossplane['resourceRefs']].flatMap((list): unknown[] =>
    Array.isArray(list) ? list : [],
  );
  return [spec['resourceRef'], ...lists]
    .filter(isRecord)
    .filter((ref) => typeof ref['name'] === 'string' && ref['name'] !== '');
}

interface ServedResource {
  readonly kind: Kind;
  readonly names: readonly string[];
}

/** Kinds as the server has them, each group asked once. */
export function createFinder(client: Client): { find: Finder; named(text: string): Promise<Kind | undefined> } {
  const known = new Map<string, Promise<readonly ServedResource[]>>();
  const served = (apiVersion: string) => {
    const found = known.get(apiVersion) ?? resourcesOf(apiVersion);
    known.set(apiVersion, found);
    return found;
  };

  async function resourcesOf(apiVersion: string): Promise<readonly ServedResource[]> {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const body = await ask(path);
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const resources = Array.isArray(body['resources']) ? body['resources'].filter(isRecord) : [];
    return resources
      .filter(({ name }) => !String(name).includes('/'))
      .map(({ name, singularName, kind, namespaced, shortNames }) => ({
        kind: externalKind({
          group: group ?? '',
          version: version ?? '',
          kind: String(kind),
          plural: String(name),
          scope: namespaced === true ? 'Namespaced' : 'Cluster',
        }),
        names: [name, singularName, kind, ...listOf(shortNames)].map((one) => String(one).toLowerCase()),
      }));
  }

  async function ask(path: string): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await client.request({ method: 'GET', path }).catch((error: unknown) => {
      if (isNotFound(error)) return { body: {} };
      throw error;
    });
    return isRecord(body) ? body : {};
  }

  return {
    async find(apiVersion, kind) {
      return (await served(apiVersion)).find((one) => one.kind.kind === kind)?.kind;
    },
    /** `TYPE[.VERSION][.GROUP]`. */
    async named(text) {
      const [type = '', ...rest] = text.toLowerCase().split('.');
      const { groups } = await ask('/apis');
      const all = ['v1', ...(Array.isArray(groups) ? groups.filter(isRecord).flatMap(versionsOf) : [])];
      for (const apiVersion of all) {
        const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
        const isAsked = rest.length === 0 || rest.join('.') === group || rest.join('.') === `${version}.${group}`;
        if (!isAsked) continue;
        const found = (await served(apiVersion)).find(({ names }) => names.includes(type));
        if (found !== undefined) return found.kind;
      }
      return undefined;
    },
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The preferred one first. */
function versionsOf({ preferredVersion, versions }: Readonly<Record<string, unknown>>): string[] {
  const list = [preferredVersion, ...listOf(versions)].filter(isRecord);
  return [...new Set(list.map(({ groupVersion }) => String(groupVersion)))];
}
