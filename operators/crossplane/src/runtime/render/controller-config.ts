// The deprecated ControllerConfig, laid over everything else as it always was: after the template, the defaults and the manager's
// additions. Lists that were replaced as a whole are replaced here too (ports, args, tolerations, pull secrets). Env, volumes and mounts
// are added, and win over entries with the same name. Selector labels are restored at the end: the old manager lost them to a pod label of
// the same name, and the Deployment with them.
import type {
  Affinity,
  Container,
  ContainerPort,
  EnvFromSource,
  EnvVar,
  LocalObjectReference,
  PodSecurityContext,
  PodSpec,
  ResourceRequirements,
  SecurityContext,
  Toleration,
  Volume,
  VolumeMount,
} from '@capstan/kube';
import { podLabels } from './labels.ts';
import { overlayBy, references } from './overlay.ts';
import type { RenderedRuntime, RenderInput } from './render.ts';
import { renderServiceAccount } from './render-service-account.ts';

export const CONTROLLER_CONFIG_KIND = 'ControllerConfig';
export const CONTROLLER_CONFIG_API_VERSION = 'pkg.crossplane.io/v1alpha1';

export interface ControllerConfigSpec {
  /** The metadata of the pods. */
  readonly metadata?: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly replicas?: number;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly imagePullSecrets?: readonly LocalObjectReference[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly serviceAccountName?: string;
  readonly nodeName?: string;
  readonly podSecurityContext?: PodSecurityContext;
  readonly securityContext?: SecurityContext;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly priorityClassName?: string;
  readonly runtimeClassName?: string;
  readonly resources?: ResourceRequirements;
  readonly args?: readonly string[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly ContainerPort[];
  readonly volumes?: readonly Volume[];
  readonly volumeMounts?: readonly VolumeMount[];
}

export interface ControllerConfig {
  readonly metadata: {
    readonly name?: string;
    /** Its own labels and annotations configure the Deployment and the ServiceAccount. */
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: ControllerConfigSpec;
}

/** Annotations that kubectl and servers leave on objects, and that never were configuration. */
export const BOOKKEEPING_ANNOTATIONS = ['kubectl.kubernetes.io/last-applied-configuration'];

/** The runtime with the ControllerConfig laid over it. */
export function overlayControllerConfig(
  rendered: RenderedRuntime,
  { metadata, spec = {} }: ControllerConfig,
  input: RenderInput,
): RenderedRuntime {
  const { deployment } = rendered;
  const { labels, annotations } = configuredMetadata(metadata);
  const template = deployment.spec?.template ?? {};
  const pod = template.spec ?? { containers: [] };
  const [runtime, ...others] = pod.containers;
  const { labels: _labels, annotations: _annotations, ...kept } = deployment.metadata;
  const name = spec.serviceAccountName || rendered.serviceAccountName;
  return {
    ...rendered,
    deployment: {
      ...deployment,
      metadata: { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) },
      spec: {
        selector: {},
        ...deployment.spec,
        ...(spec.replicas !== undefined && { replicas: spec.replicas }),
        template: {
          metadata: podMetadata(template.metadata ?? {}, spec, podLabels(input.revision)),
          spec: {
            ...overlayPod(pod, spec, name),
            containers: [overlayContainer(runtime ?? { name: '' }, spec), ...others],
          },
        },
      },
    },
    serviceAccountName: name,
    serviceAccount: accountWith(input, name, { ...(labels && { labels }), ...(annotations && { annotations }) }),
  };
}

/** Returns the labels and annotations for the objects that are built from a ControllerConfig; undefined if there are none. */
export function configuredMetadata({ labels, annotations }: ControllerConfig['metadata']): {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
} {
  const meant = Object.entries(annotations ?? {}).filter(([key]) => !BOOKKEEPING_ANNOTATIONS.includes(key));
  return {
    ...(isFilled(labels) && { labels: { ...labels } }),
    ...(meant.length > 0 && { annotations: Object.fromEntries(meant) }),
  };
}

function accountWith(
  input: RenderInput,
  serviceAccount: string,
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> },
): RenderedRuntime['serviceAccount'] {
  const account = renderServiceAccount(input, {
    serviceAccount,
    podServiceAccount: serviceAccount,
    deployment: '',
    service: '',
    isDeploymentFixed: false,
  });
  const { labels: _labels, annotations: _annotations, ...kept } = account.metadata;
  return { ...account, metadata: { ...kept, ...metadata } };
}

function podMetadata(
  { labels, annotations, ...rest }: { labels?: Record<string, string>; annotations?: Record<string, string> },
  { metadata }: ControllerConfigSpec,
  selected: Record<string, string>,
) {
  const own = metadata ? metadata.annotations : annotations;
  return {
    ...rest,
    labels: { ...labels, ...metadata?.labels, ...selected },
    ...(isFilled(own) && { annotations: { ...own } }),
  };
}

function overlayPod(pod: PodSpec, spec: ControllerConfigSpec, serviceAccountName: string): PodSpec {
  const pullSecrets = references(spec.imagePullSecrets?.map(({ name = '' }) => name));
  const volumes = overlayBy(
    pod.volumes,
    spec.volumes ?? [],
    ({ name }) => name,
    () => true,
  );
  return {
    ...pod,
    serviceAccountName,
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
    ...(isFilled(spec.nodeSelector) && { nodeSelector: { ...spec.nodeSelector } }),
    ...(spec.nodeName && { nodeName: spec.nodeName }),
    ...(spec.podSecurityContext && { securityContext: spec.podSecurityContext }),
    ...(spec.affinity && { affinity: spec.affinity }),
    ...(isFilled(spec.tolerations) && { tolerations: [...(spec.tolerations ?? [])] }),
    ...(spec.priorityClassName && { priorityClassName: spec.priorityClassName }),
    ...(spec.runtimeClassName && { runtimeClassName: spec.runtimeClassName }),
    ...(volumes.list.length > 0 && { volumes: [...volumes.list] }),
  };
}

function overlayContainer(container: Container, spec: ControllerConfigSpec): Container {
  const env = overlayBy(
    container.env,
    spec.env ?? [],
    ({ name }) => name,
    () => true,
  );
  const mounts = overlayBy(
    container.volumeMounts,
    spec.volumeMounts ?? [],
    ({ mountPath }) => mountPath,
    () => true,
  );
  return {
    ...container,
    ...(spec.image && { image: spec.image }),
    ...(spec.imagePullPolicy && { imagePullPolicy: spec.imagePullPolicy }),
    ...(spec.securityContext && { securityContext: spec.securityContext }),
    ...(spec.resources && { resources: spec.resources }),
    ...(isFilled(spec.args) && { args: [...(spec.args ?? [])] }),
    ...(isFilled(spec.envFrom) && { envFrom: [...(spec.envFrom ?? [])] }),
    ...(isFilled(spec.ports) && { ports: [...(spec.ports ?? [])] }),
    ...(env.list.length > 0 && { env: [...env.list] }),
    ...(mounts.list.length > 0 && { volumeMounts: [...mounts.list] }),
  };
}

/** Empty lists and maps were never laid over anything. */
export function isFilled(value: readonly unknown[] | Readonly<Record<string, unknown>> | undefined): boolean {
  return value !== undefined && Object.keys(value).length > 0;
}
