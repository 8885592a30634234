// The workload of a revision: its configuration found, brought to its normal form and rendered; or the reason why it is not.
import { type BuiltinSchema, type KubeObject, loadBuiltinSchemas, ServiceAccount } from '@capstan/kube';
import { type DerivationDefinition, derivation, type Reader } from '@capstan/reconcile';
import { pullSecretsOf } from '../images/keychain.ts';
import { ControllerConfig, PACKAGE_LABEL } from '../kinds/index.ts';
import {
  type PackageKind,
  PROVIDER,
  packageKindOf,
  type RevisionObject,
  runtimeFor,
} from '../packages/package-kind.ts';
import { contentKey, type RevisionContents } from '../packages/revision-content.ts';
import {
  type BuiltInRuntime,
  chooseConfig,
  type IgnoredReference,
  isBuiltIn,
  type NormalForm,
  type RuntimeKind,
  type RuntimeObjects,
  resolveConfigReference,
  runtimeImage,
} from '../runtime/index.ts';
import type { Settings } from '../settings.ts';

export type RevisionRuntime =
  | {
      readonly state: 'rendered';
      readonly rendered: RuntimeObjects;
      /** The name of the runtime configuration or ControllerConfig. */
      readonly config: string | undefined;
      readonly warnings: readonly string[];
      readonly ignored: IgnoredReference | undefined;
    }
  | { readonly state: 'failed'; readonly message: string; readonly ignored?: IgnoredReference | undefined };

/** The input of a rendering, for those who render it in parts. */
export type PreparedRuntime =
  | {
      readonly state: 'prepared';
      readonly runtime: BuiltInRuntime;
      readonly input: Parameters<BuiltInRuntime['render']>[0];
      readonly config: string | undefined;
      readonly warnings: readonly string[];
      readonly ignored: IgnoredReference | undefined;
    }
  | { readonly state: 'failed'; readonly message: string; readonly ignored?: IgnoredReference | undefined };

export interface RevisionRuntimes {
  readonly ofRevision: DerivationDefinition<RevisionRuntime>;
  /** By `KIND NAME` of a revision; to be read in a derivation. */
  prepare(read: Reader, key: string): PreparedRuntime;
  /** By configKey. */
  readonly normalizedConfig: DerivationDefinition<NormalForm<unknown> | undefined>;
}

/** A config of a runtime, by its name. */
export function configKey({ name: runtime }: BuiltInRuntime, name: string): string {
  return `${runtime} ${name}`;
}

export function createRevisionRuntimes(settings: Settings, contents: RevisionContents): RevisionRuntimes {
  let schemas: ReadonlyMap<string, BuiltinSchema> | undefined;
  // Shared by all packages that use the configuration: it is looked through once for each change.
  const normalizedConfig = derivation<NormalForm<unknown> | undefined>({
    name: 'runtime-config',
    compute({ key, read }) {
      const [runtimeName = '', name = ''] = key.split(' ');
      const runtime = settings.runtimes[runtimeName];
      if (!isBuiltIn(runtime)) return undefined;
      const object = read.get(runtime.config.kind, { name }, configurationOf);
      if (object === undefined) return undefined;
      schemas ??= loadBuiltinSchemas();
      return runtime.normalize(object, schemas);
    },
  });
  const ofRevision = derivation<RevisionRuntime>({
    name: 'runtime-of-revision',
    compute({ key, read }) {
      const prepared = prepare(read, key);
      if (prepared.state === 'failed') return prepared;
      const { runtime, input, config, warnings, ignored } = prepared;
      const rendered = runtime.render(input);
      const all = [...warnings, ...rendered.notes.map(({ message }) => message)];
      return { state: 'rendered', rendered, config, warnings: all, ignored };
    },
  });
  return { ofRevision, normalizedConfig, prepare };

  function prepare(read: Reader, key: string): PreparedRuntime {
    const [kindName = '', name = ''] = key.split(' ');
    const kind = packageKindOf(kindName) ?? PROVIDER;
    const revision = read.get(kind.revision, { name }, revisionOf);
    const runtime = runtimeFor(kind, settings);
    if (revision === undefined || kind.runtime === undefined || runtime === undefined)
      return failed('nothing runs for this revision here');
    return preparedOf(read, kind, kind.runtime, runtime, revision);
  }

  function preparedOf(
    read: Reader,
    kind: PackageKind,
    runs: RuntimeKind,
    runtime: BuiltInRuntime,
    revision: Revision,
  ): PreparedRuntime {
    const found = read.derived(contents, contentKey(kind, revision.name));
    if (found.state === 'failed') return failed('the package is not unpacked');
    const { spec } = revision;
    const given = {
      ...spec,
      ...(found.settings.runtimeConfigRef && { runtimeConfigRef: found.settings.runtimeConfigRef }),
    };
    const feature = runtime.takesControllerConfigs ? settings.runtimeConfig : ALWAYS;
    const chosen = chooseConfig({ ...settings.runtimeConfig, ...feature }, given);
    if (chosen.ignored?.isBlocking) return failed(chosen.ignored.message, chosen.ignored);
    const config = configOf(read, runtime, chosen);
    if ('problem' in config) return failed(config.problem, chosen.ignored);
    const input = {
      revision: {
        kind: runs,
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
      keepsLastWords: settings.statusLogLines > 0,
    };
    return {
      state: 'prepared',
      runtime,
      input,
      config: config.name,
      warnings: config.warnings,
      ignored: chosen.ignored,
    };
  }

  function configOf(
    read: Reader,
    runtime: BuiltInRuntime,
    chosen: ReturnType<typeof chooseConfig>,
  ):
    | {
        name: string | undefined;
        config: unknown;
        controllerConfig?: ControllerConfig;
        warnings: readonly string[];
      }
    | { problem: string } {
    if (chosen.use === 'controllerConfig') {
      const name = chosen.controllerConfigName;
      if (name === undefined) return { name, config: runtime.emptyConfig, warnings: [] };
      const controllerConfig = read.get(ControllerConfig, { name }, configurationOf);
      if (controllerConfig === undefined)
        return {
          problem: `the ControllerConfig ${name} does not exist; create it, or remove spec.controllerConfigRef`,
        };
      return { name, config: runtime.emptyConfig, controllerConfig, warnings: [] };
    }
    const resolved = resolveConfigReference(runtime, chosen.runtimeConfigRef, settings.runtimeConfig.stage);
    if ('fault' in resolved) return { problem: resolved.fault };
    if (!('config' in resolved)) return { name: undefined, config: runtime.emptyConfig, warnings: [] };
    const { name } = resolved.config;
    const { kind } = runtime.config.kind;
    const found = read.derived(normalizedConfig, configKey(runtime, name));
    if (found === undefined)
      return {
        problem: `the ${kind} ${name} does not exist; create it, or name another in spec.runtimeConfigRef`,
      };
    if (found.config === undefined)
      return {
        problem: `the ${kind} ${name} cannot be used: ${found.errors.map(({ message }) => message).join('; ')}`,
      };
    return { name, config: found.config, warnings: found.warnings.map(({ message }) => message) };
  }
}

/** ControllerConfigs describe a Deployment. Other runtimes use their own configs in any stage. */
const ALWAYS = { isEnabled: true };

type Revision = ReturnType<typeof revisionOf>;

const revisionOf = ({ metadata, spec }: RevisionObject) => ({
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  packageName:
    metadata.ownerReferences?.find(({ controller }) => controller)?.name ?? metadata.labels?.[PACKAGE_LABEL] ?? '',
  spec,
});

/** Without status and bookkeeping, whose changes change nothing. */
function configurationOf<T extends KubeObject>(object: T): T {
  const { name, labels, annotations } = object.metadata;
  const { status: _status, ...content } = object as T & { status?: unknown };
  const metadata = {
    ...(name === undefined ? {} : { name }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
  return { ...content, metadata } as T;
}

function failed(message: string, ignored?: IgnoredReference): Extract<PreparedRuntime, { state: 'failed' }> {
  return { state: 'failed', message, ...(ignored && { ignored }) };
}
