// An object as it leaves the process. For kinds that hold secrets there is no path for their content: the shown object is built from a
// closed list of fields, and nothing is removed from a copy.
import type { Kind, KubeObject } from '@capstan/kube';

export interface ShownObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Only of kinds that hold secrets: names and sizes. */
  readonly keys?: readonly { readonly name: string; readonly bytes: number }[];
}

export function shownObject(object: KubeObject, kind: Kind): ShownObject & Readonly<Record<string, unknown>> {
  if (kind.sensitive) return shownSecret(object);
  const { managedFields: _fields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function shownSecret(object: KubeObject): ShownObject & Readonly<Record<string, unknown>> {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations } = metadata;
  const { type, data } = object as KubeObject & { type?: unknown; data?: unknown };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      creationTimestamp,
      deletionTimestamp,
      // The values may repeat the content: kubectl writes all that was applied into one.
      annotations: Object.keys(annotations ?? {}),
      labels: Object.keys(labels ?? {}),
    },
    ...(typeof type === 'string' ? { type } : {}),
    keys: Object.entries((data ?? {}) as Record<string, unknown>).map(([key, value]) => ({
      name: key,
      bytes: typeof value === 'string' ? Buffer.from(value, 'base64').length : 0,
    })),
  };
}

/** The manager of each field, by path; the names of fields of a Secret are shown, as its keys are. */
export function ownersOf(object: KubeObject): readonly { readonly path: string; readonly manager: string }[] {
  const found: { path: string; manager: string }[] = [];
  for (const { manager = 'unknown', fieldsV1 } of object.metadata.managedFields ?? [])
    walk(fieldsV1, '', manager, found);
  return found;
}

function walk(fields: unknown, path: string, manager: string, found: { path: string; manager: string }[]): void {
  if (typeof fields !== 'object' || fields === null) return;
  const entries = Object.entries(fields).filter(([name]) => name !== '.');
  if (entries.length === 0 && path !== '') found.push({ path, manager });
  for (const [name, inner] of entries) {
    // Items of lists by value (`v:`) may hold a value: only fields and keys of lists are named.
    if (name.startsWith('f:')) walk(inner, path === '' ? name.slice(2) : `${path}.${name.slice(2)}`, manager, found);
    else if (name.startsWith('k:')) walk(inner, `${path}[${name.slice(2)}]`, manager, found);
  }
}
