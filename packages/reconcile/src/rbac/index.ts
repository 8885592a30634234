export * from './manifests.ts';
export * from './rules.ts';
export { digestKeyName, IDENTITY_NAMESPACE, leaseName } from './runtime-privileges.ts';
