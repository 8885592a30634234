export * from './manifests.ts';
export * from './rules.ts';
export { digestKeyName, leaseName } from './runtime-privileges.ts';
