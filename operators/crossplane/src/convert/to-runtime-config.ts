// A ControllerConfig as a DeploymentRuntimeConfig: which field becomes which. Pull policy and pull secrets are the package's
// (convert-package.ts) and stay out of the template wherever a package takes them.
import { isJsonObject, type JsonObject } from '@capstan/kube';
import { configuredMetadata, isFilled } from '../runtime/render/controller-config.ts';
import { KEEP_IMAGE_ANNOTATION, RUNTIME_CONFIG_KIND, RUNTIME_CONTAINER } from '../runtime/runtime-config.ts';
import { objectIn } from './manifest.ts';

export interface ToRuntimeConfigOptions {
  readonly name: string;
  readonly apiVersion: string;
  /** Whether packages take over pull policy and pull secrets; otherwise they are left in the template. */
  readonly movesPulling: boolean;
  /** Whether pods that had no prometheus annotations get one that disables scraping. */
  readonly forbidsScraping: boolean;
  /** Variables to put first, because variables of the ControllerConfig refer to them. */
  readonly envBefore: readonly JsonObject[];
}

/** Where a field of `spec` goes: beside the template's, into the pod's spec or into the container. */
const POD_FIELDS: Readonly<Record<string, string>> = {
  nodeSelector: 'nodeSelector',
  nodeName: 'nodeName',
  podSecurityContext: 'securityContext',
  affinity: 'affinity',
  tolerations: 'tolerations',
  priorityClassName: 'priorityClassName',
  runtimeClassName: 'runtimeClassName',
  volumes: 'volumes',
  serviceAccountName: 'serviceAccountName',
  imagePullSecrets: 'imagePullSecrets',
};
const CONTAINER_FIELDS = [
  'image',
  'imagePullPolicy',
  'securityContext',
  'resources',
  'args',
  'envFrom',
  'env',
  'ports',
  'volumeMounts',
];
const PULLING = ['imagePullPolicy', 'imagePullSecrets'];

/** All fields of a ControllerConfig's spec. */
export const CONTROLLER_CONFIG_FIELDS: readonly string[] = [
  'metadata',
  'replicas',
  ...Object.keys(POD_FIELDS),
  ...CONTAINER_FIELDS,
];

/** For each field of a ControllerConfig's spec where it is in the DeploymentRuntimeConfig, as a path of keys. */
export function placeOf(field: string): readonly (string | number)[] {
  const deployment = ['spec', 'deploymentTemplate', 'spec'];
  if (field === 'replicas') return [...deployment, 'replicas'];
  if (field === 'metadata') return [...deployment, 'template', 'metadata'];
  const podField = POD_FIELDS[field];
  if (podField !== undefined) return [...deployment, 'template', 'spec', podField];
  return [...deployment, 'template', 'spec', 'containers', 0, field];
}

export function toRuntimeConfig(controllerConfig: JsonObject, options: ToRuntimeConfigOptions): JsonObject {
  const { name, apiVersion, envBefore } = options;
  const spec = objectIn(controllerConfig, 'spec');
  const takes = (field: string) =>
    (field === 'nodeSelector' ? isFilled(objectIn(spec, field)) : isGiven(spec[field])) &&
    !(options.movesPulling && PULLING.includes(field));
  const pod: JsonObject = {};
  for (const [field, target] of Object.entries(POD_FIELDS)) if (takes(field)) pod[target] = spec[field];
  const container: JsonObject = {};
  for (const field of CONTAINER_FIELDS) if (takes(field)) container[field] = spec[field];
  if (Array.isArray(container['env'])) container['env'] = [...envBefore, ...(container['env'] as unknown[])];
  if (isFilled(container)) pod['containers'] = [{ name: RUNTIME_CONTAINER, ...container }];

  const template = {
    ...filled('metadata', podMetadata(spec['metadata'], options.forbidsScraping)),
    ...filled('spec', pod),
  };
  const own = configuredMetadata(objectIn(controllerConfig, 'metadata'));
  const deploymentSpec = {
    ...(isGiven(spec['replicas']) && { replicas: spec['replicas'] }),
    ...filled('template', template),
  };
  const account = spec['serviceAccountName'];
  return {
    apiVersion,
    kind: RUNTIME_CONFIG_KIND,
    metadata: runtimeConfigMetadata(objectIn(controllerConfig, 'metadata'), name, isGiven(spec['image'])),
    spec: {
      ...filled('deploymentTemplate', { ...filled('metadata', own), ...filled('spec', deploymentSpec) }),
      ...filled('serviceAccountTemplate', filled('metadata', { ...(isGiven(account) && { name: account }), ...own })),
    },
  };
}

/** Metadata of the object itself that servers write. */
const SERVER_METADATA = ['creationTimestamp', 'uid', 'resourceVersion', 'generation', 'managedFields', 'selfLink'];

function runtimeConfigMetadata(metadata: JsonObject, name: string, keepsImage: boolean): JsonObject {
  const { name: _name, annotations: _annotations, ...rest } = metadata;
  const kept = Object.entries(rest).filter(([field, value]) => !SERVER_METADATA.includes(field) && value !== null);
  const { annotations = {} } = configuredMetadata(metadata);
  const all = { ...annotations, ...(keepsImage && { [KEEP_IMAGE_ANNOTATION]: 'true' }) };
  return { name, ...Object.fromEntries(kept), ...filled('annotations', all) };
}

/** Annotations and labels of the pods. A ControllerConfig that gave any metadata replaced the annotations for scraping. */
function podMetadata(metadata: unknown, forbidsScraping: boolean): JsonObject {
  if (!isJsonObject(metadata)) return {};
  const annotations = objectIn(metadata, 'annotations');
  const scraping = forbidsScraping && annotations[SCRAPE] === undefined ? { [SCRAPE]: 'false' } : {};
  return {
    ...filled('labels', objectIn(metadata, 'labels')),
    ...filled('annotations', { ...annotations, ...scraping }),
  };
}

export const SCRAPE = 'prometheus.io/scrape';

function filled(field: string, value: JsonObject): JsonObject {
  return isFilled(value) ? { [field]: value } : {};
}

/** Empty lists, maps and texts never had an effect; empty objects had: `resources: {}`. */
function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}
