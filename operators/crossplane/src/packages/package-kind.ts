// The three kinds of packages in one table: what differs between them is here, and nowhere else.
import type { Kind } from '@capstan/kube';
import {
  Configuration,
  ConfigurationRevision,
  FunctionPackage,
  FunctionRevision,
  Provider,
  ProviderRevision,
} from '../kinds/index.ts';
import type { RuntimeName } from '../runtime/index.ts';
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
  /** What it runs, if anything. */
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
  package: Configuration,
  revision: ConfigurationRevision,
  runtime: undefined,
};

export const PACKAGE_KINDS: readonly PackageKind[] = [PROVIDER, FUNCTION, CONFIGURATION];

export function packageKindOf(kind: string): PackageKind | undefined {
  return PACKAGE_KINDS.find((one) => one.kind === kind);
}

/** Who runs what packages of this kind run; undefined when they run nothing. */
export function runtimeModeOf({ runtime }: PackageKind, settings: Settings): RuntimeName | undefined {
  return runtime === undefined ? undefined : settings.packageRuntime[runtime];
}
