// Backends under all their kinds, for commands.
import { type Client, isNotFound, type KubeObject } from '@capstan/kube';
import { Discoverer, Discovery, DiscoveryBackend } from '../kinds/index.ts';
import { CommandErrors } from './errors.ts';

export interface FoundBackend {
  readonly kind: typeof DiscoveryBackend;
  readonly object: DiscoveryBackend;
}

const KINDS = [DiscoveryBackend, Discoverer, Discovery] as unknown as readonly (typeof DiscoveryBackend)[];

/** All of them, by namespace and name. Throws when the cluster does not know them. */
export async function findBackends(client: Client, namespace?: string): Promise<FoundBackend[]> {
  const lists = await Promise.all(KINDS.map((kind) => listOf(client, kind, namespace)));
  if (lists.every((list) => list === undefined)) throw CommandErrors.NotInstalled();
  return lists.flatMap((list) => list ?? []).toSorted((a, b) => (nameOf(a.object) < nameOf(b.object) ? -1 : 1));
}

async function listOf(
  client: Client,
  kind: typeof DiscoveryBackend,
  namespace: string | undefined,
): Promise<FoundBackend[] | undefined> {
  try {
    const found: FoundBackend[] = [];
    for await (const { items } of client.pages(kind, namespace === undefined ? {} : { namespace }))
      found.push(...items.map((object) => ({ kind, object: object as DiscoveryBackend })));
    return found;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The one that has a name: of several the one that is accepted. */
export async function findBackend(client: Client, name: string, namespace?: string): Promise<FoundBackend> {
  const all = await findBackends(client, namespace);
  const same = all.filter(({ object }) => object.metadata.name === name);
  const found = same.find(({ object }) => object.status?.phase !== 'Rejected') ?? same[0];
  if (found === undefined)
    throw CommandErrors.NoBackend(name, [...new Set(all.map(({ object }) => object.metadata.name ?? ''))]);
  return found;
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.name} ${metadata.namespace}`;
}

type Fields = NonNullable<DiscoveryBackend['spec']>;

/** A merge patch that sets a field where its user writes it, and under the name that he uses for it. */
export function fieldPatch(
  { spec, cluster }: Pick<DiscoveryBackend, 'spec' | 'cluster'>,
  names: readonly (keyof Fields)[],
  value: string,
): object {
  const used = (fields: Fields | undefined) => names.filter((name) => fields?.[name] !== undefined);
  const patchOf = (list: readonly (keyof Fields)[]) =>
    Object.fromEntries(list.map((name) => [name, name === 'secretRef' ? { name: value } : value]));
  const places = { ...(used(cluster).length > 0 && { cluster }), ...(used(spec).length > 0 && { spec }) };
  const found = Object.entries(places).map(([place, fields]) => [place, patchOf(used(fields))]);
  if (found.length > 0) return Object.fromEntries(found) as object;
  const [first] = names;
  return { [cluster === undefined ? 'spec' : 'cluster']: first === undefined ? {} : { [first]: value } };
}
