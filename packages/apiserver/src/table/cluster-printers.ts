import type {
  ConfigMap,
  CoreEvent,
  Lease,
  MutatingWebhookConfiguration,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PriorityClass,
  ResourceQuota,
  RoleBinding,
  Secret,
  ServiceAccount,
  StorageClass,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { type Printer, printer } from './printer.ts';
import { age, nameOf, orNone, since, timeOf } from './text.ts';

/** `ReadWriteOnce` is shown as RWO. */
const modesOf = (modes: readonly string[] | undefined) =>
  (modes ?? []).map((mode) => mode.replaceAll(/[a-z]/g, '')).join(',');

const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

const bindings = printer<RoleBinding>(
  ['Name', 'Role', 'Age', 'Users*', 'Groups*', 'ServiceAccounts*'],
  (object, now) => {
    const { roleRef, subjects = [] } = object;
    const named = (kind: string) => subjects.filter((one) => one.kind === kind);
    return [
      nameOf(object),
      `${roleRef.kind}/${roleRef.name}`,
      age(object, now),
      named('User')
        .map(({ name }) => name)
        .join(', '),
      named('Group')
        .map(({ name }) => name)
        .join(', '),
      named('ServiceAccount')
        .map(({ namespace, name }) => `${namespace ?? ''}/${name}`)
        .join(', '),
    ];
  },
);

const webhooks = printer<MutatingWebhookConfiguration>(['Name', 'Webhooks:integer', 'Age'], (object, now) => [
  nameOf(object),
  (object.webhooks ?? []).length,
  age(object, now),
]);

const policies = printer<ValidatingAdmissionPolicy>(
  ['Name', 'Validations:integer', 'ParamKind', 'Age'],
  (object, now) => {
    const { paramKind, validations = [] } = object.spec ?? {};
    const params = paramKind ? `${paramKind.apiVersion}/${paramKind.kind}` : '<unset>';
    return [nameOf(object), validations.length, params, age(object, now)];
  },
);

const policyBindings = printer<ValidatingAdmissionPolicyBinding>(
  ['Name', 'PolicyName', 'ParamRef', 'Age'],
  (object, now) => {
    const { paramRef, policyName } = object.spec;
    const selected = paramRef?.selector ? JSON.stringify(paramRef.selector) : '<unset>';
    const params = paramRef?.name ? `${paramRef.namespace || '*'}/${paramRef.name}` : selected;
    return [nameOf(object), policyName, params, age(object, now)];
  },
);

export const eventPrinter = printer<CoreEvent>(
  ['Last Seen', 'Type', 'Reason', 'Object', 'Subobject*', 'Source*', 'Message', 'First Seen*', 'Count*', 'Name*'],
  (object, now) => {
    const { involvedObject: about, series, source } = object;
    const first = since(object.firstTimestamp ?? object.eventTime, now);
    const last = timeOf(object.lastTimestamp) === undefined ? first : since(object.lastTimestamp, now);
    const kind = (about?.kind ?? '').toLowerCase();
    const component = source?.component || object.reportingComponent || '';
    const host = source?.host || object.reportingInstance || '';
    return [
      series ? since(series.lastObservedTime, now) : last,
      object.type ?? '',
      object.reason ?? '',
      about?.name ? `${kind}/${about.name}` : kind,
      about?.fieldPath ?? '',
      host === '' ? component : `${component}, ${host}`,
      (object.message ?? '').trim(),
      first,
      series?.count ?? (object.count || 1),
      nameOf(object),
    ];
  },
);

export const clusterPrinters: Readonly<Record<string, Printer>> = {
  persistentvolumes: printer<PersistentVolume>(
    [
      'Name',
      'Capacity',
      'Access Modes',
      'Reclaim Policy',
      'Status',
      'Claim',
      'StorageClass',
      'VolumeAttributesClass',
      'Reason',
      'Age',
      'VolumeMode*',
    ],
    (object, now) => {
      const { spec, status, metadata } = object;
      const { claimRef } = spec ?? {};
      return [
        nameOf(object),
        spec?.capacity?.['storage'] ?? '0',
        modesOf(spec?.accessModes),
        spec?.persistentVolumeReclaimPolicy ?? '',
        metadata.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating',
        claimRef ? `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}` : '',
        spec?.storageClassName ?? '',
        spec?.volumeAttributesClassName ?? '<unset>',
        status?.reason ?? '',
        age(object, now),
        spec?.volumeMode ?? '<unset>',
      ];
    },
  ),
  'storageclasses.storage.k8s.io': printer<StorageClass>(
    ['Name', 'Provisioner', 'ReclaimPolicy', 'VolumeBindingMode', 'AllowVolumeExpansion', 'Age'],
    (object, now) => {
      const { annotations } = object.metadata;
      const isDefault = DEFAULT_CLASS.some((key) => annotations?.[key] === 'true');
      return [
        `${nameOf(object)}${isDefault ? ' (default)' : ''}`,
        object.provisioner,
        object.reclaimPolicy ?? 'Delete',
        object.volumeBindingMode ?? 'Immediate',
        object.allowVolumeExpansion ?? false,
        age(object, now),
      ];
    },
  ),
  resourcequotas: printer<ResourceQuota>(['Name', 'Request', 'Limit', 'Age'], (object, now) => {
    const { hard = {}, used = {} } = object.status ?? {};
    const names = Object.keys(hard).toSorted();
    const listed = (isLimit: boolean) =>
      names
        .filter((name) => name.startsWith('limits.') === isLimit)
        .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
        .join(', ');
    return [nameOf(object), listed(false), listed(true), age(object, now)];
  }),
  persistentvolumeclaims: printer<PersistentVolumeClaim>(
    [
      'Name',
      'Status',
      'Volume',
      'Capacity',
      'Access Modes',
      'StorageClass',
      'VolumeAttributesClass',
      'Age',
      'VolumeMode*',
    ],
    (object, now) => {
      const { spec, status } = object;
      return [
        nameOf(object),
        status?.phase ?? '',
        spec?.volumeName ?? '',
        status?.capacity?.['storage'] ?? '',
        modesOf(status?.accessModes),
        spec?.storageClassName ?? '',
        spec?.volumeAttributesClassName ?? '<unset>',
        age(object, now),
        spec?.volumeMode ?? '<unset>',
      ];
    },
  ),
  configmaps: printer<ConfigMap>(['Name', 'Data', 'Age'], (object, now) => [
    nameOf(object),
    Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
    age(object, now),
  ]),
  secrets: printer<Secret>(['Name', 'Type', 'Data', 'Age'], (object, now) => [
    nameOf(object),
    object.type ?? '',
    Object.keys(object.data ?? {}).length,
    age(object, now),
  ]),
  serviceaccounts: printer<ServiceAccount>(['Name', 'Age'], (object, now) => [nameOf(object), age(object, now)]),
  namespaces: printer<Namespace>(['Name', 'Status', 'Age'], (object, now) => [
    nameOf(object),
    object.status?.phase ?? '',
    age(object, now),
  ]),
  nodes: printer<Node>(
    [
      'Name',
      'Status',
      'Roles',
      'Age',
      'Version',
      'Internal-IP*',
      'External-IP*',
      'OS-Image*',
      'Kernel-Version*',
      'Container-Runtime*',
    ],
    (object, now) => {
      const info = object.status?.nodeInfo;
      const orUnknown = (text: string | undefined) => text || '<unknown>';
      const kernel = orUnknown(info?.kernelVersion);
      return [
        nameOf(object),
        nodeStatus(object),
        orNone(nodeRoles(object).join(',')),
        age(object, now),
        info?.kubeletVersion ?? '',
        addressOf(object, 'InternalIP'),
        addressOf(object, 'ExternalIP'),
        orUnknown(info?.osImage),
        info?.architecture ? `${kernel} (${info.architecture})` : kernel,
        orUnknown(info?.containerRuntimeVersion),
      ];
    },
  ),
  events: eventPrinter,
  'leases.coordination.k8s.io': printer<Lease>(['Name', 'Holder', 'Age'], (object, now) => [
    nameOf(object),
    object.spec?.holderIdentity ?? '',
    age(object, now),
  ]),
  'rolebindings.rbac.authorization.k8s.io': bindings,
  'clusterrolebindings.rbac.authorization.k8s.io': bindings,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'validatingadmissionpolicies.admissionregistration.k8s.io': policies,
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindings,
  'priorityclasses.scheduling.k8s.io': printer<PriorityClass>(
    ['Name', 'Value:integer', 'Global-Default:boolean', 'Age', 'PreemptionPolicy'],
    (object, now) => [
      nameOf(object),
      object.value ?? 0,
      object.globalDefault ?? false,
      age(object, now),
      object.preemptionPolicy ?? '',
    ],
  ),
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

function addressOf({ status }: Node, type: string): string {
  return status?.addresses?.find((one) => one.type === type)?.address ?? '<none>';
}
