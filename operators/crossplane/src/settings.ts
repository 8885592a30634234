import { systemClock } from '@capstan/kube';
import type { Bound } from '@capstan/reconcile';
import { type FlagValues, flagDefaults } from '@capstan/reconcile/command-line';
import { FLAGS } from './commands/flags.ts';
import { noSource, type PackageSource } from './facts/package-source.ts';
import { boundOf } from './rbac/bound.ts';
import {
  type ChosenRuntimes,
  RUNTIMES,
  type RuntimeConfigFeature,
  type Runtimes,
  runtimeConfigFeature,
} from './runtime/index.ts';

/** The settings that the operator is started with. */
export interface Settings {
  /** Where runtimes, their certificates and pull secrets are. */
  readonly namespace: string;
  /** The manager's own ServiceAccount: its pull secrets serve for all packages. */
  readonly serviceAccount: string;
  /** For references that name no registry. */
  readonly registry: string;
  /** The version that packages' constraints are compared with. */
  readonly version: string;
  /** The runtimes to choose from. */
  readonly runtimes: Runtimes;
  /** Who runs the runtimes of each kind. */
  readonly packageRuntime: ChosenRuntimes;
  /** Whether runtimeConfigRef or controllerConfigRef is honoured. */
  readonly runtimeConfig: RuntimeConfigFeature;
  /** How often the tag of a package with pull policy Always is looked up. */
  readonly pollMs: number;
  /** How many log lines of a runtime that does not start are put into the status; 0 for none. */
  readonly statusLogLines: number;
  /** Whether a dependency that is installed in a version that does not serve is moved to one that does. */
  readonly upgradeDependencies: boolean;
  /** The ClusterRole that limits the requests of packages; undefined refuses all such requests. */
  readonly providerClusterRole: string | undefined;
  /** The ClusterRole that bounds all that providers get, their own types included. */
  readonly bound: Bound;
  /** Whether ClusterRoles and bindings of providers are created. */
  readonly manageRbac: boolean;
  /** The domain at the end of the host names of Services. */
  readonly clusterDomain: string;
  /** Milliseconds since the epoch, for the validity of certificates. */
  now(): number;
  /** Where packages come from. */
  readonly source: PackageSource;
}

/** Returns the settings that the flags ask for, except for the source of packages. */
export function settingsOf(values: FlagValues<typeof FLAGS>): Omit<Settings, 'runtimes' | 'now' | 'source'> {
  return {
    namespace: values.namespace,
    serviceAccount: values['service-account'],
    registry: values.registry,
    version: values['crossplane-version'],
    packageRuntime: values['package-runtime'],
    runtimeConfig: runtimeConfigFeature(values['runtime-config-stage'], values['enable-runtime-config']),
    pollMs: values['poll-interval'],
    statusLogLines: values['status-log-lines'],
    upgradeDependencies: values['enable-dependency-version-upgrades'],
    providerClusterRole: values['provider-clusterrole'] || undefined,
    bound: boundOf(values['max-role']),
    manageRbac: values['manage-rbac'],
    clusterDomain: values['cluster-domain'],
  };
}

/** Returns the settings without flags. It is a function, because the clock is the machine's. */
export function defaultSettings(): Settings {
  return {
    ...settingsOf(flagDefaults(FLAGS)),
    runtimes: RUNTIMES,
    now: () => systemClock.now(),
    source: noSource,
  };
}
