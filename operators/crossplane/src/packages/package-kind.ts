// The three kinds of packages in one table, which holds all differences between them.
import type { Kind } from '@capstan/kube';
import {
  Configuration,
  ConfigurationRevision,
  FunctionPackage,
  FunctionRevision,
  Provider,
  ProviderRevision,
} from '../kinds/index.ts';
import { type BuiltInRuntime, isBuiltIn } from '../runtime/runtime.ts';
import type { Settings } from '../settings.ts';

/** A package of any kind, as its reconcilers see it: those without a runtime lack the optional fields about it. */
export type PackageObject = Provider;
/** A revision of any kind. */
export type RevisionObject = FunctionRevision;

export interface PackageKind {
  /** In names of reconcilers. */
  readonly name: 'provider' | 'function' | 'configuration';
  readonly kind: 'Provider' | 'Function' | 'Configuration';
  readonly package: Kind<PackageObject>;
  readonly revision: Kind<RevisionObject>;
  /** The kind of runtime, if it has one. */
  readonly runtime: 'Provider' | 'Function' | undefined;
}

export const PROVIDER: PackageKind = {
  name: 'provider',
  kind: 'Provider',
  package: Provider,
  revision: ProviderRevision,
  runtime: 'Provider',
};
export const FUNCTION: PackageKind = {
  name: 'function',
  kind: 'Function',
  package: FunctionPackage,
  revision: FunctionRevision,
  runtime: 'Function',
};
export const CONFIGURATION: PackageKind = {
  name: 'configuration',
  kind: 'Configuration',
  // It lacks the fields about a runtime, at which nothing looks where there is none.
  package: Configuration as unknown as Kind<PackageObject>,
  revision: ConfigurationRevision,
  runtime: undefined,
};

export const PACKAGE_KINDS: readonly PackageKind[] = [PROVIDER, FUNCTION, CONFIGURATION];

export function packageKindOf(kind: string): PackageKind | undefined {
  return PACKAGE_KINDS.find((one) => one.kind === kind);
}

type Runs = Pick<Settings, 'runtimes' | 'packageRuntime'>;

/** The runtime that runs packages of this kind here; undefined when they run nothing, or another client runs them. */
export function runtimeFor({ runtime }: PackageKind, { runtimes, packageRuntime }: Runs): BuiltInRuntime | undefined {
  const chosen = runtime === undefined ? undefined : runtimes[packageRuntime[runtime]];
  return isBuiltIn(chosen) ? chosen : undefined;
}

/** All runtimes that something runs with here, each once. */
export function runtimesInUse(settings: Runs): readonly BuiltInRuntime[] {
  return [...new Set(PACKAGE_KINDS.flatMap((kind) => runtimeFor(kind, settings) ?? []))];
}
