export type { Check, Checks } from './checks.ts';
export * from './server.ts';
