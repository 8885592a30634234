export { parseListenAddress } from './address.ts';
export type { Check, Checks } from './checks.ts';
export * from './server.ts';
