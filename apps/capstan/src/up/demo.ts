// The demonstrations of operators, applied by `capstan up --demo`. A demonstration is a folder:
//
//   demo/*.yaml            manifests for the first logical cluster
//   demo/NAME/*.yaml       manifests for the logical cluster NAME, which is there because of this folder
//   demo/prepare.ts        starts the other needs of the manifests (a registry, an account elsewhere)
//   demo/request.txt       a request to try when the cluster is ready, as JSON (first-request.ts)
//
// A text of a manifest may contain ${NAME}: `prepare` returns the value.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Client,
  isConflict,
  type Kind,
  keyOfObject,
  kindId,
  Namespace,
  refOf,
  type UnknownObject,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { knownKinds } from '../plan/known-kinds.ts';
import { type Manifest, readManifests } from '../plan/read-manifests.ts';
import { type DemoRecord, openDemoRecord } from './demo-record.ts';
import type { DemoObjects } from './ready-text.ts';

export interface Demo {
  readonly folder: string;
  /** The logical clusters that it needs besides the first. */
  readonly clusters: readonly string[];
  readonly prepare?: PrepareDemo;
}

/** The default export of a `demo/prepare.ts`. It must end everything that it started when the signal is aborted. */
export type PrepareDemo = (context: DemoContext) => Promise<DemoVariables>;

export type DemoVariables = Readonly<Record<string, string>>;

export interface DemoContext {
  /** The folder for its data. */
  readonly data: string;
  /** As administrator, by the name of the logical cluster; the first is where the operators run. */
  readonly clusters: ReadonlyMap<string, DemoCluster>;
  readonly signal: AbortSignal;
}

export interface DemoCluster {
  readonly client: Client;
  /** Where programs reach it. */
  readonly url: string;
  /** PEM, of the authority of its certificate. */
  readonly ca: string;
}

const FIELD_MANAGER = 'capstan-demo';
const OPERATORS = fileURLToPath(new URL('../../../../operators/', import.meta.url));
/** `.js` where it was built. */
const PREPARE = /^prepare\.(?:ts|js)$/;

/** The demonstrations of the operators: `demo` in their own folder, or beside a module's. */
export async function findDemos(names: readonly string[], files: readonly string[], io: Io): Promise<Demo[]> {
  const candidates = [
    ...names.map((name) => join(OPERATORS, name, 'demo')),
    ...files.flatMap((file) => {
      const folder = dirname(resolve(io.cwd, file));
      return [join(folder, 'demo'), join(folder, '..', 'demo')];
    }),
  ];
  const found = await Promise.all(candidates.map((folder) => findDemo(folder, io)));
  return found.filter((demo) => demo !== undefined);
}

async function findDemo(folder: string, io: Io): Promise<Demo | undefined> {
  const names = await io.files.list(folder).catch(() => undefined);
  if (names === undefined) return undefined;
  const clusters: string[] = [];
  for (const name of names) {
    const inside = name.includes('.') ? undefined : await io.files.list(join(folder, name)).catch(() => undefined);
    if (inside?.some(isManifest) === true) clusters.push(name);
  }
  if (clusters.length === 0 && !names.some(isManifest)) return undefined;
  const module = names.find((name) => PREPARE.test(name));
  if (module === undefined) return { folder, clusters };
  const { default: prepare } = await io.importModule(join(folder, module));
  if (typeof prepare !== 'function') throw CliErrors.BadDemo(join(folder, module));
  // A module of our own, or of an operator that the user named: its signature is documented, and not checked further.
  return { folder, clusters, prepare: prepare as PrepareDemo };
}

export interface ApplyDemoOptions {
  operators: readonly Operator[];
  /** The first is where manifests without a cluster of their own go. */
  clusters: ReadonlyMap<string, DemoCluster>;
  /** The folder for the data of demonstrations. */
  data: string;
  io: Io;
  signal: AbortSignal;
}

/**
 * Prepares a demonstration and applies its manifests. Objects that the user has changed since stay as they are, and objects that the user
 * has deleted are not created again. Resolves to the objects to show.
 */
export async function applyDemo(demo: Demo, options: ApplyDemoOptions): Promise<DemoObjects> {
  const { operators, clusters, io, signal } = options;
  const { folder, prepare } = demo;
  const name = demoName(folder);
  const data = join(options.data, 'demo', name);
  const record = await openDemoRecord(options.data);
  const kinds = new Map(operators.flatMap((operator) => operator.kinds.map((kind) => [kindId(kind), kind] as const)));
  /** The operator's own objects, and the objects that they refer to. */
  const [own, others] = [new Set<string>(), new Set<string>()];
  const resources = new Set<string>();
  const variables = (await prepare?.({ data, clusters, signal })) ?? {};
  const [first] = clusters.keys();
  const names = await io.files.list(folder);
  // Apply to the other clusters first: objects of the first cluster then find them complete.
  const parts = [
    ...demo.clusters.map((cluster) => ({ cluster, path: join(folder, cluster) })),
    ...(names?.some(isManifest) === true ? [{ cluster: first, path: folder }] : []),
  ];
  for (const { cluster, path } of parts) {
    const target = cluster === undefined ? undefined : clusters.get(cluster);
    if (!target) throw new TypeError(`the logical cluster ${cluster} of a demonstration was not started`);
    const known = knownKinds(operators, target.client, signal);
    const created = new Set<string>();
    for (const manifest of await readManifests([path], io)) {
      const kind = await known.kindOf(manifest);
      const object = filledIn(manifest, variables);
      const { namespace } = object.metadata;
      if (namespace !== undefined && !created.has(namespace)) {
        created.add(namespace);
        const metadata = { name: namespace };
        await applied(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata });
      }
      if (!(await applied(kind, object))) continue;
      const declared = kinds.get(kindId(kind));
      (declared === undefined ? others : own).add(`${kind.kind} ${keyOfObject(object)}`);
      if (declared !== undefined && cluster === first) resources.add(declared.plural);
    }

    async function applied(kind: Kind, object: UnknownObject): Promise<boolean> {
      const id = JSON.stringify([cluster, kindId(kind), keyOfObject(object)]);
      return target === undefined ? false : applyOnce(target.client, kind, object, { id, record, signal });
    }
  }
  return { name, folder, objects: [...own, ...others], resources: [...resources] };
}

/** `operators/NAME/demo` is known by its operator. */
export function demoName(folder: string): string {
  return dirname(folder).split(/[/\\]/).at(-1) ?? 'demo';
}

function isManifest(name: string): boolean {
  return /\.ya?ml$/.test(name);
}

const VARIABLE = /\$\{([A-Z][A-Z0-9_]*)\}/g;

/** Fills in the variables that `prepare` returned. Other `${…}` in the manifest's texts stay as they are. */
function filledIn({ object }: Manifest, variables: DemoVariables): UnknownObject {
  if (Object.keys(variables).length === 0) return object;
  const filled = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(VARIABLE, (whole, name: string) => variables[name] ?? whole);
    if (Array.isArray(value)) return value.map(filled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner)]));
  };
  // Only texts inside it have changed.
  return filled(object) as UnknownObject;
}

/** Resolves to whether the object is there. */
async function applyOnce(
  client: Client,
  kind: Kind,
  object: UnknownObject,
  { id, record, signal }: { id: string; record: DemoRecord; signal: AbortSignal },
): Promise<boolean> {
  if (record.has(id) && (await client.find(kind, refOf(object), { signal })) === undefined) return false;
  try {
    await client.apply(kind, object, { fieldManager: FIELD_MANAGER, force: false, signal });
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  await record.add(id);
  return true;
}
