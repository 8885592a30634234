// Names from the cluster, for completion. The user waits at the prompt: an answer that takes long is no answer.
import { type Client, discover, Namespace } from '@capstan/kube/cluster';
import { type CLUSTER_OPTIONS, openCluster } from '@capstan/reconcile/command-line';
import { parse } from 'yaml';
import type { Io } from '../cli/io.ts';

export type ClusterFlags = { readonly [Name in keyof typeof CLUSTER_OPTIONS]?: string };

const PATIENCE_MS = 2000;
/** More names than a user reads, and few enough for a shell to be fast. */
const MAX_NAMES = 500;

export function namespaceNames(flags: ClusterFlags, io: Io): Promise<readonly string[]> {
  return asked(flags, io, async (client, signal) => {
    const { items } = await client.list(Namespace, { limit: MAX_NAMES, signal });
    return items.map(({ metadata }) => metadata.name ?? '');
  });
}

/** `deployment`, `kafkaproxy`; with the group where two kinds have one name. */
export function kindNames(flags: ClusterFlags, io: Io): Promise<readonly string[]> {
  return asked(flags, io, async (client, signal) => {
    const { kinds } = await discover(client, { signal });
    return [...new Set(kinds.map(({ singular, kind }) => singular || kind.toLowerCase()))].toSorted();
  });
}

export function objectNames(kindName: string, flags: ClusterFlags, io: Io): Promise<readonly string[]> {
  return asked(flags, io, async (client, signal, namespace) => {
    const kind = (await discover(client, { signal })).find(kindName);
    if (kind === undefined) return [];
    const where = kind.scope === 'Namespaced' ? { namespace } : {};
    const { items } = await client.list(kind, { ...where, limit: MAX_NAMES, metadataOnly: true, signal });
    return items.map(({ metadata }) => metadata.name ?? '');
  });
}

export async function contextNames({ kubeconfig }: ClusterFlags, io: Io): Promise<readonly string[]> {
  const paths = kubeconfig ?? io.env['KUBECONFIG'] ?? `${io.env['HOME'] ?? ''}/.kube/config`;
  const names: string[] = [];
  for (const path of paths.split(':').filter((part) => part !== '')) {
    try {
      const { contexts } = parse(await io.files.read(path)) as { contexts?: { name?: string }[] };
      names.push(...(contexts ?? []).flatMap(({ name }) => name ?? []));
    } catch {
      // A file that cannot be read has no contexts.
    }
  }
  return names;
}

async function asked(
  flags: ClusterFlags,
  io: Io,
  ask: (client: Client, signal: AbortSignal, namespace: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(PATIENCE_MS)]);
  try {
    const { kubeconfig, context, namespace } = flags;
    const cluster = await openCluster({ kubeconfig, context, namespace }, io, { retry: { attempts: 1 } });
    try {
      return await ask(cluster.client, signal, cluster.namespace);
    } finally {
      await cluster.client.close();
    }
  } catch {
    return [];
  }
}
