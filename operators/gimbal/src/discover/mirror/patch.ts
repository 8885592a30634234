import type { KubeObject } from '@capstan/kube/cluster';
import type { CopiedKeys } from './metadata.ts';

/** Returns the merge patch from an existing object to the desired one: keys that are no longer copied go, keys of others stay. */
export function patchTo(wanted: KubeObject, copied: CopiedKeys): Record<string, unknown> {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...content } = wanted as KubeObject & Record<string, unknown>;
  const { labels = {}, annotations = {} } = metadata;
  return {
    metadata: {
      labels: { ...removal(copied.labels, labels), ...labels },
      annotations: { ...removal(copied.annotations, annotations), ...annotations },
    },
    // The address type of a slice cannot change, and is part of its name.
    ...(wanted.kind === 'Service' ? { spec: { ...(content['spec'] as object), selector: null } } : content),
  };
}

function removal(keys: readonly string[], wanted: Readonly<Record<string, string>>): Record<string, null> {
  return Object.fromEntries(keys.filter((key) => !Object.hasOwn(wanted, key)).map((key) => [key, null]));
}
