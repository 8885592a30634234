// Envoy's pods: the bootstrap as an init container, Envoy itself, and the shutdown manager that holds its end until connections drain.
import type {
  Container,
  DaemonSet,
  Deployment,
  PodDisruptionBudget,
  PodTemplateSpec,
  ResourceRequirements,
  Volume,
  VolumeMount,
} from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import {
  envoyReplicas,
  envoySelector,
  type Instance,
  metadataOf,
  names,
  ownerLabels,
  placementOfEnvoy,
  podAnnotations,
} from './instance.ts';
import { CONFINED, fieldEnv, placed, spread, UNPRIVILEGED } from './pods.ts';
import { type ChosenFlags, chooseFlags, type RunningEnvoys, XDS_MODES, xdsModeFlag } from './xds-mode.ts';

export function envoyDaemonSet(instance: Instance, running: RunningEnvoys | undefined): ChildObject<DaemonSet> {
  const given = instance.spec.envoy?.daemonSet?.updateStrategy;
  const { metadata, template } = subscribed(instance, running);
  return {
    metadata,
    spec: {
      revisionHistoryLimit: 10,
      selector: { matchLabels: envoySelector(instance) },
      // A new Envoy is ready before the old one of its node ends: with one node there is no other that could serve.
      updateStrategy: given ?? { type: 'RollingUpdate', rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 } },
      template,
    },
  };
}

export function envoyDeployment(instance: Instance, running: RunningEnvoys | undefined): ChildObject<Deployment> {
  const given = instance.spec.envoy?.deployment?.strategy;
  const { metadata, template } = subscribed(instance, running);
  return {
    metadata,
    spec: {
      replicas: envoyReplicas(instance),
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      selector: { matchLabels: envoySelector(instance) },
      strategy: given ?? { type: 'RollingUpdate', rollingUpdate: { maxSurge: '10%' } },
      template,
    },
  };
}

// Paths in mounts are written out: a node that runs pods as processes finds them in arguments.
const ADMIN_SOCKET = '--admin-address=/admin/admin.sock';
const READY_FILE = '--ready-file=/admin/ok';
const ADMIN: VolumeMount = { name: 'envoy-admin', mountPath: '/admin' };
const CONFIG: VolumeMount = { name: 'envoy-config', mountPath: '/config' };
const CERTIFICATES: VolumeMount = { name: 'envoycert', mountPath: '/certs', readOnly: true };

/** The template with the flags that earlier versions did not have, and the annotation that records their absence. */
function subscribed(instance: Instance, running: RunningEnvoys | undefined) {
  const given = XDS_MODES.find((each) => each === instance.spec.envoy?.xdsMode);
  const { annotations, ...flags } = chooseFlags(given, running, podTemplate(instance, NO_FLAGS));
  const metadata = metadataOf(instance, names.envoy(instance));
  return {
    template: podTemplate(instance, flags),
    metadata:
      Object.keys(annotations).length === 0
        ? metadata
        : { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  };
}

type TemplateFlags = Omit<ChosenFlags, 'annotations'>;

const NO_FLAGS: TemplateFlags = { mode: undefined, keepsPorts: false };

function podTemplate(instance: Instance, flags: TemplateFlags): PodTemplateSpec {
  const { spec } = instance;
  const selector = envoySelector(instance);
  const isSecure = !instance.configuration.xdsServer.insecure;
  const volumes: Volume[] = [
    { name: 'envoy-admin', emptyDir: {} },
    { name: 'envoy-config', emptyDir: {} },
    ...(isSecure
      ? [{ name: 'envoycert', secret: { secretName: names.envoyCertificate(instance), defaultMode: 0o644 } }]
      : []),
    ...((spec.envoy?.extraVolumes ?? []) as unknown as Volume[]),
  ];
  return {
    metadata: {
      labels: { ...ownerLabels(instance), ...selector },
      ...podAnnotations(instance, spec.envoy?.podAnnotations),
    },
    spec: {
      serviceAccountName: names.envoy(instance),
      automountServiceAccountToken: false,
      // Long requests may end; the shutdown manager ends the wait before.
      terminationGracePeriodSeconds: 300,
      securityContext: UNPRIVILEGED,
      affinity: spread(selector),
      ...placed(placementOfEnvoy(instance)),
      initContainers: [bootstrapContainer(instance, isSecure, flags)],
      containers: [shutdownManager(instance), envoyContainer(instance, isSecure)],
      volumes,
    },
  };
}

function bootstrapContainer(instance: Instance, isSecure: boolean, { mode, keepsPorts }: TemplateFlags): Container {
  const { settings, configuration, namespace, spec } = instance;
  const service = `${names.sesame(instance)}.${namespace}`;
  return {
    name: 'envoy-initconfig',
    image: settings.image,
    command: ['sesame'],
    args: [
      'bootstrap',
      '/config/envoy.json',
      `--xds-address=${service}`,
      `--xds-port=${configuration.xdsServer.port}`,
      '--xds-resource-version=v3',
      ...(mode === undefined ? [] : [xdsModeFlag(mode)]),
      ...(keepsPorts ? portFlags(instance) : []),
      '--resources-dir=/config/resources',
      ADMIN_SOCKET,
      ...(isSecure
        ? ['--envoy-cafile=/certs/ca.crt', '--envoy-cert-file=/certs/tls.crt', '--envoy-key-file=/certs/tls.key']
        : []),
      `--overload-max-heap=${spec.envoy?.overloadMaxHeapSize ?? 0}`,
      `--overload-downstream-max-conn=${spec.envoy?.overloadMaxDownstreamConnections ?? 0}`,
    ],
    env: [fieldEnv('SESAME_NAMESPACE', 'metadata.namespace')],
    securityContext: CONFINED,
    volumeMounts: [CONFIG, ADMIN, ...(isSecure ? [CERTIFICATES] : [])],
  };
}

/** A Gateway has ports of its own, which are the same in all pods. */
function portFlags({ configuration: { envoy }, gateway }: Instance): string[] {
  return [
    ...(gateway ? [] : [`--http-port=${envoy.http.port}`, `--https-port=${envoy.https.port}`]),
    `--health-port=${envoy.health.port}`,
    `--stats-port=${envoy.metrics.port}`,
  ];
}

function shutdownManager({ settings }: Instance): Container {
  return {
    name: 'shutdown-manager',
    image: settings.image,
    command: ['sesame'],
    args: ['envoy', 'shutdown-manager', ADMIN_SOCKET, READY_FILE],
    lifecycle: { preStop: { exec: { command: ['sesame', 'envoy', 'shutdown', ADMIN_SOCKET, READY_FILE] } } },
    livenessProbe: { httpGet: { path: '/healthz', port: 8090 }, initialDelaySeconds: 3, periodSeconds: 10 },
    resources: { requests: { cpu: '25m', memory: '50Mi' }, limits: { cpu: '200m', memory: '100Mi' } },
    securityContext: CONFINED,
    volumeMounts: [ADMIN],
  };
}

function envoyContainer(instance: Instance, isSecure: boolean): Container {
  const { settings, configuration, spec } = instance;
  const { http, https, http3, metrics, health } = configuration.envoy;
  return {
    name: 'envoy',
    image: settings.envoyImage,
    command: ['envoy'],
    args: [
      '-c',
      '/config/envoy.json',
      '--service-cluster',
      '$(SESAME_NAMESPACE)',
      '--service-node',
      '$(ENVOY_POD_NAME)',
      '--log-level',
      spec.envoy?.logLevel ?? 'info',
      '--base-id',
      String(spec.envoy?.baseID ?? 0),
    ],
    env: [fieldEnv('SESAME_NAMESPACE', 'metadata.namespace'), fieldEnv('ENVOY_POD_NAME', 'metadata.name')],
    ports: [
      ...(instance.gateway
        ? instance.gateway.ports.map(({ name, targetPort }) => ({ name, containerPort: targetPort, protocol: 'TCP' }))
        : [
            { name: 'http', containerPort: http.port, protocol: 'TCP' },
            { name: 'https', containerPort: https.port, protocol: 'TCP' },
            ...(http3.enabled ? [{ name: 'http3', containerPort: https.port, protocol: 'UDP' }] : []),
          ]),
      { name: 'metrics', containerPort: metrics.port, protocol: 'TCP' },
    ],
    readinessProbe: {
      httpGet: { path: '/ready', port: health.port },
      initialDelaySeconds: 3,
      periodSeconds: 4,
      failureThreshold: 3,
    },
    lifecycle: { preStop: { httpGet: { path: '/shutdown', port: 8090, scheme: 'HTTP' } } },
    ...(spec.envoy?.resources && { resources: spec.envoy.resources as ResourceRequirements }),
    securityContext: CONFINED,
    volumeMounts: [
      CONFIG,
      ADMIN,
      ...(isSecure ? [CERTIFICATES] : []),
      ...((spec.envoy?.extraVolumeMounts ?? []) as unknown as VolumeMount[]),
    ],
  };
}

export function envoyDisruptionBudget(instance: Instance): ChildObject<PodDisruptionBudget> {
  return {
    metadata: metadataOf(instance, names.envoy(instance)),
    spec: { maxUnavailable: 1, selector: { matchLabels: envoySelector(instance) } },
  };
}
