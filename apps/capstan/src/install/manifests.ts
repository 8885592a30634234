// The objects that run operators in a cluster: a namespace, definitions, permissions, and for each operator a Deployment with its other
// objects. The same objects are applied, printed for GitOps, and removed again.
import {
  CustomResourceDefinition,
  Deployment,
  type KubeObject,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { type Operator, rbacManifests, SYSTEM_NAMESPACE, writePolicies } from '@capstan/reconcile';
import { ADMISSION } from '../admission/names.ts';
import { admissionPermissions, admissionWorkload } from './admission-objects.ts';
import { type Installation, MANAGED_BY, ONE_PROGRAM, object, restrictedPod } from './installation.ts';

export { type Installation, MANAGED_BY, ONE_PROGRAM } from './installation.ts';

export interface InstallationObjects {
  /** The objects that others depend on: the namespace, definitions, permissions with the policies that bound them. */
  readonly foundations: readonly KubeObject[];
  /** The objects that run and serve the operators, by operator; under `operators` when one program runs them all. */
  readonly workloads: ReadonlyMap<string, readonly KubeObject[]>;
}

const METRICS_PORT = 8080;
const HEALTH_PORT = 8081;

export function installationObjects(installation: Installation): InstallationObjects {
  const { operators, namespace, admission, isOneProgram, isNamespaced = false } = installation;
  const inNamespace = { systemNamespace: namespace, watchNamespaces: [namespace], bounds: false };
  const permissions = operators
    .flatMap((operator) =>
      rbacManifests(operator, {
        namespace,
        ...(isOneProgram && { account: `capstan-${ONE_PROGRAM}` }),
        ...(isNamespaced && inNamespace),
      }),
    )
    .filter(({ metadata }) => !isNamespaced || metadata.namespace === namespace);
  const programs: [string, readonly Operator[]][] = isOneProgram
    ? [[ONE_PROGRAM, operators]]
    : operators.map((operator) => [operator.name, [operator]]);
  const labels = { ...MANAGED_BY, 'app.kubernetes.io/part-of': 'capstan' };
  // An installation in one namespace has no object at the cluster scope.
  const policies = (isNamespaced ? [] : programs).flatMap(([name, run]) =>
    writePolicies(run, { namespace, account: `capstan-${name}` }),
  );
  return {
    foundations: [
      // Leases and digest keys are in the system namespace, wherever the operators run: two installations exclude each other.
      ...[...new Set(isNamespaced ? [] : [SYSTEM_NAMESPACE, namespace])].map((name) =>
        object(Namespace, { name, labels: { ...labels, ...RESTRICTED } }),
      ),
      ...(isNamespaced ? [] : operators).flatMap(({ kinds }) =>
        kinds.map((kind) => labelled(kind.crd() as KubeObject, labels)),
      ),
      // A shared account comes with each operator.
      ...new Map(permissions.map((one) => [objectKey(one), labelled(one, labels)])).values(),
      ...policies.map((one) => labelled(one, labels)),
      ...(admission.length === 0 ? [] : admissionPermissions(installation).map((one) => labelled(one, labels))),
    ],
    workloads: new Map([
      ...programs.map(([name, run]): [string, readonly KubeObject[]] => [name, workloadOf(name, run, installation)]),
      ...(admission.length === 0 ? [] : ([[ADMISSION, admissionWorkload(installation)]] as const)),
    ]),
  };
}

export const POD_SECURITY_LABELS = ['pod-security.kubernetes.io/enforce', 'pod-security.kubernetes.io/warn'] as const;

/** Every container here meets the strictest of Kubernetes' profiles, and none that does not may come beside them. */
const RESTRICTED = Object.fromEntries(POD_SECURITY_LABELS.map((label) => [label, 'restricted']));

function workloadOf(
  program: string,
  operators: readonly Operator[],
  installation: Installation,
): readonly KubeObject[] {
  const { namespace, replicas, version, hasServiceMonitors } = installation;
  const name = `capstan-${program}`;
  const selector = { 'app.kubernetes.io/name': name };
  const labels = {
    ...selector,
    ...MANAGED_BY,
    'app.kubernetes.io/part-of': 'capstan',
    'app.kubernetes.io/version': version,
  };
  const metadata = { name, namespace, labels };
  const ports = [{ name: 'metrics', port: METRICS_PORT, targetPort: 'metrics' }];
  const monitor = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata,
    spec: { selector: { matchLabels: selector }, endpoints: [{ port: 'metrics' }] },
  };
  return [
    // Nothing but probes and metrics comes in; an operator reaches whatever its objects name.
    object(NetworkPolicy, metadata, {
      spec: {
        podSelector: { matchLabels: selector },
        policyTypes: ['Ingress'],
        ingress: [{ ports: [METRICS_PORT, HEALTH_PORT].map((port) => ({ protocol: 'TCP', port })) }],
      },
    }),
    ...(replicas > 1
      ? [object(PodDisruptionBudget, metadata, { spec: { minAvailable: 1, selector: { matchLabels: selector } } })]
      : []),
    object(Service, metadata, { spec: { selector, ports } }),
    ...(hasServiceMonitors ? [monitor] : []),
    object(Deployment, metadata, {
      spec: {
        replicas,
        selector: { matchLabels: selector },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: { metadata: { labels }, spec: podOf(program, operators, selector, installation) },
      },
    }),
  ];
}

function podOf(
  program: string,
  operators: readonly Operator[],
  selector: Record<string, string>,
  { image, args }: Installation,
) {
  const names = operators.map(({ name }) => name);
  const [request, limit] = names.length === 1 ? ['128Mi', '512Mi'] : ['256Mi', '1Gi'];
  const probe = (path: string) => ({ httpGet: { path, port: 'health' } });
  return restrictedPod(`capstan-${program}`, selector, {
    name: 'operator',
    image,
    args: ['run', `${OPERATORS_FLAG}${names.join(',')}`, ...names.flatMap((name) => args.get(name) ?? [])],
    ports: [
      { name: 'metrics', containerPort: METRICS_PORT },
      { name: 'health', containerPort: HEALTH_PORT },
    ],
    startupProbe: { ...probe('/healthz'), periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: { ...probe('/healthz'), periodSeconds: 10 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 2 },
    resources: { requests: { cpu: '50m', memory: request }, limits: { memory: limit } },
  });
}

export const OPERATORS_FLAG = '--operators=';

/** The operators that a Deployment of an installation runs, by name. */
export function operatorsOf({ spec }: Deployment): string[] {
  const args = spec?.template.spec?.containers.flatMap((container) => container.args ?? []) ?? [];
  return args.flatMap((text) => (text.startsWith(OPERATORS_FLAG) ? text.slice(OPERATORS_FLAG.length).split(',') : []));
}

export function objectKey({ kind, metadata: { namespace = '', name = '' } }: KubeObject): string {
  return `${kind} ${namespace}/${name}`;
}

function labelled(one: KubeObject, labels: Record<string, string>): KubeObject {
  return { ...one, metadata: { ...one.metadata, labels: { ...one.metadata.labels, ...labels } } };
}

export function isDefinition({ kind }: KubeObject): boolean {
  return kind === CustomResourceDefinition.kind;
}

/** Returns true for admission policies, which a server of Kubernetes 1.29 and older does not have. */
export function isPolicy({ kind }: KubeObject): boolean {
  return kind === ValidatingAdmissionPolicy.kind || kind === ValidatingAdmissionPolicyBinding.kind;
}
