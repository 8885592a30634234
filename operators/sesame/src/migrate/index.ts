export { type InputFile, serveArguments } from './inputs.ts';
export { type MigrateOptions, type Migration, migrate } from './migrate.ts';
