// The Deployment of a proxy. Its pod template changes exactly when the configuration or the user's settings for pods change: it has an
// annotation with the hash of all inputs of the configuration, and it mounts the configuration by a name that is derived from its content.
import type { Container, Deployment, PodSpec, ResourceRequirements } from '@capstan/kube';
import { type ChildObject, plainDigest } from '@capstan/reconcile';
import type { Composed } from '../configuration/compose.ts';
import { MANAGEMENT_PORT } from '../configuration/schema.ts';
import type { KafkaProxySpec } from '../kinds/index.ts';
import {
  CHECKSUM_ANNOTATION,
  CLUSTERS_ANNOTATION,
  TEMPLATE_ANNOTATION,
  type Workload,
  workloadLabels,
  workloadName,
} from '../kinds/labels.ts';
import { type MountedVolume, volumeName } from '../resolution/mounts.ts';

export interface DeploymentParts {
  readonly workload: Workload;
  readonly namespace: string;
  readonly spec: KafkaProxySpec | undefined;
  readonly image: string;
  readonly composed: Composed;
  /** The hash to write. It stays the present one if that one is equivalent. */
  readonly hash: string;
  /** OpenShift assigns groups to pods and refuses other groups. */
  readonly isOpenShift: boolean;
  /** The annotation that lists the virtual clusters of this Deployment. */
  readonly clusters: string;
}

const CONFIG_PATH = '/opt/kroxylicious/config/proxy-config.yaml';
export const CONFIG_KEY = 'proxy-config.yaml';
/** The group of the proxy's process in its image. */
const PROXY_GROUP = 185;
const SECRET_MODE = 0o640;

export function proxyDeployment({
  workload,
  namespace,
  spec,
  image,
  composed,
  hash,
  clusters,
  isOpenShift,
}: DeploymentParts): ChildObject<Deployment> {
  const labels = workloadLabels(workload);
  const { pod } = spec?.infrastructure ?? {};
  const template = {
    metadata: {
      labels: { ...pod?.labels, ...labels },
      annotations: { ...pod?.annotations, [CHECKSUM_ANNOTATION]: hash },
    },
    spec: podSpec(workload, spec, image, composed, isOpenShift),
  };
  return {
    metadata: {
      namespace,
      name: workloadName(workload),
      labels,
      annotations: { [CLUSTERS_ANNOTATION]: clusters, [TEMPLATE_ANNOTATION]: templateId(template) },
    },
    spec: {
      replicas: spec?.replicas ?? 1,
      selector: { matchLabels: labels },
      // Stop no pod before its successor is ready.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
      ...(spec?.rollout?.minReadySeconds === undefined ? {} : { minReadySeconds: spec.rollout.minReadySeconds }),
      template: withOldAccount(template),
    },
  };
}

/**
 * Sets the old name of the account's field too. Kubernetes fills it in, and takes the account from it when an apply removes the new one: it must
 * have the same owner. The template of existing Deployments is the same with it, so no pod is rolled.
 */
function withOldAccount<T extends { readonly spec: PodSpec }>(template: T): T {
  const { serviceAccountName } = template.spec;
  if (serviceAccountName === undefined) return template;
  return { ...template, spec: { ...template.spec, serviceAccount: serviceAccountName } };
}

const templateId = (template: unknown) => plainDigest(template).split('.')[1]?.slice(0, 16) ?? '';

/** Returns whether writing this Deployment would replace its pods. */
export function rollsPods(
  parts: DeploymentParts,
  { hash, template }: { readonly hash: string | undefined; readonly template: string | undefined },
): boolean {
  const next = proxyDeployment(parts).metadata.annotations?.[TEMPLATE_ANNOTATION];
  // A Deployment that an earlier release wrote has no template id.
  return hash !== parts.hash || (template !== undefined && template !== next);
}

function podSpec(
  workload: Workload,
  spec: KafkaProxySpec | undefined,
  image: string,
  composed: Composed,
  isOpenShift: boolean,
): PodSpec {
  const { pod } = spec?.infrastructure ?? {};
  return {
    containers: [container(spec, image, composed)],
    securityContext: {
      runAsNonRoot: true,
      ...(isOpenShift ? {} : { fsGroup: PROXY_GROUP }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...(pod?.serviceAccountName === undefined ? {} : { serviceAccountName: pod.serviceAccountName }),
    ...(pod?.terminationGracePeriodSeconds === undefined
      ? {}
      : { terminationGracePeriodSeconds: pod.terminationGracePeriodSeconds }),
    volumes: [
      { name: 'config-volume', configMap: { name: configMapName(workload, composed) } },
      ...composed.volumes.map(volume),
    ],
  };
}

function container(spec: KafkaProxySpec | undefined, image: string, { mounts, ports }: Composed): Container {
  // The schema accepts the same resources as Kubernetes.
  const resources = spec?.infrastructure?.proxyContainer?.resources as ResourceRequirements | undefined;
  const probe = {
    httpGet: { path: '/livez', port: 'management' },
    timeoutSeconds: 1,
    failureThreshold: 3,
    successThreshold: 1,
  };
  return {
    name: 'proxy',
    image,
    args: ['--config', CONFIG_PATH],
    env: [{ name: 'KROXYLICIOUS_DANGEROUSLY_CHANGE_PERMISSION_CHECK', value: '0640' }],
    ports: [
      { name: 'management', containerPort: MANAGEMENT_PORT, protocol: 'TCP' },
      ...ports.map(({ name, port }) => ({ name, containerPort: port, protocol: 'TCP' })),
    ],
    livenessProbe: { ...probe, initialDelaySeconds: 10 },
    readinessProbe: { ...probe, periodSeconds: 1 },
    ...(resources === undefined ? {} : { resources }),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      // A file that is mounted by subPath never changes under a running process.
      { name: 'config-volume', mountPath: CONFIG_PATH, subPath: CONFIG_KEY, readOnly: true },
      ...mounts.map((mount) => ({ name: volumeName(mount), mountPath: mount.path, readOnly: true })),
    ],
  };
}

function volume(mounted: MountedVolume): NonNullable<PodSpec['volumes']>[number] {
  const { source, name: from, isWhole, snapshots } = mounted;
  const name = volumeName(mounted);
  if (snapshots.size === 0)
    return source === 'Secret'
      ? { name, secret: { secretName: from, defaultMode: SECRET_MODE } }
      : { name, configMap: { name: from } };
  const whole = source === 'Secret' ? { secret: { name: from } } : { configMap: { name: from } };
  const copies = [...snapshots].map(([snapshot, keys]) => ({
    secret: { name: snapshot, items: keys.map((key) => ({ key, path: key })) },
  }));
  return { name, projected: { defaultMode: SECRET_MODE, sources: [...(isWhole ? [whole] : []), ...copies] } };
}

/** Returns a name that is derived from the content. So old pods never see new bytes, and a rollback finds the old configuration. */
export function configMapName(workload: Workload, { id }: Pick<Composed, 'id'>): string {
  return `${workloadName(workload)}-proxy-config-${id}`;
}
