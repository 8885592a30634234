// Environment variables, and the fields of a pod that they and files of the downward API show.
import {
  canonicalQuantity,
  type EnvFromSource,
  type EnvVar,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { subdomain } from '../resources/names.ts';
import { configKeyProblems, type Errors, named, noBacksteps } from './rules.ts';

const ENV_NAME = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const ENV_SOURCES = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';

function variableName(errors: Errors, path: string, name: string): void {
  if (!/^[ -<>-~]+$/.test(name)) errors.push(fieldInvalid(path, name, ENV_NAME));
}

export function environment(errors: Errors, path: string, list: readonly EnvVar[] | undefined): void {
  for (const [index, variable] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (variable.name === '') errors.push(fieldRequired(`${at}.name`));
    else variableName(errors, `${at}.name`, variable.name);
    const { valueFrom } = variable;
    if (!valueFrom) continue;
    const from = `${at}.valueFrom`;
    if (valueFrom.fieldRef) podField(errors, `${from}.fieldRef`, valueFrom.fieldRef, ENV_FIELDS);
    if (valueFrom.resourceFieldRef) {
      containerResource(errors, `${from}.resourceFieldRef`, valueFrom.resourceFieldRef);
    }
    for (const field of ['configMapKeyRef', 'secretKeyRef'] as const) {
      const reference = valueFrom[field];
      if (!reference) continue;
      named(errors, `${from}.${field}.name`, reference.name ?? '', validateDns1123Subdomain(reference.name ?? ''));
      if (!reference.key) errors.push(fieldRequired(`${from}.${field}.key`));
      else named(errors, `${from}.${field}.key`, reference.key, configKeyProblems(reference.key));
    }
    if (valueFrom.fileKeyRef) fileKey(errors, `${from}.fileKeyRef`, valueFrom.fileKeyRef);
    const count = Object.keys(valueFrom).length;
    if (count === 0) errors.push(fieldInvalid(from, '', `must specify one of: ${ENV_SOURCES}`));
    else if (variable.value) errors.push(fieldInvalid(from, '', 'may not be specified when `value` is not empty'));
    else if (count > 1) errors.push(fieldInvalid(from, '', 'may not have more than one field specified at a time'));
  }
}

function fileKey(
  errors: Errors,
  at: string,
  { key, volumeName, path }: { key: string; volumeName: string; path: string },
): void {
  if (!key) errors.push(fieldRequired(`${at}.key`));
  else variableName(errors, `${at}.key`, key);
  if (!volumeName) errors.push(fieldRequired(`${at}.volumeName`));
  else named(errors, `${at}.volumeName`, volumeName, validateDns1123Label(volumeName));
  if (!path) errors.push(fieldRequired(`${at}.path`));
  else noBacksteps(errors, `${at}.path`, path);
}

/** Whole ConfigMaps and Secrets as variables; Kubernetes reports a wrong number of sources at the list. */
export function environmentSources(errors: Errors, path: string, list: readonly EnvFromSource[] | undefined): void {
  for (const [index, { prefix, ...sources }] of (list ?? []).entries()) {
    if (prefix) variableName(errors, `${path}[${index}].prefix`, prefix);
    for (const field of ['configMapRef', 'secretRef'] as const) {
      const source = sources[field];
      if (!source) continue;
      const at = `${path}[${index}].${field}.name`;
      if (!source.name) errors.push(fieldRequired(at));
      // Kubernetes checks it as the beginning of a name.
      else named(errors, at, source.name, subdomain(source.name, true));
    }
    const count = Object.keys(sources).length;
    if (count === 0) errors.push(fieldInvalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    else if (count > 1) errors.push(fieldInvalid(path, '', 'may not have more than one field specified at a time'));
  }
}

const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

export const FILE_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** Every field of a pod that has a name here; which of them can be shown depends on where. */
const POD_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  ...FILE_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

/** A field of the pod, one label or one annotation. */
export function podField(
  errors: Errors,
  at: string,
  { apiVersion = 'v1', fieldPath }: ObjectFieldSelector,
  shown: readonly string[],
): void {
  const refuse = (why: string) =>
    errors.push(fieldInvalid(`${at}.fieldPath`, fieldPath, `error converting fieldPath: ${why}`));
  if (!fieldPath) {
    errors.push(fieldRequired(`${at}.fieldPath`));
    return;
  }
  if (apiVersion !== 'v1') {
    refuse(`unsupported pod version: ${apiVersion}`);
    return;
  }
  const [, map, key] = /^(.*)\['(.*)'\]$/s.exec(fieldPath) ?? [];
  if (map === undefined || key === undefined) {
    const path = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
    if (!POD_FIELDS.has(path)) refuse(`field label not supported: ${fieldPath}`);
    else if (!shown.includes(path)) errors.push(fieldNotSupported(`${at}.fieldPath`, path, shown));
  } else if (map !== 'metadata.annotations' && map !== 'metadata.labels') {
    refuse(`field label does not support subscript: ${fieldPath}`);
  } else {
    const text = map === 'metadata.annotations' ? key.toLowerCase() : key;
    named(errors, at, text, validateQualifiedName(text));
  }
}

const RESOURCES = ['limits', 'requests'].flatMap((part) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((name) => `${part}.${name}`),
);
const BYTES = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** Checks a resource that a container uses or requests. A file names the container; `isFile` is true for one. */
export function containerResource(
  errors: Errors,
  at: string,
  { containerName, resource, divisor = '0' }: ResourceFieldSelector,
  isFile = false,
): void {
  const isHuge = /^(limits|requests)\.hugepages-/.test(resource);
  if (isFile && !containerName) errors.push(fieldRequired(`${at}.containerName`));
  else if (!resource) errors.push(fieldRequired(`${at}.resource`));
  else if (!RESOURCES.includes(resource) && !isHuge) {
    errors.push(fieldNotSupported(`${at}.resource`, resource, RESOURCES));
  }
  const unit = canonicalQuantity(divisor);
  if (unit === '0' || (!RESOURCES.includes(resource) && !isHuge)) return;
  const isCpu = resource.endsWith('.cpu');
  if ((isCpu ? ['1m', '1'] : BYTES).includes(unit)) return;
  const what = isCpu
    ? 'cpu'
    : isHuge
      ? 'hugepages'
      : resource.endsWith('.memory')
        ? 'memory'
        : 'local ephemeral storage';
  const values = isCpu ? '1m and 1' : BYTES.join(', ');
  const detail = `only divisor's values ${values} are supported with the ${what} resource`;
  errors.push(fieldInvalid(`${at}.divisor`, resource, detail));
}
