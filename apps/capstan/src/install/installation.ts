// The settings of an installation, and the common parts of its objects.
import type { Kind, KubeObject } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';

export interface Installation {
  readonly operators: readonly Operator[];
  readonly namespace: string;
  readonly image: string;
  readonly version: string;
  readonly replicas: number;
  /** One Deployment runs all operators, each under its own Lease; else each has one of its own. */
  readonly isOneProgram: boolean;
  /** Roles in its namespace alone, and no object at the cluster scope. */
  readonly isNamespaced?: boolean;
  /** Whether the cluster serves ServiceMonitors of the Prometheus operator. */
  readonly hasServiceMonitors: boolean;
  /** The flags of each operator, by its name, as arguments of its pods. */
  readonly args: ReadonlyMap<string, readonly string[]>;
  /** The operators whose kinds the admission webhook checks; none: it is not installed. */
  readonly admission: readonly Operator[];
}

/** The Deployment that runs several operators, without its prefix. */
export const ONE_PROGRAM = 'operators';

export const MANAGED_BY = { 'app.kubernetes.io/managed-by': 'capstan-install' };
/** On a namespace that was not there before the installation: an uninstallation deletes such a one, and no other. */
const CREATED_ANNOTATION = 'capstan.dev/created-by';
const CREATED_BY_INSTALL = 'capstan-install';

export function isCreatedByInstall({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[CREATED_ANNOTATION] === CREATED_BY_INSTALL;
}

export function asCreatedByInstall(namespace: KubeObject): KubeObject {
  const annotations = { ...namespace.metadata.annotations, [CREATED_ANNOTATION]: CREATED_BY_INSTALL };
  return { ...namespace, metadata: { ...namespace.metadata, annotations } };
}

/** Numbers that no user of the image's base has. */
const USER = 65532;

/** A pod of one container that meets the restricted profile and writes to /tmp alone. */
export function restrictedPod(account: string, selector: Record<string, string>, container: object) {
  return {
    serviceAccountName: account,
    terminationGracePeriodSeconds: 45,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    // Replicas on different nodes where there are several: one of them must outlive a node.
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: selector },
      },
    ],
    containers: [
      {
        ...container,
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
      },
    ],
    volumes: [{ name: 'tmp', emptyDir: {} }],
  };
}

export function object(kind: Kind, metadata: KubeObject['metadata'], parts: object = {}): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...parts };
}
