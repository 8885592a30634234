// The operator's own flags: `crossplane core start --package-runtime=External`, and `--crossplane.package-runtime=External`
// of Capstan's commands. Environment variables stand in for flags that are not given.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseDuration, validateDns1123Subdomain } from '@capstan/kube';
import { createRegistrySource } from '../facts/registry-source.ts';
import { proxyOf } from '../oci/proxy.ts';
import { DEFAULT_STAGE, parsePackageRuntime, parseStage, runtimeConfigFeature, STAGES } from '../runtime/index.ts';
import { defaultSettings, type Settings } from '../settings.ts';
import { parseVersion } from '../xpkg/semver.ts';

export interface FlagHelp {
  /** Undefined for what is true or false. */
  readonly value?: string;
  readonly help: string;
  readonly env?: string;
  /** Accepted so that upstream's manifests work; there is nothing here that it would change. */
  readonly isIdle?: boolean;
}

const idle = (help: string): FlagHelp => ({ value: 'VALUE', help: `Accepted, without effect: ${help}`, isIdle: true });

export const FLAGS: Readonly<Record<string, FlagHelp>> = {
  namespace: {
    value: 'NAME',
    help: 'Where runtimes and pull secrets are; default crossplane-system.',
    env: 'POD_NAMESPACE',
  },
  'service-account': {
    value: 'NAME',
    help: 'Whose pull secrets serve for all packages; default crossplane.',
    env: 'POD_SERVICE_ACCOUNT',
  },
  registry: { value: 'HOST', help: 'For packages that name no registry; default xpkg.crossplane.io.', env: 'REGISTRY' },
  'ca-bundle-path': { value: 'FILE', help: 'Certificate authorities of registries.', env: 'CA_BUNDLE_PATH' },
  'user-agent': { value: 'TEXT', help: 'What registries are told; default capstan.', env: 'USER_AGENT' },
  'xpkg-cache-dir': {
    value: 'DIR',
    help: 'Where packages are kept; default /cache/xpkg in a pod, else a cache folder of the user.',
    env: 'XPKG_CACHE_DIR',
  },
  'package-runtime': {
    value: 'RUNTIME',
    help: 'Deployment or External, or one for each kind: Provider=Deployment;Function=External. Default Deployment.',
    env: 'PACKAGE_RUNTIME',
  },
  'enable-runtime-config': {
    help: 'Honour runtimeConfigRef and not controllerConfigRef; default by the stage, true in beta.',
    env: 'ENABLE_RUNTIME_CONFIG',
  },
  'enable-deployment-runtime-configs': { help: 'Upstream’s name for --enable-runtime-config.' },
  'runtime-config-stage': { value: STAGES.join('|'), help: `The stage of runtime configs; default ${DEFAULT_STAGE}.` },
  'poll-interval': {
    value: 'DURATION',
    help: 'How often tags of packages with pull policy Always are looked up; default 1m.',
  },
  'status-log-lines': { value: 'NUMBER', help: 'Log lines of a runtime that crashed, on its status; default 0.' },
  'enable-dependency-version-upgrades': { help: 'Move dependencies to versions that serve everybody; default false.' },
  'provider-clusterrole': {
    value: 'NAME',
    help: 'What packages may ask for besides their own types; default nothing.',
  },
  'manage-rbac': { help: 'Make the ClusterRoles of providers; default true.' },
  'cluster-domain': { value: 'DOMAIN', help: 'What host names of Services end in; default cluster.local.' },
  'crossplane-version': { value: 'VERSION', help: 'What constraints of packages are compared with; default 1.20.0.' },
  'sync-interval': idle('what changes is noticed at once.'),
  'max-reconcile-rate': idle('only retries are limited.'),
  'max-concurrent-package-establishers': idle('at most 16 writes of a package are under way.'),
  'webhook-port': idle('there are no webhooks of its own.'),
};

/** A flag that is not one, or whose value cannot be used. */
export interface FlagFault {
  readonly flag: string;
  /** Undefined when there is no such flag. */
  readonly remedy: string | undefined;
  /** The variable of the environment that its value came from. */
  readonly variable?: string;
}

type Given = Readonly<Record<string, string | undefined>>;

/** The settings that flags and environment ask for; packages come from registries. */
export function settingsFromFlags(
  flags: Readonly<Record<string, string>>,
  env: Given = {},
): Partial<Settings> | { readonly fault: FlagFault } {
  const unknown = Object.keys(flags).find((flag) => !Object.hasOwn(FLAGS, flag));
  if (unknown !== undefined) return { fault: { flag: unknown, remedy: undefined } };
  const taken: Taken = { settings: {}, source: {}, feature: {} };
  for (const [flag, { env: variable }] of Object.entries(FLAGS)) {
    const value = flags[flag] ?? (variable === undefined ? undefined : env[variable]);
    if (value === undefined || (value === '' && flags[flag] === undefined)) continue;
    const remedy = TAKE[flag]?.(value, taken);
    const isOfEnvironment = flags[flag] === undefined && variable !== undefined;
    if (remedy !== undefined) return { fault: { flag, remedy, ...(isOfEnvironment && { variable }) } };
  }
  const { settings, source, feature } = taken;
  const registry = settings.registry ?? defaultSettings().registry;
  const proxy = proxyOf(env);
  return {
    ...settings,
    runtimeConfig: runtimeConfigFeature(feature.stage, feature.enabled),
    source: createRegistrySource({ cacheDir: cacheDir(env), registry, ...(proxy && { proxy }), ...source }),
  };
}

interface Taken {
  readonly settings: { -readonly [Name in keyof Settings]?: Settings[Name] };
  readonly source: { cacheDir?: string; caBundlePath?: string; userAgent?: string };
  readonly feature: { stage?: (typeof STAGES)[number]; enabled?: boolean };
}

/** Takes a flag; what to do when it cannot be taken. */
type Take = (value: string, taken: Taken) => string | undefined;

const takeName =
  (name: 'namespace' | 'serviceAccount' | 'clusterDomain'): Take =>
  (value, { settings }) => {
    if (validateDns1123Subdomain(value).length > 0) return 'use a DNS name';
    settings[name] = value;
    return undefined;
  };

const takeTruth =
  (use: (value: boolean, taken: Taken) => void): Take =>
  (value, taken) => {
    if (value !== 'true' && value !== 'false') return 'use true or false';
    use(value === 'true', taken);
    return undefined;
  };

const takeEnabled = takeTruth((value, { feature }) => {
  feature.enabled = value;
});

const TAKE: Readonly<Record<string, Take>> = {
  namespace: takeName('namespace'),
  'service-account': takeName('serviceAccount'),
  'cluster-domain': takeName('clusterDomain'),
  registry(value, { settings }) {
    if (!/^[A-Za-z0-9.-]+(:\d+)?$/.test(value)) return 'use a host, with a port if need be: registry.example:5000';
    settings.registry = value;
    return undefined;
  },
  'ca-bundle-path'(value, { source }) {
    source.caBundlePath = value;
    return undefined;
  },
  'user-agent'(value, { source }) {
    source.userAgent = value;
    return undefined;
  },
  'xpkg-cache-dir'(value, { source }) {
    if (value === '') return 'name a folder';
    source.cacheDir = value;
    return undefined;
  },
  'package-runtime'(value, { settings }) {
    const chosen = parsePackageRuntime(value);
    if ('fault' in chosen) return chosen.fault;
    settings.packageRuntime = chosen;
    return undefined;
  },
  'enable-runtime-config': takeEnabled,
  'enable-deployment-runtime-configs': takeEnabled,
  'runtime-config-stage'(value, { feature }) {
    const stage = parseStage(value);
    if (stage === undefined) return `use one of ${STAGES.join(', ')}`;
    feature.stage = stage;
    return undefined;
  },
  'poll-interval'(value, { settings }) {
    const ms = durationOf(value);
    if (ms === undefined || ms < 1000) return 'use a duration of a second or more, such as 1m';
    settings.pollMs = ms;
    return undefined;
  },
  'status-log-lines'(value, { settings }) {
    if (!/^\d{1,3}$/.test(value)) return 'use a number from 0 to 999';
    settings.statusLogLines = Number(value);
    return undefined;
  },
  'enable-dependency-version-upgrades': takeTruth((value, { settings }) => {
    settings.upgradeDependencies = value;
  }),
  'provider-clusterrole'(value, { settings }) {
    settings.providerClusterRole = value === '' ? undefined : value;
    return undefined;
  },
  'manage-rbac': takeTruth((value, { settings }) => {
    settings.manageRbac = value;
  }),
  'crossplane-version'(value, { settings }) {
    if (parseVersion(value) === undefined) return 'use a version, such as 1.20.0';
    settings.version = value;
    return undefined;
  },
};

function cacheDir(env: Given): string {
  if (env['KUBERNETES_SERVICE_HOST']) return '/cache/xpkg';
  const home = env['HOME'] || homedir();
  return join(env['XDG_CACHE_HOME'] || join(home, '.cache'), 'capstan', 'xpkg');
}

function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}
