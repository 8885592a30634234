export type { WriteObserver } from './engine-metrics.ts';
export type { Exposition } from './exposition.ts';
export * from './registry.ts';
export * from './standard-metrics.ts';
