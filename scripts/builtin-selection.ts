// The release and the kinds that generate-builtin.ts takes, with their names in TypeScript.

export const MODULE = 'k8s.io/kubernetes';
export const RELEASE = 'v1.36.3';

/** Kinds by group and version, in the order of discovery, which is the order in which short names resolve. */
export const KINDS: [groupVersion: string, ...kinds: string[]][] = [
  [
    'v1',
    'ConfigMap',
    'Endpoints',
    'Event',
    'LimitRange',
    'Namespace',
    'Node',
    'PersistentVolumeClaim',
    'PersistentVolume',
    'Pod',
    'PodTemplate',
    'ReplicationController',
    'ResourceQuota',
    'Secret',
    'Service',
    'ServiceAccount',
  ],
  ['apiregistration.k8s.io/v1', 'APIService'],
  ['apps/v1', 'ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
  ['events.k8s.io/v1', 'Event'],
  ['authentication.k8s.io/v1', 'SelfSubjectReview', 'TokenReview'],
  [
    'authorization.k8s.io/v1',
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
  ],
  ['autoscaling/v2', 'HorizontalPodAutoscaler'],
  ['batch/v1', 'CronJob', 'Job'],
  ['networking.k8s.io/v1', 'Ingress', 'IngressClass', 'NetworkPolicy'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
  ['storage.k8s.io/v1', 'StorageClass'],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
  ],
  ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
  ['scheduling.k8s.io/v1', 'PriorityClass'],
  ['coordination.k8s.io/v1', 'Lease'],
  ['node.k8s.io/v1', 'RuntimeClass'],
  ['discovery.k8s.io/v1', 'EndpointSlice'],
];

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
export const EXTENSIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';

/** Definitions that no kind refers to and that are spoken on the wire all the same. */
export const EXTRA_DEFINITIONS = [
  `${META}.APIGroupList`,
  `${META}.APIResourceList`,
  `${META}.APIVersions`,
  `${META}.Condition`,
  `${META}.DeleteOptions`,
  `${META}.LabelSelector`,
  `${META}.ListMeta`,
  `${META}.Patch`,
  `${META}.Status`,
  `${META}.WatchEvent`,
  'io.k8s.apimachinery.pkg.version.Info',
];

/** TypeScript names where the last part of the definition's name is taken, or would mislead. */
export const NAMES: Record<string, string> = {
  'io.k8s.api.core.v1.Event': 'CoreEvent',
  'io.k8s.api.core.v1.EventSeries': 'CoreEventSeries',
  'io.k8s.api.core.v1.EndpointPort': 'EndpointsPort',
  'io.k8s.api.admissionregistration.v1.ServiceReference': 'AdmissionServiceReference',
  'io.k8s.api.admissionregistration.v1.WebhookClientConfig': 'AdmissionWebhookClientConfig',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference': 'APIServiceReference',
  [`${EXTENSIONS}.ServiceReference`]: 'ConversionServiceReference',
  [`${EXTENSIONS}.WebhookClientConfig`]: 'ConversionWebhookClientConfig',
  // The client has its own DeleteOptions, Status and StatusCause.
  [`${META}.DeleteOptions`]: 'MetaDeleteOptions',
  [`${META}.Status`]: 'MetaStatus',
  [`${META}.StatusCause`]: 'MetaStatusCause',
  [`${META}.StatusDetails`]: 'MetaStatusDetails',
  'io.k8s.apimachinery.pkg.version.Info': 'VersionInfo',
};

/** Definitions whose JSON is not an object of named fields: their TypeScript, written in place of an interface. */
export const ALIASES: Record<string, string> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'string',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'number | string',
  [`${META}.Time`]: 'string',
  [`${META}.MicroTime`]: 'string',
  [`${META}.Duration`]: 'string',
  [`${EXTENSIONS}.JSONSchemaPropsOrArray`]: 'JSONSchemaProps | JSONSchemaProps[]',
  [`${EXTENSIONS}.JSONSchemaPropsOrBool`]: 'JSONSchemaProps | boolean',
  [`${EXTENSIONS}.JSONSchemaPropsOrStringArray`]: 'JSONSchemaProps | string[]',
};

/** Definitions that other code has a type for; no declaration is written, the expression is used. */
export const FOREIGN: Record<string, string> = {
  [`${META}.ObjectMeta`]: 'ObjectMeta',
  [`${META}.OwnerReference`]: 'OwnerReference',
  [`${META}.ManagedFieldsEntry`]: 'ManagedFieldsEntry',
  [`${META}.FieldsV1`]: 'Record<string, unknown>',
  [`${META}.Patch`]: 'unknown',
  // The client's transport has its own.
  [`${META}.WatchEvent`]: 'unknown',
  [`${EXTENSIONS}.JSON`]: 'unknown',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': 'Record<string, unknown>',
};
