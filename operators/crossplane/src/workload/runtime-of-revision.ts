// What runs for a revision: its configuration found, brought to its normal form and rendered; or why it is not.
import { type BuiltinSchema, loadBuiltinSchemas, ServiceAccount } from '@capstan/kube';
import { type DerivationDefinition, derivation, type Reader } from '@capstan/reconcile';
import { pullSecretsOf } from '../images/keychain.ts';
import { ControllerConfig, DeploymentRuntimeConfig, PACKAGE_LABEL } from '../kinds/index.ts';
import {
  type PackageKind,
  PROVIDER,
  packageKindOf,
  type RevisionObject,
  runtimeModeOf,
} from '../packages/package-kind.ts';
import { contentKey, type RevisionContents } from '../packages/revision-content.ts';
import {
  chooseConfig,
  EMPTY_RUNTIME_CONFIG,
  type IgnoredReference,
  type NormalizedConfig,
  normalizeRuntimeConfig,
  type RenderedRuntime,
  RUNTIMES,
  type RuntimeConfig,
  type RuntimeKind,
  renderRuntime,
  resolveConfigReference,
  runtimeImage,
} from '../runtime/index.ts';
import type { Settings } from '../settings.ts';

export type RevisionRuntime =
  | {
      readonly state: 'rendered';
      readonly rendered: RenderedRuntime;
      /** The name of the runtime configuration or ControllerConfig. */
      readonly config: string | undefined;
      readonly warnings: readonly string[];
      readonly ignored: IgnoredReference | undefined;
    }
  | { readonly state: 'failed'; readonly message: string; readonly ignored?: IgnoredReference | undefined };

export interface RevisionRuntimes {
  readonly ofRevision: DerivationDefinition<RevisionRuntime>;
  /** By name. */
  readonly normalizedConfig: DerivationDefinition<NormalizedConfig | undefined>;
}

export function createRevisionRuntimes(settings: Settings, contents: RevisionContents): RevisionRuntimes {
  let schemas: ReadonlyMap<string, BuiltinSchema> | undefined;
  // Shared by all packages that use the configuration: it is looked through once for each change.
  const normalizedConfig = derivation<NormalizedConfig | undefined>({
    name: 'runtime-config',
    compute({ key, read }) {
      const object = read.get(DeploymentRuntimeConfig, { name: key }, configurationOf);
      if (object === undefined) return undefined;
      schemas ??= loadBuiltinSchemas();
      return normalizeRuntimeConfig(object, schemas);
    },
  });
  const ofRevision = derivation<RevisionRuntime>({
    name: 'runtime-of-revision',
    compute({ key, read }) {
      const [kindName = '', name = ''] = key.split(' ');
      const kind = packageKindOf(kindName) ?? PROVIDER;
      const revision = read.get(kind.revision, { name }, revisionOf);
      if (revision === undefined || kind.runtime === undefined || runtimeModeOf(kind, settings) !== 'Deployment')
        return failed('nothing runs for this revision here');
      return runtimeOf(read, kind, kind.runtime, revision);
    },
  });
  return { ofRevision, normalizedConfig };

  function runtimeOf(read: Reader, kind: PackageKind, runtime: RuntimeKind, revision: Revision): RevisionRuntime {
    const found = read.derived(contents, contentKey(kind, revision.name));
    if (found.state === 'failed') return failed('the package is not unpacked');
    const { spec } = revision;
    const given = {
      ...spec,
      ...(found.settings.runtimeConfigRef && { runtimeConfigRef: found.settings.runtimeConfigRef }),
    };
    const chosen = chooseConfig(settings.runtimeConfig, given);
    if (chosen.ignored?.isBlocking) return failed(chosen.ignored.message, chosen.ignored);
    const config = configOf(read, chosen);
    if ('problem' in config) return failed(config.problem, chosen.ignored);
    const rendered = renderRuntime({
      revision: {
        kind: runtime,
        packageName: revision.packageName,
        name: revision.name,
        uid: revision.uid,
        image: runtimeImage({
          metaImage: found.content.meta.image,
          packageImage: found.resolvedImage,
          defaultRegistry: settings.registry,
        }),
        pullPolicy: spec.packagePullPolicy,
        pullSecrets: (spec.packagePullSecrets ?? []).map((secret) => secret.name),
        tlsServerSecretName: spec.tlsServerSecretName,
        tlsClientSecretName: spec.tlsClientSecretName,
      },
      config: config.config,
      controllerConfig: config.controllerConfig,
      imageConfigPullSecret: found.settings.pullSecret,
      namespace: settings.namespace,
      managerPullSecrets:
        read.get(ServiceAccount, { namespace: settings.namespace, name: settings.serviceAccount }, pullSecretsOf) ?? [],
    });
    return {
      state: 'rendered',
      rendered: settings.statusLogLines > 0 ? withLastWords(rendered) : rendered,
      config: config.name,
      warnings: [...config.warnings, ...rendered.notes.map(({ message }) => message)],
      ignored: chosen.ignored,
    };
  }

  function configOf(
    read: Reader,
    chosen: ReturnType<typeof chooseConfig>,
  ):
    | {
        name: string | undefined;
        config: RuntimeConfig;
        controllerConfig?: ControllerConfig;
        warnings: readonly string[];
      }
    | { problem: string } {
    if (chosen.use === 'controllerConfig') {
      const name = chosen.controllerConfigName;
      if (name === undefined) return { name, config: EMPTY_RUNTIME_CONFIG, warnings: [] };
      const controllerConfig = read.get(ControllerConfig, { name }, configurationOf);
      if (controllerConfig === undefined)
        return {
          problem: `the ControllerConfig ${name} does not exist; create it, or remove spec.controllerConfigRef`,
        };
      return { name, config: EMPTY_RUNTIME_CONFIG, controllerConfig, warnings: [] };
    }
    const resolved = resolveConfigReference(RUNTIMES.Deployment, chosen.runtimeConfigRef, settings.runtimeConfig.stage);
    if ('fault' in resolved) return { problem: resolved.fault };
    if (!('config' in resolved)) return { name: undefined, config: EMPTY_RUNTIME_CONFIG, warnings: [] };
    const { name } = resolved.config;
    const found = read.derived(normalizedConfig, name);
    if (found === undefined)
      return {
        problem: `the DeploymentRuntimeConfig ${name} does not exist; create it, or name another in spec.runtimeConfigRef`,
      };
    if (found.config === undefined)
      return {
        problem: `the DeploymentRuntimeConfig ${name} cannot be used: ${found.errors.map(({ message }) => message).join('; ')}`,
      };
    return { name, config: found.config, warnings: found.warnings.map(({ message }) => message) };
  }
}

type Revision = ReturnType<typeof revisionOf>;

const revisionOf = ({ metadata, spec }: RevisionObject) => ({
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  packageName:
    metadata.ownerReferences?.find(({ controller }) => controller)?.name ?? metadata.labels?.[PACKAGE_LABEL] ?? '',
  spec,
});

/** Without status and bookkeeping, whose changes change nothing. */
function configurationOf<T extends DeploymentRuntimeConfig | ControllerConfig>(object: T): T {
  const { name, labels, annotations } = object.metadata;
  const { status: _status, ...content } = object as T & { status?: unknown };
  const metadata = {
    ...(name === undefined ? {} : { name }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
  return { ...content, metadata } as T;
}

/** The kubelet takes the end of the log for the termination message: that is how it gets into a status. */
function withLastWords(rendered: RenderedRuntime): RenderedRuntime {
  const { deployment } = rendered;
  const pod = deployment.spec?.template.spec;
  if (deployment.spec === undefined || pod === undefined) return rendered;
  const [own, ...others] = pod.containers;
  if (own === undefined) return rendered;
  const container = { terminationMessagePolicy: 'FallbackToLogsOnError', ...own };
  const template = { ...deployment.spec.template, spec: { ...pod, containers: [container, ...others] } };
  return { ...rendered, deployment: { ...deployment, spec: { ...deployment.spec, template } } };
}

function failed(message: string, ignored?: IgnoredReference): RevisionRuntime {
  return { state: 'failed', message, ...(ignored && { ignored }) };
}
