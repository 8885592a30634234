import type {
  APIService,
  APIServiceCondition,
  ConfigMap,
  CoreEvent,
  MutatingWebhookConfiguration,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  ResourceQuota,
  RoleBinding,
  Secret,
  StorageClass,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { type ColumnText, type Printer, printer } from './printer.ts';
import { orNone, since, timeOf } from './text.ts';

const subjects = (kind: string, shown: (subject: NonNullable<RoleBinding['subjects']>[number]) => string) =>
  [
    `${kind}s*`,
    (binding: RoleBinding) =>
      (binding.subjects ?? [])
        .filter((one) => one.kind === kind)
        .map(shown)
        .join(', '),
  ] as const;

const bindings = printer<RoleBinding>([
  'Name',
  ['Role', ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`],
  'Age',
  subjects('User', ({ name }) => name),
  subjects('Group', ({ name }) => name),
  subjects('ServiceAccount', ({ namespace, name }) => `${namespace ?? ''}/${name}`),
]);

const webhooks = printer<MutatingWebhookConfiguration>([
  'Name',
  ['Webhooks:integer', ({ webhooks: all = [] }) => all.length],
  'Age',
]);

function availability(condition: APIServiceCondition | undefined): string {
  const { status = 'Unknown', reason = '' } = condition ?? {};
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}

const sizeOf = (map: object | undefined) => Object.keys(map ?? {}).length;

export const eventPrinter = printer<CoreEvent>([
  [
    'Last Seen',
    (event, now) => {
      if (event.series) return since(event.series.lastObservedTime, now);
      return timeOf(event.lastTimestamp) === undefined ? firstSeen(event, now) : since(event.lastTimestamp, now);
    },
  ],
  'Type = type',
  'Reason = reason',
  [
    'Object',
    ({ involvedObject: about }) => {
      const kind = (about?.kind ?? '').toLowerCase();
      return about?.name ? `${kind}/${about.name}` : kind;
    },
  ],
  'Subobject* = involvedObject.fieldPath',
  [
    'Source*',
    ({ source, reportingComponent = '', reportingInstance = '' }) => {
      const component = source?.component || reportingComponent;
      const host = source?.host || reportingInstance;
      return host === '' ? component : `${component}, ${host}`;
    },
  ],
  ['Message', ({ message = '' }) => message.trim()],
  ['First Seen*', firstSeen],
  ['Count*', ({ series, count }) => series?.count ?? (count || 1)],
  ['Name*', ({ metadata }) => metadata.name ?? ''],
]);

function firstSeen({ firstTimestamp, eventTime }: CoreEvent, now: number): string {
  return since(firstTimestamp ?? eventTime, now);
}

const address = (type: string): ((node: Node) => string) => {
  return ({ status }) => status?.addresses?.find((one) => one.type === type)?.address ?? '<none>';
};

const kernel: ColumnText<Node> = [
  'Kernel-Version*',
  ({ status }) => {
    const { kernelVersion, architecture } = status?.nodeInfo ?? {};
    const version = kernelVersion || '<unknown>';
    return architecture ? `${version} (${architecture})` : version;
  },
];

/** `ReadWriteOnce` is shown as RWO. */
const modesOf = (modes: readonly string[] | undefined) =>
  (modes ?? []).map((mode) => mode.replaceAll(/[a-z]/g, '')).join(',');

const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

const quotas =
  (isLimit: boolean) =>
  ({ status: { hard = {}, used = {} } = {} }: ResourceQuota): string =>
    Object.keys(hard)
      .toSorted()
      .filter((name) => name.startsWith('limits.') === isLimit)
      .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
      .join(', ');

export const clusterPrinters: Readonly<Record<string, Printer>> = {
  'apiservices.apiregistration.k8s.io': printer<APIService>([
    'Name',
    ['Service', ({ spec }) => (spec?.service ? `${spec.service.namespace}/${spec.service.name}` : 'Local')],
    ['Available', ({ status }) => availability(status?.conditions?.find(({ type }) => type === 'Available'))],
    'Age',
  ]),
  persistentvolumes: printer<PersistentVolume>([
    'Name',
    'Capacity = spec.capacity.storage | 0',
    ['Access Modes', ({ spec }) => modesOf(spec?.accessModes)],
    'Reclaim Policy = spec.persistentVolumeReclaimPolicy',
    [
      'Status',
      ({ metadata, status }) => (metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating'),
    ],
    ['Claim', ({ spec }) => (spec?.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '')],
    'StorageClass = spec.storageClassName',
    'VolumeAttributesClass = spec.volumeAttributesClassName | <unset>',
    'Reason = status.reason',
    'Age',
    'VolumeMode* = spec.volumeMode | <unset>',
  ]),
  'storageclasses.storage.k8s.io': printer<StorageClass>([
    [
      'Name',
      ({ metadata: { name = '', annotations } }) =>
        DEFAULT_CLASS.some((key) => annotations?.[key] === 'true') ? `${name} (default)` : name,
    ],
    'Provisioner = provisioner',
    'ReclaimPolicy = reclaimPolicy | Delete',
    'VolumeBindingMode = volumeBindingMode | Immediate',
    ['AllowVolumeExpansion', ({ allowVolumeExpansion = false }) => allowVolumeExpansion],
    'Age',
  ]),
  resourcequotas: printer<ResourceQuota>(['Name', ['Request', quotas(false)], ['Limit', quotas(true)], 'Age']),
  persistentvolumeclaims: printer<PersistentVolumeClaim>([
    'Name',
    'Status = status.phase',
    'Volume = spec.volumeName',
    'Capacity = status.capacity.storage',
    ['Access Modes', ({ status }) => modesOf(status?.accessModes)],
    'StorageClass = spec.storageClassName',
    'VolumeAttributesClass = spec.volumeAttributesClassName | <unset>',
    'Age',
    'VolumeMode* = spec.volumeMode | <unset>',
  ]),
  configmaps: printer<ConfigMap>([
    'Name',
    ['Data', ({ data, binaryData }) => sizeOf(data) + sizeOf(binaryData)],
    'Age',
  ]),
  secrets: printer<Secret>(['Name', 'Type = type', ['Data', ({ data }) => sizeOf(data)], 'Age']),
  serviceaccounts: printer(['Name', 'Age']),
  namespaces: printer(['Name', 'Status = status.phase', 'Age']),
  nodes: printer<Node>([
    'Name',
    ['Status', nodeStatus],
    ['Roles', (node) => orNone(nodeRoles(node).join(','))],
    'Age',
    'Version = status.nodeInfo.kubeletVersion',
    ['Internal-IP*', address('InternalIP')],
    ['External-IP*', address('ExternalIP')],
    'OS-Image* = status.nodeInfo.osImage || <unknown>',
    kernel,
    'Container-Runtime* = status.nodeInfo.containerRuntimeVersion || <unknown>',
  ]),
  events: eventPrinter,
  'leases.coordination.k8s.io': printer(['Name', 'Holder = spec.holderIdentity', 'Age']),
  'rolebindings.rbac.authorization.k8s.io': bindings,
  'clusterrolebindings.rbac.authorization.k8s.io': bindings,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'validatingadmissionpolicies.admissionregistration.k8s.io': printer<ValidatingAdmissionPolicy>([
    'Name',
    ['Validations:integer', ({ spec }) => spec?.validations?.length ?? 0],
    ['ParamKind', ({ spec }) => (spec?.paramKind ? `${spec.paramKind.apiVersion}/${spec.paramKind.kind}` : '<unset>')],
    'Age',
  ]),
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': printer<ValidatingAdmissionPolicyBinding>([
    'Name',
    'PolicyName = spec.policyName',
    [
      'ParamRef',
      ({ spec: { paramRef } }) => {
        if (paramRef?.name) return `${paramRef.namespace || '*'}/${paramRef.name}`;
        return paramRef?.selector ? JSON.stringify(paramRef.selector) : '<unset>';
      },
    ],
    'Age',
  ]),
  'priorityclasses.scheduling.k8s.io': printer([
    'Name',
    'Value:integer = value',
    'Global-Default:boolean = globalDefault',
    'Age',
    'PreemptionPolicy = preemptionPolicy',
  ]),
};

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const text = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  return spec?.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function nodeRoles({ metadata }: Node): string[] {
  const roles = Object.entries(metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX)) return key.slice(ROLE_PREFIX.length);
    return key === 'kubernetes.io/role' ? value : '';
  });
  return [...new Set(roles.filter((role) => role !== ''))].sort();
}
