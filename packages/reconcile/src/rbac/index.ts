export * from './manifests.ts';
export * from './rules.ts';
export { digestKeyName, leaseName, SYSTEM_NAMESPACE } from './runtime-privileges.ts';
