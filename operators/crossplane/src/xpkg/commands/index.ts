export type { XpkgIo } from './command.ts';
export { xpkgCommand } from './xpkg-command.ts';
