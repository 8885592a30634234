// One instance of Sesame and its Envoy: everything that its objects are rendered from, and their names.
import type { EffectiveConfiguration } from '../configuration/index.ts';
import type { GatewayShape } from '../gateway/provisioning/gateway-shape.ts';
import type { SesameDeploymentSpec } from '../kinds/index.ts';
import type { Settings } from '../settings.ts';

export interface Instance {
  /** The name of the SesameDeployment. */
  readonly name: string;
  readonly namespace: string;
  readonly spec: SesameDeploymentSpec;
  /** Valid. */
  readonly configuration: EffectiveConfiguration;
  readonly settings: Settings;
  /** The Gateway that it serves; none by default. */
  readonly gateway?: GatewayShape | undefined;
}

/** The identity of an instance, without its settings. */
export type InstanceId = Pick<Instance, 'name' | 'namespace'>;

export const OWNER_LABEL = 'projectsesame.io/owning-deployment-name';

export const names = {
  sesame: ({ name }: InstanceId) => `sesame-${name}`,
  envoy: ({ name }: InstanceId) => `envoy-${name}`,
  clusterRole: ({ name, namespace }: InstanceId) => `sesame-${namespace}-${name}`,
  /** In each watched namespace. */
  resourcesRole: ({ name, namespace }: InstanceId) => `sesame-resources-${namespace}-${name}`,
  roleBinding: ({ name }: InstanceId) => `sesame-rolebinding-${name}`,
  configuration: ({ name }: InstanceId) => `sesameconfig-${name}`,
  /** Keys of the authority and both sides: read by the operator alone. */
  pki: ({ name }: InstanceId) => `sesamepki-${name}`,
  sesameCertificate: ({ name }: InstanceId) => `sesamecert-${name}`,
  envoyCertificate: ({ name }: InstanceId) => `envoycert-${name}`,
  lock: ({ name }: InstanceId) => `leader-elect-${name}`,
} as const;

/** Matches the accounts of both programs. */
export const POD_ACCOUNTS = '^(sesame|envoy)-';

/** Labels of every object; the user's come first, so that ours win. */
export function ownerLabels({
  name,
  spec,
  gateway,
}: Pick<Instance, 'name' | 'spec' | 'gateway'>): Record<string, string> {
  return {
    ...spec.resourceLabels,
    ...gateway?.labels,
    [OWNER_LABEL]: name,
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/name': 'sesame',
    'app.kubernetes.io/component': 'ingress-controller',
    'app.kubernetes.io/managed-by': 'sesame-operator',
  };
}

/** Annotations of every object: those that a Gateway asks for. */
function ownerAnnotations({ gateway }: Pick<Instance, 'gateway'>): { annotations?: Record<string, string> } {
  return gateway && Object.keys(gateway.annotations).length > 0 ? { annotations: { ...gateway.annotations } } : {};
}

/** Annotations of pods; those that a Gateway asks for win. */
export function podAnnotations(
  { gateway }: Pick<Instance, 'gateway'>,
  given: Readonly<Record<string, string>> | undefined,
): { annotations?: Record<string, string> } {
  const all = { ...given, ...gateway?.annotations };
  return Object.keys(all).length > 0 ? { annotations: all } : {};
}

/** Metadata of a namespaced object of the instance. */
export function metadataOf(instance: Pick<Instance, 'name' | 'namespace' | 'spec' | 'gateway'>, name: string) {
  return { namespace: instance.namespace, name, labels: ownerLabels(instance), ...ownerAnnotations(instance) };
}

export const sesameSelector = (instance: InstanceId) => ({ app: names.sesame(instance) });
export const envoySelector = (instance: InstanceId) => ({ app: names.envoy(instance) });

export function watchedNamespaces({
  spec,
  namespace,
}: Pick<Instance, 'spec' | 'namespace'>): readonly string[] | undefined {
  const given = spec.sesame?.watchNamespaces ?? [];
  return given.length === 0 ? undefined : [...new Set([...given, namespace])].toSorted();
}

/** Where the seed has it, else where upstream has it. */
export const placementOfEnvoy = ({ spec }: Pick<Instance, 'spec'>) =>
  spec.configuration?.envoy?.managed?.nodePlacement ?? spec.envoy?.nodePlacement;
export const placementOfSesame = ({ spec }: Pick<Instance, 'spec'>) => spec.nodePlacement ?? spec.sesame?.nodePlacement;
export const publishingOf = ({ spec }: Pick<Instance, 'spec'>) =>
  spec.configuration?.envoy?.managed?.networkPublishing ?? spec.envoy?.networkPublishing ?? {};

const givenSesames = ({ spec }: Pick<Instance, 'spec'>) => spec.replicas ?? spec.sesame?.deployment?.replicas;
const givenEnvoys = ({ spec }: Pick<Instance, 'spec'>) => spec.envoy?.deployment?.replicas;
const DEFAULT_REPLICAS = 2;

export const sesameReplicas = (instance: Pick<Instance, 'spec'>) => givenSesames(instance) ?? DEFAULT_REPLICAS;

/** A count that the user does not give may be set by an autoscaler, and stays so. */
export const sesameYields = (instance: Pick<Instance, 'spec'>) => yieldsOf(givenSesames(instance));
export const envoyYields = (instance: Pick<Instance, 'spec'>) => yieldsOf(givenEnvoys(instance));

function yieldsOf(replicas: number | undefined): readonly string[] {
  return replicas === undefined ? ['spec.replicas'] : [];
}

export const isEnvoyDeployment = ({ spec }: Pick<Instance, 'spec'>) => spec.envoy?.workloadType === 'Deployment';
export const envoyReplicas = (instance: Pick<Instance, 'spec'>) => givenEnvoys(instance) ?? DEFAULT_REPLICAS;
