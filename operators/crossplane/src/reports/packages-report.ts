// The pages of packages: the installed packages, and for one package each field of its runtime with the layer that set it: a default, the
// template of the runtime config, or a setting that the package requires.
import { findCondition, type KubeObject, kindId, ServiceAccount } from '@capstan/kube';
import { derivation, type Reader, type Report, report } from '@capstan/reconcile';
import {
  PACKAGE_KINDS,
  type PackageKind,
  type PackageObject,
  packageKindOf,
  type RevisionObject,
} from '../packages/package-kind.ts';
import { deploymentRuntime } from '../runtime/index.ts';
import type { BuiltInRuntime, RuntimeObjects } from '../runtime/runtime.ts';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';
import type { RevisionRuntimes } from '../workload/runtime-of-revision.ts';

export interface PackagesReport {
  readonly packages: readonly PackageSummary[];
}

interface PackageSummary {
  readonly kind: string;
  readonly name: string;
  readonly package: string;
  readonly revision: string;
  readonly config: string;
}

export interface PackageReport extends PackageSummary {
  readonly fields: readonly PackageField[];
  /** Packages that use the same runtime config. */
  readonly users: readonly string[];
  readonly warnings: readonly string[];
  /** From the package to the account that its pods run with. */
  readonly steps: readonly PackageStep[];
  /** The Secrets with the certificates of its runtime. */
  readonly certificates: readonly { readonly usage: 'server' | 'client'; readonly secret: string }[];
}

export interface PackageStep {
  readonly world: string;
  readonly kind: string;
  readonly key: string;
  readonly detail: string;
  readonly state: 'ready' | 'progress' | 'broken' | 'absent';
}

type Layer = 'default' | 'template' | 'package';

export interface PackageField {
  readonly object: string;
  readonly path: string;
  readonly layers: { readonly [layer in Layer]?: unknown };
  readonly winner: Layer;
  readonly value: unknown;
}

export function createPackagesReport(runtimes: RevisionRuntimes): Report {
  return report({
    name: 'packages',
    title: 'Packages',
    of: derivation<PackagesReport | PackageReport | undefined>({
      name: 'packages-report',
      compute({ key, read }) {
        if (key === '') return { packages: PACKAGE_KINDS.flatMap((kind) => summariesOf(kind, read, runtimes)) };
        const slash = key.indexOf('/');
        const kind = packageKindOf(key.slice(0, slash));
        return kind && packageReport(kind, key.slice(slash + 1), read, runtimes);
      },
    }),
    // Packages and their revisions are read by the reconcilers too.
    reads: PACKAGE_KINDS.flatMap((kind) => [kind.package, kind.revision]),
  });
}

function summariesOf(kind: PackageKind, read: Reader, runtimes: RevisionRuntimes): PackageSummary[] {
  return read.list(kind.package, {}, installedOf).map((one) => summaryOf(kind, one, read, runtimes));
}

const installedOf = ({ metadata, spec, status }: PackageObject) => ({
  name: metadata.name ?? '',
  package: spec.package,
  revision: status?.currentRevision ?? '',
});

function summaryOf(
  kind: PackageKind,
  installed: ReturnType<typeof installedOf>,
  read: Reader,
  runtimes: RevisionRuntimes,
): PackageSummary {
  const prepared = runtimes.prepare(read, `${kind.kind} ${installed.revision}`);
  const config = prepared.state === 'prepared' ? (prepared.config ?? '') : '';
  return { kind: kind.kind, ...installed, config };
}

function packageReport(
  kind: PackageKind,
  name: string,
  read: Reader,
  runtimes: RevisionRuntimes,
): PackageReport | undefined {
  const installed = read.get(kind.package, { name }, installedOf);
  if (installed === undefined) return undefined;
  const summary = summaryOf(kind, installed, read, runtimes);
  const prepared = runtimes.prepare(read, `${kind.kind} ${installed.revision}`);
  const steps = stepsTo(kind, installed, read);
  if (prepared.state === 'failed') {
    const warnings = kind.runtime === undefined ? [] : [prepared.message];
    return { ...summary, fields: [], users: [], warnings, steps, certificates: [] };
  }
  const { runtime, input, warnings } = prepared;
  const rendered = runtime.render(input);
  const plain = runtime.render({ ...input, config: runtime.emptyConfig, controllerConfig: undefined });
  // Only the config of Deployments is known field by field; other runtimes have templates of their own.
  const template = runtime.name === deploymentRuntime.name ? (input.config as RuntimeConfig) : undefined;
  const users = PACKAGE_KINDS.flatMap((one) => summariesOf(one, read, runtimes)).filter(
    (one) => one.config !== '' && one.config === summary.config && !(one.kind === kind.kind && one.name === name),
  );
  return {
    ...summary,
    fields: fieldsOf(rendered, plain, template),
    users: users.map((one) => `${one.kind} ${one.name}`),
    warnings: [...warnings, ...rendered.notes.map(({ message }) => message)],
    steps: [...steps, ...runtimeSteps(runtime, rendered, read)],
    certificates: certificatesOf(input.revision),
  };
}

function stepsTo(kind: PackageKind, { name, revision }: ReturnType<typeof installedOf>, read: Reader): PackageStep[] {
  const own = read.get(kind.package, { name }, standingOf);
  const first = { world: '', kind: kindId(kind.package), key: name, ...(own ?? ABSENT) };
  if (revision === '') return [first];
  const found = read.get(kind.revision, { name: revision }, revisionStandingOf);
  return [first, { world: '', kind: kindId(kind.revision), key: revision, ...(found ?? ABSENT) }];
}

type Standing = Pick<PackageStep, 'detail' | 'state'>;

const ABSENT: Standing = { detail: 'does not exist', state: 'absent' };

/** The first condition that is not true decides. */
function standingOf({ status }: Pick<PackageObject, 'status'>): Standing {
  const conditions = [findCondition(status?.conditions, 'Installed'), findCondition(status?.conditions, 'Healthy')];
  const bad = conditions.find((one) => one?.status === 'False');
  if (bad !== undefined)
    return { detail: [bad.reason, bad.message].filter((text) => text !== '').join(': '), state: 'broken' };
  const known = conditions.flatMap((one) => (one?.status === 'True' ? [one.type] : []));
  return known.length === 0
    ? { detail: 'no condition yet', state: 'progress' }
    : { detail: known.join(', '), state: 'ready' };
}

function revisionStandingOf({ spec, status }: RevisionObject): Standing {
  const healthy = findCondition(status?.conditions, 'Healthy');
  const objects = status?.objectRefs?.length ?? 0;
  const installed = `${spec.desiredState}, ${objects} ${objects === 1 ? 'object' : 'objects'} installed`;
  if (healthy?.status === 'False')
    return { detail: `${installed}; ${healthy.reason}: ${healthy.message}`, state: 'broken' };
  return { detail: installed, state: healthy === undefined ? 'progress' : 'ready' };
}

function runtimeSteps(runtime: BuiltInRuntime, rendered: RuntimeObjects, read: Reader): PackageStep[] {
  const { workload, serviceAccount } = rendered;
  const { namespace = '', name = '' } = workload.metadata;
  const { kind } = runtime.workload;
  const pods = read.get(kind, { namespace, name }, podsOf);
  // Packages with the same account have none of their own.
  const account =
    serviceAccount?.metadata.name ?? (workload as Workload).spec?.template?.spec?.serviceAccountName ?? '';
  return [
    { world: '', kind: kindId(kind), key: `${namespace}/${name}`, ...(pods ?? ABSENT) },
    {
      world: '',
      kind: kindId(ServiceAccount),
      key: `${namespace}/${account}`,
      detail: 'its pods run with the rights of this account',
      state: read.get(ServiceAccount, { namespace, name: account }, isThere) === true ? 'ready' : 'absent',
    },
  ];
}

const isThere = () => true;

interface Workload {
  readonly spec?: { readonly template?: { readonly spec?: { readonly serviceAccountName?: string } } };
}

interface Scaled {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

function podsOf(workload: KubeObject): Standing {
  const { spec, status } = workload as KubeObject & Scaled;
  const wanted = spec?.replicas ?? 1;
  const ready = status?.readyReplicas ?? 0;
  return { detail: `${ready} of ${wanted} pods are ready`, state: ready >= wanted ? 'ready' : 'progress' };
}

interface TlsNames {
  readonly tlsServerSecretName?: string | undefined;
  readonly tlsClientSecretName?: string | undefined;
}

function certificatesOf({ tlsServerSecretName: server, tlsClientSecretName: client }: TlsNames) {
  return [
    ...(server === undefined ? [] : [{ usage: 'server' as const, secret: server }]),
    ...(client === undefined ? [] : [{ usage: 'client' as const, secret: client }]),
  ];
}

/** Fields that have a value without a template, and that a template may set. */
const DEFAULTS =
  /^spec\.replicas$|securityContext|\.imagePullPolicy$|metadata\.annotations\.prometheus\.io\/|^metadata\.name$/;

function fieldsOf(
  rendered: RuntimeObjects,
  plain: RuntimeObjects,
  template: RuntimeConfig | undefined,
): PackageField[] {
  const objects = [
    ['Deployment', rendered.workload, plain.workload, template?.deployment],
    ['Service', rendered.service, plain.service, template && { metadata: template.service }],
    [
      'ServiceAccount',
      rendered.serviceAccount,
      plain.serviceAccount,
      template && { metadata: template.serviceAccount },
    ],
  ] as const;
  return objects.flatMap(([object, after, before, given]) => {
    const values = leavesOf(after);
    const own = leavesOf(before);
    const templates = leavesOf(given);
    return [...values].map(([path, value]): PackageField => {
      const base = own.get(path);
      const ofTemplate = templates.get(path);
      const isDefault = DEFAULTS.test(path);
      const layers = {
        ...(base !== undefined && (isDefault ? { default: base } : { package: base })),
        ...(ofTemplate !== undefined && { template: ofTemplate }),
      };
      const isTemplates = ofTemplate !== undefined && JSON.stringify(ofTemplate) === JSON.stringify(value);
      const isRequired = base !== undefined && !isDefault && JSON.stringify(base) === JSON.stringify(value);
      const winner = isRequired ? 'package' : isTemplates ? 'template' : isDefault ? 'default' : 'package';
      return { object, path, layers: winner in layers ? layers : { ...layers, [winner]: value }, winner, value };
    });
  });
}

/** Every value that is no object, by its path; entries of lists by their names. */
function leavesOf(value: unknown): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  const walk = (one: unknown, path: string): void => {
    if (Array.isArray(one) && one.length > 0) {
      for (const [at, entry] of (one as readonly unknown[]).entries()) walk(entry, `${path}[${nameOf(entry) ?? at}]`);
    } else if (typeof one === 'object' && one !== null && Object.keys(one).length > 0) {
      for (const [key, inner] of Object.entries(one)) walk(inner, path === '' ? key : `${path}.${key}`);
    } else if (one !== undefined) found.set(path, one);
  };
  walk(value, '');
  return found;
}

function nameOf(entry: unknown): string | undefined {
  const { name, mountPath } = (entry ?? {}) as { name?: unknown; mountPath?: unknown };
  const key = typeof mountPath === 'string' ? mountPath : name;
  return typeof key === 'string' ? key : undefined;
}
