export { digestKeyName, leaseName, SYSTEM_NAMESPACE } from '../system-names.ts';
export * from './manifests.ts';
export * from './rules.ts';
export { IDENTITY_NAMESPACE } from './runtime-privileges.ts';
