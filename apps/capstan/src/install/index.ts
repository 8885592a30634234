// For the scripts that package an installation.
export { BUILT_IN_OPERATORS } from '../operators.ts';
export { type StatusOperator, statusOperator } from '../status/status-operators.ts';
export { VERSION } from '../version.ts';
export { type Installation, type InstallationObjects, installationObjects } from './manifests.ts';
export { operatorArgs } from './operator-args.ts';
export { type Files, helmChart, kustomizeBase, type PackageOptions } from './package-manifests.ts';
