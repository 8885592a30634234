// Which of the two references of a package counts. The feature goes through three stages:
//
//   stage   --enable-runtime-config   runtimeConfigRef   controllerConfigRef
//   alpha   false by default          when true          when false
//   beta    true by default           when true          when false
//   GA      cannot be turned off      always             never: the package must be converted
//
// Never both: a package has one configuration. Use of the other reference is reported on the package.
import { equal } from '@capstan/kube';
import { PACKAGE_GROUP, RUNTIME_CONFIG_KIND, type RuntimeConfigVersion } from './runtime-config.ts';

export const STAGES = ['alpha', 'beta', 'GA'] as const;
export type Stage = (typeof STAGES)[number];
export const DEFAULT_STAGE: Stage = 'beta';

export interface RuntimeConfigFeature {
  readonly stage: Stage;
  /** True: runtimeConfigRef is honoured; false: controllerConfigRef is. */
  readonly isEnabled: boolean;
  /** For the log at start. */
  readonly warning?: string;
}

/** The stage of that name, in any case (`ga`); undefined when there is none. */
export function parseStage(text: string): Stage | undefined {
  return STAGES.find((stage) => stage.toLowerCase() === text.trim().toLowerCase());
}

/** Evaluates the two flags; undefined is a flag that was not given. */
export function runtimeConfigFeature(stage: Stage = DEFAULT_STAGE, enabled?: boolean): RuntimeConfigFeature {
  if (stage !== 'GA') return { stage, isEnabled: enabled ?? stage === 'beta' };
  if (enabled !== false) return { stage, isEnabled: true };
  return {
    stage,
    isEnabled: true,
    warning:
      '--enable-runtime-config=false has no effect: DeploymentRuntimeConfigs are generally available and cannot be disabled; remove the flag',
  };
}

/** The version in which a stage writes configs and references to them. All versions are accepted in every stage. */
export function versionOfStage(stage: Stage): RuntimeConfigVersion {
  return ({ alpha: 'v1alpha1', beta: 'v1beta1', GA: 'v1' } as const)[stage];
}

export interface ConfigReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name: string;
}

export interface PackageReferences {
  readonly runtimeConfigRef?: ConfigReference | undefined;
  readonly controllerConfigRef?: { readonly name: string } | undefined;
}

/** The config that a package's references select. */
export interface ChosenConfig {
  /** Which reference is checked: the runtime config (the default one when none is named) or the ControllerConfig, if any. */
  readonly use: 'runtimeConfig' | 'controllerConfig';
  readonly runtimeConfigRef?: ConfigReference;
  readonly controllerConfigName?: string;
  readonly ignored?: IgnoredReference;
}

export interface IgnoredReference {
  readonly field: 'spec.runtimeConfigRef' | 'spec.controllerConfigRef';
  /** For a condition. */
  readonly reason: 'RuntimeConfigIgnored' | 'ControllerConfigIgnored' | 'ControllerConfigRemoved';
  readonly message: string;
  /** True: the runtime is left as it is, and the package is not healthy, until its author has acted. */
  readonly isBlocking: boolean;
}

/** Chooses the configuration of a package. */
export function chooseConfig({ stage, isEnabled }: RuntimeConfigFeature, given: PackageReferences): ChosenConfig {
  const { runtimeConfigRef, controllerConfigRef } = given;
  if (!isEnabled) {
    return {
      use: 'controllerConfig',
      ...(controllerConfigRef && { controllerConfigName: controllerConfigRef.name }),
      ...(runtimeConfigRef && !isDefaultReference(runtimeConfigRef) && { ignored: runtimeConfigIgnored(stage) }),
    };
  }
  return {
    use: 'runtimeConfig',
    ...(runtimeConfigRef && { runtimeConfigRef }),
    ...(controllerConfigRef && { ignored: controllerConfigIgnored(stage, controllerConfigRef.name) }),
  };
}

/** Returns whether a reference equals the default one: servers with a static default have written it into every package. */
export function isDefaultReference({ apiVersion, kind, name }: ConfigReference): boolean {
  const group = apiVersion?.split('/')[0] ?? PACKAGE_GROUP;
  return equal([group, kind ?? RUNTIME_CONFIG_KIND, name], [PACKAGE_GROUP, RUNTIME_CONFIG_KIND, 'default']);
}

function runtimeConfigIgnored(stage: Stage): IgnoredReference {
  return {
    field: 'spec.runtimeConfigRef',
    reason: 'RuntimeConfigIgnored',
    message: `spec.runtimeConfigRef is ignored, because runtime configs are ${stage === 'alpha' ? 'an alpha feature that is off' : 'turned off'}; start Crossplane with --enable-runtime-config`,
    isBlocking: false,
  };
}

function controllerConfigIgnored(stage: Stage, name: string): IgnoredReference {
  const convert = 'convert the manifests with: crossplane convert deployment-runtime -f FILE';
  if (stage === 'GA') {
    return {
      field: 'spec.controllerConfigRef',
      reason: 'ControllerConfigRemoved',
      message: `spec.controllerConfigRef names the ControllerConfig ${name}, and ControllerConfigs are no longer supported; what runs is not changed: ${convert}`,
      isBlocking: true,
    };
  }
  return {
    field: 'spec.controllerConfigRef',
    reason: 'ControllerConfigIgnored',
    message: `spec.controllerConfigRef is ignored, because runtime configs are on; ${convert}, or start Crossplane with --enable-runtime-config=false`,
    isBlocking: false,
  };
}
