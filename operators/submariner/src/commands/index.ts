export type { SubctlIo } from './io.ts';
export { COMMANDS, runSubctl } from './subctl.ts';
