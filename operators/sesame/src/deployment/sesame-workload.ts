// The Deployment of Sesame. Its pods read their SesameConfiguration themselves: the template names it, and changes only with the parts of a
// pod (ports, certificates, flags of the start).
import type { Container, Deployment, PodDisruptionBudget, ResourceRequirements } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import {
  type Instance,
  metadataOf,
  names,
  ownerLabels,
  placementOfSesame,
  podAnnotations,
  sesameReplicas,
  sesameSelector,
  watchedNamespaces,
} from './instance.ts';
import { CONFINED, fieldEnv, placed, spread, UNPRIVILEGED } from './pods.ts';

export function sesameDeployment(instance: Instance): ChildObject<Deployment> {
  const { spec } = instance;
  const selector = sesameSelector(instance);
  return {
    metadata: metadataOf(instance, names.sesame(instance)),
    spec: {
      replicas: sesameReplicas(instance),
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      selector: { matchLabels: selector },
      strategy: spec.sesame?.deployment?.strategy ?? {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: '50%', maxUnavailable: '25%' },
      },
      template: {
        metadata: {
          labels: { ...ownerLabels(instance), ...selector },
          ...podAnnotations(instance, spec.sesame?.podAnnotations),
        },
        spec: {
          serviceAccountName: names.sesame(instance),
          terminationGracePeriodSeconds: 30,
          securityContext: UNPRIVILEGED,
          affinity: spread(selector),
          ...placed(placementOfSesame(instance)),
          containers: [container(instance)],
          volumes: [
            // A container that is restarted serves its last snapshot. It holds private keys, so it is never on a disk.
            { name: 'snapshot', emptyDir: { medium: 'Memory' } },
            ...(instance.configuration.xdsServer.insecure
              ? []
              : [
                  {
                    name: 'sesamecert',
                    secret: { secretName: names.sesameCertificate(instance), defaultMode: 0o644 },
                  },
                ]),
          ],
        },
      },
    },
  };
}

const SNAPSHOT_FOLDER = '/var/run/sesame';

function container(instance: Instance): Container {
  const { configuration, settings, spec } = instance;
  const { xdsServer, health, metrics, debug } = configuration;
  return {
    name: 'sesame',
    image: settings.image,
    command: ['sesame'],
    args: serveArguments(instance),
    env: [
      fieldEnv('SESAME_NAMESPACE', 'metadata.namespace'),
      fieldEnv('POD_NAME', 'metadata.name'),
      fieldEnv('POD_UID', 'metadata.uid'),
      fieldEnv('POD_IP', 'status.podIP'),
    ],
    ports: [
      { name: 'xds', containerPort: xdsServer.port, protocol: 'TCP' },
      { name: 'metrics', containerPort: metrics.port, protocol: 'TCP' },
      ...(health.port === metrics.port ? [] : [{ name: 'health', containerPort: health.port, protocol: 'TCP' }]),
      { name: 'debug', containerPort: debug.port, protocol: 'TCP' },
    ],
    livenessProbe: { httpGet: { path: '/healthz', port: health.port }, initialDelaySeconds: 5 },
    // Ready means: valid, synced, and serving xDS. Envoys wait for it.
    readinessProbe: { httpGet: { path: '/readyz', port: health.port }, initialDelaySeconds: 1, periodSeconds: 2 },
    ...(spec.sesame?.resources && { resources: spec.sesame.resources as ResourceRequirements }),
    securityContext: CONFINED,
    volumeMounts: [
      { name: 'snapshot', mountPath: SNAPSHOT_FOLDER },
      ...(configuration.xdsServer.insecure
        ? []
        : [{ name: 'sesamecert', mountPath: directoryOf(xdsServer.tls.certFile), readOnly: true }]),
    ],
  };
}

/**
 * Flags of the start, and further parts of the pod: ports that its probes and Services name, and the mounts of certificates. A pod keeps
 * them until another with the new ones takes its place. An edit of any other field restarts nothing.
 */
function serveArguments(instance: Instance): string[] {
  const { spec, configuration } = instance;
  const { health, metrics, debug } = configuration;
  const { port, insecure, tls } = configuration.xdsServer;
  const watched = watchedNamespaces(instance);
  const { logLevel, kubernetesLogLevel } = spec.sesame ?? {};
  return [
    'serve',
    '--incluster',
    `--sesame-config=${names.configuration(instance)}`,
    `--xds-port=${port}`,
    `--health-port=${health.port}`,
    `--http-port=${metrics.port}`,
    `--debug-http-port=${debug.port}`,
    `--snapshot-file=${SNAPSHOT_FOLDER}/snapshot`,
    ...(insecure
      ? []
      : [`--sesame-cafile=${tls.caFile}`, `--sesame-cert-file=${tls.certFile}`, `--sesame-key-file=${tls.keyFile}`]),
    ...(watched ? [`--watch-namespaces=${watched.join(',')}`] : []),
    ...(spec.sesame?.contourCompat ? ['--contour-compat'] : []),
    ...(spec.sesame?.contourCompat && spec.sesame.contourLease ? [`--contour-lease=${spec.sesame.contourLease}`] : []),
    ...(spec.sesame?.disabledFeatures ?? []).map((feature) => `--disable-feature=${feature}`),
    ...(logLevel?.toLowerCase() === 'debug' ? ['--debug'] : []),
    ...(kubernetesLogLevel === undefined ? [] : [`--kubernetes-debug=${kubernetesLogLevel}`]),
  ];
}

export function directoryOf(file: string): string {
  const at = file.lastIndexOf('/');
  return at <= 0 ? '/' : file.slice(0, at);
}

export function sesameDisruptionBudget(instance: Instance): ChildObject<PodDisruptionBudget> {
  return {
    metadata: metadataOf(instance, names.sesame(instance)),
    spec: { maxUnavailable: 1, selector: { matchLabels: sesameSelector(instance) } },
  };
}
