// The runtimes that packages can have, as a table: another one is a file that implements runtime.ts, and its line here. `--package-runtime`
// chooses one, for all packages or for each kind of them.
import { groupOf } from '@capstan/kube';
import { DEFAULT_CONFIG_NAME } from './default-config.ts';
import { deploymentRuntime } from './deployment-runtime.ts';
import type { Runtime } from './runtime.ts';
import type { ConfigReference, Stage } from './stages.ts';

/** By name. */
export type Runtimes = Readonly<Record<string, Runtime>>;

export const RUNTIMES = {
  Deployment: deploymentRuntime,
  External: { name: 'External' },
} as const satisfies Runtimes;

export const DEFAULT_RUNTIME = 'Deployment';

/** Kinds of packages that `--package-runtime` can name; a Configuration runs nothing, and may be named all the same. */
const PACKAGE_KINDS = ['Provider', 'Function', 'Configuration'] as const;
export type PackageKind = (typeof PACKAGE_KINDS)[number];

/** The name of each one's runtime. */
export type ChosenRuntimes = Readonly<Record<PackageKind, string>>;

/**
 * Parses `--package-runtime`: one runtime for all (`External`), or one for each kind (`Provider=Deployment;Function=External`, also with
 * commas). A kind that is not named has a Deployment. If a kind is named several times, the last counts. Empty is the default.
 */
export function parsePackageRuntime(
  text: string,
  runtimes: Runtimes = RUNTIMES,
): ChosenRuntimes | { readonly fault: string } {
  const names = Object.keys(runtimes);
  const isRuntime = (name: string) => Object.hasOwn(runtimes, name);
  const usage = `use ${names.join(' or ')}, or KIND=RUNTIME with semicolons between, where KIND is ${PACKAGE_KINDS.join(', ')}`;
  const whole = text.trim() === '' ? DEFAULT_RUNTIME : text.trim();
  if (isRuntime(whole)) return { Provider: whole, Function: whole, Configuration: whole };
  const chosen: Record<PackageKind, string> = {
    Provider: DEFAULT_RUNTIME,
    Function: DEFAULT_RUNTIME,
    Configuration: DEFAULT_RUNTIME,
  };
  for (const pair of whole.split(/[;,]/)) {
    const [kind = '', runtime, ...more] = pair.split('=').map((part) => part.trim());
    if (runtime === undefined || more.length > 0)
      return { fault: `${quoted(pair.trim())} is neither ${names.join(' nor ')} nor KIND=RUNTIME; ${usage}` };
    if (!isPackageKind(kind)) return { fault: `there is no kind of package ${quoted(kind)}; ${usage}` };
    if (!isRuntime(runtime)) return { fault: `there is no runtime ${quoted(runtime)}; ${usage}` };
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
  const apiVersion = ref?.apiVersion || `${config.kind.group}/${config.versionOf(stage)}`;
  const kind = ref?.kind || config.kind.kind;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  if (kind !== config.kind.kind || groupOf(apiVersion) !== config.kind.group || !config.versions.includes(version)) {
    return {
      fault: `spec.runtimeConfigRef names a ${kind} of ${apiVersion}, which the runtime ${runtime.name} cannot use; name a ${config.kind.kind} of ${config.kind.group}/${config.versionOf(stage)}, or start Crossplane with --package-runtime=External and run the package with a controller for that kind`,
    };
  }
  return { config: { apiVersion, kind, name: ref?.name || DEFAULT_CONFIG_NAME } };
}

function isPackageKind(text: string): text is PackageKind {
  return PACKAGE_KINDS.some((kind) => kind === text);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
