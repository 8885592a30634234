// The objects of the webhook in the cluster. They have the names of the original's installation, so that an existing one is adopted.
import type {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  MutatingWebhookConfiguration,
  Namespace,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { KroxyliciousSidecarConfig, SIDECAR_GROUP } from '../kinds/index.ts';
import type { Settings } from '../settings.ts';
import { INJECTION_LABEL } from './marks.ts';

export const WEBHOOK_NAME = 'kroxylicious-webhook';
export const WEBHOOK_SECRET = 'kroxylicious-webhook-tls';
export const CONFIGURATION_NAME = 'kroxylicious-sidecar-injector';

const PORT = 8443;
const TLS_PATH = '/etc/webhook/tls';
const SELECTOR = { app: WEBHOOK_NAME };
const LABELS = { 'app.kubernetes.io/name': 'kroxylicious', 'app.kubernetes.io/component': 'webhook' };

export type WebhookSettings = Pick<
  Settings,
  'image' | 'webhookImage' | 'webhookNamespace' | 'webhookReplicas' | 'webhookFailurePolicy' | 'uninjectedPodPolicy'
>;

/** Returns all host names by which the webhook is called. */
export function webhookDnsNames({ webhookNamespace }: Pick<WebhookSettings, 'webhookNamespace'>, domain: string) {
  const ends = ['', `.${webhookNamespace}`, `.${webhookNamespace}.svc`, `.${webhookNamespace}.svc.${domain}`];
  return ends.map((end) => WEBHOOK_NAME + end).toSorted();
}

export function webhookNamespace({ webhookNamespace: name }: WebhookSettings): ChildObject<Namespace> {
  const labels = { ...LABELS, 'pod-security.kubernetes.io/enforce': 'restricted' };
  return { metadata: { name, labels } };
}

/** The webhook may only read configs. */
export const WEBHOOK_RULES = [
  {
    apiGroups: [KroxyliciousSidecarConfig.group],
    resources: [KroxyliciousSidecarConfig.plural],
    verbs: ['get', 'list', 'watch'],
  },
];

export function webhookRole(): ChildObject<ClusterRole> {
  return { metadata: { name: WEBHOOK_NAME, labels: LABELS }, rules: WEBHOOK_RULES };
}

export function webhookRoleBinding({ webhookNamespace: namespace }: WebhookSettings): ChildObject<ClusterRoleBinding> {
  return {
    metadata: { name: WEBHOOK_NAME, labels: LABELS },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: WEBHOOK_NAME },
    subjects: [{ kind: 'ServiceAccount', name: WEBHOOK_NAME, namespace }],
  };
}

const named = ({ webhookNamespace: namespace }: WebhookSettings) => ({ namespace, name: WEBHOOK_NAME, labels: LABELS });

export const webhookAccount = (settings: WebhookSettings): ChildObject<ServiceAccount> => ({
  metadata: named(settings),
});

export function webhookService(settings: WebhookSettings): ChildObject<Service> {
  return {
    metadata: named(settings),
    spec: { selector: SELECTOR, ports: [{ name: 'webhook', port: 443, targetPort: PORT, protocol: 'TCP' }] },
  };
}

export function webhookBudget(settings: WebhookSettings): ChildObject<PodDisruptionBudget> {
  return { metadata: named(settings), spec: { maxUnavailable: 1, selector: { matchLabels: SELECTOR } } };
}

export function webhookDeployment(settings: WebhookSettings): ChildObject<Deployment> {
  const probe = { httpGet: { path: '/livez', port: 'webhook', scheme: 'HTTPS' }, timeoutSeconds: 5 };
  return {
    metadata: named(settings),
    spec: {
      replicas: settings.webhookReplicas,
      selector: { matchLabels: SELECTOR },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels: { ...SELECTOR, ...LABELS, [INJECTION_LABEL]: 'disabled' } },
        spec: {
          serviceAccountName: WEBHOOK_NAME,
          affinity: {
            podAntiAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 100,
                  podAffinityTerm: { labelSelector: { matchLabels: SELECTOR }, topologyKey: 'kubernetes.io/hostname' },
                },
              ],
            },
          },
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'webhook',
              image: settings.webhookImage,
              command: ['kroxylicious', 'webhook'],
              env: [
                { name: 'BIND_ADDRESS', value: `0.0.0.0:${PORT}` },
                { name: 'TLS_CERT_PATH', value: `${TLS_PATH}/tls.crt` },
                { name: 'TLS_KEY_PATH', value: `${TLS_PATH}/tls.key` },
                { name: 'KROXYLICIOUS_IMAGE', value: settings.image },
                { name: 'UNINJECTED_POD_POLICY', value: settings.uninjectedPodPolicy },
              ],
              ports: [{ name: 'webhook', containerPort: PORT, protocol: 'TCP' }],
              startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 },
              livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 3 },
              readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 3 },
              resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts: [
                { name: 'tls', mountPath: TLS_PATH, readOnly: true },
                { name: 'tmp', mountPath: '/tmp' },
              ],
            },
          ],
          volumes: [
            {
              name: 'tls',
              // Do not mount the key of the authority.
              secret: {
                secretName: WEBHOOK_SECRET,
                items: ['tls.crt', 'tls.key'].map((key) => ({ key, path: key })),
              },
            },
            // Holds Node's compile cache.
            { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
          ],
        },
      },
    },
  };
}

/** Namespaces in which no webhook may block pods: those of the cluster itself, and the webhook's own one. */
const SYSTEM_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease'];

/**
 * Returns the registration of the webhook. The server calls the webhook only for new pods of namespaces that request sidecars. While the
 * webhook is unavailable, the rest of the cluster is not affected, and the webhook's own pods can always start.
 */
export function webhookConfiguration(
  { webhookNamespace: namespace, webhookFailurePolicy }: WebhookSettings,
  caBundle: string,
): ChildObject<MutatingWebhookConfiguration> {
  return {
    metadata: { name: CONFIGURATION_NAME, labels: LABELS },
    webhooks: [
      {
        name: `sidecar-injector.${SIDECAR_GROUP.replace(/^sidecar\./, '')}`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: webhookFailurePolicy,
        // Other webhooks may add containers after this one.
        reinvocationPolicy: 'IfNeeded',
        matchPolicy: 'Equivalent',
        timeoutSeconds: 10,
        clientConfig: { caBundle, service: { name: WEBHOOK_NAME, namespace, path: '/mutate', port: 443 } },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: '*' }],
        namespaceSelector: {
          matchLabels: { [INJECTION_LABEL]: 'enabled' },
          matchExpressions: [
            {
              key: 'kubernetes.io/metadata.name',
              operator: 'NotIn',
              values: [...new Set([...SYSTEM_NAMESPACES, namespace])],
            },
          ],
        },
        objectSelector: { matchExpressions: [{ key: INJECTION_LABEL, operator: 'NotIn', values: ['disabled'] }] },
      },
    ],
  };
}
