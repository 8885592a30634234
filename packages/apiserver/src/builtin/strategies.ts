// The differences between the built-in kinds beyond their schemas: names, generation, defaults, grace, selectable fields.
import type { EndpointSlice, PersistentVolumeClaim, PodSpec, UnknownObject } from '@capstan/kube';
import { defaultDefinition } from '../crd/definition-strategy.ts';
import { withTemplateLabels } from '../defaults/kind-defaults.ts';
import { equalJson, isObject, valueAt, withValueAt } from '../json/copy.ts';
import { label, pathSegment, subdomain } from '../resources/names.ts';
import type { ScalePaths, Strategy } from '../resources/resource.ts';
import { ingressWarnings, serviceWarnings, sliceWarnings } from '../validation/network-warnings.ts';
import { nameWarnings, podWarnings } from '../validation/pod-warnings.ts';
import { keepQosClass, keepTolerations, newPodStatus, withGrace } from './pod-strategy.ts';

type Defaults = (object: UnknownObject) => UnknownObject;

/** By `plural.group`, the core group without a suffix. */
export function builtinStrategy(id: string): Strategy {
  return {
    validateName: has(id, 'label') ? label : has(id, 'path-segment') ? pathSegment : subdomain,
    allowsUnconditionalUpdate: !has(id, 'conditional'),
    allowsCreateOnUpdate: has(id, 'create-on-update'),
    countsGeneration: has(id, 'generation'),
    countsEmpty: has(id, 'counts-empty'),
    returnsDeleted: has(id, 'returns-deleted'),
    ...(POD_PLACES[id] && { warnings: podWarningsAt(POD_PLACES[id]) }),
    ...(id === 'services' && { warnings: (service) => serviceWarnings(service) }),
    ...(id === 'ingresses.networking.k8s.io' && { warnings: (one, old) => (old ? [] : ingressWarnings(one)) }),
    ...(id === 'endpointslices.discovery.k8s.io' && {
      warnings: (slice, old) => (old ? [] : sliceWarnings(slice as unknown as EndpointSlice)),
    }),
    ...SPECIAL[id],
  };
}

export const builtinScale: ScalePaths = {
  spec: ['spec', 'replicas'],
  status: ['status', 'replicas'],
  selector: ['spec', 'selector'],
};

export const builtinSelectableFields: Readonly<Record<string, readonly string[]>> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  nodes: ['spec.unschedulable'],
  namespaces: ['status.phase'],
  secrets: ['type'],
  services: ['spec.clusterIP', 'spec.type'],
  replicationcontrollers: ['status.replicas'],
  'jobs.batch': ['status.successful'],
  events: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (one) => `involvedObject.${one}`,
    ),
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  'events.k8s.io': [],
  'events.events.k8s.io': [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      (one) => `regarding.${one}`,
    ),
    'reason',
    'reportingController',
    'type',
  ],
};

export const builtinDefaults: Readonly<Record<string, Defaults>> = {
  'customresourcedefinitions.apiextensions.k8s.io': defaultDefinition,
  secrets: (secret) => {
    const { stringData, ...rest } = secret;
    const type = secret['type'] ?? 'Opaque';
    if (!isObject(stringData)) return { ...rest, type };
    const encoded = Object.entries(stringData).map(([key, value]): [string, string] => [
      key,
      Buffer.from(String(value)).toString('base64'),
    ]);
    const data = { ...(isObject(secret['data']) ? secret['data'] : {}), ...Object.fromEntries<unknown>(encoded) };
    return { ...rest, data, type };
  },
  'daemonsets.apps': (daemonSet) => {
    const { annotations } = daemonSet.metadata;
    if (annotations?.[TEMPLATE_GENERATION] !== undefined) return daemonSet;
    return withTemplateGeneration(daemonSet, 0);
  },
  namespaces: (namespace) => labelled(withPhase(namespace)),
};

/** A namespace is active unless its status has another phase, also where it has no status. */
function withPhase(namespace: UnknownObject): UnknownObject {
  const status = isObject(namespace['status']) ? namespace['status'] : {};
  const { phase } = status;
  return (phase ?? '') === '' ? { ...namespace, status: { ...status, phase: 'Active' } } : namespace;
}

function labelled(namespace: UnknownObject): UnknownObject {
  const { name } = namespace.metadata;
  if (name === undefined || namespace.metadata.labels?.[NAMESPACE_LABEL] === name) return namespace;
  const labels = { ...namespace.metadata.labels, [NAMESPACE_LABEL]: name };
  return { ...namespace, metadata: { ...namespace.metadata, labels } };
}

/** Counts the changes of a DaemonSet's template: an annotation that was a field once. */
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function withTemplateGeneration(daemonSet: UnknownObject, generation: number): UnknownObject {
  const annotations = { ...daemonSet.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
  return { ...daemonSet, metadata: { ...daemonSet.metadata, annotations } };
}

function nextTemplateGeneration(daemonSet: UnknownObject, old: UnknownObject): number {
  const before = Number(old.metadata.annotations?.[TEMPLATE_GENERATION] ?? 0);
  const path = ['spec', 'template'];
  return equalJson(valueAt(daemonSet, path), valueAt(old, path)) ? before : before + 1;
}

const NAMESPACE_LABEL = 'kubernetes.io/metadata.name';

type Trait =
  /** Names are labels, or anything that can stand in a path; default a subdomain. */
  | 'label'
  | 'path-segment'
  /** An update must name the resourceVersion that it replaces. */
  | 'conditional'
  | 'create-on-update'
  | 'generation'
  /** A change from absent to empty counts as a generation. */
  | 'counts-empty'
  /** A delete is answered with the object. */
  | 'returns-deleted';

const RBAC: readonly Trait[] = ['path-segment', 'create-on-update'];
const WEBHOOKS: readonly Trait[] = ['conditional', 'generation', 'counts-empty'];

const TRAITS: Readonly<Record<string, readonly Trait[]>> = {
  endpoints: ['create-on-update'],
  events: ['path-segment', 'create-on-update'],
  limitranges: ['create-on-update'],
  namespaces: ['label', 'returns-deleted'],
  pods: ['generation', 'returns-deleted'],
  podtemplates: ['generation'],
  replicationcontrollers: ['generation'],
  serviceaccounts: ['returns-deleted'],
  services: ['label', 'create-on-update', 'returns-deleted'],
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': WEBHOOKS,
  'validatingadmissionpolicies.admissionregistration.k8s.io': ['conditional', 'generation'],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': ['conditional', 'generation'],
  'validatingwebhookconfigurations.admissionregistration.k8s.io': WEBHOOKS,
  'apiservices.apiregistration.k8s.io': ['path-segment', 'conditional'],
  'customresourcedefinitions.apiextensions.k8s.io': ['conditional', 'generation'],
  'daemonsets.apps': ['generation'],
  'deployments.apps': ['generation'],
  'replicasets.apps': ['generation'],
  'statefulsets.apps': ['label', 'generation'],
  'cronjobs.batch': ['generation'],
  'jobs.batch': ['generation'],
  'leases.coordination.k8s.io': ['conditional', 'create-on-update'],
  'endpointslices.discovery.k8s.io': ['generation'],
  'events.events.k8s.io': ['create-on-update'],
  'ingressclasses.networking.k8s.io': ['generation'],
  'ingresses.networking.k8s.io': ['generation'],
  'networkpolicies.networking.k8s.io': ['generation', 'counts-empty'],
  'poddisruptionbudgets.policy': ['path-segment', 'conditional', 'generation'],
  'clusterrolebindings.rbac.authorization.k8s.io': RBAC,
  'clusterroles.rbac.authorization.k8s.io': RBAC,
  'rolebindings.rbac.authorization.k8s.io': RBAC,
  'roles.rbac.authorization.k8s.io': RBAC,
  'priorityclasses.scheduling.k8s.io': ['generation'],
};

const has = (id: string, trait: Trait) => TRAITS[id]?.includes(trait) === true;

/** The places of pod specs in the kinds that create pods. */
const POD_PLACES: Readonly<Record<string, readonly string[]>> = {
  pods: ['spec'],
  'deployments.apps': ['spec', 'template', 'spec'],
  'replicasets.apps': ['spec', 'template', 'spec'],
  'daemonsets.apps': ['spec', 'template', 'spec'],
  'statefulsets.apps': ['spec', 'template', 'spec'],
  'jobs.batch': ['spec', 'template', 'spec'],
  'cronjobs.batch': ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  podtemplates: ['template', 'spec'],
  replicationcontrollers: ['spec', 'template', 'spec'],
};

/** Kinds whose names become part of those of their pods. */
const NAMES_PODS = new Set(['Pod', 'Deployment', 'ReplicaSet', 'Job', 'CronJob', 'ReplicationController']);

const ENDLESS =
  'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';

/** Whether a change counts as a generation: annotations of a Deployment do. */
function counts(object: UnknownObject, old: UnknownObject): boolean {
  if (!equalJson(object['spec'], old['spec'])) return true;
  const notes = ({ metadata }: UnknownObject) => metadata.annotations ?? {};
  return object.kind === 'Deployment' && !equalJson(notes(object), notes(old));
}

// A change of metadata only does not repeat the warnings.
function podWarningsAt(path: readonly string[]): NonNullable<Strategy['warnings']> {
  return (object, old) => {
    const limit = valueAt(object, ['spec', 'revisionHistoryLimit']);
    const isEndless = object.kind === 'StatefulSet' && typeof limit === 'number' && limit < 0;
    const always = isEndless ? [ENDLESS] : [];
    // A pod that is there is changed by programs, who read no warnings.
    if (old && (path.length === 1 || !counts(object, old))) return always;
    const { name = '' } = object.metadata;
    const use = path.length === 1 ? "the Pod's hostname" : 'Pod names and hostnames';
    const ofName = old || !NAMES_PODS.has(object.kind) ? [] : nameWarnings(name, use);
    return [...ofName, ...podWarnings(path.join('.'), valueAt(object, path) as PodSpec | undefined), ...always];
  };
}

const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid';

/** A Job selects its pods by its own uid, unless its author sets the selector. */
function withJobSelector(job: UnknownObject): UnknownObject {
  if (valueAt(job, ['spec', 'manualSelector']) === true) return withTemplateLabels(job);
  const { uid = '', name = '' } = job.metadata;
  const own = { [CONTROLLER_UID]: uid, 'batch.kubernetes.io/job-name': name };
  const former = { 'controller-uid': uid, 'job-name': name };
  const given = (path: string[]) => {
    const value = valueAt(job, path);
    return isObject(value) ? value : {};
  };
  // Validation refuses other values of the author.
  const labels = { ...own, ...former, ...given(['spec', 'template', 'metadata', 'labels']) };
  const labelled = withValueAt(job, ['spec', 'template', 'metadata', 'labels'], labels);
  const asked = given(['spec', 'selector', 'matchLabels']);
  const matchLabels = { ...asked, [CONTROLLER_UID]: asked[CONTROLLER_UID] ?? uid };
  const selector = { ...given(['spec', 'selector']), matchLabels };
  return withTemplateLabels(withValueAt(labelled, ['spec', 'selector'], selector) as UnknownObject);
}

/**
 * A claim names the source of its volume in two fields, either of which follows from the other. Kinds that the older field cannot name are
 * dropped from it.
 */
function withDataSources(claim: UnknownObject, old?: UnknownObject): UnknownObject {
  const { spec } = claim as PersistentVolumeClaim;
  const { dataSource, dataSourceRef, ...rest } = spec ?? {};
  if (!spec || (!dataSource && !dataSourceRef)) return claim;
  const before = (old as PersistentVolumeClaim | undefined)?.spec;
  const wasFilled = before?.dataSource !== undefined || before?.dataSourceRef !== undefined;
  const { kind, apiGroup } = dataSource ?? {};
  const isKnown =
    (kind === 'PersistentVolumeClaim' && !apiGroup) ||
    (kind === 'VolumeSnapshot' && apiGroup === 'snapshot.storage.k8s.io');
  if (!dataSourceRef) {
    const isKept = dataSource && (isKnown || wasFilled);
    return { ...claim, spec: isKept ? { ...rest, dataSource, dataSourceRef: dataSource } : rest };
  }
  const { namespace, ...local } = dataSourceRef;
  return dataSource || namespace ? claim : { ...claim, spec: { ...spec, dataSource: local } };
}

/**
 * How many pods may be down at once is behind a feature gate: the manager that sets the field owns it, and its value is
 * dropped.
 */
function withoutGated(set: UnknownObject): UnknownObject {
  const path = ['spec', 'updateStrategy', 'rollingUpdate'];
  const update = valueAt(set, path);
  if (!isObject(update) || update['maxUnavailable'] === undefined) return set;
  const { maxUnavailable: _, ...rest } = update;
  return withValueAt(set, path, rest) as UnknownObject;
}

/** The finalizer by which contents are deleted first cannot be left out. */
/** A Service that no longer is a load balancer loses the addresses of one. */
function withoutBalancer(service: UnknownObject, old: UnknownObject): UnknownObject {
  const isBalancer = (one: UnknownObject) => valueAt(one, ['spec', 'type']) === 'LoadBalancer';
  if (!isBalancer(old) || isBalancer(service) || !isObject(service['status'])) return service;
  return { ...service, status: { ...service['status'], loadBalancer: {} } };
}

function withKubernetes(namespace: UnknownObject): unknown[] {
  const given = (valueAt(namespace, ['spec', 'finalizers']) as unknown[] | null | undefined) ?? [];
  return given.includes('kubernetes') ? given : [...given, 'kubernetes'];
}

const LOCAL = {
  type: 'Available',
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};

const POD_GRACE_SECONDS = 30;
const PROTECTED = new Set(['default', 'kube-system', 'kube-public']);

const SPECIAL: Readonly<Record<string, Partial<Strategy>>> = {
  pods: {
    prepareCreate: (pod) => ({ ...withGrace(pod), status: newPodStatus(pod) }),
    prepareUpdate: (pod, _old, subresource) => (subresource === '' ? keepTolerations(pod) : pod),
    prepareStatus: keepQosClass,
    // Only a kubelet can need time: without a node, or once everything has ended, the pod goes at once.
    gracePeriod: (pod, asked) => {
      const phase = valueAt(pod, ['status', 'phase']);
      if (!valueAt(pod, ['spec', 'nodeName']) || phase === 'Succeeded' || phase === 'Failed') return 0;
      const wanted = valueAt(pod, ['spec', 'terminationGracePeriodSeconds']);
      return asked ?? (typeof wanted === 'number' ? wanted : POD_GRACE_SECONDS);
    },
  },
  'apiservices.apiregistration.k8s.io': {
    // An APIService without a Service stands for this server.
    prepareCreate: (service) =>
      valueAt(service, ['spec', 'service']) === undefined
        ? { ...service, status: { conditions: [{ ...LOCAL, lastTransitionTime: service.metadata.creationTimestamp }] } }
        : service,
  },
  'daemonsets.apps': {
    prepareCreate: (daemonSet) => withTemplateGeneration(daemonSet, 1),
    prepareUpdate: (daemonSet, old) => withTemplateGeneration(daemonSet, nextTemplateGeneration(daemonSet, old)),
  },
  persistentvolumeclaims: {
    prepareCreate: (claim) => ({ ...withDataSources(claim), status: { phase: 'Pending' } }),
    prepareUpdate: withDataSources,
  },
  persistentvolumes: { prepareCreate: (volume) => ({ ...volume, status: { phase: 'Pending' } }) },
  services: { prepareUpdate: withoutBalancer },
  'statefulsets.apps': { prepareCreate: withoutGated, prepareUpdate: withoutGated },
  'jobs.batch': { complete: (job, old) => ({ object: old ? job : withJobSelector(job), errors: [] }) },
  nodes: { keepsStatus: true },
  namespaces: {
    prepareCreate: (namespace) => ({
      ...namespace,
      spec: { finalizers: withKubernetes(namespace) },
      status: { phase: 'Active' },
    }),
    prepareUpdate: (namespace, old, subresource) =>
      subresource === 'finalize' ? namespace : { ...namespace, spec: old['spec'] ?? {} },
    refuseDelete: ({ metadata }) =>
      PROTECTED.has(metadata.name ?? '') ? 'this namespace may not be deleted' : undefined,
    // A name that was drawn is known only now.
    complete: (namespace) => ({ object: labelled(namespace), errors: [] }),
    isHeld: (namespace) => ((valueAt(namespace, ['spec', 'finalizers']) as unknown[] | undefined) ?? []).length > 0,
    prepareDelete: (namespace) => ({ ...namespace, status: { phase: 'Terminating' } }),
  },
};
