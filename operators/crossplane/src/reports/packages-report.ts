// The pages of packages: the installed packages, and for one package each field of its runtime with the layer that set it: a default, the
// template of the runtime config, or a setting that the package requires.
import { derivation, type Reader, type Report, report } from '@capstan/reconcile';
import { PACKAGE_KINDS, type PackageKind, type PackageObject, packageKindOf } from '../packages/package-kind.ts';
import { deploymentRuntime } from '../runtime/index.ts';
import type { RuntimeObjects } from '../runtime/runtime.ts';
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
  if (prepared.state === 'failed') {
    const warnings = kind.runtime === undefined ? [] : [prepared.message];
    return { ...summary, fields: [], users: [], warnings };
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
  };
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
