// The additions of Kubernetes' admission to every new pod: an account, a priority, tolerations of nodes that are not ready, and the class
// of service that follows from its resources.
import {
  type Container,
  compareQuantities,
  type Pod,
  type PodCondition,
  type PodSpec,
  type Random,
  type RuntimeClass,
  type ServiceAccount,
  type Toleration,
  type UnknownObject,
  type Volume,
} from '@capstan/kube';
import { forbidden } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { generateName } from '../resources/names.ts';
import type { Store } from '../store/store.ts';

const PATIENCE_SECONDS = 300;
const UNREADY_TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** The status of a new pod. */
export function newPodStatus(object: UnknownObject): Pod['status'] & object {
  const { spec, metadata } = object as Pod;
  const isGated = (spec?.schedulingGates ?? []).length > 0;
  return {
    phase: 'Pending',
    ...(isGated && {
      conditions: [
        {
          ...GATED,
          ...(metadata.creationTimestamp !== undefined && { lastTransitionTime: metadata.creationTimestamp }),
        },
      ],
    }),
    qosClass: qosClass(spec?.containers ?? [], spec?.initContainers ?? []),
  };
}

/** The quality of service follows from the resources of the containers: a status without it does not remove it. */
export function keepQosClass(pod: UnknownObject, old: UnknownObject): UnknownObject {
  const { status } = pod as Pod;
  const kept = (old as Pod).status?.qosClass;
  return kept === undefined || status?.qosClass ? pod : { ...pod, status: { ...status, qosClass: kept } };
}

const GATED: PodCondition = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
};

/** A time that is less than none is one second. */
export function withGrace(pod: UnknownObject): UnknownObject {
  const { spec } = pod as Pod;
  if ((spec?.terminationGracePeriodSeconds ?? 0) >= 0) return pod;
  return { ...pod, spec: { ...spec, terminationGracePeriodSeconds: 1 } };
}

/** `random` draws the name of the volume for the account's token; without it no account is looked up. */
export function admitPod(store: Store, given: UnknownObject, random?: Random): UnknownObject {
  const object = random ? withAccount(store, given, random) : given;
  const { spec } = object as Pod;
  if (!spec) return object;
  const serviceAccountName = spec.serviceAccountName || 'default';
  return {
    ...object,
    spec: {
      ...spec,
      serviceAccountName,
      serviceAccount: serviceAccountName,
      tolerations: withTolerations(spec.tolerations ?? []),
      ...priorityOf(store, object),
      ...runtimeOf(store, object),
    },
  };
}

/** The additions of a pod's runtime class: the overhead of running it, and the nodes where it can run. */
function runtimeOf(store: Store, { spec, metadata }: Pod): Partial<PodSpec> {
  const name = spec?.runtimeClassName;
  const refuse = (why: string) =>
    forbidden({ group: '', resource: 'pods' }, metadata.name ?? '', `pod rejected: ${why}`);
  if (name === undefined) {
    if (Object.keys(spec?.overhead ?? {}).length === 0) return {};
    throw refuse('Pod Overhead set without corresponding RuntimeClass defined Overhead');
  }
  const found = store.get('node.k8s.io/runtimeclasses', name) as RuntimeClass | undefined;
  if (!found) throw refuse(`RuntimeClass ${JSON.stringify(name)} not found`);
  const overhead = found.overhead?.podFixed;
  if (overhead && spec?.overhead && !equalJson(overhead, spec.overhead)) {
    throw refuse("Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  const { nodeSelector, tolerations } = found.scheduling ?? {};
  const clash = Object.entries(nodeSelector ?? {}).find(
    ([key, value]) => (spec?.nodeSelector?.[key] ?? value) !== value,
  );
  if (clash) throw refuse('conflict: runtimeClass.scheduling.nodeSelector and pod.spec.nodeSelector differ');
  return {
    ...(overhead && { overhead }),
    ...(nodeSelector && { nodeSelector: { ...spec?.nodeSelector, ...nodeSelector } }),
    ...(tolerations && { tolerations: withTolerations([...(spec?.tolerations ?? []), ...tolerations]) }),
  };
}

const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_SECONDS = 3607;

/** The pod with the token of its account in every container that has nothing of its own there. */
function withAccount(store: Store, pod: UnknownObject, random: Random): UnknownObject {
  const { spec, metadata } = pod as Pod;
  if (!spec) return pod;
  const { namespace = '' } = metadata;
  const name = spec.serviceAccountName || 'default';
  const account = store.get('/serviceaccounts', `${namespace}/${name}`) as ServiceAccount | undefined;
  if (!account) {
    const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;
    throw forbidden({ group: '', resource: 'pods' }, metadata.name ?? '', why);
  }
  const pullSecrets = spec.imagePullSecrets?.length ? spec.imagePullSecrets : account.imagePullSecrets;
  const wants = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  const volume = generateName('kube-api-access-', random);
  const mount = { name: volume, readOnly: true, mountPath: ACCOUNT_FOLDER };
  let isMounted = false;
  const mounted = (list: readonly Container[]) =>
    list.map((container) => {
      const mounts = container.volumeMounts ?? [];
      if (!wants || mounts.some(({ mountPath }) => mountPath === ACCOUNT_FOLDER)) return container;
      isMounted = true;
      return { ...container, volumeMounts: [...mounts, mount] };
    });
  const containers = mounted(spec.containers ?? []);
  const initContainers = spec.initContainers && mounted(spec.initContainers);
  const volumes = isMounted ? [...(spec.volumes ?? []), tokenVolume(volume)] : spec.volumes;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(spec.containers && { containers }),
      ...(initContainers && { initContainers }),
      ...(volumes && { volumes }),
      ...(pullSecrets?.length && { imagePullSecrets: pullSecrets }),
    },
  };
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  };
}

/** Tolerations of unready nodes cannot be removed: admission adds them again. */
export function keepTolerations(object: UnknownObject): UnknownObject {
  const { spec } = object as Pod;
  if (!spec) return object;
  const tolerations = withTolerations(spec.tolerations ?? []);
  return tolerations.length === (spec.tolerations ?? []).length
    ? object
    : { ...object, spec: { ...spec, tolerations } };
}

function withTolerations(tolerations: readonly Toleration[]): Toleration[] {
  const added = UNREADY_TAINTS.filter(
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

/** A pod names a class. It may repeat the values that follow from the class, and not change them. */
function priorityOf(store: Store, { metadata, spec }: Pod) {
  const computed = classOf(store, metadata.name ?? '', spec?.priorityClassName ?? '');
  const refuse = (what: string, given: unknown, own: unknown) =>
    forbidden(
      { group: '', resource: 'pods' },
      metadata.name ?? '',
      `the ${what} (${String(given)}) must not be provided in pod spec; priority admission controller computed ${String(own)} from the given PriorityClass name`,
    );
  const { priority, preemptionPolicy } = spec ?? {};
  if (priority !== undefined && priority !== computed.priority) {
    throw refuse('integer value of priority', priority, computed.priority);
  }
  if (preemptionPolicy !== undefined && preemptionPolicy !== computed.preemptionPolicy) {
    throw refuse('string value of PreemptionPolicy', preemptionPolicy, computed.preemptionPolicy);
  }
  return computed;
}

function classOf(store: Store, podName: string, name: string) {
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
    throw forbidden({ group: '', resource: 'pods' }, podName, `no PriorityClass with name ${name} was found`);
  }
  return { priority, preemptionPolicy: found?.preemptionPolicy ?? 'PreemptLowerPriority' };
}

const COMPUTE = ['cpu', 'memory'] as const;

/** Guaranteed: every container has limits, and requests equal to them. Best effort: no container has any. */
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

// The later validation reports an invalid quantity.
function safely(test: () => boolean): boolean {
  try {
    return test();
  } catch {
    return false;
  }
}
