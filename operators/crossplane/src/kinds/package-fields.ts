// Fields that Provider, Function and Configuration share, and their revisions.
import {
  array,
  boolean,
  conditions,
  enumOf,
  integer,
  localReference,
  map,
  object,
  objectName,
  string,
} from '@capstan/kube';

/** An image reference: host, path, tag, digest; without spaces and without a scheme. Any other problem is a condition. */
const IMAGE = '^[a-zA-Z0-9][-a-zA-Z0-9_./:@]*$';

export const IMAGE_CONFIG_REASONS = ['SetImagePullSecret', 'VerifyImage', 'RewriteImage', 'ConfigureRuntime'] as const;
export type ImageConfigReason = (typeof IMAGE_CONFIG_REASONS)[number];

/** Names another object by kind: any kind of runtime configuration is passed on to those who know it. */
const configReference = () => ({
  apiVersion: string({ default: 'pkg.crossplane.io/v1beta1', minLength: 1 }),
  kind: string({ default: 'DeploymentRuntimeConfig', minLength: 1 }),
  name: objectName(),
});

const RUNTIME_CONFIG = 'How the package’s runtime is run. By default the DeploymentRuntimeConfig named default.';

const DEFAULT_REFERENCE = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', name: 'default' };

const controllerConfigRef = () =>
  object(
    { name: objectName() },
    {
      optional: true,
      description:
        'Deprecated: use runtimeConfigRef; `crossplane convert deployment-runtime` rewrites it. Honoured only with --enable-runtime-config=false.',
    },
  );

const pulling = () => ({
  packagePullSecrets: array(localReference(), {
    optional: true,
    description: 'Secrets in the system namespace with which the package and its runtime image are pulled.',
  }),
  packagePullPolicy: enumOf(['Always', 'IfNotPresent', 'Never'], {
    default: 'IfNotPresent',
    description:
      'IfNotPresent: the registry is asked once for each spec.package. Always: its tag is checked every minute. Never: only what is in the cache.',
  }),
  ignoreCrossplaneConstraints: boolean({
    default: false,
    description: 'Install the package even if it requires another version of Crossplane.',
  }),
  skipDependencyResolution: boolean({ default: false, description: 'Neither resolve nor install dependencies.' }),
  commonLabels: map(string(), { optional: true, description: 'Labels of every object that the package installs.' }),
  commonAnnotations: map(string(), {
    optional: true,
    description: 'Annotations of every object that the package installs.',
  }),
});

export const packageFields = () => ({
  package: string({
    minLength: 1,
    maxLength: 1024,
    pattern: IMAGE,
    rules: [{ rule: "!self.contains('://')", message: 'names an image, without https:// before it' }],
    description: 'The package’s image, with a tag or a digest: registry.example/team/provider:v1.0.0.',
  }),
  revisionActivationPolicy: enumOf(['Automatic', 'Manual'], {
    default: 'Automatic',
    description: 'Manual: a new revision waits until its spec.desiredState is set to Active.',
  }),
  revisionHistoryLimit: integer({
    default: 1,
    minimum: 0,
    format: 'int64',
    description: 'How many inactive revisions are kept; 0 keeps all.',
  }),
  ...pulling(),
});

/** Fields of packages. The default reference is static and shown whole, as upstream's is. */
export const runtimeFields = () => ({
  runtimeConfigRef: object(configReference(), { default: DEFAULT_REFERENCE, description: RUNTIME_CONFIG }),
  controllerConfigRef: controllerConfigRef(),
});

export const revisionFields = () => ({
  desiredState: enumOf(['Active', 'Inactive']),
  image: string({ minLength: 1, description: 'The spec.package that this revision was created from.' }),
  revision: integer({ format: 'int64', minimum: 0, description: 'The higher, the newer.' }),
  ...pulling(),
});

export const revisionRuntimeFields = () => ({
  runtimeConfigRef: object(configReference(), { optional: true, description: RUNTIME_CONFIG }),
  controllerConfigRef: controllerConfigRef(),
  tlsServerSecretName: string({
    optional: true,
    description: 'The Secret with the certificate that its server shows.',
  }),
  tlsClientSecretName: string({
    optional: true,
    description: 'The Secret with the certificate that its client shows.',
  }),
});

const appliedImageConfigRefs = () =>
  array(object({ name: string(), reason: enumOf(IMAGE_CONFIG_REASONS) }), {
    optional: true,
    listMapKeys: ['reason'],
    description: 'The ImageConfigs in effect, one for each purpose.',
  });

export const packageStatusFields = () => ({
  conditions: conditions({ isMessageOptional: true }),
  currentRevision: string({ optional: true, description: 'The newest revision, active or not.' }),
  currentIdentifier: string({
    optional: true,
    description: 'The spec.package that it was resolved from. Clear it to resolve it again.',
  }),
  resolvedPackage: string({ optional: true, description: 'The reference after ImageConfigs rewrote it.' }),
  appliedImageConfigRefs: appliedImageConfigRefs(),
});

/** The memory of a package between runs. */
export const packageMemory = () =>
  object({
    /** The digest behind currentIdentifier. */
    digest: string({ optional: true }),
    /** The revision that is active, so that one which a user activates beside it is recognised as the newer choice. */
    active: string({ optional: true }),
  });

export const dependency = () =>
  object({
    package: string({ description: 'Without tag and digest.' }),
    apiVersion: string({ optional: true }),
    kind: string({ optional: true }),
    type: enumOf(['Configuration', 'Provider', 'Function'], {
      optional: true,
      description: 'Deprecated form of kind.',
    }),
    constraints: string({ description: 'Versions that serve: a semantic version constraint, or a digest.' }),
  });

export const policyRule = () =>
  object({
    apiGroups: array(string(), { optional: true }),
    resources: array(string(), { optional: true }),
    resourceNames: array(string(), { optional: true }),
    nonResourceURLs: array(string(), { optional: true }),
    verbs: array(string()),
  });

export const revisionStatusFields = () => ({
  conditions: conditions({ isMessageOptional: true }),
  objectRefs: array(object({ apiVersion: string(), kind: string(), name: string(), uid: string({ optional: true }) }), {
    optional: true,
    description: 'The objects that the package brought.',
  }),
  foundDependencies: integer({ optional: true, format: 'int64' }),
  installedDependencies: integer({ optional: true, format: 'int64' }),
  invalidDependencies: integer({ optional: true, format: 'int64' }),
  dependencies: array(dependency(), { optional: true, description: 'What the package depends on.' }),
  resolvedImage: string({ optional: true, description: 'The reference after ImageConfigs rewrote it.' }),
  appliedImageConfigRefs: appliedImageConfigRefs(),
  permissionRequests: array(policyRule(), { optional: true, description: 'What the package asks to be allowed.' }),
  capabilities: array(string(), { optional: true }),
  verified: object(
    { authority: string({ description: 'Who vouches for the image.' }), subject: string() },
    { optional: true, description: 'The image that was verified, and by which keys.' },
  ),
});

export const revisionRuntimeStatusFields = () => ({
  runtime: string({
    optional: true,
    description: 'The runtime of Crossplane’s own that runs it; absent where another controller does.',
  }),
  tlsServerSecretName: string({ optional: true }),
  tlsClientSecretName: string({ optional: true }),
});
