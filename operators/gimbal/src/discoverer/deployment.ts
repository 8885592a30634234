// The Deployment of a discoverer. Its pod template changes only when the discoverer's arguments or its credentials change. A pod ends only
// after its successor has compared both sides once: only then is the successor ready.
import type { Container, Deployment } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { shortHash } from '../credentials/hash.ts';
import { type CredentialsStatus, type EffectiveBackend, GROUP } from '../kinds/index.ts';
import { CREDENTIALS_DIR, discovererArguments } from './arguments.ts';
import { discovererLabels, discovererName } from './names.ts';

export const SECRET_HASH = `${GROUP}/secret-hash`;

const PORT = 8080;

export interface DiscovererParts {
  readonly effective: EffectiveBackend;
  readonly namespace: string;
  readonly credentials: CredentialsStatus;
  readonly image: string;
  readonly writeEndpoints: boolean;
}

export function discovererDeployment(parts: DiscovererParts): ChildObject<Deployment> {
  const { effective, namespace, credentials } = parts;
  const name = discovererName(effective);
  const labels = discovererLabels(effective);
  return {
    metadata: { namespace, name, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      // As many as there are copies of credentials to go back to.
      revisionHistoryLimit: 1,
      template: {
        metadata: {
          labels,
          annotations: {
            [SECRET_HASH]: shortHash(credentials.hash),
            'prometheus.io/scrape': 'true',
            'prometheus.io/port': String(PORT),
          },
        },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: 30,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [container(parts)],
          volumes: [
            { name: 'credentials', secret: { secretName: credentials.copy, defaultMode: 0o444 } },
            // For Node's cache of compiled code: without it the compiler stays in the memory of every discoverer.
            { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
          ],
        },
      },
    },
  };
}

function container({ effective, namespace, credentials, image, writeEndpoints }: DiscovererParts): Container {
  return {
    name: 'discoverer',
    image,
    command: ['gimbal'],
    args: discovererArguments(effective, namespace, credentials, writeEndpoints),
    ports: [{ name: 'metrics', containerPort: PORT, protocol: 'TCP' }],
    livenessProbe: {
      httpGet: { path: '/livez', port: 'metrics' },
      initialDelaySeconds: 10,
      periodSeconds: 30,
      timeoutSeconds: 5,
    },
    // The first comparison is complete: a large cluster takes its time, and nothing waits for it but the old discoverer.
    readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' }, periodSeconds: 1, timeoutSeconds: 5 },
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'credentials', mountPath: CREDENTIALS_DIR, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}
