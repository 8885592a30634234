// The Deployment of a revision: the config's template, then defaults for missing fields, then the fields that the manager sets itself.
// docs/crossplane-runtime-config.md has the table of fields.
import { type Container, type ContainerPort, type Deployment, type EnvVar, equal, type PodSpec } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { RUNTIME_CONTAINER, type RuntimeConfig } from '../runtime-config.ts';
import { labelValue, packageLabel, packageLabels, podLabels, REVISION_LABEL } from './labels.ts';
import type { RuntimeNames } from './names.ts';
import { overlayBy, references } from './overlay.ts';
import { GRPC_PORT, METRICS_PORT, portOf, type RolePort, WEBHOOK_PORT, withRolePorts } from './ports.ts';
import type { RenderInput, RenderNote, RuntimeRevision } from './render.ts';
import { TLS_CLIENT_ENV, TLS_SERVER_ENV, type TlsMount, tlsMount } from './tls-secrets.ts';

export interface RenderedDeployment {
  readonly deployment: ChildObject<Deployment>;
  readonly notes: readonly RenderNote[];
}

const POD_SECURITY = { runAsNonRoot: true, runAsUser: 2000, runAsGroup: 2000 };
const CONTAINER_SECURITY = { ...POD_SECURITY, privileged: false, allowPrivilegeEscalation: false };
const DEFAULT_PULL_POLICY = 'IfNotPresent';
const POD_PATH = 'spec.deploymentTemplate.spec.template.spec';
const CONTAINER_PATH = `${POD_PATH}.containers[${RUNTIME_CONTAINER}]`;

export function renderDeployment(input: RenderInput, names: RuntimeNames): RenderedDeployment {
  const { revision, config, namespace } = input;
  const { metadata, spec } = config.deployment;
  const { selector, template, replicas = 1, ...rest } = spec;
  const notes: RenderNote[] = [];
  if (selector?.matchLabels !== undefined || selector?.matchExpressions !== undefined) notes.push(SELECTOR_REPLACED);
  const mounts = tlsMounts(revision);
  const [own, others] = runtimeContainer(template?.spec?.containers);
  const container = renderContainer(own, input, mounts, notes);
  const pod = renderPod(template?.spec ?? {}, [container, ...others], input, names, mounts, notes);
  const annotations = podAnnotations(revision, template?.metadata?.annotations, container.ports);
  const labels = podLabels(revision);
  for (const [label, value] of Object.entries(labels)) {
    const given = template?.metadata?.labels?.[label];
    if (given !== undefined && given !== value)
      notes.push(entryReplaced('spec.deploymentTemplate.spec.template.metadata.labels', label));
  }
  const deployment: ChildObject<Deployment> = {
    metadata: { ...metadata, name: names.deployment, namespace },
    spec: {
      ...rest,
      replicas,
      // A selector cannot be changed: where the Deployment outlives the revision, it must not name one.
      selector: { matchLabels: names.isDeploymentFixed ? packageLabels(revision) : labels },
      template: {
        metadata: {
          ...template?.metadata,
          labels: { ...template?.metadata?.labels, ...labels },
          ...(annotations && { annotations }),
        },
        spec: pod,
      },
    },
  };
  return { deployment, notes };
}

/** The runtime container (an empty one when the template has none) and the others in their order. */
export function runtimeContainer(containers: readonly Container[] | undefined): [Container, Container[]] {
  const all = containers ?? [];
  const own = all.find(({ name }) => name === RUNTIME_CONTAINER);
  return [own ?? { name: RUNTIME_CONTAINER }, all.filter((container) => container !== own)];
}

function renderPod(
  template: Partial<PodSpec>,
  containers: Container[],
  { revision, imageConfigPullSecret }: RenderInput,
  names: RuntimeNames,
  mounts: readonly TlsMount[],
  notes: RenderNote[],
): PodSpec {
  const volumes = overlayBy(
    template.volumes,
    mounts.map(({ volume }) => volume),
    ({ name }) => name,
    equal,
  );
  for (const name of volumes.replaced) notes.push(entryReplaced(`${POD_PATH}.volumes`, name));
  const pullSecrets = references(
    revision.pullSecrets,
    imageConfigPullSecret === undefined ? [] : [imageConfigPullSecret],
    // Kept beside the package's: sidecars may need them.
    template.imagePullSecrets?.map(({ name = '' }) => name),
  );
  const { imagePullSecrets: _secrets, volumes: _volumes, serviceAccount: _account, ...rest } = template;
  return {
    ...rest,
    containers,
    securityContext: template.securityContext ?? POD_SECURITY,
    serviceAccountName: names.podServiceAccount,
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
    ...(volumes.list.length > 0 && { volumes: [...volumes.list] }),
  };
}

function renderContainer(
  template: Container,
  { revision, config }: RenderInput,
  tls: readonly TlsMount[],
  notes: RenderNote[],
): Container {
  const image = chosenImage(template, revision, config, notes);
  const imagePullPolicy = revision.pullPolicy ?? template.imagePullPolicy ?? DEFAULT_PULL_POLICY;
  if (template.imagePullPolicy !== undefined && template.imagePullPolicy !== imagePullPolicy)
    notes.push(pullPolicyReplaced(imagePullPolicy));
  const env = overlayEnv(template.env, managedEnv(revision, tls));
  for (const name of env.replaced) notes.push(entryReplaced(`${CONTAINER_PATH}.env`, name));
  // By path, as the API does: a volume may be mounted at several places, a place holds one.
  const mounts = overlayBy(
    template.volumeMounts,
    tls.map(({ mount }) => mount),
    ({ mountPath }) => mountPath,
    equal,
  );
  for (const path of mounts.replaced) notes.push(entryReplaced(`${CONTAINER_PATH}.volumeMounts`, path));
  return {
    ...template,
    image,
    imagePullPolicy,
    securityContext: template.securityContext ?? CONTAINER_SECURITY,
    ports: withRolePorts(template.ports, rolePorts(revision)),
    ...(env.list.length > 0 && { env: [...env.list] }),
    ...(mounts.list.length > 0 && { volumeMounts: [...mounts.list] }),
  };
}

function chosenImage(
  template: Container,
  revision: RuntimeRevision,
  config: RuntimeConfig,
  notes: RenderNote[],
): string {
  const { image } = template;
  if (!image || image === revision.image) return revision.image;
  if (config.keepsImage) return image;
  notes.push(IMAGE_REPLACED);
  return revision.image;
}

/** The ports that a runtime needs besides its template's. */
export function rolePorts({ kind, tlsServerSecretName }: RuntimeRevision): RolePort[] {
  if (kind === 'Function') return [METRICS_PORT, GRPC_PORT];
  return tlsServerSecretName === undefined ? [METRICS_PORT] : [METRICS_PORT, WEBHOOK_PORT];
}

function tlsMounts({ tlsClientSecretName, tlsServerSecretName }: RuntimeRevision): TlsMount[] {
  return [
    ...(tlsClientSecretName === undefined ? [] : [tlsMount('client', tlsClientSecretName)]),
    ...(tlsServerSecretName === undefined ? [] : [tlsMount('server', tlsServerSecretName)]),
  ];
}

/** The environment variables of every runtime, in this order: the last two refer to the first. */
export function managedEnv(revision: RuntimeRevision, tls: readonly TlsMount[] = tlsMounts(revision)): EnvVar[] {
  const { kind, packageName, name, uid } = revision;
  const isProvider = kind === 'Provider';
  return [
    ...tls.map(({ env }) => env),
    ...(isProvider ? [fromField('POD_NAMESPACE', 'metadata.namespace')] : []),
    fromLabel(isProvider ? 'PROVIDER_NAME' : 'FUNCTION_NAME', packageLabel(kind), packageName),
    fromLabel('REVISION_NAME', REVISION_LABEL, name),
    { name: 'REVISION_UID', value: uid },
    ...(isProvider && revision.tlsClientSecretName !== undefined
      ? [refersTo('ESS_TLS_CERTS_DIR', TLS_CLIENT_ENV)]
      : []),
    ...(isProvider && revision.tlsServerSecretName !== undefined
      ? [refersTo('WEBHOOK_TLS_CERT_DIR', TLS_SERVER_ENV)]
      : []),
  ];
}

/**
 * A variable can refer only to those before it. So ours that are referred to take the place of the template's, where
 * variables of the template may refer to them, and ours that refer come last.
 */
function overlayEnv(template: readonly EnvVar[] | undefined, managed: readonly EnvVar[]) {
  const isReferring = ({ value = '' }: EnvVar) => value.startsWith('$(');
  const referring = new Set(managed.filter(isReferring).map(({ name }) => name));
  const displaced = (template ?? []).filter(({ name }) => referring.has(name));
  const { list, replaced } = overlayBy(
    template?.filter(({ name }) => !referring.has(name)),
    managed,
    ({ name }) => name,
    equal,
  );
  const differing = displaced.filter((entry) => !managed.some((one) => equal(one, entry))).map(({ name }) => name);
  return { list, replaced: [...replaced, ...new Set(differing)] };
}

function fromField(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

function fromLabel(name: string, label: string, value: string): EnvVar {
  // A name that was cut for its label is not the name.
  return labelValue(value) === value ? fromField(name, `metadata.labels['${label}']`) : { name, value };
}

function refersTo(name: string, other: string): EnvVar {
  return { name, value: `$(${other})` };
}

/** Providers are scraped unless the template sets one of these annotations. */
function podAnnotations(
  { kind }: RuntimeRevision,
  template: Readonly<Record<string, string>> | undefined,
  ports: readonly ContainerPort[] | undefined,
): Record<string, string> | undefined {
  if (kind !== 'Provider' || template?.['prometheus.io/scrape'] !== undefined) return template && { ...template };
  const { containerPort } = portOf(ports, METRICS_PORT) ?? METRICS_PORT;
  return {
    'prometheus.io/scrape': 'true',
    'prometheus.io/port': String(containerPort),
    'prometheus.io/path': '/metrics',
    ...template,
  };
}

const SELECTOR_REPLACED: RenderNote = {
  reason: 'TemplateSelectorReplaced',
  path: 'spec.deploymentTemplate.spec.selector',
  message:
    'spec.deploymentTemplate.spec.selector is set by the package manager, so that Deployment and Service match; remove it from the config',
};

const IMAGE_REPLACED: RenderNote = {
  reason: 'TemplateImageReplaced',
  path: `${CONTAINER_PATH}.image`,
  message: `${CONTAINER_PATH}.image has no effect, since the package's image is used; remove it, or annotate the config with capstan.dev/keep-template-image: "true"`,
};

function pullPolicyReplaced(policy: string): RenderNote {
  return {
    reason: 'TemplatePullPolicyReplaced',
    path: `${CONTAINER_PATH}.imagePullPolicy`,
    message: `${CONTAINER_PATH}.imagePullPolicy has no effect, since the package's (${policy}) is used; set spec.packagePullPolicy of the package`,
  };
}

function entryReplaced(path: string, key: string): RenderNote {
  return {
    reason: 'TemplateEntryReplaced',
    path,
    message: `${path} has an entry ${key}, which the package manager sets itself; remove it from the config`,
  };
}
