// Definitions whose new schemas accept less, and the stored objects that they would refuse.
import {
  type BreakingChange,
  type Client,
  type CustomResourceDefinition,
  compareCrds,
  type DefinedKind,
  isForbidden,
  isNotFound,
  type JsonSchema,
  type KubeObject,
  keyOfObject,
  objectValidator,
} from '@capstan/kube';
import type { InstallationChanges } from './installation-changes.ts';

export interface NarrowedSchema {
  readonly kind: string;
  /** Sentences, as in `spec.size: the field is required now`. */
  readonly changes: readonly string[];
  /** Stored objects that the server would refuse at their next edit, each with its first error. */
  readonly invalid: readonly string[];
  /** Why the stored objects could not be checked. */
  readonly unread?: string;
}

export async function narrowedSchemas(
  definitions: InstallationChanges['definitions'],
  kinds: readonly DefinedKind[],
  { client, signal }: { client: Client; signal: AbortSignal },
): Promise<NarrowedSchema[]> {
  const found: NarrowedSchema[] = [];
  for (const { live, next } of definitions) {
    const changes = compareCrds(live, next).map(sentence);
    const kind = kinds.find(({ group, plural }) => `${plural}.${group}` === next.metadata.name);
    if (kind === undefined || changes.length === 0) continue;
    try {
      const invalid = await invalidObjects(kind, live, { client, signal });
      found.push({ kind: kind.kind, changes, invalid });
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      const unread = `${kind.kind}: you may not list its objects; whether they stay valid is not known`;
      found.push({ kind: kind.kind, changes, invalid: [], unread });
    }
  }
  return found;
}

function sentence({ version, message }: BreakingChange): string {
  return version === undefined ? message : `${version}: ${message}`;
}

/** Returns the objects that the old schema accepts and the new one does not. */
async function invalidObjects(
  kind: DefinedKind,
  live: CustomResourceDefinition,
  { client, signal }: { client: Client; signal: AbortSignal },
): Promise<string[]> {
  const old = live.spec.versions.find(({ name }) => name === kind.version)?.schema?.openAPIV3Schema;
  const before = old === undefined ? undefined : objectValidator(old as JsonSchema);
  const invalid: string[] = [];
  for await (const { items } of client.pages<KubeObject>(kind, { signal }))
    for (const object of items) {
      const known = new Set(before?.(object).map(({ message }) => message));
      const [first] = kind.validate(object).filter(({ message }) => !known.has(message));
      if (first !== undefined) invalid.push(`${kind.kind} ${keyOfObject(object)}: ${first.message}`);
    }
  return invalid.toSorted();
}
