// The ConfigMaps and Secrets that a pod names: each is watched on its own, so that a node sees no Secret that none of its
// pods uses.
import { ConfigMap, type Container, type InformerView, type KubeObject, type Pod, Secret } from '@capstan/kube';
import type { Toolkit } from '../controller/toolkit.ts';

export interface References {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  /** Resolves when everything that the pod names is known to be there or not. */
  synced(signal: AbortSignal): Promise<void>;
  onChange(listener: () => void): void;
  release(): Promise<void>;
}

export function watchReferences(tools: Toolkit, pod: Pod): References {
  const { namespace = '' } = pod.metadata;
  const listeners = new Set<() => void>();
  const names = referencedNames(pod);
  const configMaps = new Map([...names.configMaps].map((name) => [name, tools.object(ConfigMap, { namespace, name })]));
  const secrets = new Map([...names.secrets].map((name) => [name, tools.object(Secret, { namespace, name })]));
  const all: { informer: Pick<InformerView<KubeObject>, 'synced' | 'subscribe'>; release(): Promise<void> }[] = [
    ...configMaps.values(),
    ...secrets.values(),
  ];
  const ends = all.map(({ informer }) =>
    informer.subscribe((events) => {
      if (events.some(({ type }) => type === 'upsert' || type === 'delete'))
        for (const listener of listeners) listener();
    }),
  );
  return {
    configMap: (name) => configMaps.get(name)?.informer.get(`${namespace}/${name}`),
    secret: (name) => secrets.get(name)?.informer.get(`${namespace}/${name}`),
    async synced(signal) {
      await Promise.all(all.map(({ informer }) => informer.synced(signal)));
    },
    onChange: (listener) => void listeners.add(listener),
    async release() {
      for (const end of ends) end();
      await Promise.all(all.map((one) => one.release()));
    },
  };
}

export interface ReferencedNames {
  configMaps: ReadonlySet<string>;
  secrets: ReadonlySet<string>;
}

/** Also `kube-root-ca.crt`, which comes with every ServiceAccount. */
export function referencedNames({ spec }: Pod): ReferencedNames {
  const configMaps = new Set<string>(['kube-root-ca.crt']);
  const secrets = new Set<string>();
  const add = (set: Set<string>, name: string | undefined) => {
    if (name) set.add(name);
  };
  const containers: Container[] = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  for (const { env = [], envFrom = [] } of containers) {
    for (const { valueFrom } of env) {
      add(configMaps, valueFrom?.configMapKeyRef?.name);
      add(secrets, valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      add(configMaps, configMapRef?.name);
      add(secrets, secretRef?.name);
    }
  }
  for (const { configMap, secret, projected } of spec?.volumes ?? []) {
    add(configMaps, configMap?.name);
    add(secrets, secret?.secretName);
    for (const source of projected?.sources ?? []) {
      add(configMaps, source.configMap?.name);
      add(secrets, source.secret?.name);
    }
  }
  return { configMaps, secrets };
}
