// What Kubernetes' admission gives to every new pod: an account, a priority, patience with nodes that are not ready, and
// the class of service that follows from its resources.
import { type Container, compareQuantities, type Pod, type Toleration, type UnknownObject } from '@capstan/kube';
import { forbidden } from '../errors.ts';
import type { Store } from '../store/store.ts';

const PATIENCE_SECONDS = 300;
const IMPATIENT = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** What a pod says of itself before anybody has looked at it. */
export function newPodStatus(object: UnknownObject): Pod['status'] & object {
  const { spec } = object as Pod;
  return { phase: 'Pending', qosClass: qosClass(spec?.containers ?? [], spec?.initContainers ?? []) };
}

export function admitPod(store: Store, object: UnknownObject): UnknownObject {
  const { spec } = object as Pod;
  if (!spec) return object;
  const serviceAccountName = spec.serviceAccountName || 'default';
  return {
    ...object,
    spec: {
      ...spec,
      serviceAccountName,
      serviceAccount: serviceAccountName,
      tolerations: withPatience(spec.tolerations ?? []),
      ...priorityOf(store, object),
    },
  };
}

function withPatience(tolerations: readonly Toleration[]): Toleration[] {
  const added = IMPATIENT.filter(
    (key) => !tolerations.some((one) => (one.key === key || !one.key) && (!one.effect || one.effect === 'NoExecute')),
  );
  return [
    ...tolerations,
    ...added.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: PATIENCE_SECONDS })),
  ];
}

const CLASSES = 'scheduling.k8s.io/priorityclasses';
const SYSTEM: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

function priorityOf(store: Store, { metadata, spec }: Pod) {
  const name = spec?.priorityClassName ?? '';
  const ofName = (wanted: string) =>
    store.get(CLASSES, wanted) as { value?: number; preemptionPolicy?: string } | undefined;
  if (name === '') {
    const chosen = store.list(CLASSES, '').find(({ object }) => object['globalDefault'] === true)?.object;
    const priorityClassName = chosen?.metadata.name;
    const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = ofName(priorityClassName ?? '') ?? {};
    return { priority: value, preemptionPolicy, ...(priorityClassName !== undefined && { priorityClassName }) };
  }
  const found = ofName(name);
  const priority = found?.value ?? SYSTEM[name];
  if (priority === undefined) {
    const pods = { group: '', resource: 'pods' };
    throw forbidden(pods, metadata.name ?? '', `no PriorityClass with name ${name} was found`);
  }
  return { priority, preemptionPolicy: found?.preemptionPolicy ?? 'PreemptLowerPriority' };
}

const COMPUTE = ['cpu', 'memory'] as const;

/** Guaranteed: every container is limited, and gets what it is limited to. Best effort: none says anything. */
function qosClass(...lists: (readonly Container[])[]): string {
  const containers = lists.flat();
  const isSet = (quantity: string | undefined) =>
    quantity !== undefined && safely(() => compareQuantities(quantity, '0') > 0);
  const says = ({ resources }: Container) =>
    COMPUTE.some((name) => isSet(resources?.limits?.[name]) || isSet(resources?.requests?.[name]));
  if (!containers.some(says)) return 'BestEffort';
  const isFixed = ({ resources }: Container) =>
    COMPUTE.every((name) => {
      const limit = resources?.limits?.[name];
      const request = resources?.requests?.[name] ?? limit;
      return limit !== undefined && request !== undefined && safely(() => compareQuantities(limit, request) === 0);
    });
  return containers.every(isFixed) ? 'Guaranteed' : 'Burstable';
}

// Validation, which comes later, says what is wrong with a quantity.
function safely(test: () => boolean): boolean {
  try {
    return test();
  } catch {
    return false;
  }
}
