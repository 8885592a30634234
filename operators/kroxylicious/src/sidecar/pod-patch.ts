// Builds the JSON patch that adds a sidecar to a pod: an annotation with the configuration, a volume that presents it as a file, the
// container and its mounts, and the address of the proxy in the environment of the pod's own containers.
import {
  type Container,
  childName,
  type EnvVar,
  formatPointer,
  type Pod,
  type Probe,
  type Volume,
} from '@capstan/kube';
import type { SidecarSpec } from '../kinds/index.ts';
import type { ClusterFeatures } from './cluster-features.ts';
import { GENERATION_ANNOTATION, PROXY_CONFIG_ANNOTATION, SIDECAR_CONTAINER, SKIPPED_LABEL } from './marks.ts';
import { sidecarPorts, TLS_MOUNT_PATH } from './proxy-configuration.ts';

export interface PatchOperation {
  readonly op: 'add' | 'replace';
  readonly path: string;
  readonly value: unknown;
}

export interface Sidecar {
  readonly spec: SidecarSpec;
  /** The text of the proxy's configuration. */
  readonly configuration: string;
  readonly generation: number;
  readonly image: string;
}

const CONFIG_FILE = 'proxy-config.yaml';
const CONFIG_PATH = `/opt/kroxylicious/config/${CONFIG_FILE}`;
const SECRETS_PATH = '/opt/kroxylicious/secrets';
const PLUGINS_PATH = '/opt/kroxylicious/classpath-plugins';
/** The folder of the jars in the image of a plugin. */
const JARS_PATH = '/plugins';
const COPY_PATH = '/dest';
const MANAGEMENT = 'management';
const BOOTSTRAP_VARIABLE = 'KAFKA_BOOTSTRAP_SERVERS';

/** Returns the patch for a pod that gets the sidecar. */
export function injectionPatch(pod: Pod, sidecar: Sidecar, features: ClusterFeatures): PatchOperation[] {
  const mounts = mountsOf(pod, sidecar.spec, features);
  const proxy = sidecarContainer(sidecar, mounts, features);
  const copies = mounts.flatMap(({ copier }) => copier ?? []);
  const init = features.nativeSidecars ? [...copies, proxy] : copies;
  return [
    ...entries(pod.metadata?.annotations, 'annotations', {
      [PROXY_CONFIG_ANNOTATION]: sidecar.configuration,
      [GENERATION_ANNOTATION]: String(sidecar.generation),
    }),
    ...appended(
      pod.spec?.volumes,
      '/spec/volumes',
      mounts.map(({ volume }) => volume),
    ),
    ...appended(pod.spec?.initContainers, '/spec/initContainers', init),
    ...(features.nativeSidecars ? [] : appended(pod.spec?.containers, '/spec/containers', [proxy])),
    ...bootstrapPatch(pod, sidecar.spec),
  ];
}

/** Returns the patch that sets the address of the sidecar in the containers of the pod. It is empty if the address is already set. */
export function bootstrapPatch(pod: Pod, spec: SidecarSpec): PatchOperation[] {
  if (!spec.setBootstrapEnvVar) return [];
  const variable: EnvVar = { name: BOOTSTRAP_VARIABLE, value: `localhost:${sidecarPorts(spec).bootstrap}` };
  return (pod.spec?.containers ?? []).flatMap(({ name, env = [] }, i): PatchOperation[] => {
    if (name === SIDECAR_CONTAINER) return [];
    const path = `/spec/containers/${i}/env`;
    const places = env.flatMap((one, at) => (one.name === BOOTSTRAP_VARIABLE ? [at] : []));
    if (places.length === 0) return appended(env, path, [variable]);
    // Replace the whole variable: one that comes from a ConfigMap has no value to replace. If several
    // variables have this name, the last one counts.
    return places
      .filter((at) => env[at]?.value !== variable.value)
      .map((at) => ({ op: 'replace', path: `${path}/${at}`, value: variable }));
  });
}

/** Returns the patch for a pod that gets no sidecar, for a reason that the user should know. */
export function skippedPatch(pod: Pod, reason: string): PatchOperation[] {
  return entries(pod.metadata?.labels, 'labels', { [SKIPPED_LABEL]: reason });
}

interface SidecarMount {
  readonly volume: Volume;
  readonly mountPath: string;
  readonly subPath?: string;
  /** Copies the jars of a plugin into an empty volume if images cannot be mounted. */
  readonly copier?: Container;
}

function mountsOf(pod: Pod, spec: SidecarSpec, { imageVolumes }: ClusterFeatures): SidecarMount[] {
  const taken = new Set((pod.spec?.volumes ?? []).map(({ name }) => name));
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  const names = new Set(containers.map(({ name }) => name));
  const volumeName = (...parts: [string, ...string[]]) => freeName(taken, parts);
  const trusted = spec.virtualClusters[0]?.targetClusterTls?.trustAnchorSecretRef;
  const fieldPath = `metadata.annotations['${PROXY_CONFIG_ANNOTATION}']`;
  const mounts: SidecarMount[] = [
    {
      volume: {
        name: volumeName('kroxylicious-config'),
        downwardAPI: { items: [{ path: CONFIG_FILE, fieldRef: { fieldPath } }] },
      },
      mountPath: CONFIG_PATH,
      // A file that is mounted by subPath never changes under a running process.
      subPath: CONFIG_FILE,
    },
  ];
  if (trusted !== undefined)
    mounts.push({
      volume: { name: volumeName('target-cluster-tls'), secret: { secretName: trusted.name } },
      mountPath: TLS_MOUNT_PATH,
    });
  for (const { name, secretName } of spec.secretMounts ?? [])
    mounts.push({
      volume: { name: volumeName('secret', name), secret: { secretName } },
      mountPath: `${SECRETS_PATH}/${name}`,
    });
  for (const { name, image } of spec.plugins ?? []) {
    const volume = volumeName('plugin', name);
    const mountPath = `${PLUGINS_PATH}/${name}`;
    if (imageVolumes) mounts.push({ volume: { name: volume, image }, mountPath, subPath: JARS_PATH.slice(1) });
    else
      mounts.push({
        volume: { name: volume, emptyDir: {} },
        mountPath,
        copier: copier(freeName(names, ['plugin', name, 'copy']), volume, image),
      });
  }
  return mounts;
}

/** Returns a valid name that the pod does not use. */
function freeName(taken: Set<string>, [first, ...rest]: readonly [string, ...string[]]): string {
  let name = childName(first, ...rest);
  for (let i = 2; taken.has(name); i++) name = childName(first, ...rest, String(i));
  taken.add(name);
  return name;
}

function copier(
  name: string,
  volume: string,
  { reference, pullPolicy }: { readonly reference: string; readonly pullPolicy: string },
): Container {
  return {
    name,
    image: reference,
    imagePullPolicy: pullPolicy,
    command: ['sh', '-c', `cp ${JARS_PATH}/*.jar ${COPY_PATH}/`],
    volumeMounts: [{ name: volume, mountPath: COPY_PATH }],
    securityContext: RESTRICTED,
  };
}

const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

export function sidecarArguments(): string[] {
  return ['--config', CONFIG_PATH];
}

function sidecarContainer(
  { spec, image }: Sidecar,
  mounts: readonly SidecarMount[],
  { nativeSidecars }: ClusterFeatures,
): Container {
  return {
    name: SIDECAR_CONTAINER,
    image,
    ...(nativeSidecars && { restartPolicy: 'Always' }),
    args: sidecarArguments(),
    ports: [{ name: MANAGEMENT, containerPort: spec.managementPort, protocol: 'TCP' }],
    startupProbe: probe(5, 2, 30),
    livenessProbe: probe(30, 10, 3),
    readinessProbe: probe(5, 2, 5),
    // The schema accepts the same resources as Kubernetes.
    ...(spec.resources && { resources: spec.resources }),
    securityContext: RESTRICTED,
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: mounts.map(({ volume, mountPath, subPath }) => ({
      name: volume.name,
      mountPath,
      ...(subPath && { subPath }),
      readOnly: true,
    })),
  };
}

function probe(initialDelaySeconds: number, periodSeconds: number, failureThreshold: number): Probe {
  const httpGet = { path: '/livez', port: MANAGEMENT };
  return { httpGet, initialDelaySeconds, periodSeconds, failureThreshold, timeoutSeconds: 1 };
}

/** Adds labels or annotations: the whole map if there is none, and single entries otherwise. Present values are overwritten. */
function entries(
  present: Readonly<Record<string, string>> | undefined,
  part: 'labels' | 'annotations',
  values: Readonly<Record<string, string>>,
): PatchOperation[] {
  if (present === undefined || present === null) return [{ op: 'add', path: `/metadata/${part}`, value: values }];
  return Object.entries(values).map(([key, value]) => ({
    op: 'add',
    path: formatPointer(['metadata', part, key]),
    value,
  }));
}

/** Appends items to a list, or adds the list if there is none. */
function appended(present: readonly unknown[] | undefined, path: string, items: readonly unknown[]): PatchOperation[] {
  if (items.length === 0) return [];
  if (present === undefined || present === null || present.length === 0) return [{ op: 'add', path, value: items }];
  return items.map((value) => ({ op: 'add', path: `${path}/-`, value }));
}
