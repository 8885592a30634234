// The references that a pod cannot start without: Secrets, ConfigMaps and claims that it names and that are not optional.
import {
  ConfigMap,
  type Container,
  type KeyToPath,
  PersistentVolumeClaim,
  type Pod,
  Secret,
  type Volume,
} from '@capstan/kube';
import type { Toolkit } from '../controller/toolkit.ts';

export interface Missing {
  /** Set where a container's environment needs it; otherwise a volume does. */
  container?: string;
  /** As a kubelet words it. */
  message: string;
}

interface Required {
  volume?: string;
  container?: string;
  kind: 'configmap' | 'secret' | 'persistentvolumeclaim';
  name: string;
  keys: readonly string[];
}

/** The first thing that is missing now, volumes before containers as a kubelet looks; undefined: everything is there. */
export async function missingReference({ client }: Pick<Toolkit, 'client'>, pod: Pod): Promise<Missing | undefined> {
  const { namespace = '' } = pod.metadata;
  const found = new Map<string, Promise<ReadonlySet<string> | undefined>>();
  const keysOf = ({ kind, name }: Required): Promise<ReadonlySet<string> | undefined> => {
    const id = `${kind}/${name}`;
    const known = found.get(id) ?? find(kind, name);
    found.set(id, known);
    return known;
  };
  const find = async (kind: Required['kind'], name: string): Promise<ReadonlySet<string> | undefined> => {
    const ref = { namespace, name };
    if (kind === 'persistentvolumeclaim') return (await client.find(PersistentVolumeClaim, ref)) && new Set();
    if (kind === 'secret') {
      const secret = await client.find(Secret, ref);
      return secret && new Set(Object.keys(secret.data ?? {}));
    }
    const map = await client.find(ConfigMap, ref);
    return map && new Set([...Object.keys(map.data ?? {}), ...Object.keys(map.binaryData ?? {})]);
  };
  for (const one of requiredReferences(pod)) {
    const keys = await keysOf(one);
    const problem = keys === undefined ? `${one.kind} "${one.name}" not found` : missingKey(one, keys, namespace);
    if (problem === undefined) continue;
    if (one.container !== undefined) return { container: one.container, message: problem };
    return { message: `MountVolume.SetUp failed for volume "${one.volume}" : ${problem}` };
  }
  return undefined;
}

function missingKey(one: Required, keys: ReadonlySet<string>, namespace: string): string | undefined {
  const absent = one.keys.find((key) => !keys.has(key));
  if (absent === undefined) return undefined;
  if (one.container === undefined)
    return `references non-existent ${one.kind === 'secret' ? 'secret' : 'config'} key: ${absent}`;
  return `couldn't find key ${absent} in ${one.kind === 'secret' ? 'Secret' : 'ConfigMap'} ${namespace}/${one.name}`;
}

function requiredReferences({ spec }: Pod): Required[] {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return [...(spec?.volumes ?? []).flatMap(ofVolume), ...containers.flatMap(ofContainer)];
}

function ofVolume({ name: volume, configMap, secret, projected, persistentVolumeClaim: claim }: Volume): Required[] {
  const required: Required[] = [];
  const add = (
    kind: Required['kind'],
    source: { name?: string; items?: KeyToPath[]; optional?: boolean } | undefined,
  ) => {
    if (source === undefined || source.optional === true) return;
    required.push({ volume, kind, name: source.name ?? '', keys: (source.items ?? []).map(({ key }) => key) });
  };
  add('configmap', configMap);
  if (secret) add('secret', { ...secret, name: secret.secretName ?? '' });
  for (const source of projected?.sources ?? []) {
    add('configmap', source.configMap);
    add('secret', source.secret);
  }
  if (claim) required.push({ volume, kind: 'persistentvolumeclaim', name: claim.claimName, keys: [] });
  return required;
}

function ofContainer({ name: container, env = [], envFrom = [] }: Container): Required[] {
  const required: Required[] = [];
  const add = (kind: Required['kind'], source: { name?: string; key?: string; optional?: boolean } | undefined) => {
    if (source === undefined || source.optional === true) return;
    required.push({ container, kind, name: source.name ?? '', keys: source.key === undefined ? [] : [source.key] });
  };
  for (const { configMapRef, secretRef } of envFrom) {
    add('configmap', configMapRef);
    add('secret', secretRef);
  }
  for (const { valueFrom } of env) {
    add('configmap', valueFrom?.configMapKeyRef);
    add('secret', valueFrom?.secretKeyRef);
  }
  return required;
}
