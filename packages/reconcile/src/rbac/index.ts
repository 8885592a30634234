export * from './manifests.ts';
export * from './rules.ts';
export { digestKeyName, IDENTITY_NAMESPACE, leaseName, SYSTEM_NAMESPACE } from './runtime-privileges.ts';
