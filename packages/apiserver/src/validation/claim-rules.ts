// Claims of storage: objects of their own, templates of StatefulSets, and ephemeral volumes of pods.
import {
  canonicalQuantity,
  compareQuantities,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  validateDns1123Label,
  validateDns1123Subdomain,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { type Errors, immutable, labelSelector, named, supported } from './rules.ts';

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
  for (const mode of modes) {
    if (!ACCESS_MODES.includes(mode)) errors.push(fieldNotSupported(at, mode, ACCESS_MODES));
  }
  if (modes.includes(ONE_POD) && modes.some((mode) => mode !== ONE_POD && ACCESS_MODES.includes(mode))) {
    errors.push(fieldForbidden(at, 'may not use ReadWriteOncePod with other access modes'));
  }
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

function className(errors: Errors, path: string, name: string | undefined): void {
  if (name) named(errors, path, name, validateDns1123Subdomain(name));
}

/** What the volume is filled from; the two fields mean the same, and the newer one also reaches other namespaces. */
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
