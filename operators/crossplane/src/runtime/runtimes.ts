// The runtimes that packages can have, as a table: another one is another entry, with the kind of its config and the
// function from a revision to its objects. `--package-runtime` chooses one, for all packages or for each kind of them.
import { groupOf } from '@capstan/kube';
import { DEFAULT_CONFIG_NAME, defaultRuntimeConfig } from './default-config.ts';
import { type RenderedRuntime, type RenderInput, renderRuntime } from './render.ts';
import { PACKAGE_GROUP, RUNTIME_CONFIG_KIND, RUNTIME_CONFIG_VERSIONS } from './runtime-config.ts';
import { type ConfigReference, type Stage, versionOfStage } from './stages.ts';

export interface Runtime {
  /** As `--package-runtime` calls it. */
  readonly name: string;
  /** Undefined: whoever runs the packages has configs of their own, of any kind. */
  readonly config?: RuntimeConfigType;
  /** Undefined: nothing is made, and a controller outside is expected to run the revision. */
  render?(input: RenderInput): RenderedRuntime;
}

export interface RuntimeConfigType {
  readonly group: string;
  readonly kind: string;
  readonly versions: readonly string[];
  /** What `default` is when nobody made one. */
  defaultConfig(stage: Stage): { apiVersion: string; kind: string; metadata: { name: string }; spec: object };
}

export const RUNTIMES = {
  Deployment: {
    name: 'Deployment',
    config: {
      group: PACKAGE_GROUP,
      kind: RUNTIME_CONFIG_KIND,
      versions: RUNTIME_CONFIG_VERSIONS,
      defaultConfig: defaultRuntimeConfig,
    },
    render: renderRuntime,
  },
  External: { name: 'External' },
} as const satisfies Readonly<Record<string, Runtime>>;

export type RuntimeName = keyof typeof RUNTIMES;
export const DEFAULT_RUNTIME: RuntimeName = 'Deployment';

/** Kinds of packages that `--package-runtime` can name; a Configuration runs nothing, and may be named all the same. */
const PACKAGE_KINDS = ['Provider', 'Function', 'Configuration'] as const;
export type PackageKind = (typeof PACKAGE_KINDS)[number];

export type ChosenRuntimes = Readonly<Record<PackageKind, RuntimeName>>;

/**
 * What `--package-runtime` says: one runtime for all (`External`), or one for each kind (`Provider=Deployment;Function=External`,
 * commas do as well), where a kind that is not named has a Deployment and of several the last counts. Empty is the default.
 */
export function parsePackageRuntime(text: string): ChosenRuntimes | { readonly fault: string } {
  const whole = text.trim() === '' ? DEFAULT_RUNTIME : text.trim();
  if (isRuntime(whole)) return { Provider: whole, Function: whole, Configuration: whole };
  const chosen: Record<PackageKind, RuntimeName> = {
    Provider: DEFAULT_RUNTIME,
    Function: DEFAULT_RUNTIME,
    Configuration: DEFAULT_RUNTIME,
  };
  for (const pair of whole.split(/[;,]/)) {
    const [kind = '', runtime, ...more] = pair.split('=').map((part) => part.trim());
    if (runtime === undefined || more.length > 0)
      return { fault: `${quoted(pair.trim())} is neither ${RUNTIME_NAMES.join(' nor ')} nor KIND=RUNTIME; ${USAGE}` };
    if (!isPackageKind(kind)) return { fault: `there is no kind of package ${quoted(kind)}; ${USAGE}` };
    if (!isRuntime(runtime)) return { fault: `there is no runtime ${quoted(runtime)}; ${USAGE}` };
    chosen[kind] = runtime;
  }
  return chosen;
}

export type ResolvedReference =
  /** The config to use. */
  | { readonly config: Required<ConfigReference> }
  /** Any reference is passed through untouched, none included. */
  | { readonly passedOn: ConfigReference | undefined }
  | { readonly fault: string };

/** The config that a package uses: the one that it names, else the one named `default` of the runtime's kind. */
export function resolveConfigReference(
  runtime: Runtime,
  ref: ConfigReference | undefined,
  stage: Stage,
): ResolvedReference {
  const { config } = runtime;
  if (config === undefined) return { passedOn: ref };
  const apiVersion = ref?.apiVersion || `${config.group}/${versionOfStage(stage)}`;
  const kind = ref?.kind || config.kind;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  if (kind !== config.kind || groupOf(apiVersion) !== config.group || !config.versions.includes(version)) {
    return {
      fault: `spec.runtimeConfigRef names a ${kind} of ${apiVersion}, which the runtime ${runtime.name} cannot use; name a ${config.kind} of ${config.group}/${versionOfStage(stage)}, or start Crossplane with --package-runtime=External and run the package with a controller for that kind`,
    };
  }
  return { config: { apiVersion, kind, name: ref?.name || DEFAULT_CONFIG_NAME } };
}

const RUNTIME_NAMES = Object.keys(RUNTIMES);
const USAGE = `use ${RUNTIME_NAMES.join(' or ')}, or KIND=RUNTIME with semicolons between, where KIND is ${PACKAGE_KINDS.join(', ')}`;

function isRuntime(text: string): text is RuntimeName {
  return Object.hasOwn(RUNTIMES, text);
}

function isPackageKind(text: string): text is PackageKind {
  return PACKAGE_KINDS.some((kind) => kind === text);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
