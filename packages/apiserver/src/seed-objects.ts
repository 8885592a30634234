// The first objects of every cluster, as kube-apiserver creates them: four namespaces and the two priorities of the system.
import type { ManagedFieldsEntry } from '@capstan/kube';
import { type Core, newUid, timestamp } from './core.ts';
import { SYSTEM_PRIORITIES } from './validation/cluster-rules.ts';

const NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
const CLASSES = 'scheduling.k8s.io/priorityclasses';

/** Existing objects stay as they are. */
export function createSeedObjects(core: Core): void {
  const now = timestamp(core.clock);
  const put = (
    storageKey: string,
    name: string,
    content: { apiVersion: string; kind: string },
    metadata: object,
    fields: object,
  ) => {
    if (core.store.get(storageKey, name)) return;
    const owner: ManagedFieldsEntry = {
      manager: 'kube-apiserver',
      operation: 'Update',
      apiVersion: content.apiVersion,
      time: now,
      fieldsType: 'FieldsV1',
      fieldsV1: fields as Record<string, unknown>,
    };
    const own = { name, uid: newUid(core.random), creationTimestamp: now, managedFields: [owner] };
    core.store.put(storageKey, name, { ...content, metadata: { ...own, ...metadata } });
  };
  for (const name of NAMESPACES) {
    const content = {
      apiVersion: 'v1',
      kind: 'Namespace',
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    };
    const fields = { 'f:metadata': { 'f:labels': { '.': {}, [`f:${LABEL}`]: {} } } };
    put('/namespaces', name, content, { labels: { [LABEL]: name } }, fields);
  }
  for (const [name, value] of Object.entries(SYSTEM_PRIORITIES)) {
    const content = {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      value,
      description: DESCRIPTIONS[name] ?? '',
      preemptionPolicy: 'PreemptLowerPriority',
    };
    put(CLASSES, name, content, { generation: 1 }, { 'f:description': {}, 'f:preemptionPolicy': {}, 'f:value': {} });
  }
}

const LABEL = 'kubernetes.io/metadata.name';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
};
