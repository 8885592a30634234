import { dirname, join, resolve } from 'node:path';
import { type Client, isConflict, Namespace, type UnknownObject } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import type { Io } from '../cli/io.ts';
import { knownKinds } from '../plan/known-kinds.ts';
import { readManifests } from '../plan/read-manifests.ts';

const FIELD_MANAGER = 'capstan-demo';
const OPERATORS = resolve(import.meta.dirname, '../../../../operators');

/** The folders in which operators keep what there is to look at: `demo` in their own folder, or beside a module's. */
export async function demoFolders(names: readonly string[], files: readonly string[], io: Io): Promise<string[]> {
  const candidates = [
    ...names.map((name) => join(OPERATORS, name, 'demo')),
    ...files.flatMap((file) => {
      const folder = dirname(resolve(io.cwd, file));
      return [join(folder, 'demo'), join(folder, '..', 'demo')];
    }),
  ];
  const found: string[] = [];
  for (const folder of candidates) {
    const inside = await io.files.list(folder).catch(() => undefined);
    if (inside?.some((name) => /\.ya?ml$/.test(name)) === true) found.push(folder);
  }
  return found;
}

/** Applies the manifests of the folders. What somebody has changed since stays as he wants it. */
export async function applyDemo(
  folders: readonly string[],
  operators: readonly Operator[],
  client: Client,
  io: Io,
): Promise<void> {
  if (folders.length === 0) return;
  const { signal } = io;
  const known = knownKinds(operators, client, signal);
  const namespaces = new Set<string>();
  for (const manifest of await readManifests(folders, io)) {
    const kind = await known.kindOf(manifest);
    const { namespace } = manifest.object.metadata;
    if (namespace !== undefined && !namespaces.has(namespace)) {
      namespaces.add(namespace);
      await applied(client, Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, signal);
    }
    await applied(client, kind, manifest.object, signal);
  }
}

async function applied(
  client: Client,
  kind: Parameters<Client['apply']>[0],
  object: UnknownObject,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.apply(kind, object, { fieldManager: FIELD_MANAGER, force: false, signal });
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}
