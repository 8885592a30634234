export { type ConsoleServer, type ConsoleServerOptions, startConsole } from './server/console-server.ts';
export type { ConsoleHealth, ConsoleSource } from './server/source.ts';
