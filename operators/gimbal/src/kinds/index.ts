export { BACKENDS_AS_WRITTEN } from './as-written.ts';
export type {
  BackendError,
  BlockedRoute,
  CredentialsStatus,
  EffectiveBackend,
  MaintenanceState,
  MaintenanceStatus,
} from './backend-status.ts';
export { MAX_BLOCKED, MAX_ERRORS, MAX_MESSAGE } from './backend-status.ts';
export { type BackendFields, Discoverer, Discovery, DiscoveryBackend } from './discovery-backend.ts';
export * from './group.ts';
