// Claims of storage (objects of their own, templates of StatefulSets, ephemeral volumes of pods), volumes and their classes.
import {
  canonicalQuantity,
  compareQuantities,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  type StorageClass,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { type Errors, immutable, labelSelector, named, oneOf, supported } from './rules.ts';

export function claim(
  errors: Errors,
  { spec, status }: PersistentVolumeClaim,
  old: PersistentVolumeClaim | undefined,
): void {
  claimSpec(errors, 'spec', spec);
  if (!old) return;
  const before = old.spec ?? {};
  const isBound = status?.phase === 'Bound';
  // A claim that has its volume may ask for more storage, and one without a volume or a class may get one.
  const free = (one: PersistentVolumeClaimSpec = {}) => ({
    ...one,
    ...(!before.volumeName && { volumeName: '' }),
    ...(before.storageClassName === undefined && { storageClassName: '' }),
    ...(isBound && { resources: undefined, volumeAttributesClassName: '' }),
  });
  if (!equalJson(free(spec), free(before))) errors.push(fieldForbidden('spec', FIXED));
  const [size, least] = [spec?.resources?.requests?.['storage'], old.status?.capacity?.['storage'] ?? '0'];
  const isLess = size !== undefined && compareQuantities(size, before.resources?.requests?.['storage'] ?? '0') < 0;
  if (isLess && compareQuantities(size, least) <= 0) {
    errors.push(fieldForbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  }
  immutable(errors, 'volumeMode', spec?.volumeMode, before.volumeMode);
}

const FIXED =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const ONE_POD = 'ReadWriteOncePod';

export function claimSpec(errors: Errors, path: string, spec: PersistentVolumeClaimSpec | undefined): void {
  const modes = spec?.accessModes ?? [];
  const at = `${path}.accessModes`;
  if (modes.length === 0) errors.push(fieldRequired(at, 'at least 1 access mode is required'));
  labelSelector(errors, `${path}.selector`, spec?.selector);
  accessModes(errors, at, modes);
  const size = spec?.resources?.requests?.['storage'];
  if (size === undefined) errors.push(fieldRequired(`${path}.resources[storage]`));
  else if (compareQuantities(size, '0') <= 0) {
    errors.push(fieldInvalid(`${path}.resources[storage]`, canonicalQuantity(size), 'must be greater than zero'));
  }
  className(errors, `${path}.storageClassName`, spec?.storageClassName);
  supported(errors, `${path}.volumeMode`, spec?.volumeMode, ['Block', 'Filesystem']);
  dataSources(errors, path, spec ?? {});
  className(errors, `${path}.volumeAttributesClassName`, spec?.volumeAttributesClassName);
}

function accessModes(errors: Errors, at: string, modes: readonly string[]): void {
  for (const mode of modes) {
    if (!ACCESS_MODES.includes(mode)) errors.push(fieldNotSupported(at, mode, ACCESS_MODES));
  }
  if (modes.includes(ONE_POD) && modes.some((mode) => mode !== ONE_POD && ACCESS_MODES.includes(mode))) {
    errors.push(fieldForbidden(at, 'may not use ReadWriteOncePod with other access modes'));
  }
}

/** Fields of a volume besides its source. */
const NOT_SOURCES = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

export function volume(errors: Errors, { spec }: PersistentVolume, old: PersistentVolume | undefined): void {
  const { capacity = {}, accessModes: modes = [] } = spec ?? {};
  if (modes.length === 0) errors.push(fieldRequired('spec.accessModes'));
  accessModes(errors, 'spec.accessModes', modes);
  const sizes = Object.entries(capacity);
  if (sizes.length === 0) errors.push(fieldRequired('spec.capacity'));
  if (sizes.length !== 1 || capacity['storage'] === undefined) {
    errors.push(fieldNotSupported('spec.capacity', sizes.length === 0 ? null : capacity, ['storage']));
  }
  for (const [name, size] of sizes) {
    if (compareQuantities(size, '0') > 0) continue;
    errors.push(fieldInvalid(`spec.capacity[${name}]`, canonicalQuantity(size), 'must be greater than zero'));
  }
  supported(errors, 'spec.persistentVolumeReclaimPolicy', spec?.persistentVolumeReclaimPolicy, RECLAIM_POLICIES);
  const source = sourceOf(spec);
  const [first, ...others] = Object.keys(source);
  if (first === undefined) errors.push(fieldRequired('spec', 'must specify a volume type'));
  for (const other of others) {
    errors.push(fieldForbidden(`spec.${other}`, 'may not specify more than 1 volume type'));
  }
  className(errors, 'spec.storageClassName', spec?.storageClassName);
  supported(errors, 'spec.volumeMode', spec?.volumeMode, ['Block', 'Filesystem']);
  if (!old) return;
  if (!equalJson(source, sourceOf(old.spec))) {
    const detail = 'spec.persistentvolumesource is immutable after creation';
    errors.push(fieldForbidden('spec.persistentvolumesource', detail));
  }
  immutable(errors, 'volumeMode', spec?.volumeMode, old.spec?.volumeMode);
}

const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];

function sourceOf(spec: PersistentVolume['spec']): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec ?? {}).filter(([field]) => !NOT_SOURCES.has(field)));
}

export function storageClass(errors: Errors, object: StorageClass, old: StorageClass | undefined): void {
  const { provisioner, reclaimPolicy, volumeBindingMode, parameters } = object;
  if (old) {
    for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const) {
      immutable(errors, field, object[field], old[field]);
    }
    return;
  }
  if (!provisioner) errors.push(fieldRequired('provisioner'));
  else named(errors, 'provisioner', provisioner.toLowerCase(), validateQualifiedName(provisioner.toLowerCase()));
  for (const key of Object.keys(parameters ?? {})) {
    if (key === '') errors.push(fieldInvalid('parameters', key, 'field can not be empty.'));
  }
  supported(errors, 'reclaimPolicy', reclaimPolicy, ['Delete', 'Retain']);
  oneOf(errors, 'volumeBindingMode', volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
}

function className(errors: Errors, path: string, name: string | undefined): void {
  if (name) named(errors, path, name, validateDns1123Subdomain(name));
}

/** Checks the source of the volume's content. The two fields mean the same, and the newer one also reaches other namespaces. */
function dataSources(errors: Errors, path: string, { dataSource, dataSourceRef }: PersistentVolumeClaimSpec): void {
  for (const [field, source] of Object.entries({ dataSource, dataSourceRef })) {
    if (!source) continue;
    const at = `${path}.${field}`;
    const { name, kind, apiGroup = '' } = source;
    if (!name) errors.push(fieldRequired(`${at}.name`));
    if (!kind) errors.push(fieldRequired(`${at}.kind`));
    if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
      errors.push(fieldInvalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
    }
    if (apiGroup !== '') named(errors, `${at}.apiGroup`, apiGroup, validateDns1123Subdomain(apiGroup));
  }
  const namespace = dataSourceRef?.namespace ?? '';
  if (namespace !== '') {
    named(errors, `${path}.dataSourceRef.namespace`, namespace, validateDns1123Label(namespace));
  }
}
