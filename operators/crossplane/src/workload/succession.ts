// A selector cannot be changed. A workload of the wanted name that has another one keeps it where the new pods have its labels
// too; else it is replaced in an order that leaves no gap: another one of a passing name is started, then the old one goes,
// then the wanted one is created, and the passing one goes when that is complete.
import { childName, equal, type KubeObject } from '@capstan/kube';
import type { ChildObject, Reader } from '@capstan/reconcile';
import type { Workload } from '../runtime/index.ts';

export type Succession =
  | { readonly step: 'apply'; readonly workload: ChildObject<KubeObject> }
  /** Beside the one that is there. */
  | { readonly step: 'bridge'; readonly workload: ChildObject<KubeObject> }
  | { readonly step: 'remove'; readonly old: KubeObject };

/** On the pods of the passing one alone, so that no two select the same pods. */
const BRIDGE_LABEL = 'pkg.crossplane.io/bridge';

export function successionOf(read: Reader, { kind, health }: Workload, wanted: ChildObject<KubeObject>): Succession {
  const { namespace = '', name = '' } = wanted.metadata;
  const present = read.get(kind, { namespace, name }, selectorOf);
  const parts = partsOf(wanted);
  if (present?.matchLabels === undefined || equal(present.matchLabels, parts.matchLabels))
    return { step: 'apply', workload: wanted };
  const isFitting = Object.entries(present.matchLabels).every(([label, value]) => parts.labels[label] === value);
  if (isFitting) return { step: 'apply', workload: selecting(wanted, present.matchLabels, parts.labels) };
  const passing = childName(name, 'bridge');
  if (read.get(kind, { namespace, name: passing }, health)?.isAvailable) return { step: 'remove', old: present.object };
  const mark = { [BRIDGE_LABEL]: 'true' };
  const bridge = selecting(wanted, { ...parts.matchLabels, ...mark }, { ...parts.labels, ...mark });
  return { step: 'bridge', workload: { ...bridge, metadata: { ...bridge.metadata, name: passing } } };
}

interface Selecting {
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly template?: { readonly metadata?: { readonly labels?: Readonly<Record<string, string>> } };
}

const specOf = (object: object) => (object as { spec?: Selecting }).spec ?? {};

const partsOf = (object: object) => ({
  matchLabels: specOf(object).selector?.matchLabels ?? {},
  labels: specOf(object).template?.metadata?.labels ?? {},
});

function selecting(
  object: ChildObject<KubeObject>,
  matchLabels: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): ChildObject<KubeObject> {
  const { template, ...spec } = specOf(object);
  const changed = {
    ...spec,
    selector: { matchLabels },
    template: { ...template, metadata: { ...template?.metadata, labels } },
  };
  return { ...object, spec: changed } as ChildObject<KubeObject>;
}

const selectorOf = (object: KubeObject) => ({
  matchLabels: specOf(object).selector?.matchLabels,
  object: {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name ?? '',
      uid: object.metadata.uid ?? '',
    },
  },
});
