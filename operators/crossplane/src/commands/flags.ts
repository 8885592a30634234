// The operator's own flags: `crossplane core start --package-runtime=External`, and `--crossplane.package-runtime=External`
// of Capstan's commands.
import {
  dnsName,
  duration,
  type Flag,
  type Flags,
  notEmpty,
  type Refusal,
  refuse,
  wholeNumber,
} from '@capstan/reconcile/command-line';
import { DEFAULT_MAX_ROLE } from '../rbac/bound.ts';
import { type ChosenRuntimes, DEFAULT_STAGE, parsePackageRuntime, parseStage, STAGES } from '../runtime/index.ts';
import { parseVersion } from '../xpkg/semver.ts';

/** Accepted so that manifests of the original project work; there is nothing here that it would change. */
const idle = (why: string) => ({ type: 'string', help: `Accepted, without effect: ${why}` }) as const satisfies Flag;

export const FLAGS = {
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME',
    default: 'crossplane-system',
    env: 'POD_NAMESPACE',
    parse: dnsName(),
    help: 'Where runtimes and pull secrets are.',
  },
  'service-account': {
    type: 'string',
    value: 'NAME',
    default: 'crossplane',
    env: 'POD_SERVICE_ACCOUNT',
    parse: dnsName(),
    help: 'Whose pull secrets serve for all packages.',
  },
  registry: {
    type: 'string',
    value: 'HOST',
    default: 'xpkg.crossplane.io',
    env: 'REGISTRY',
    parse: registryHost,
    help: 'For packages that name no registry.',
  },
  'ca-bundle-path': {
    type: 'string',
    value: 'FILE',
    env: 'CA_BUNDLE_PATH',
    help: 'Certificate authorities of registries.',
  },
  'sigstore-trusted-root': {
    type: 'string',
    value: 'FILE',
    help: 'A trusted_root.json of Sigstore, which keyless signatures of packages are checked with.',
  },
  'fulcio-root': {
    type: 'string',
    value: 'FILE',
    env: 'SIGSTORE_ROOT_FILE',
    help: 'The same in parts: certificates of Fulcio, in PEM.',
  },
  'rekor-public-key': {
    type: 'string',
    value: 'FILE',
    env: 'SIGSTORE_REKOR_PUBLIC_KEY',
    help: 'The same in parts: public keys of Rekor, in PEM.',
  },
  'ctlog-public-key': {
    type: 'string',
    value: 'FILE',
    env: 'SIGSTORE_CT_LOG_PUBLIC_KEY_FILE',
    help: 'The same in parts: public keys of the logs of certificates, in PEM.',
  },
  'user-agent': {
    type: 'string',
    value: 'TEXT',
    env: 'USER_AGENT',
    help: 'The user agent to registries; default capstan.',
  },
  'xpkg-cache-dir': {
    type: 'string',
    value: 'DIR',
    env: 'XPKG_CACHE_DIR',
    parse: notEmpty('name a folder'),
    help: 'Where packages are kept; default /cache/xpkg in a pod, else a cache folder of the user.',
  },
  'package-runtime': {
    type: 'string',
    value: 'RUNTIME',
    default: 'Deployment',
    env: 'PACKAGE_RUNTIME',
    parse: packageRuntime,
    help: 'Deployment or External, or one for each kind: Provider=Deployment;Function=External.',
  },
  'enable-runtime-config': {
    type: 'boolean',
    env: 'ENABLE_RUNTIME_CONFIG',
    aliases: ['enable-deployment-runtime-configs'],
    help: 'Honour runtimeConfigRef and not controllerConfigRef; default by the stage, true in beta.',
  },
  'runtime-config-stage': {
    type: 'string',
    value: STAGES.join('|'),
    default: DEFAULT_STAGE,
    parse: stage,
    help: 'The stage of runtime configs.',
  },
  'poll-interval': {
    type: 'string',
    value: 'DURATION',
    default: '1m',
    parse: duration({ minMs: 1000, remedy: 'use a duration of a second or more, such as 1m' }),
    help: 'How often tags of packages with pull policy Always are checked.',
  },
  'status-log-lines': {
    type: 'string',
    value: 'NUMBER',
    default: '0',
    parse: wholeNumber(0, 999),
    help: 'Log lines of a runtime that crashed, on its status.',
  },
  'enable-dependency-version-upgrades': {
    type: 'boolean',
    default: false,
    help: 'Move dependencies to versions that serve all packages.',
  },
  'provider-clusterrole': {
    type: 'string',
    value: 'NAME',
    help: 'What packages may ask for besides their own types; default nothing.',
  },
  'max-role': {
    type: 'string',
    value: 'NAME',
    default: DEFAULT_MAX_ROLE,
    parse: notEmpty('name a ClusterRole'),
    help: 'The ClusterRole that bounds all rights of providers, their own types included.',
  },
  'manage-rbac': { type: 'boolean', default: true, help: 'Create the ClusterRoles of providers.' },
  'cluster-domain': {
    type: 'string',
    value: 'DOMAIN',
    default: 'cluster.local',
    parse: dnsName(),
    help: 'What host names of Services end in.',
  },
  'crossplane-version': {
    type: 'string',
    value: 'VERSION',
    default: '1.20.0',
    parse: version,
    help: 'What constraints of packages are compared with.',
  },
  'sync-interval': idle('what changes is noticed at once.'),
  'max-reconcile-rate': idle('only retries are limited.'),
  'max-concurrent-package-establishers': idle('at most 16 writes of a package are under way.'),
  'webhook-port': idle('there are no webhooks of its own.'),
} as const satisfies Flags;

/** Flags of the original's `core start` that `capstan run` has under another name. */
export const START_FLAGS = {
  'leader-election': { type: 'boolean', help: 'Write only while holding the Lease; default true.' },
  'metrics-port': {
    type: 'string',
    value: 'PORT',
    parse: wholeNumber(0, 65_535),
    help: 'Where /metrics is served; default 8080 in a pod, else not at all.',
  },
  'health-probe-port': {
    type: 'string',
    value: 'PORT',
    parse: wholeNumber(0, 65_535),
    help: 'Where /healthz and /readyz are; default 8081 in a pod, else nowhere.',
  },
  debug: { type: 'boolean', short: 'd', help: 'Log more.' },
} as const satisfies Flags;

function registryHost(text: string): string | Refusal {
  if (/^[A-Za-z0-9.-]+(:\d+)?$/.test(text)) return text;
  return refuse('use a host, with a port if need be: registry.example:5000');
}

function packageRuntime(text: string): ChosenRuntimes | Refusal {
  const chosen = parsePackageRuntime(text);
  return 'fault' in chosen ? refuse(chosen.fault) : chosen;
}

function stage(text: string): (typeof STAGES)[number] | Refusal {
  return parseStage(text) ?? refuse(`use one of ${STAGES.join(', ')}`);
}

function version(text: string): string | Refusal {
  return parseVersion(text) === undefined ? refuse('use a version, such as 1.20.0') : text;
}
