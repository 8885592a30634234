// The admission webhook of an installation. Whatever becomes of it, the cluster goes on: the server asks it about our kinds alone,
// waits for it no longer than some seconds, and takes no answer for a yes; namespaces of the cluster itself, its own, and those with
// the label capstan.dev/admission=disabled are not asked about.
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  type KubeObject,
  NetworkPolicy,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { ADMISSION_LABEL, ADMISSION_NAME, ADMISSION_PATH, ADMISSION_SECRET } from '../admission/names.ts';
import { type Installation, MANAGED_BY, object, restrictedPod } from './installation.ts';

const PORT = 8443;
const SELECTOR = { 'app.kubernetes.io/name': ADMISSION_NAME };
const SYSTEM_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease', SYSTEM_NAMESPACE];
const TIMEOUT_SECONDS = 3;

/** The rights on its own Secret, its own registration, and the reads of its checks. */
export function admissionPermissions({ namespace, admission }: Installation): KubeObject[] {
  const subjects = [{ kind: 'ServiceAccount', name: ADMISSION_NAME, namespace }];
  const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: ADMISSION_NAME });
  const reads = new Map(
    admission
      .flatMap(({ admission: checks = [] }) => checks.flatMap(({ reads: kinds = [] }) => kinds))
      .map(({ group, plural }) => [`${plural}.${group}`, { group, plural }]),
  );
  return [
    object(ServiceAccount, { name: ADMISSION_NAME, namespace }),
    object(
      ClusterRole,
      { name: ADMISSION_NAME },
      {
        rules: [
          {
            apiGroups: ['admissionregistration.k8s.io'],
            resources: ['validatingwebhookconfigurations'],
            resourceNames: [ADMISSION_NAME],
            verbs: ['get', 'patch'],
          },
          ...[...reads.values()].map(({ group, plural }) => ({
            apiGroups: [group],
            resources: [plural],
            verbs: ['get', 'list', 'watch'],
          })),
        ],
      },
    ),
    object(ClusterRoleBinding, { name: ADMISSION_NAME }, { roleRef: roleRef('ClusterRole'), subjects }),
    object(
      Role,
      { name: ADMISSION_NAME, namespace },
      {
        rules: [
          // Creating cannot be restricted by name.
          { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
          { apiGroups: [''], resources: ['secrets'], resourceNames: [ADMISSION_SECRET], verbs: ['get', 'update'] },
        ],
      },
    ),
    object(RoleBinding, { name: ADMISSION_NAME, namespace }, { roleRef: roleRef('Role'), subjects }),
  ];
}

export function admissionWorkload(installation: Installation): KubeObject[] {
  const { namespace, replicas, version, image } = installation;
  const labels = {
    ...SELECTOR,
    ...MANAGED_BY,
    'app.kubernetes.io/part-of': 'capstan',
    'app.kubernetes.io/version': version,
  };
  const metadata = { name: ADMISSION_NAME, namespace, labels };
  const podSelector = { matchLabels: SELECTOR };
  const probe = { httpGet: { path: '/livez', port: 'webhook', scheme: 'HTTPS' }, timeoutSeconds: 5 };
  return [
    object(NetworkPolicy, metadata, {
      spec: { podSelector, policyTypes: ['Ingress'], ingress: [{ ports: [{ protocol: 'TCP', port: PORT }] }] },
    }),
    ...(replicas > 1
      ? [object(PodDisruptionBudget, metadata, { spec: { minAvailable: 1, selector: podSelector } })]
      : []),
    object(Service, metadata, {
      spec: { selector: SELECTOR, ports: [{ name: 'webhook', port: 443, targetPort: 'webhook' }] },
    }),
    registration(installation, labels),
    object(Deployment, metadata, {
      spec: {
        replicas,
        selector: podSelector,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: { labels },
          spec: restrictedPod(ADMISSION_NAME, SELECTOR, {
            name: 'webhook',
            image,
            args: ['admission', `--namespace=${namespace}`, `--address=:${PORT}`],
            ports: [{ name: 'webhook', containerPort: PORT }],
            startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 },
            livenessProbe: { ...probe, periodSeconds: 10 },
            readinessProbe: { ...probe, periodSeconds: 2 },
            resources: { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '384Mi' } },
          }),
        },
      },
    }),
  ];
}

/** The program adds the certificate of its authority: until then the server cannot ask, and takes that for a yes. */
function registration({ namespace, admission }: Installation, labels: Record<string, string>): KubeObject {
  return object(
    ValidatingWebhookConfiguration,
    { name: ADMISSION_NAME, labels },
    {
      webhooks: admission
        .filter(({ admission: checks = [] }) => checks.length > 0)
        .map(({ name, admission: checks = [] }) => ({
          name: `${name}.admission.capstan.dev`,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          matchPolicy: 'Equivalent',
          timeoutSeconds: TIMEOUT_SECONDS,
          clientConfig: { service: { name: ADMISSION_NAME, namespace, path: ADMISSION_PATH, port: 443 } },
          rules: checks.map(({ kind }) => ({
            operations: ['CREATE', 'UPDATE'],
            apiGroups: [kind.group],
            apiVersions: [kind.version],
            resources: [kind.plural],
            scope: '*',
          })),
          namespaceSelector: {
            matchExpressions: [
              { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: SYSTEM_NAMESPACES },
              { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [namespace] },
              { key: ADMISSION_LABEL, operator: 'NotIn', values: ['disabled'] },
            ],
          },
        })),
    },
  );
}
