// Volumes of a pod, and where its containers mount them.
import {
  type Container,
  compareQuantities,
  type DownwardAPIVolumeFile,
  type KeyToPath,
  type ObjectMeta,
  type ProjectedVolumeSource,
  type Volume,
  type VolumeDevice,
  type VolumeMount,
  type VolumeProjection,
  validateAnnotationKey,
  validateDns1123Subdomain,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { claimSpec } from './claim-rules.ts';
import { containerResource, FILE_FIELDS, podField } from './environment-rules.ts';
import {
  descendingPath,
  type Errors,
  fieldDuplicate,
  fieldNotFound,
  filePath,
  labels,
  named,
  noBacksteps,
  oneOf,
  PULL_POLICIES,
  requiredLabel,
  supported,
} from './rules.ts';

/** By their names; those with something wrong are none. */
export type Volumes = ReadonlyMap<string, Volume>;

export function volumes(
  errors: Errors,
  path: string,
  list: readonly Volume[] | undefined,
  { isPod, podName }: { isPod: boolean; podName: string },
): Volumes {
  const byName = new Map<string, Volume>();
  const created = new Set((list ?? []).flatMap(({ name, ephemeral }) => (ephemeral ? [`${podName}-${name}`] : [])));
  for (const [index, volume] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    const found: Errors = [];
    volumeSource(found, at, volume, isPod);
    requiredLabel(found, `${at}.name`, volume.name);
    if (byName.has(volume.name)) found.push(fieldDuplicate(`${at}.name`, volume.name));
    if (found.length === 0) byName.set(volume.name, volume);
    errors.push(...found);
    const claimName = volume.persistentVolumeClaim?.claimName ?? '';
    if (podName !== '' && created.has(claimName)) {
      const detail = 'must not reference a PVC that gets created for an ephemeral volume';
      errors.push(fieldInvalid(`${at}.persistentVolumeClaim.claimName`, claimName, detail));
    }
  }
  return byName;
}

/** The kinds of volumes in the order in which Kubernetes looks for them; of several the first counts. */
const SOURCES = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
] as const satisfies readonly (keyof Volume)[];

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

function volumeSource(errors: Errors, path: string, volume: Volume, isPod: boolean): void {
  const [source, ...others] = SOURCES.filter((field) => volume[field] !== undefined);
  const at = `${path}.${source}`;
  const required = (field: string, value: string | undefined) => {
    if (!value) errors.push(fieldRequired(`${at}.${field}`));
  };
  const { emptyDir, hostPath, secret, nfs, iscsi, persistentVolumeClaim, configMap, csi, ephemeral, image } = volume;
  switch (source) {
    case 'emptyDir':
      if (emptyDir?.sizeLimit !== undefined && compareQuantities(emptyDir.sizeLimit, '0') < 0) {
        errors.push(fieldForbidden(`${at}.sizeLimit`, 'SizeLimit field must be a valid resource quantity'));
      }
      break;
    case 'hostPath':
      if (hostPath?.path) noBacksteps(errors, `${at}.path`, hostPath.path);
      else {
        required('path', '');
        return;
      }
      supported(errors, `${at}.type`, hostPath.type, HOST_PATH_TYPES);
      break;
    case 'secret':
      required('secretName', secret?.secretName);
      keyFiles(errors, at, secret);
      break;
    case 'configMap':
      required('name', configMap?.name);
      keyFiles(errors, at, configMap);
      break;
    case 'nfs':
      required('server', nfs?.server);
      required('path', nfs?.path);
      if (!nfs?.path.startsWith('/')) {
        errors.push(fieldInvalid(`${at}.path`, nfs?.path, 'must be an absolute path'));
      }
      break;
    case 'iscsi':
      required('targetPortal', iscsi?.targetPortal);
      required('iqn', iscsi?.iqn);
      if (iscsi?.iqn && !/^(iqn|eui|naa)/.test(iscsi.iqn)) {
        errors.push(fieldInvalid(`${at}.iqn`, iscsi.iqn, 'must be valid format starting with iqn, eui, or naa'));
      }
      break;
    case 'persistentVolumeClaim':
      required('claimName', persistentVolumeClaim?.claimName);
      break;
    case 'downwardAPI':
      fileMode(errors, `${at}.defaultMode`, volume.downwardAPI?.defaultMode);
      for (const file of volume.downwardAPI?.items ?? []) downwardFile(errors, at, file);
      break;
    case 'projected':
      if (volume.projected) projected(errors, at, volume.projected);
      break;
    case 'csi':
      required('driver', csi?.driver);
      if (csi?.driver) named(errors, `${at}.driver`, csi.driver, validateDns1123Subdomain(csi.driver.toLowerCase()));
      if (csi?.nodePublishSecretRef) required('nodePublishSecretRef.name', csi.nodePublishSecretRef.name);
      break;
    case 'ephemeral': {
      const template = ephemeral?.volumeClaimTemplate;
      if (!template) errors.push(fieldRequired(`${at}.volumeClaimTemplate`));
      else {
        templateMetadata(errors, `${at}.volumeClaimTemplate.metadata`, template.metadata);
        claimSpec(errors, `${at}.volumeClaimTemplate.spec`, template.spec);
      }
      break;
    }
    case 'image':
      // In a pod template it may be empty: it can be set when the pod is created.
      if (isPod) required('reference', image?.reference);
      oneOf(errors, `${at}.pullPolicy`, image?.pullPolicy, PULL_POLICIES);
      break;
    default:
  }
  for (const other of others) {
    errors.push(fieldForbidden(`${path}.${other}`, 'may not specify more than 1 volume type'));
  }
}

/** Only labels and annotations can be chosen for a claim that is made for a pod. */
function templateMetadata(errors: Errors, path: string, metadata: ObjectMeta | undefined): void {
  const { labels: given, annotations, ...others } = metadata ?? {};
  for (const key of Object.keys(annotations ?? {})) {
    named(errors, `${path}.annotations`, key, validateAnnotationKey(key));
  }
  labels(errors, `${path}.labels`, given);
  for (const field of Object.keys(others)) errors.push(fieldForbidden(`${path}.${field}`, 'cannot be set'));
}

const MODE = 'must be a number between 0 and 0777 (octal), both inclusive';

function fileMode(errors: Errors, path: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) errors.push(fieldInvalid(path, mode, MODE));
}

function keyFiles(
  errors: Errors,
  path: string,
  source: { defaultMode?: number; items?: readonly KeyToPath[] } | undefined,
): void {
  fileMode(errors, `${path}.defaultMode`, source?.defaultMode);
  for (const [index, item] of (source?.items ?? []).entries()) {
    const at = `${path}.items[${index}]`;
    if (!item.key) errors.push(fieldRequired(`${at}.key`));
    if (!item.path) errors.push(fieldRequired(`${at}.path`));
    filePath(errors, `${at}.path`, item.path);
    fileMode(errors, `${at}.mode`, item.mode);
  }
}

/** Kubernetes names the volume here, not the file. */
function downwardFile(errors: Errors, at: string, file: DownwardAPIVolumeFile): void {
  if (!file.path) errors.push(fieldRequired(`${at}.path`));
  filePath(errors, `${at}.path`, file.path);
  if (file.fieldRef) {
    podField(errors, `${at}.fieldRef`, file.fieldRef, FILE_FIELDS);
    if (file.resourceFieldRef) {
      errors.push(fieldInvalid(at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    }
  } else if (file.resourceFieldRef) {
    containerResource(errors, `${at}.resourceFieldRef`, file.resourceFieldRef, true);
  } else errors.push(fieldRequired(at, 'one of fieldRef and resourceFieldRef is required'));
  fileMode(errors, `${at}.mode`, file.mode);
}

const SHORTEST_TOKEN_SECONDS = 600;

function projected(errors: Errors, path: string, { defaultMode, sources }: ProjectedVolumeSource): void {
  fileMode(errors, `${path}.defaultMode`, defaultMode);
  const taken = new Set<string>();
  const take = (file: string, shown: string | undefined) => {
    if (file && taken.has(file)) errors.push(fieldInvalid(path, shown ?? '', 'conflicting duplicate paths'));
    taken.add(file);
  };
  for (const [index, source] of (sources ?? []).entries()) {
    const at = `${path}.sources[${index}]`;
    for (const field of ['secret', 'configMap'] as const) {
      const objects = source[field];
      if (!objects) continue;
      if (!objects.name) errors.push(fieldRequired(`${at}.${field}.name`));
      keyFiles(errors, `${at}.${field}`, objects);
      for (const item of objects.items ?? []) take(item.path, objects.name);
    }
    for (const file of source.downwardAPI?.items ?? []) {
      downwardFile(errors, `${at}.downwardAPI`, file);
      take(file.path, file.path);
    }
    if (source.serviceAccountToken) tokenFile(errors, path, at, source.serviceAccountToken);
    if (Object.keys(source).length > 1) {
      errors.push(fieldForbidden(at, 'may not specify more than 1 volume type per source'));
    }
  }
}

function tokenFile(
  errors: Errors,
  path: string,
  at: string,
  { expirationSeconds = 0, path: file }: NonNullable<VolumeProjection['serviceAccountToken']>,
): void {
  const field = `${at}.serviceAccountToken.expirationSeconds`;
  if (expirationSeconds < SHORTEST_TOKEN_SECONDS) {
    errors.push(fieldInvalid(field, expirationSeconds, 'may not specify a duration less than 10 minutes'));
  }
  if (expirationSeconds > 2 ** 32) {
    errors.push(fieldInvalid(field, expirationSeconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  if (!file) errors.push(fieldRequired(`${path}.path`));
  else filePath(errors, `${path}.path`, file);
}

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];

export function mounts(errors: Errors, path: string, container: Container, known: Volumes): void {
  const places = new Set<string>();
  const devices = placesOfDevices(container.volumeDevices);
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (mount.name === '') errors.push(fieldRequired(`${at}.name`));
    if (!known.has(mount.name)) errors.push(fieldNotFound(`${at}.name`, mount.name));
    if (mount.mountPath === '') errors.push(fieldRequired(`${at}.mountPath`));
    if (places.has(mount.mountPath)) errors.push(fieldInvalid(`${at}.mountPath`, mount.mountPath, 'must be unique'));
    places.add(mount.mountPath);
    if (devices.names.has(mount.name)) {
      errors.push(fieldInvalid(`${at}.name`, mount.name, 'must not already exist in volumeDevices'));
    }
    if (devices.paths.has(mount.mountPath)) {
      const detail = 'must not already exist as a path in volumeDevices';
      errors.push(fieldInvalid(`${at}.mountPath`, mount.mountPath, detail));
    }
    if (mount.subPath) descendingPath(errors, `${path}.subPath`, mount.subPath);
    if (mount.subPathExpr) {
      if (mount.subPath) {
        const detail = 'subPathExpr and subPath are mutually exclusive';
        errors.push(fieldInvalid(`${at}.subPathExpr`, mount.subPathExpr, detail));
      }
      descendingPath(errors, `${path}.subPathExpr`, mount.subPathExpr);
    }
    propagation(errors, path, mount, container);
  }
}

/** Kubernetes reports these at the list. */
function propagation(
  errors: Errors,
  path: string,
  { mountPropagation, recursiveReadOnly, readOnly = false }: VolumeMount,
  { securityContext }: Container,
): void {
  const at = `${path}.mountPropagation`;
  supported(errors, at, mountPropagation, PROPAGATIONS);
  if (mountPropagation === 'Bidirectional' && securityContext?.privileged !== true) {
    const detail = 'Bidirectional mount propagation is available only to privileged containers';
    errors.push(fieldForbidden(at, detail));
  }
  if (recursiveReadOnly === undefined || recursiveReadOnly === 'Disabled') return;
  const field = `${path}.recursiveReadOnly`;
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') {
    errors.push(fieldNotSupported(field, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']));
    return;
  }
  if (!readOnly) errors.push(fieldForbidden(field, 'may only be specified when readOnly is true'));
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    const detail = 'may only be specified when mountPropagation is None or not specified';
    errors.push(fieldForbidden(field, detail));
  }
}

function placesOfDevices(devices: readonly VolumeDevice[] = []) {
  return {
    names: new Set(devices.map(({ name }) => name)),
    paths: new Set(devices.map(({ devicePath }) => devicePath)),
  };
}

export function devices(
  errors: Errors,
  path: string,
  { volumeDevices, volumeMounts = [] }: Container,
  known: Volumes,
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mountNames = new Set(volumeMounts.map((mount) => mount.name));
  const mountPaths = new Set(volumeMounts.map((mount) => mount.mountPath));
  for (const [index, device] of (volumeDevices ?? []).entries()) {
    const at = `${path}[${index}]`;
    const { name, devicePath } = device;
    const volume = known.get(name);
    const wrongName = (detail: string) => errors.push(fieldInvalid(`${at}.name`, name, detail));
    const wrongPath = (detail: string) => errors.push(fieldInvalid(`${at}.devicePath`, devicePath, detail));
    if (name === '') errors.push(fieldRequired(`${at}.name`));
    if (name !== '' && names.has(name)) wrongName('must be unique');
    if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
      wrongName('can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode');
    }
    if (!volume) errors.push(fieldNotFound(`${at}.name`, name));
    if (devicePath === '') errors.push(fieldRequired(`${at}.devicePath`));
    if (paths.has(devicePath)) wrongPath('must be unique');
    if (devicePath.split('/').includes('..')) wrongPath("can not contain backsteps ('..')");
    if (mountNames.has(name)) wrongName('must not already exist in volumeMounts');
    if (mountPaths.has(devicePath)) {
      wrongPath('must not already exist as a path in volumeMounts');
    }
    names.add(name);
    paths.add(devicePath);
  }
}
